//! Reads an argument spec from its JSON form: Ansible's own keys, plus `access`.
//!
//! Unknown keys are errors, since a misspelt `choises` would silently allow everything. Ansible finds some
//! contradictions only when the module runs, or never; here they are errors at once. [`ArgumentSpec::parse_as_ansible`]
//! reads a spec as Ansible does.

use indexmap::IndexMap;
use modbox_python_json::{Dict, Value};

use crate::error::SpecError;
use crate::parse_rules::{CONSTRAINT_KEYS, parse_constraints};
use crate::parse_values::{
    Mode, access, dict, list, names, option_type, optional, paragraphs, scalar_text, text, texts, truth, wrong_type,
};
use crate::self_check;
use crate::spec::{ArgumentSpec, Constraints, DeprecatedAlias, Flaw, OptionSpec, Removal};

/// How deep options may nest. No real module comes near it, and a small stack can hold it.
const MAX_OPTION_DEPTH: usize = 16;

impl ArgumentSpec {
    /// Reads a spec from a dict of options, each a dict with Ansible's keys.
    ///
    /// # Errors
    ///
    /// A value has the wrong type, a key is unknown, or options contradict each other. The error names option and key.
    pub fn parse(options: &Value) -> Result<Self, SpecError> {
        Self::parse_with_constraints(options, &Dict::new())
    }

    /// Reads a spec as [`ArgumentSpec::parse`] does, with the rules between its options in `constraints`, under the
    /// keys `mutually_exclusive`, `required_together`, `required_one_of`, `required_if` and `required_by`. Other keys
    /// of `constraints` are ignored.
    ///
    /// # Errors
    ///
    /// As [`ArgumentSpec::parse`].
    pub fn parse_with_constraints(options: &Value, constraints: &Dict) -> Result<Self, SpecError> {
        let spec = parse_top(Mode::Checked, options, constraints)?;
        self_check::check(&spec)?;
        Ok(spec)
    }

    /// Reads a spec as Ansible does: unknown keys are ignored, any true value counts as true, and
    /// [`ArgumentSpec::validate`] finds contradictions.
    ///
    /// # Errors
    ///
    /// Ansible would crash on the spec, or a type is unknown.
    pub fn parse_as_ansible(options: &Value, constraints: &Dict) -> Result<Self, SpecError> {
        parse_top(Mode::AsAnsible, options, constraints)
    }
}

fn parse_top(mode: Mode, options: &Value, constraints: &Dict) -> Result<ArgumentSpec, SpecError> {
    const PLACE: &str = "the argument spec";
    let options = dict("argument_spec", PLACE, options)?;
    parse_level(mode, options, parse_constraints(mode, constraints, PLACE)?, "", 0)
}

fn parse_level(
    mode: Mode,
    options: &Dict,
    constraints: Constraints,
    prefix: &str,
    depth: usize,
) -> Result<ArgumentSpec, SpecError> {
    let mut parsed = IndexMap::with_capacity(options.len());
    for (name, option) in options {
        let path = format!("{prefix}{name}");
        if depth >= MAX_OPTION_DEPTH {
            return Err(SpecError::TooDeep { option: path, allowed: MAX_OPTION_DEPTH });
        }
        parsed.insert(name.clone(), parse_option(mode, option, &path, depth)?);
    }
    Ok(ArgumentSpec { options: parsed, constraints })
}

fn parse_option(mode: Mode, option: &Value, path: &str, depth: usize) -> Result<OptionSpec, SpecError> {
    let place = format!("option `{path}`");
    let entries = dict(path, "the argument spec", option)?;
    let mut spec = OptionSpec::default();
    let mut removal = Removal::default();
    let mut sub_options = None;
    for (key, value) in entries {
        match key.as_str() {
            "type" => spec.option_type = optional(value, |value| option_type(key, &place, value))?.unwrap_or_default(),
            "elements" => spec.elements = optional(value, |value| option_type(key, &place, value))?,
            "required" => spec.required = truth(mode, key, &place, value)?,
            "default" => spec.default = Some(value.clone()),
            "choices" => choices(mode, key, &place, value, &mut spec)?,
            "aliases" => aliases(mode, key, &place, value, &mut spec)?,
            "deprecated_aliases" => spec.deprecated_aliases = deprecated_aliases(mode, key, &place, value)?,
            "no_log" => spec.no_log = optional(value, |value| truth(mode, key, &place, value))?,
            "access" => spec.access = Some(access(key, &place, value)?),
            "fallback" => spec.fallback = fallback(mode, key, &place, value)?,
            "apply_defaults" => spec.apply_defaults = truth(mode, key, &place, value)?,
            "options" => sub_options = optional(value, |value| dict(key, &place, value))?,
            "removed_in_version" => removal.version = optional(value, |value| scalar_text(key, &place, value))?,
            "removed_at_date" => removal.date = optional(value, |value| text(key, &place, value))?,
            "removed_from_collection" => {
                removal.collection_name = optional(value, |value| text(key, &place, value))?;
            }
            _ if mode == Mode::AsAnsible => {}
            "description" => spec.description = paragraphs(key, &place, value)?,
            "version_added" => spec.version_added = Some(scalar_text(key, &place, value)?),
            other if CONSTRAINT_KEYS.contains(&other) => {}
            _ => return Err(SpecError::UnknownKey { place, key: key.clone() }),
        }
    }
    if mode == Mode::Checked {
        self_check::check_keys(entries, &place)?;
    }
    if removal.version.is_some() || removal.date.is_some() {
        // If both are given, Ansible's message names the date.
        removal.version = removal.version.filter(|_| removal.date.is_none());
        spec.removal = Some(removal);
    }
    if let Some(options) = sub_options {
        let constraints = parse_constraints(mode, entries, &place)?;
        spec.sub_spec = Some(Box::new(parse_level(mode, options, constraints, &format!("{path}."), depth + 1)?));
    }
    Ok(spec)
}

fn choices(mode: Mode, key: &str, place: &str, value: &Value, spec: &mut OptionSpec) -> Result<(), SpecError> {
    match (mode, value) {
        (_, Value::Null) => {}
        (_, Value::List(choices)) => spec.choices = Some(choices.clone()),
        (Mode::AsAnsible, other) => spec.flaws.push(Flaw::ChoicesAreNoList(other.clone())),
        (Mode::Checked, _) => drop(list(key, place, value)?),
    }
    Ok(())
}

fn aliases(mode: Mode, key: &str, place: &str, value: &Value, spec: &mut OptionSpec) -> Result<(), SpecError> {
    match (mode, value) {
        (_, Value::Null) => {}
        (Mode::AsAnsible, Value::Str(_) | Value::Surrogates(_)) => spec.flaws.push(Flaw::AliasesAreNoList),
        (Mode::AsAnsible, other) if !matches!(other, Value::List(_) | Value::Dict(_)) && !other.is_truthy() => {
            spec.flaws.push(Flaw::AliasesAreNoList);
        }
        (Mode::AsAnsible, Value::Dict(entries)) => spec.aliases = entries.keys().cloned().collect(),
        _ => spec.aliases = texts(key, place, value)?,
    }
    Ok(())
}

fn deprecated_aliases(mode: Mode, key: &str, place: &str, value: &Value) -> Result<Vec<DeprecatedAlias>, SpecError> {
    let mut aliases = Vec::new();
    for item in list(key, place, value)? {
        let mut name = None;
        let mut removal = Removal::default();
        for (field, value) in dict(key, place, item)? {
            let place = format!("`{key}` of {place}");
            match field.as_str() {
                "name" => name = Some(text(field, &place, value)?),
                "version" => removal.version = optional(value, |value| scalar_text(field, &place, value))?,
                "date" => removal.date = optional(value, |value| text(field, &place, value))?,
                "collection_name" => removal.collection_name = optional(value, |value| text(field, &place, value))?,
                _ if mode == Mode::AsAnsible => {}
                _ => return Err(SpecError::UnknownKey { place, key: field.clone() }),
            }
        }
        let missing = || SpecError::MissingKey { place: format!("`{key}` of {place}"), key: "name".to_owned() };
        aliases.push(DeprecatedAlias { name: name.ok_or_else(missing)?, removal });
    }
    Ok(aliases)
}

/// Reads `["env_fallback", ["A", "B"]]`, the only fallback that a spec without Python code can name.
fn fallback(mode: Mode, key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    if mode == Mode::AsAnsible && *value == Value::List(vec![Value::Null]) {
        return Ok(Vec::new());
    }
    match list(key, place, value)? {
        [Value::Str(strategy), variables] if strategy == "env_fallback" => names(mode, key, place, variables),
        _ => Err(wrong_type(key, place, "`[\"env_fallback\", [names]]`", value)),
    }
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
        assert_eq!(got, expect, "for {spec}");
    }

    #[test]
    fn takes_ansibles_keys_and_access() {
        check(r#"{"a": {"type": "path", "access": "write", "aliases": ["b"], "required": true}}"#, "ok");
        check(r#"{"a": {"type": "list", "elements": "path", "access": "read"}}"#, "ok");
        check(r#"{"a": {"required": true, "default": null}}"#, "ok");
    }

    #[test]
    fn names_option_and_key_of_a_mistake() {
        check(r#"{"a": {"choises": []}}"#, "unknown key `choises` in option `a`");
        check(
            r#"{"a": {"type": "dict", "options": {"b": {"type": "text"}}}}"#,
            "`type` in option `a.b` must be one of Ansible's option types, not `text`",
        );
        check(r#"{"a": {"required": "yes"}}"#, "`required` in option `a` must be a bool, not `yes`");
        check(r#"{"a": 1}"#, "`a` in the argument spec must be a dict, not int");
    }

    #[test]
    fn takes_what_ansible_takes_when_asked_to() {
        let spec = r#"{"a": {"required": 1, "default": "x", "choises": 5}, "b": {"choices": "x", "aliases": "y"}}"#;
        let spec = ArgumentSpec::parse_as_ansible(&decode(spec).unwrap(), &Dict::new()).unwrap();
        assert!(spec.options["a"].required);
        assert_eq!(spec.options["b"].flaws, [Flaw::ChoicesAreNoList("x".into()), Flaw::AliasesAreNoList]);
    }

    #[test]
    fn bounds_nesting() {
        let open = r#"{"a": {"type": "dict", "options": "#.repeat(40);
        let spec = format!("{open}{{}}{}", "}}".repeat(40));
        assert!(matches!(ArgumentSpec::parse(&decode(&spec).unwrap()), Err(SpecError::TooDeep { .. })));
    }
}
