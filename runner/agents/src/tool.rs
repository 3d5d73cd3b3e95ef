//! The definition of a tool, as clients list it.

use std::collections::BTreeMap;

use modbox_argument_spec::{ArgumentSpec, Metadata};
use serde_json::Map;

use crate::rules::{is_listed, sentences};
use crate::schema::{hidden_option, input_schema};
use crate::text::{cut, hides_something, in_one_line};

/// Maximum bytes of the description of a tool.
pub const MAX_DESCRIPTION: usize = 1024;

/// Bytes of the description that the rules between options get at most, so that the module's own words have room.
const MAX_RULES: usize = 640;

/// Maximum bytes of a definition. The longest one of a real module has 44 KB.
pub const MAX_DEFINITION: usize = 128 << 10;

/// What a module may do, as its grants say, whatever the module says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// It may change this machine: files, owners, or by commands and addresses to listen at.
    pub changes: bool,
    /// It may reach other machines.
    pub leaves: bool,
}

/// What the grants of a module give it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permitted {
    /// What it may do.
    pub reach: Reach,
    /// The variables of the environment that it gets.
    pub variables: BTreeMap<String, String>,
}

/// One module as agents see it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The name by which it is called.
    pub name: String,
    /// The full name of the module.
    pub title: String,
    /// What it does, in the module's words, and the rules between its options.
    pub description: String,
    /// The schema of its arguments.
    pub input_schema: Map<String, serde_json::Value>,
    /// The options, for the checks of a call.
    pub spec: ArgumentSpec,
    /// Whether the spec is the one that the module itself checks arguments with.
    pub is_exact: bool,
    /// What it may do.
    pub reach: Reach,
    /// The variables of the environment that it gets.
    pub variables: BTreeMap<String, String>,
}

/// Why a module cannot be a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// It requires a secret.
    #[error("it requires the option `{0}`, which is a secret, and a secret that passes a model is none")]
    Secret(String),
    /// A name hides something.
    #[error("its name, or that of an option, has characters that are not seen")]
    Hidden,
    /// Its definition is too long.
    #[error("its definition has {0} bytes, and at most {MAX_DEFINITION} are given to a model")]
    TooLong(usize),
}

impl Tool {
    /// Returns the tool of a module.
    ///
    /// # Errors
    ///
    /// The module requires a secret, a name hides something, or the definition is too long.
    pub fn new(
        name: String,
        module: &str,
        metadata: &Metadata,
        (spec, is_exact): (ArgumentSpec, bool),
        Permitted { reach, variables }: Permitted,
    ) -> Result<Self, ToolError> {
        let secret = spec.options.iter().find(|(_, option)| option.required && !is_listed(option));
        if let Some((option, _)) = secret {
            return Err(ToolError::Secret(in_one_line(option, 64)));
        }
        if hides_something(module) || hidden_option(&spec).is_some() {
            return Err(ToolError::Hidden);
        }
        let (description, input_schema) = (description(metadata, &spec), input_schema(&spec));
        let tool = Self { name, title: module.to_owned(), description, input_schema, spec, is_exact, reach, variables };
        let length = serde_json::Value::Object(tool.input_schema.clone()).to_string().len();
        if length > MAX_DEFINITION { Err(ToolError::TooLong(length)) } else { Ok(tool) }
    }
}

fn description(metadata: &Metadata, spec: &ArgumentSpec) -> String {
    let is_known = |name: &str| spec.options.get(name).is_some_and(is_listed);
    let rules = in_one_line(&sentences(&spec.constraints, is_known).join(" "), MAX_RULES);
    if rules.is_empty() {
        return in_one_line(&metadata.description.join(" "), MAX_DESCRIPTION);
    }
    let room = MAX_DESCRIPTION - rules.len() - 1;
    let words = in_one_line(&metadata.description.join(" "), room);
    cut(format!("{words} {rules}").trim_start().to_owned(), MAX_DESCRIPTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(json: &str) -> Result<Tool, ToolError> {
        let metadata = Metadata::from_json(json).unwrap();
        let spec = metadata.argument_spec.clone();
        Tool::new("x".to_owned(), "x", &metadata, (spec, true), Permitted::default())
    }

    #[test]
    fn rules_are_sentences_and_the_root_has_none() {
        let json = r#"{"name": "x", "description": ["Does\nit.", "Well."], "argument_spec": {"state": {}, "line": {}, "a": {}, "b": {},
            "key": {"no_log": true}}, "required_if": [["state", "present", ["line", "key"]], ["state", "x", ["a", "b"], true]],
            "mutually_exclusive": [["a", "b"], ["a", "key"]], "required_one_of": [["a", "b"]], "required_together": [["a", "b"]],
            "required_by": {"a": ["b"]}}"#;
        let tool = tool(json).unwrap();
        assert_eq!(
            tool.description,
            "Does it. Well. Only one of: a, b. Together or not at all: a, b. At least one of: a, b. With state=present: line. \
             With state=x: one of a, b. With a: b."
        );
        let keys: Vec<&String> = tool.input_schema.keys().collect();
        assert_eq!(keys, ["additionalProperties", "properties", "type"]);
    }

    #[test]
    fn long_texts_are_cut_and_rules_kept() {
        let words = "word ".repeat(1000);
        let json = format!(
            r#"{{"name": "x", "description": "{words}", "argument_spec": {{"a": {{"description": "{words}"}}, "b": {{}}}},
                "mutually_exclusive": [["a", "b"]]}}"#
        );
        let tool = tool(&json).unwrap();
        assert!(tool.description.len() <= MAX_DESCRIPTION && tool.description.ends_with("Only one of: a, b."));
        let option = tool.input_schema["properties"]["a"]["description"].as_str().unwrap();
        assert!(option.len() <= crate::schema::MAX_OPTION_TEXT);
    }

    #[test]
    fn modules_that_need_a_secret_or_hide_something_are_refused() {
        let secret = r#"{"name": "x", "argument_spec": {"token": {"no_log": true, "required": true}}}"#;
        assert_eq!(tool(secret).unwrap_err(), ToolError::Secret("token".to_owned()));
        assert_eq!(tool(r#"{"name": "x", "argument_spec": {"a\u200b": {}}}"#).unwrap_err(), ToolError::Hidden);
        let many: Vec<String> = (0..4000).map(|n| format!(r#""option{n}": {{"description": "some words"}}"#)).collect();
        let long = format!(r#"{{"name": "x", "argument_spec": {{{}}}}}"#, many.join(","));
        assert!(matches!(tool(&long).unwrap_err(), ToolError::TooLong(_)));
    }
}
