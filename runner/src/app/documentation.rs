//! Reads from a native module's documentation which of its options name paths.
//!
//! Ansible's modules carry their documentation as YAML in the text `DOCUMENTATION = r''' … '''`. Modules in other
//! languages have it in a file beside them, `NAME.yml`, under the key `DOCUMENTATION`. Documentation is a claim, like a
//! guest's metadata, and grants nothing by itself: a path is granted when the caller names it in an option of type
//! `path`.
//!
//! Ansible's documentation does not say what a module does with a path. So such an option designates for **reading**,
//! the least access for which naming a path makes sense. It designates for writing when the documentation has `access:
//! write` beside the type, or when the operator passes `--designate OPTION:write`, which also turns an undocumented
//! option into a path. Defaults are left out: if the module uses one without a grant, that use is denied and reported
//! when it happens.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use modbox_argument_spec::{Access, Metadata, OptionSpec, OptionType};
use modbox_contract::{Dict, Value};
use modbox_policy::Policy;

/// Name of the documentation in a module's text and in the file beside it.
const NAME: &str = "DOCUMENTATION";

/// Bytes of documentation that are read; far more than any module has.
const MAX_DOCUMENTATION: usize = 1 << 20;

/// Depth of nested options that are read.
const MAX_DEPTH: usize = 8;

/// Reads the documentation in a module's text, or else in the file beside it; `None` if neither can be read.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Option<Metadata> {
    let documentation = extract_from_text(bytes).or_else(|| read_sidecar(path))?;
    let entries = match serde_saphyr::from_str::<Value>(&documentation).ok()? {
        Value::Dict(entries) => entries,
        _ => return None,
    };
    let options = options(entries.get("options")?, 0);
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let metadata: Dict = [("name".to_owned(), Value::from(name)), ("argument_spec".to_owned(), Value::Dict(options))]
        .into_iter()
        .collect();
    Metadata::from_value(&Value::Dict(metadata)).ok()
}

/// Parses an assignment to `DOCUMENTATION` at an offset. Returns whether the string is raw, its quotes, and the bytes
/// after the opening quotes.
fn parse_assignment(head: &[u8], at: usize) -> Option<(bool, &[u8], &[u8])> {
    let begins_a_line = at == 0 || head[at - 1] == b'\n';
    let blanks = |bytes: &[u8]| bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let rest = head.get(at + NAME.len()..).filter(|_| begins_a_line)?;
    let rest = rest[blanks(rest)..].strip_prefix(b"=")?;
    let rest = &rest[blanks(rest)..];
    let prefix = rest.first().filter(|byte| matches!(byte, b'u' | b'U' | b'r' | b'R'));
    let (quotes, rest) = rest[usize::from(prefix.is_some())..].split_at_checked(3)?;
    let raw = prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(&b'r'));
    matches!(quotes, b"\"\"\"" | b"'''").then_some((raw, quotes, rest))
}

/// Returns the documentation in a module's text, with escapes resolved as Python does.
fn extract_from_text(bytes: &[u8]) -> Option<String> {
    let head = bytes.get(..bytes.len().min(MAX_DOCUMENTATION * 2))?;
    let (raw, quotes, rest) = memchr::memmem::find_iter(head, NAME).find_map(|at| parse_assignment(head, at))?;
    let end = rest.windows(3).take(MAX_DOCUMENTATION).position(|window| window == quotes)?;
    let text = str::from_utf8(&rest[..end]).ok()?;
    // Documentation uses only these escapes of ordinary strings.
    Some(if raw { text.to_owned() } else { text.replace("\\\n", "").replace("\\\"", "\"").replace("\\\\", "\\") })
}

/// Returns the documentation in the file beside a module.
fn read_sidecar(path: &Path) -> Option<String> {
    let file = ["yml", "yaml"].iter().find_map(|extension| {
        let sidecar = path.with_extension(extension);
        // Opens regular files only, since opening a FIFO could block.
        sidecar.metadata().ok().filter(std::fs::Metadata::is_file)?;
        File::open(sidecar).ok()
    })?;
    let mut text = String::new();
    file.take(MAX_DOCUMENTATION as u64).read_to_string(&mut text).ok()?;
    match serde_saphyr::from_str::<Value>(&text).ok()? {
        Value::Dict(mut entries) => match entries.get_mut(NAME)? {
            Value::Str(text) => Some(std::mem::take(text)),
            // JSON is YAML.
            Value::Dict(documentation) => Some(modbox_contract::encode(&Value::Dict(documentation.clone()))),
            _ => None,
        },
        _ => None,
    }
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

/// Returns what is `known` of a module's options, with the operator's `--designate` options applied.
pub(super) fn describe_options<'m>(
    known: Option<&'m Metadata>,
    policy: &Policy,
    args: &Dict,
) -> Option<Cow<'m, Metadata>> {
    if policy.designates().is_empty() {
        return known.map(Cow::Borrowed);
    }
    let name = || Metadata::from_json(r#"{"name": "module"}"#).ok();
    let mut metadata = known.cloned().or_else(name)?;
    for (option, access) in policy.designates() {
        let is_list = matches!(args.get(option), Some(Value::List(_)));
        designate(&mut metadata, option, *access, is_list);
    }
    Some(Cow::Owned(metadata))
}

/// Declares an option to be a path, whatever type the documentation gives it.
fn designate(metadata: &mut Metadata, option: &str, access: modbox_policy::Access, is_list: bool) {
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
    spec.access = Some(match access {
        modbox_policy::Access::Read => Access::Read,
        modbox_policy::Access::Write => Access::Write,
    });
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
