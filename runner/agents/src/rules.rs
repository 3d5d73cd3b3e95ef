//! The rules between options in words. Model APIs refuse or drop a tool whose schema composes others at its root (`allOf`,
//! `anyOf`, `oneOf`), so these rules are sentences of the description.

use modbox_argument_spec::{Constraints, OptionSpec, RequiredBy, RequiredIf};

/// Returns one sentence for each rule between the options that `is_listed` lets through.
pub(crate) fn sentences(constraints: &Constraints, is_listed: impl Fn(&str) -> bool) -> Vec<String> {
    let Constraints { mutually_exclusive, required_together, required_one_of, required_if, required_by } = constraints;
    let joined = |names: &[String]| {
        names.iter().filter(|name| is_listed(name)).map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    let group = |start: &'static str, groups: &[Vec<String>]| -> Vec<String> {
        let listed = |group: &&Vec<String>| group.iter().filter(|name| is_listed(name)).count() > 1;
        groups.iter().filter(listed).map(|group| format!("{start}: {}.", joined(group))).collect()
    };
    let when = |rule: &RequiredIf| {
        let names = joined(&rule.requirements);
        let value = modbox_python_json::str(&rule.value);
        let start = if rule.any_is_enough && rule.requirements.len() > 1 { "one of " } else { "" };
        (is_listed(&rule.key) && !names.is_empty()).then(|| format!("With {}={value}: {start}{names}.", rule.key))
    };
    let by = |rule: &RequiredBy| {
        let names = joined(&rule.requirements);
        (is_listed(&rule.key) && !names.is_empty()).then(|| format!("With {}: {names}.", rule.key))
    };
    let mut sentences = group("Only one of", mutually_exclusive);
    sentences.extend(group("Together or not at all", required_together));
    let one_of = |group: &&Vec<String>| group.iter().any(|name| is_listed(name));
    sentences.extend(required_one_of.iter().filter(one_of).map(|group| format!("At least one of: {}.", joined(group))));
    sentences.extend(required_if.iter().filter_map(when));
    sentences.extend(required_by.iter().filter_map(by));
    sentences
}

/// Returns whether agents get an option: its values must not be secrets.
pub(crate) fn is_listed(option: &OptionSpec) -> bool {
    option.no_log != Some(true)
}
