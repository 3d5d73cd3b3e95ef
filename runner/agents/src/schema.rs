//! The JSON schema of a module's options, for models. It guides them; the validator of arguments decides.
//!
//! At its root are only `type`, `properties`, `required` and `additionalProperties: false`. Aliases and secrets are not listed.
//! Texts are the module's own, bounded and without hidden characters.

use modbox_argument_spec::{ArgumentSpec, OptionSpec, OptionType};
use modbox_python_json::Value;
use serde_json::{Map, json};

use crate::json::json as to_json;
use crate::rules::{is_listed, sentences};
use crate::text::{hides_something, in_one_line};

/// Maximum bytes of the description of an option.
pub const MAX_OPTION_TEXT: usize = 256;

/// Levels of options in options that are described. What is deeper is any object.
const MAX_LEVELS: usize = 8;

/// Maximum bytes of a default or a choice that is listed.
const MAX_VALUE: usize = 1024;

/// Returns the schema of the arguments of a module.
#[must_use]
pub fn input_schema(spec: &ArgumentSpec) -> Map<String, serde_json::Value> {
    closed_object(spec, MAX_LEVELS)
}

/// Returns the first listed option, at any level, whose name has hidden characters.
#[must_use]
pub fn hidden_option(spec: &ArgumentSpec) -> Option<&str> {
    spec.options.iter().filter(|(_, option)| is_listed(option)).find_map(|(name, option)| {
        if hides_something(name) { Some(name.as_str()) } else { option.sub_spec.as_deref().and_then(hidden_option) }
    })
}

fn closed_object(spec: &ArgumentSpec, levels: usize) -> Map<String, serde_json::Value> {
    let listed = || spec.options.iter().filter(|(_, option)| is_listed(option));
    let properties: Map<_, _> =
        listed().map(|(name, option)| (name.clone(), property(option, levels).into())).collect();
    let required: Vec<&String> = listed().filter(|(_, option)| option.required).map(|(name, _)| name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

fn property(option: &OptionSpec, levels: usize) -> Map<String, serde_json::Value> {
    let mut schema = match option.option_type {
        OptionType::List => {
            let item = option.elements.unwrap_or(OptionType::Raw);
            let mut items = value_schema(item, option, levels);
            add_choices(&mut items, item, option);
            Map::from_iter([("type".to_owned(), "array".into()), ("items".to_owned(), items.into())])
        }
        own => {
            let mut schema = value_schema(own, option, levels);
            add_choices(&mut schema, own, option);
            schema
        }
    };
    if let Some(default) = option.default_value().filter(|default| is_shown(default)) {
        schema.insert("default".to_owned(), to_json(default));
    }
    let rules = option.sub_spec.as_deref().map(|spec| {
        let is_known = |name: &str| spec.options.get(name).is_some_and(is_listed);
        sentences(&spec.constraints, is_known).join(" ")
    });
    let words = [option.description.join(" "), rules.unwrap_or_default()].join(" ");
    let description = in_one_line(&words, MAX_OPTION_TEXT);
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.into());
    }
    schema
}

fn value_schema(of: OptionType, option: &OptionSpec, levels: usize) -> Map<String, serde_json::Value> {
    let word = match of {
        OptionType::Str | OptionType::Path | OptionType::Bytes | OptionType::Bits => "string",
        OptionType::Int => "integer",
        OptionType::Float => "number",
        OptionType::Bool => "boolean",
        OptionType::List => "array",
        OptionType::Dict => match option.sub_spec.as_deref().filter(|_| levels > 1) {
            Some(spec) => return closed_object(spec, levels - 1),
            None => "object",
        },
        OptionType::Raw | OptionType::Json | OptionType::JsonArg => return Map::new(),
    };
    Map::from_iter([("type".to_owned(), word.into())])
}

/// Adds the choices of an option. Where one of them is not of the type, such as a `yes` that YAML reads as `true`, the type is
/// left out: no value would fit both.
fn add_choices(schema: &mut Map<String, serde_json::Value>, of: OptionType, option: &OptionSpec) {
    let Some(choices) = option.choices.as_ref().filter(|choices| !choices.is_empty()) else { return };
    if !choices.iter().all(is_shown) {
        return;
    }
    let mut listed: Vec<serde_json::Value> = Vec::new();
    for choice in choices.iter().map(to_json) {
        if !listed.contains(&choice) {
            listed.push(choice);
        }
    }
    let is_of_type = |choice: &Value| match of {
        OptionType::Int => matches!(choice, Value::Int(_)),
        OptionType::Float => matches!(choice, Value::Int(_) | Value::Float(_)),
        OptionType::Bool => matches!(choice, Value::Bool(_)),
        OptionType::Str | OptionType::Path | OptionType::Bytes | OptionType::Bits => matches!(choice, Value::Str(_)),
        OptionType::List | OptionType::Dict => false,
        OptionType::Raw | OptionType::Json | OptionType::JsonArg => true,
    };
    if !choices.iter().all(is_of_type) {
        schema.remove("type");
    }
    schema.insert("enum".to_owned(), listed.into());
}

/// Returns whether a default or a choice is listed: one that is long or hides something is not.
fn is_shown(value: &Value) -> bool {
    let text = to_json(value).to_string();
    text.len() <= MAX_VALUE && !holds_hidden(value)
}

fn holds_hidden(value: &Value) -> bool {
    match value {
        Value::Str(text) => hides_something(text),
        Value::Surrogates(_) => true,
        Value::List(items) => items.iter().any(holds_hidden),
        Value::Dict(entries) => entries.iter().any(|(key, value)| hides_something(key) || holds_hidden(value)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::BigInt(_) | Value::Float(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    fn schema(spec: &str) -> serde_json::Value {
        input_schema(&ArgumentSpec::parse(&decode(spec).unwrap()).unwrap()).into()
    }

    #[test]
    fn every_type_has_a_schema() {
        let spec = r#"{"s": {"required": true}, "p": {"type": "path"}, "i": {"type": "int", "default": 3},
            "f": {"type": "float"}, "b": {"type": "bool", "default": false}, "size": {"type": "bytes"},
            "l": {"type": "list", "elements": "int"}, "any": {"type": "list"}, "r": {"type": "raw"}, "j": {"type": "json"},
            "d": {"type": "dict"}, "o": {"type": "dict", "options": {"x": {"required": true, "description": ["The\u202e x."]}}},
            "many": {"type": "list", "elements": "dict", "options": {"y": {"type": "bool"}}},
            "c": {"choices": ["a", "b", "a"]}, "yes": {"choices": [true, "no"]}, "key": {"no_log": true, "required": true}}"#;
        let expect = json!({
            "type": "object",
            "properties": {
                "s": {"type": "string"}, "p": {"type": "string"}, "i": {"type": "integer", "default": 3},
                "f": {"type": "number"}, "b": {"type": "boolean", "default": false}, "size": {"type": "string"},
                "l": {"type": "array", "items": {"type": "integer"}}, "any": {"type": "array", "items": {}}, "r": {}, "j": {},
                "d": {"type": "object"},
                "o": {"type": "object", "properties": {"x": {"type": "string", "description": "The x."}}, "required": ["x"],
                    "additionalProperties": false},
                "many": {"type": "array", "items": {"type": "object", "properties": {"y": {"type": "boolean"}},
                    "additionalProperties": false}},
                "c": {"type": "string", "enum": ["a", "b"]}, "yes": {"enum": [true, "no"]},
            },
            "required": ["s"],
            "additionalProperties": false,
        });
        assert_eq!(schema(spec), expect);
    }

    #[test]
    fn values_that_hide_something_or_are_long_are_not_listed() {
        let long = "x".repeat(2000);
        let spec = format!(
            r#"{{"a": {{"default": "x\u200by"}}, "b": {{"choices": ["a\u202e"]}}, "c": {{"default": "{long}"}}}}"#
        );
        assert_eq!(
            schema(&spec)["properties"],
            json!({"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}})
        );
        let hidden =
            ArgumentSpec::parse(&decode(r#"{"o": {"type": "dict", "options": {"a\u200b": {}}}}"#).unwrap()).unwrap();
        assert_eq!(hidden_option(&hidden), Some("a\u{200b}"));
    }

    #[test]
    fn deep_options_end_in_any_object() {
        let mut spec = "{}".to_owned();
        for _ in 0..12 {
            spec = format!(r#"{{"d": {{"type": "dict", "options": {spec}}}}}"#);
        }
        let text = schema(&spec).to_string();
        assert_eq!(text.matches("additionalProperties").count(), MAX_LEVELS);
    }
}
