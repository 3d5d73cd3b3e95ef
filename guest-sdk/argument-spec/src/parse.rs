//! Reads an argument spec from its JSON form: Ansible's own keys, plus `access`.
//!
//! Unknown keys are errors, since a misspelt `choises` would silently allow everything. Ansible finds
//! some contradictions only when the module runs, or not at all; here they are errors at once.

use indexmap::IndexMap;
use modbox_python_json::{Dict, Value};

use crate::error::SpecError;
use crate::spec::{
    Access, ArgumentSpec, Constraints, DeprecatedAlias, OptionSpec, OptionType, Removal, RequiredBy, RequiredIf,
};

/// How deep options may nest: far more than any module has, and little enough for a small stack.
const MAX_OPTION_DEPTH: usize = 16;

/// The keys that hold rules between options; at the top level they stand beside `argument_spec`.
pub(crate) const CONSTRAINT_KEYS: [&str; 5] =
    ["mutually_exclusive", "required_together", "required_one_of", "required_if", "required_by"];

impl ArgumentSpec {
    /// Reads a spec from a dict of options, each a dict with Ansible's keys.
    ///
    /// # Errors
    ///
    /// Values of the wrong type, unknown keys, and contradictions, naming option and key.
    pub fn parse(options: &Value) -> Result<Self, SpecError> {
        let options = dict("argument_spec", "the argument spec", options)?;
        parse_level(options, Constraints::default(), "", 0)
    }

    /// Reads a spec as [`ArgumentSpec::parse`] does, with the rules between its options from the keys
    /// `mutually_exclusive`, `required_together`, `required_one_of`, `required_if` and `required_by` of
    /// another dict, whose other keys are left alone.
    ///
    /// # Errors
    ///
    /// As [`ArgumentSpec::parse`].
    pub fn parse_with_constraints(options: &Value, constraints: &Dict) -> Result<Self, SpecError> {
        let options = dict("argument_spec", "the argument spec", options)?;
        parse_level(options, parse_constraints(constraints, "the argument spec")?, "", 0)
    }
}

fn parse_level(
    options: &Dict,
    constraints: Constraints,
    prefix: &str,
    depth: usize,
) -> Result<ArgumentSpec, SpecError> {
    let mut parsed = IndexMap::new();
    for (name, option) in options {
        let path = format!("{prefix}{name}");
        if depth >= MAX_OPTION_DEPTH {
            return Err(SpecError::TooDeep { option: path, allowed: MAX_OPTION_DEPTH });
        }
        parsed.insert(name.clone(), parse_option(option, &path, depth)?);
    }
    Ok(ArgumentSpec { options: parsed, constraints })
}

fn parse_option(option: &Value, path: &str, depth: usize) -> Result<OptionSpec, SpecError> {
    let place = format!("option `{path}`");
    let entries = dict(path, "the argument spec", option)?;
    let mut spec = OptionSpec::default();
    let mut removal = Removal::default();
    let mut sub_options = None;
    for (key, value) in entries {
        match key.as_str() {
            "type" => spec.option_type = option_type(key, &place, value)?,
            "elements" => spec.elements = optional(value, |value| option_type(key, &place, value))?,
            "required" => spec.required = boolean(key, &place, value)?,
            "default" => spec.default = Some(value.clone()),
            "choices" => spec.choices = optional(value, |value| Ok(list(key, &place, value)?.to_vec()))?,
            "aliases" => spec.aliases = optional(value, |value| texts(key, &place, value))?.unwrap_or_default(),
            "deprecated_aliases" => spec.deprecated_aliases = deprecated_aliases(key, &place, value)?,
            "no_log" => spec.no_log = Some(boolean(key, &place, value)?),
            "access" => spec.access = Some(access(key, &place, value)?),
            "fallback" => spec.fallback = fallback(key, &place, value)?,
            "apply_defaults" => spec.apply_defaults = boolean(key, &place, value)?,
            "options" => sub_options = optional(value, |value| dict(key, &place, value))?,
            "removed_in_version" => removal.version = optional(value, |value| scalar_text(key, &place, value))?,
            "removed_at_date" => removal.date = optional(value, |value| text(key, &place, value))?,
            "removed_from_collection" => {
                removal.collection_name = optional(value, |value| text(key, &place, value))?;
            }
            "description" => spec.description = paragraphs(key, &place, value)?,
            "version_added" => spec.version_added = Some(scalar_text(key, &place, value)?),
            other if CONSTRAINT_KEYS.contains(&other) => {}
            _ => return Err(SpecError::UnknownKey { place, key: key.clone() }),
        }
    }
    if removal.version.is_some() || removal.date.is_some() {
        spec.removal = Some(removal);
    }
    if let Some(options) = sub_options {
        let constraints = parse_constraints(entries, &place)?;
        spec.sub_spec = Some(Box::new(parse_level(options, constraints, &format!("{path}."), depth + 1)?));
    }
    refuse_contradictions(&spec, place)?;
    Ok(spec)
}

fn refuse_contradictions(spec: &OptionSpec, place: String) -> Result<(), SpecError> {
    let reason = if spec.required && spec.default_value().is_some() {
        "`required` and `default` exclude each other".to_owned()
    } else if spec.elements.is_some() && spec.option_type != OptionType::List {
        format!("`elements` is for lists, and the type is `{}`", spec.option_type.name())
    } else if spec.access.is_some() && !spec.is_path() {
        format!("`access` is for paths, and the type is `{}`", spec.option_type.name())
    } else if spec.sub_spec.is_some() && !matches!(spec.option_type, OptionType::Dict | OptionType::List) {
        format!("`options` is for dicts, and the type is `{}`", spec.option_type.name())
    } else {
        return Ok(());
    };
    Err(SpecError::Contradiction { place, reason })
}

fn parse_constraints(entries: &Dict, place: &str) -> Result<Constraints, SpecError> {
    let mut constraints = Constraints::default();
    for (key, value) in entries.iter().filter(|(_, value)| **value != Value::Null) {
        match key.as_str() {
            "mutually_exclusive" => constraints.mutually_exclusive = groups(key, place, value)?,
            "required_together" => constraints.required_together = groups(key, place, value)?,
            "required_one_of" => constraints.required_one_of = groups(key, place, value)?,
            "required_if" => {
                let rules = list(key, place, value)?.iter().map(|rule| required_if(key, place, rule));
                constraints.required_if = rules.collect::<Result<_, _>>()?;
            }
            "required_by" => {
                for (name, requirements) in dict(key, place, value)? {
                    let requirements = text_or_texts(key, place, requirements)?;
                    constraints.required_by.push(RequiredBy { key: name.clone(), requirements });
                }
            }
            _ => {}
        }
    }
    Ok(constraints)
}

/// Groups of names; a plain list of names is one group.
fn groups(key: &str, place: &str, value: &Value) -> Result<Vec<Vec<String>>, SpecError> {
    let items = list(key, place, value)?;
    if !items.is_empty() && items.iter().all(|item| item.as_str().is_some()) {
        return Ok(vec![texts(key, place, value)?]);
    }
    items.iter().map(|item| texts(key, place, item)).collect()
}

fn required_if(key: &str, place: &str, rule: &Value) -> Result<RequiredIf, SpecError> {
    const EXPECTED: &str = "a list of `[option, value, [options], any]`";
    let parts = list(key, place, rule)?;
    let (option, value, requirements, any) = match parts {
        [Value::Str(option), value, requirements] => (option, value, requirements, false),
        [Value::Str(option), value, requirements, any] => (option, value, requirements, any.is_truthy()),
        _ => return Err(wrong_type(key, place, EXPECTED, rule)),
    };
    Ok(RequiredIf {
        key: option.clone(),
        value: value.clone(),
        requirements: text_or_texts(key, place, requirements)?,
        any_is_enough: any,
    })
}

fn deprecated_aliases(key: &str, place: &str, value: &Value) -> Result<Vec<DeprecatedAlias>, SpecError> {
    let mut aliases = Vec::new();
    for item in list(key, place, value)? {
        let mut name = None;
        let mut removal = Removal::default();
        for (field, value) in dict(key, place, item)? {
            let place = format!("`{key}` of {place}");
            match field.as_str() {
                "name" => name = Some(text(field, &place, value)?),
                "version" => removal.version = Some(scalar_text(field, &place, value)?),
                "date" => removal.date = Some(text(field, &place, value)?),
                "collection_name" => removal.collection_name = Some(text(field, &place, value)?),
                _ => return Err(SpecError::UnknownKey { place, key: field.clone() }),
            }
        }
        let missing = || SpecError::MissingKey { place: format!("`{key}` of {place}"), key: "name".to_owned() };
        aliases.push(DeprecatedAlias { name: name.ok_or_else(missing)?, removal });
    }
    Ok(aliases)
}

/// `["env_fallback", ["A", "B"]]`: the one fallback that a spec without Python code can name.
fn fallback(key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    match list(key, place, value)? {
        [Value::Str(strategy), names] if strategy == "env_fallback" => text_or_texts(key, place, names),
        _ => Err(wrong_type(key, place, "`[\"env_fallback\", [names]]`", value)),
    }
}

fn option_type(key: &str, place: &str, value: &Value) -> Result<OptionType, SpecError> {
    let unknown = || wrong_type(key, place, "one of Ansible's option types", value);
    value.as_str().and_then(OptionType::from_name).ok_or_else(unknown)
}

fn access(key: &str, place: &str, value: &Value) -> Result<Access, SpecError> {
    match value.as_str() {
        Some("read") => Ok(Access::Read),
        Some("write") => Ok(Access::Write),
        _ => Err(wrong_type(key, place, "`read` or `write`", value)),
    }
}

fn optional<'a, T>(
    value: &'a Value,
    parse: impl FnOnce(&'a Value) -> Result<T, SpecError>,
) -> Result<Option<T>, SpecError> {
    if *value == Value::Null { Ok(None) } else { parse(value).map(Some) }
}

pub(crate) fn boolean(key: &str, place: &str, value: &Value) -> Result<bool, SpecError> {
    value.as_bool().ok_or_else(|| wrong_type(key, place, "a bool", value))
}

pub(crate) fn text(key: &str, place: &str, value: &Value) -> Result<String, SpecError> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong_type(key, place, "a string", value))
}

/// Text, or a number: YAML readers make versions such as `1.2` floats.
fn scalar_text(key: &str, place: &str, value: &Value) -> Result<String, SpecError> {
    match value {
        Value::Str(_) | Value::Int(_) | Value::Float(_) => Ok(modbox_python_json::str(value)),
        _ => Err(wrong_type(key, place, "a string", value)),
    }
}

fn list<'a>(key: &str, place: &str, value: &'a Value) -> Result<&'a [Value], SpecError> {
    value.as_list().ok_or_else(|| wrong_type(key, place, "a list", value))
}

fn texts(key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    list(key, place, value)?.iter().map(|item| text(key, place, item)).collect()
}

fn text_or_texts(key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    if let Value::Str(text) = value { Ok(vec![text.clone()]) } else { texts(key, place, value) }
}

pub(crate) fn paragraphs(key: &str, place: &str, value: &Value) -> Result<Vec<String>, SpecError> {
    text_or_texts(key, place, value)
}

pub(crate) fn dict<'a>(key: &str, place: &str, value: &'a Value) -> Result<&'a Dict, SpecError> {
    value.as_dict().ok_or_else(|| wrong_type(key, place, "a dict", value))
}

pub(crate) fn wrong_type(key: &str, place: &str, expected: &'static str, value: &Value) -> SpecError {
    let found = match value {
        Value::Str(text) if text.len() <= 40 => format!("`{text}`"),
        _ => value.type_name().to_owned(),
    };
    SpecError::WrongType { place: place.to_owned(), key: key.to_owned(), expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modbox_python_json::decode;

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
    fn refuses_contradictions() {
        check(
            r#"{"a": {"required": true, "default": 1}}"#,
            "contradiction in option `a`: `required` and `default` exclude each other",
        );
        check(
            r#"{"a": {"access": "read"}}"#,
            "contradiction in option `a`: `access` is for paths, and the type is `str`",
        );
        check(
            r#"{"a": {"elements": "int"}}"#,
            "contradiction in option `a`: `elements` is for lists, and the type is `str`",
        );
    }

    #[test]
    fn bounds_nesting() {
        let open = r#"{"a": {"type": "dict", "options": "#.repeat(40);
        let spec = format!("{open}{{}}{}", "}}".repeat(40));
        assert!(matches!(ArgumentSpec::parse(&decode(&spec).unwrap()), Err(SpecError::TooDeep { .. })));
    }
}
