//! A module's documentation as the metadata of a guest, so that both have the same manual.
//!
//! Documentation is written for people, and Ansible checks little of it. What is wrong in an option is left out, so that
//! the rest can be shown.

use std::path::Path;

use modbox_argument_spec::{ArgumentSpec, Metadata};
use modbox_contract::{Dict, Value, python_str};

use crate::modules::documentation::entries::{MAX_DEPTH, read_entries};
use crate::modules::documentation::fragments::{self, FragmentFolders};
use crate::modules::documentation::markup::plain;
use crate::modules::documentation::text::{Indentation, assigned, parse_dict};

/// Keys of an option that are taken as they are.
const KEYS: [&str; 6] = ["type", "elements", "required", "default", "choices", "aliases"];

/// Keys that are left out first where an option contradicts itself.
const DOUBTFUL: [&str; 4] = ["default", "choices", "aliases", "elements"];

/// Reads the documentation of a module as metadata under a name, in its JSON form; `None` if there is none.
pub(crate) fn read(path: &Path, bytes: &[u8], name: &str, folders: impl FnOnce() -> FragmentFolders) -> Option<Dict> {
    let mut parts = Vec::new();
    let (mut entries, text) = read_entries(path, bytes, &mut parts)?;
    fragments::merge(&mut entries, folders, &mut parts);
    let mut metadata = Dict::new();
    let mut put = |key: &str, value: Value| drop(metadata.insert(key.to_owned(), value));
    put("name", name.into());
    let summary = entries.get("short_description").into_iter().flat_map(texts);
    let description = summary.chain(entries.get("description").into_iter().flat_map(texts));
    put("description", description.map(Value::from).collect::<Vec<_>>().into());
    put("argument_spec", Value::Dict(options(entries.get("options"), 0)));
    let support = entry(&entries, &["attributes", "check_mode", "support"]).and_then(Value::as_str);
    if let Some(support) = support {
        put("supports_check_mode", (support != "none").into());
    }
    if let Some(examples) = assigned(&text, "EXAMPLES", Indentation::None).filter(|text| !text.trim().is_empty()) {
        put("examples", vec![Value::from(examples.trim_matches('\n'))].into());
    }
    let returns = assigned(&text, "RETURN", Indentation::None).and_then(|text| parse_dict(&text));
    put("returns", Value::Dict(returns.map(|returns| returned(&returns)).unwrap_or_default()));
    Some(metadata)
}

/// Converts the JSON form of [`read`] to metadata.
pub(crate) fn metadata(documented: &Dict) -> Option<Metadata> {
    let whole = Metadata::from_value(&Value::Dict(documented.clone()));
    // Options may contradict each other, by equal aliases for example.
    whole.ok().or_else(|| {
        let mut documented = documented.clone();
        if let Some(Value::Dict(options)) = documented.get_mut("argument_spec") {
            for (_, option) in options.iter_mut() {
                let Value::Dict(option) = option else { continue };
                option.shift_remove("aliases");
            }
        }
        Metadata::from_value(&Value::Dict(documented)).ok()
    })
}

fn entry<'a>(entries: &'a Dict, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = entries.get(*first)?;
    if rest.is_empty() { Some(value) } else { entry(value.as_dict()?, rest) }
}

/// Returns the paragraphs of a text or a list of texts, without markup.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(|item| plain(&python_str(item))).collect(),
        Value::Null => Vec::new(),
        text => vec![plain(&python_str(text))],
    }
}

fn paragraphs(value: &Value) -> Value {
    texts(value).into_iter().map(Value::from).collect::<Vec<_>>().into()
}

fn options(documented: Option<&Value>, depth: usize) -> Dict {
    let documented = documented.and_then(Value::as_dict).filter(|_| depth < MAX_DEPTH);
    let mut options = Dict::new();
    for (name, option) in documented.into_iter().flatten() {
        let option = option.as_dict().map(|option| spec_of(option, depth)).unwrap_or_default();
        options.insert(name.clone(), Value::Dict(valid(option)));
    }
    options
}

fn spec_of(option: &Dict, depth: usize) -> Dict {
    let mut spec = Dict::new();
    for key in KEYS {
        let value = match (key, option.get(key)) {
            (_, None | Some(Value::Null)) => continue,
            // A choice may be documented with a text of its own.
            ("choices", Some(Value::Dict(choices))) => {
                choices.keys().map(|choice| Value::from(choice.as_str())).collect::<Vec<_>>().into()
            }
            (_, Some(value)) => value.clone(),
        };
        spec.insert(key.to_owned(), value);
    }
    if let Some(description) = option.get("description") {
        spec.insert("description".to_owned(), paragraphs(description));
    }
    let inner = options(option.get("suboptions").or_else(|| option.get("options")), depth + 1);
    if !inner.is_empty() {
        spec.insert("options".to_owned(), Value::Dict(inner));
    }
    spec
}

/// Returns an option without what contradicts the rest of it.
fn valid(mut option: Dict) -> Dict {
    let is_valid = |option: &Dict| {
        let options = [("option".to_owned(), Value::Dict(option.clone()))].into_iter().collect();
        ArgumentSpec::parse(&Value::Dict(options)).is_ok()
    };
    for key in [None].into_iter().chain(DOUBTFUL.map(Some)) {
        if let Some(key) = key {
            option.shift_remove(key);
        }
        if is_valid(&option) {
            return option;
        }
    }
    option.retain(|key, _| key == "description");
    option
}

fn returned(returns: &Dict) -> Dict {
    let described = |value: &Value| match value.as_dict() {
        Some(entries) => {
            let mut entries = entries.clone();
            if let Some(description) = entries.get_mut("description") {
                *description = paragraphs(description);
            }
            Value::Dict(entries)
        }
        None => value.clone(),
    };
    returns.iter().map(|(key, value)| (key.clone(), described(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "#!/usr/bin/python\nDOCUMENTATION = r'''\nmodule: x\nshort_description: Does x\ndescription:\n  - Does C(x).\n\
         attributes: {check_mode: {support: partial}}\noptions:\n  path: {type: path, required: true, description: Where.}\n  \
         state: {choices: {a: One, b: Two}, default: c, description: [See O(path).]}\n  odd: {type: nonsense, description: Odd}\n  \
         deep: {type: list, elements: dict, suboptions: {inner: {type: int, default: 1}}}\n  none:\n'''\n\
         EXAMPLES = r'''\n- name: One\n  x:\n'''\nRETURN = r'''\nout: {description: The C(out)., type: str, returned: always}\n'''\n";

    #[test]
    fn a_manual_is_made_of_documentation() {
        let documented =
            super::read(Path::new("/nowhere/x.py"), MODULE.as_bytes(), "n.c.x", FragmentFolders::default).unwrap();
        let manual = metadata(&documented).unwrap().manual();
        for part in [
            "n.c.x\n\n  Does x\n\n  Does `x`.\n\n  Check mode: supported.\n",
            "  path  (path, required)\n      Where.\n",
            "  state  (str)\n      See `path`.\n      Choices: a, b.\n",
            "  odd  (str)\n      Odd\n",
            "  deep  (list of dict)\n\n      inner  (int)\n          Default: 1.\n",
            "  none  (str)\n",
            "EXAMPLES\n\n  - name: One\n    x:\n",
            "  out  (str, returned always)\n      The `out`.\n",
        ] {
            assert!(manual.contains(part), "{part}\n{manual}");
        }
    }
}
