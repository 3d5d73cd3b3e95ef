//! Reads from a native module's documentation which of its options name paths.
//!
//! Ansible's modules carry their documentation as YAML in the text `DOCUMENTATION = r''' … '''`. Modules in other
//! languages have it in a file beside them, `NAME.yml`, under the key `DOCUMENTATION`. Documentation is a claim, like a
//! guest's metadata, and grants nothing by itself: a path is granted when the caller names it in an option of type
//! `path`.
//!
//! Ansible's documentation does not say what a module does with a path. For Ansible's own modules, modbox has a table:
//! see [`path_uses`](crate::modules::path_uses). Any other option that is a path designates for **reading**, the least access
//! for which naming a path makes sense. It designates for writing when the documentation has `access: write` beside the
//! type, or when the operator passes `--designate OPTION:write`, which also turns an undocumented option into a path. Defaults are left out: if the module uses one without a grant, that use is denied and reported
//! when it happens.

mod entries;
mod fragments;
pub(crate) mod manual;
mod markup;
mod text;

use std::borrow::Cow;
use std::path::Path;

use modbox_argument_spec::{Access, Metadata, OptionSpec, OptionType};
use modbox_closure::Part;
use modbox_contract::{Dict, Value};
use modbox_policy::Policy;

use self::entries::{MAX_DEPTH, read_entries};
pub(crate) use self::fragments::FragmentFolders;
use crate::modules::path_uses::PathUses;

/// Reads the documentation in a module's text, or else in the file beside it, with the fragments that it names; `None`
/// if neither can be read. `folders` has the fragments. Adds the files that were read to `parts`.
pub(crate) fn read(
    path: &Path,
    bytes: &[u8],
    folders: impl FnOnce() -> FragmentFolders,
    parts: &mut Vec<Part>,
) -> Option<Metadata> {
    let (mut entries, _) = read_entries(path, bytes, parts)?;
    fragments::merge(&mut entries, folders, parts);
    let options = options(entries.get("options")?, 0);
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let metadata: Dict = [("name".to_owned(), Value::from(name)), ("argument_spec".to_owned(), Value::Dict(options))]
        .into_iter()
        .collect();
    Metadata::from_value(&Value::Dict(metadata)).ok()
}

/// Returns the first line that a module's documentation says about it, without its options.
pub(crate) fn short_description(path: &Path, bytes: &[u8]) -> Option<String> {
    // Most documentation has it on one line, which is much quicker to find than to parse all options.
    let text = text::assigned(bytes, text::NAME, text::Indentation::None);
    let line = text.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("short_description: ")));
    let plain = line.map(str::trim).filter(|line| !line.starts_with(['"', '\'', '|', '>', '&', '*', '!', '#']));
    if let Some(plain) = plain.filter(|line| !line.is_empty() && !line.contains(" #")) {
        return Some(markup::plain(plain));
    }
    let (entries, _) = read_entries(path, bytes, &mut Vec::new())?;
    entries.get("short_description").and_then(Value::as_str).map(markup::plain)
}

/// Returns the options that are paths or contain paths, in the form of an argument spec.
fn options(documented: &Value, depth: usize) -> Dict {
    let Some(documented) = documented.as_dict().filter(|_| depth < MAX_DEPTH) else { return Dict::new() };
    documented.iter().filter_map(|(name, option)| Some((name.clone(), spec_of(option.as_dict()?, depth)?))).collect()
}

fn spec_of(option: &Dict, depth: usize) -> Option<Value> {
    let word = |key: &str| option.get(key).and_then(Value::as_str);
    let mut spec = Dict::new();
    let mut put = |key: &str, value: Value| drop(spec.insert(key.to_owned(), value));
    let aliases = option.get("aliases").and_then(Value::as_list).unwrap_or_default();
    put("aliases", aliases.iter().filter(|alias| alias.as_str().is_some()).cloned().collect::<Vec<_>>().into());
    let access = word("access").filter(|access| *access == "write").unwrap_or("read");
    match (word("type").unwrap_or("str"), word("elements")) {
        ("path", _) => {
            put("type", "path".into());
            put("access", access.into());
        }
        ("list", Some("path")) => {
            put("type", "list".into());
            put("elements", "path".into());
            put("access", access.into());
        }
        (kind @ ("dict" | "list"), elements) => {
            let inner = options(option.get("suboptions").or_else(|| option.get("options"))?, depth + 1);
            if inner.is_empty() {
                return None;
            }
            put("type", kind.into());
            if kind == "list" {
                put("elements", elements.filter(|elements| *elements == "dict")?.into());
            }
            put("options", Value::Dict(inner));
        }
        _ => return None,
    }
    Some(Value::Dict(spec))
}

/// Returns what is `known` of a module's options, with the uses of paths that modbox knows, and then the operator's
/// `--designate` options applied.
pub(crate) fn describe_options<'m>(
    known: Option<&'m Metadata>,
    uses: &PathUses,
    policy: &Policy,
    args: &Dict,
) -> Option<Cow<'m, Metadata>> {
    if policy.designates().is_empty() && uses.is_empty() {
        return known.map(Cow::Borrowed);
    }
    let name = || Metadata::from_json(r#"{"name": "module"}"#).ok();
    let mut metadata = known.cloned().or_else(name)?;
    let is_list = |option: &str| matches!(args.get(option), Some(Value::List(_)));
    for (option, path_use) in uses.iter() {
        designate(&mut metadata, option, path_use.access(), is_list(option));
    }
    for (option, access) in policy.designates() {
        let access = match access {
            modbox_policy::Access::Read => Access::Read,
            modbox_policy::Access::Write => Access::Write,
        };
        designate(&mut metadata, option, Some(access), is_list(option));
    }
    Some(Cow::Owned(metadata))
}

/// Declares an option to be a path, whatever type the documentation gives it. Without an access, it needs no grant.
fn designate(metadata: &mut Metadata, option: &str, access: Option<Access>, is_list: bool) {
    let options = &mut metadata.argument_spec.options;
    let known = |(name, spec): (&String, &OptionSpec)| {
        (name == option || spec.aliases.iter().any(|alias| alias == option)).then(|| name.clone())
    };
    let name = options.iter().find_map(known).unwrap_or_else(|| option.to_owned());
    let spec = options.entry(name).or_default();
    spec.sub_spec = None;
    (spec.option_type, spec.elements) = if is_list || spec.option_type == OptionType::List {
        (OptionType::List, Some(OptionType::Path))
    } else {
        (OptionType::Path, None)
    };
    spec.access = access;
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "
module: x
options:
  src: {type: path}
  dest: {type: path, access: write, aliases: [to]}
  many: {type: list, elements: path}
  text: {type: str}
  nested:
    type: dict
    suboptions: {inner: {type: path}, other: {type: int}}
  broken: 7
  with_default: {type: path, default: /etc/passwd}
";

    fn read(path: &Path, bytes: &[u8]) -> Option<Metadata> {
        super::read(path, bytes, FragmentFolders::default, &mut Vec::new())
    }

    #[track_caller]
    fn check(metadata: &Metadata) {
        let access = |name: &str| metadata.argument_spec.options.get(name).map(|option| option.access);
        assert_eq!(access("src"), Some(Some(Access::Read)));
        assert_eq!(access("dest"), Some(Some(Access::Write)));
        assert_eq!(access("many"), Some(Some(Access::Read)));
        assert_eq!((access("text"), access("broken")), (None, None));
        let nested = metadata.argument_spec.options["nested"].sub_spec.as_ref().unwrap();
        assert_eq!(nested.options.keys().collect::<Vec<_>>(), ["inner"]);
        assert!(metadata.argument_spec.options["with_default"].default.is_none());
    }

    #[test]
    fn documentation_is_read_from_the_text_and_from_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let module = dir.path().join("x.py");
        for quoted in [format!("r'''{YAML}'''"), format!("\"\"\"{YAML}\"\"\""), format!("'''{YAML}'''  # end")] {
            let text = format!("#!/usr/bin/python\n# DOCUMENTATION\nDOCUMENTATION = {quoted}\nEXAMPLES = ''\n");
            check(&read(&module, text.as_bytes()).unwrap());
        }
        assert!(read(&module, b"#!/bin/sh\n").is_none());
        std::fs::write(dir.path().join("x.yml"), format!("DOCUMENTATION:{}", YAML.replace('\n', "\n  "))).unwrap();
        check(&read(&module, b"#!/bin/sh\n").unwrap());
        std::fs::remove_file(dir.path().join("x.yml")).unwrap();
        std::fs::write(dir.path().join("x.yaml"), format!("DOCUMENTATION: |{}", YAML.replace('\n', "\n  "))).unwrap();
        check(&read(&module, b"#!/bin/sh\n").unwrap());
    }

    #[test]
    fn invalid_documentation_is_ignored() {
        let path = Path::new("/nowhere/x");
        for text in [
            "DOCUMENTATION = '''",
            "DOCUMENTATION = '''}{'''",
            "DOCUMENTATION = '''[1]'''",
            "DOCUMENTATION = '''a: 1'''",
            "  DOCUMENTATION = '''options: {a: {type: path}}'''",
        ] {
            assert!(read(path, text.as_bytes()).is_none(), "{text}");
        }
        // YAML aliases of aliases must not expand until memory runs out.
        let bomb = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
            format!("{text}a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
        });
        assert!(read(path, format!("DOCUMENTATION = '''{bomb}options: {{}}\n'''").as_bytes()).is_none());
    }
}
