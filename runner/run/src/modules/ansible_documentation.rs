//! A module's manual in the form that `ansible-doc` reads: the file `NAME.yml` beside a module that is not in Python.
//!
//! Everything comes from the metadata in the component, so the manual of `ansible-doc` is that of `modbox doc`.

use modbox_argument_spec::{ArgumentSpec, Metadata, OptionSpec};
use modbox_python_json::{Dict, Value};

/// Returns the document with the keys `DOCUMENTATION`, `EXAMPLES` and `RETURN`.
#[must_use]
pub fn ansible_documentation(metadata: &Metadata) -> Value {
    let mut description = metadata.description.clone();
    if description.is_empty() {
        description.push(format!("The module {}.", metadata.name));
    }
    let check_mode = if metadata.supports_check_mode { "full" } else { "none" };
    let check_mode = [
        ("description", Value::from("Reports what it would change, and changes nothing.")),
        ("support", check_mode.into()),
    ];
    let mut documentation = Dict::from_iter([
        ("module".to_owned(), Value::from(metadata.name.as_str())),
        ("short_description".to_owned(), first_sentence(&description[0]).into()),
        ("description".to_owned(), texts(&description)),
        // A component does not say who made it; the word is Ansible's for an author without an account.
        ("author".to_owned(), texts(&[format!("The author of {} (!UNKNOWN)", metadata.name)])),
        ("options".to_owned(), options(&metadata.argument_spec)),
        ("attributes".to_owned(), [("check_mode", Value::from(check_mode))].into()),
    ]);
    if !metadata.version.is_empty() {
        let version = format!("Version {} of the module.", metadata.version);
        documentation.insert("notes".to_owned(), texts(&[version]));
    }
    [
        ("DOCUMENTATION", Value::Dict(documentation)),
        ("EXAMPLES", metadata.examples.join("\n\n").into()),
        ("RETURN", Value::Dict(metadata.returns.clone())),
    ]
    .into()
}

fn options(spec: &ArgumentSpec) -> Value {
    Value::Dict(spec.options.iter().map(|(name, option)| (name.clone(), option_entry(name, option))).collect())
}

fn option_entry(name: &str, option: &OptionSpec) -> Value {
    let mut description = option.description.clone();
    if description.is_empty() {
        // `ansible-doc` leaves out the name of an option without a description.
        description.push(format!("The option {name}."));
    }
    if let Some(access) = option.access {
        description.push(format!("modbox grants the module {} access to this path.", access.name()));
    }
    let mut entry = Dict::from_iter([
        ("description".to_owned(), texts(&description)),
        ("type".to_owned(), option.option_type.name().into()),
    ]);
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            entry.insert(key.to_owned(), value);
        }
    };
    put("required", option.required.then(|| true.into()));
    put("elements", option.elements.map(|elements| elements.name().into()));
    put("default", option.default_value().cloned());
    put("choices", option.choices.clone().map(Into::into));
    put("aliases", (!option.aliases.is_empty()).then(|| texts(&option.aliases)));
    put("suboptions", option.sub_spec.as_deref().map(options));
    Value::Dict(entry)
}

fn first_sentence(text: &str) -> &str {
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.')
}

fn texts(list: &[String]) -> Value {
    list.iter().map(String::as_str).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    #[test]
    fn options_have_the_keys_of_ansible() {
        let metadata = Metadata::from_json(
            r#"{"name": "motd", "description": ["Writes a text. Or not."], "supports_check_mode": true,
            "argument_spec": {"path": {"type": "path", "required": true, "access": "write", "description": ["The file."]},
                "state": {"choices": ["a", "b"], "default": "a"},
                "items": {"type": "list", "elements": "dict", "options": {"x": {"type": "int"}}}}}"#,
        )
        .unwrap();
        let expect = concat!(
            r#"{"DOCUMENTATION": {"module": "motd", "short_description": "Writes a text", "description": ["Writes a text. Or not."], "author": ["The author of motd (!UNKNOWN)"], "#,
            r#""options": {"path": {"description": ["The file.", "modbox grants the module write access to this path."], "#,
            r#""type": "path", "required": true}, "state": {"description": ["The option state."], "type": "str", "default": "a", "choices": ["a", "b"]}, "#,
            r#""items": {"description": ["The option items."], "type": "list", "elements": "dict", "suboptions": {"x": {"description": ["The option x."], "type": "int"}}}}, "#,
            r#""attributes": {"check_mode": {"description": "Reports what it would change, and changes nothing.", "support": "full"}}}, "#,
            r#""EXAMPLES": "", "RETURN": {}}"#
        );
        assert_eq!(encode(&ansible_documentation(&metadata)), expect);
    }
}
