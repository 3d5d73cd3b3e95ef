//! Finds mistakes in a spec: parts that contradict each other, and unknown names.
//!
//! Ansible finds some of them when it validates arguments, and some never. An author needs to know earlier.

use std::collections::HashMap;

use modbox_python_json::{Dict, Value, repr};

use crate::convert::convert;
use crate::environment::NoEnvironment;
use crate::equality::python_eq;
use crate::error::SpecError;
use crate::parse_rules::CONSTRAINT_KEYS;
use crate::spec::{ArgumentSpec, Constraints, OptionSpec, OptionType};

/// Refuses a spec that contradicts itself at any level.
///
/// # Errors
///
/// The first contradiction.
pub(crate) fn check(spec: &ArgumentSpec) -> Result<(), SpecError> {
    check_level(spec, "the argument spec", "")
}

/// Refuses keys of an option that have no effect without other keys.
///
/// # Errors
///
/// The first such key.
pub(crate) fn check_keys(entries: &Dict, place: &str) -> Result<(), SpecError> {
    let has = |key: &str| entries.get(key).is_some_and(|value| *value != Value::Null);
    let reason = if let Some(rule) = CONSTRAINT_KEYS.iter().find(|key| has(key)).filter(|_| !has("options")) {
        format!("`{rule}` needs `options`")
    } else if has("removed_in_version") && has("removed_at_date") {
        "`removed_in_version` and `removed_at_date` exclude each other".to_owned()
    } else if has("removed_from_collection") && !has("removed_in_version") && !has("removed_at_date") {
        "`removed_from_collection` needs `removed_in_version` or `removed_at_date`".to_owned()
    } else {
        return Ok(());
    };
    Err(SpecError::Contradiction { place: place.to_owned(), reason })
}

fn check_level(spec: &ArgumentSpec, place: &str, prefix: &str) -> Result<(), SpecError> {
    let mut owners: HashMap<&str, &str> = spec.options.keys().map(|name| (name.as_str(), name.as_str())).collect();
    for (name, option) in &spec.options {
        let place = format!("option `{prefix}{name}`");
        let contradiction = |reason| SpecError::Contradiction { place: place.clone(), reason };
        if name.is_empty() || name.starts_with("_ansible_") {
            return Err(contradiction("the name is reserved".to_owned()));
        }
        for alias in &option.aliases {
            if let Some(owner) = owners.insert(alias, name) {
                return Err(contradiction(format!("alias `{alias}` is also a name of option `{owner}`")));
            }
        }
        if let Some(reason) = contradiction_in(option) {
            return Err(contradiction(reason));
        }
        if let Some(sub_spec) = option.sub_spec.as_deref() {
            check_level(sub_spec, &place, &format!("{prefix}{name}."))?;
        }
    }
    check_rules(spec, place)
}

fn contradiction_in(option: &OptionSpec) -> Option<String> {
    let of_type = option.option_type.name();
    if option.required && option.default_value().is_some() {
        return Some("`required` and `default` exclude each other".to_owned());
    }
    if option.elements.is_some() && option.option_type != OptionType::List {
        return Some(format!("`elements` is for lists, and the type is `{of_type}`"));
    }
    if option.access.is_some() && !option.is_path() {
        return Some(format!("`access` is for paths, and the type is `{of_type}`"));
    }
    if option.sub_spec.is_some() && !option.holds_dicts() {
        return Some(match option.option_type {
            OptionType::List => "`options` of a list needs `elements: dict`".to_owned(),
            _ => format!("`options` is for dicts, and the type is `{of_type}`"),
        });
    }
    if option.apply_defaults && option.sub_spec.is_none() {
        return Some("`apply_defaults` needs `options`".to_owned());
    }
    if let Some(alias) = option.deprecated_aliases.iter().find(|alias| !option.aliases.contains(&alias.name)) {
        return Some(format!("unknown alias `{}` in `deprecated_aliases`", alias.name));
    }
    if option.choices.as_ref().is_some_and(Vec::is_empty) {
        return Some("`choices` is empty".to_owned());
    }
    default_does_not_fit(option)
}

/// Returns why a default does not fit its option. A default passes through the same steps as a given value.
fn default_does_not_fit(option: &OptionSpec) -> Option<String> {
    let mut default = option.default_value()?.clone();
    if let Err(why) = convert(&mut default, option.option_type, &NoEnvironment) {
        return Some(format!("`default` is not of type `{}`: {why}", option.option_type.name()));
    }
    let one = std::slice::from_ref(&default);
    let items = default.as_list().unwrap_or(one);
    for item in items {
        let mut item = item.clone();
        if let Some(wanted) = option.elements
            && let Err(why) = convert(&mut item, wanted, &NoEnvironment)
        {
            return Some(format!("an item of `default` is not of type `{}`: {why}", wanted.name()));
        }
        if option.choices.as_ref().is_some_and(|choices| !choices.iter().any(|choice| python_eq(choice, &item))) {
            return Some(format!("`default` {} is not one of the `choices`", repr(&item)));
        }
    }
    None
}

fn check_rules(spec: &ArgumentSpec, place: &str) -> Result<(), SpecError> {
    for (rule, group) in groups(&spec.constraints) {
        if let Some(name) = group.iter().find(|name| !spec.knows(name)) {
            let reason = format!("unknown option `{name}` in `{rule}`");
            return Err(SpecError::Contradiction { place: place.to_owned(), reason });
        }
    }
    Ok(())
}

/// Returns each rule's key, with the names in it.
fn groups(constraints: &Constraints) -> Vec<(&'static str, Vec<&String>)> {
    let mut groups = Vec::new();
    let plain = [
        ("mutually_exclusive", &constraints.mutually_exclusive),
        ("required_together", &constraints.required_together),
        ("required_one_of", &constraints.required_one_of),
    ];
    for (rule, lists) in plain {
        groups.extend(lists.iter().map(|names| (rule, names.iter().collect())));
    }
    let with_key = |key, names| std::iter::once(key).chain(names).collect();
    groups.extend(constraints.required_if.iter().map(|rule| ("required_if", with_key(&rule.key, &rule.requirements))));
    groups.extend(constraints.required_by.iter().map(|rule| ("required_by", with_key(&rule.key, &rule.requirements))));
    groups
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[track_caller]
    fn check(spec: &str, expect: &str) {
        let got = match ArgumentSpec::parse(&decode(spec).unwrap()) {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, format!("contradiction in {expect}"), "for {spec}");
    }

    #[test]
    fn refuses_contradictions() {
        check(r#"{"a": {"required": true, "default": 1}}"#, "option `a`: `required` and `default` exclude each other");
        check(r#"{"a": {"access": "read"}}"#, "option `a`: `access` is for paths, and the type is `str`");
        check(r#"{"a": {"elements": "int"}}"#, "option `a`: `elements` is for lists, and the type is `str`");
        check(r#"{"a": {"options": {}}}"#, "option `a`: `options` is for dicts, and the type is `str`");
        check(r#"{"a": {"type": "list", "options": {}}}"#, "option `a`: `options` of a list needs `elements: dict`");
        check(r#"{"a": {"type": "dict", "apply_defaults": true}}"#, "option `a`: `apply_defaults` needs `options`");
        check(r#"{"a": {"mutually_exclusive": [["b", "c"]]}}"#, "option `a`: `mutually_exclusive` needs `options`");
    }

    #[test]
    fn refuses_names_that_mean_two_things_or_none() {
        check(r#"{"a": {"aliases": ["b"]}, "b": {}}"#, "option `a`: alias `b` is also a name of option `b`");
        check(
            r#"{"a": {"aliases": ["c"]}, "b": {"aliases": ["c"]}}"#,
            "option `b`: alias `c` is also a name of option `a`",
        );
        check(
            r#"{"a": {"deprecated_aliases": [{"name": "b"}]}}"#,
            "option `a`: unknown alias `b` in `deprecated_aliases`",
        );
        check(
            r#"{"a": {"type": "dict", "options": {"b": {}}, "required_together": [["b", "c"]]}}"#,
            "option `a`: unknown option `c` in `required_together`",
        );
        check(r#"{"_ansible_x": {}}"#, "option `_ansible_x`: the name is reserved");
    }

    #[test]
    fn refuses_defaults_that_do_not_fit() {
        check(r#"{"a": {"choices": []}}"#, "option `a`: `choices` is empty");
        check(r#"{"a": {"choices": ["x"], "default": "y"}}"#, "option `a`: `default` 'y' is not one of the `choices`");
        check(
            r#"{"a": {"type": "int", "default": "y"}}"#,
            "option `a`: `default` is not of type `int`: \"'y'\" cannot be converted to an int",
        );
        check(
            r#"{"a": {"type": "list", "elements": "int", "default": [1, {}]}}"#,
            "option `a`: an item of `default` is not of type `int`: \"{}\" cannot be converted to an int",
        );
    }
}
