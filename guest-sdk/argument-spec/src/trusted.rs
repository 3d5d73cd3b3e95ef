//! A spec that is known to be right, read without a word about what could be wrong with it.
//!
//! In a guest whose spec a macro wrote, nothing can be: the compiler and a test have looked. All that the checks of
//! [`ArgumentSpec::parse`] would add there is their size.

use modbox_python_json::{Dict, Value, decode, str};

use crate::metadata::Metadata;
use crate::spec::{
    ArgumentSpec, Constraints, DeprecatedAlias, OptionSpec, OptionType, Removal, RequiredBy, RequiredIf,
};

impl Metadata {
    /// Reads what a running module needs of its own metadata: its name, its spec, and whether it knows check mode. What is
    /// wrong in it is left out.
    #[must_use]
    pub fn trusted(json: &str) -> Self {
        let value = decode(json).unwrap_or_default();
        let empty = Dict::new();
        let entries = value.as_dict().unwrap_or(&empty);
        Self {
            name: entries.get("name").map(str).unwrap_or_default(),
            version: String::new(),
            description: Vec::new(),
            argument_spec: level(entries.get("argument_spec"), entries),
            supports_check_mode: truth(entries, "supports_check_mode"),
            requests: Vec::new(),
            examples: Vec::new(),
            returns: Dict::new(),
        }
    }
}

fn level(options: Option<&Value>, rules: &Dict) -> ArgumentSpec {
    let options = options.and_then(Value::as_dict).into_iter().flatten();
    let option = |(name, value): (&String, &Value)| Some((name.clone(), option(value.as_dict()?)));
    ArgumentSpec { options: options.filter_map(option).collect(), constraints: constraints(rules) }
}

fn option(entries: &Dict) -> OptionSpec {
    let option_type = |key: &str| entries.get(key).and_then(Value::as_str).and_then(OptionType::from_name);
    let fallback = items(entries, "fallback").get(1);
    OptionSpec {
        option_type: option_type("type").unwrap_or_default(),
        elements: option_type("elements"),
        required: truth(entries, "required"),
        default: entries.get("default").cloned(),
        choices: entries.get("choices").and_then(Value::as_list).map(<[Value]>::to_vec),
        aliases: entries.get("aliases").map(texts).unwrap_or_default(),
        deprecated_aliases: items(entries, "deprecated_aliases").iter().filter_map(deprecated_alias).collect(),
        no_log: entries.get("no_log").and_then(Value::as_bool),
        fallback: fallback.map(texts).unwrap_or_default(),
        apply_defaults: truth(entries, "apply_defaults"),
        sub_spec: entries.get("options").map(|options| Box::new(level(Some(options), entries))),
        removal: removal(entries, ["removed_in_version", "removed_at_date", "removed_from_collection"]),
        ..OptionSpec::default()
    }
}

fn constraints(rules: &Dict) -> Constraints {
    let groups = |key| items(rules, key).iter().map(texts).collect();
    let required_if = |rule: &Value| match rule.as_list()? {
        [key, value, requirements, rest @ ..] => Some(RequiredIf {
            key: str(key),
            value: value.clone(),
            requirements: texts(requirements),
            any_is_enough: rest.first().is_some_and(Value::is_truthy),
        }),
        _ => None,
    };
    let required_by = rules.get("required_by").and_then(Value::as_dict).into_iter().flatten();
    let by =
        |(key, requirements): (&String, &Value)| RequiredBy { key: key.clone(), requirements: texts(requirements) };
    Constraints {
        mutually_exclusive: groups("mutually_exclusive"),
        required_together: groups("required_together"),
        required_one_of: groups("required_one_of"),
        required_if: items(rules, "required_if").iter().filter_map(required_if).collect(),
        required_by: required_by.map(by).collect(),
    }
}

fn deprecated_alias(value: &Value) -> Option<DeprecatedAlias> {
    let entries = value.as_dict()?;
    let removal = removal(entries, ["version", "date", "collection_name"]).unwrap_or_default();
    Some(DeprecatedAlias { name: str(entries.get("name")?), removal })
}

fn removal(entries: &Dict, keys: [&str; 3]) -> Option<Removal> {
    let [version, date, collection_name] = keys.map(|key| entries.get(key).map(str));
    (version.is_some() || date.is_some()).then_some(Removal { version, date, collection_name })
}

fn truth(entries: &Dict, key: &str) -> bool {
    entries.get(key).is_some_and(Value::is_truthy)
}

fn items<'a>(entries: &'a Dict, key: &str) -> &'a [Value] {
    entries.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::List(items) => items.iter().map(str).collect(),
        one => vec![str(one)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_checked_reader_reads() {
        let json = r#"{"name": "x", "supports_check_mode": true, "argument_spec": {
            "a": {"type": "list", "elements": "dict", "aliases": ["b"], "no_log": false, "options": {"c": {"required": true}, "d": {}},
                "required_together": [["c", "d"]], "deprecated_aliases": [{"name": "b", "version": "2", "collection_name": "x.y"}]},
            "e": {"type": "raw", "choices": ["x", 1], "default": 1, "fallback": ["env_fallback", ["A", "B"]], "removed_at_date": "2030-01-01"},
            "f": {"type": "dict", "apply_defaults": true, "options": {"g": {"default": 5}}}},
            "mutually_exclusive": [["a", "e"]], "required_one_of": [["a", "e"]], "required_if": [["e", "x", ["a"], true]],
            "required_by": {"a": ["f"], "e": "f"}}"#;
        let checked = Metadata::from_json(json).unwrap();
        let trusted = Metadata::trusted(json);
        assert_eq!(trusted.argument_spec, checked.argument_spec);
        assert_eq!((trusted.name, trusted.supports_check_mode), (checked.name, checked.supports_check_mode));
    }

    #[test]
    fn survives_nonsense() {
        for json in
            ["", "5", r#"{"argument_spec": {"a": 5, "b": {"required_if": 1, "options": 2}}, "required_if": [1, []]}"#]
        {
            drop(Metadata::trusted(json));
        }
    }
}
