//! A module's metadata: the JSON object in the custom section `modbox:module`.
//!
//! The host reads it from untrusted files, so its size is limited and every mistake is an error. Unknown keys are
//! ignored: a newer SDK may write more of them.

use modbox_python_json::{Dict, Value, decode};

use crate::error::SpecError;
use crate::parse_values::{boolean, dict, paragraphs, text};
use crate::request::{self, Request};
use crate::spec::ArgumentSpec;

/// The name of the custom section that holds the metadata.
pub const SECTION_NAME: &str = "modbox:module";

/// The longest metadata. The longest manual of a real module is a tenth of this.
pub const MAX_METADATA_BYTES: usize = 1024 * 1024;

/// A module's description of itself. It is a claim of the module and grants nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata {
    /// The module's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What the module does, one paragraph per item.
    pub description: Vec<String>,
    /// The options that the module takes, with the rules between them.
    pub argument_spec: ArgumentSpec,
    /// Whether the module can report what it would change without changing it.
    pub supports_check_mode: bool,
    /// Whether the runner checks the arguments before it starts the module, since the module does not. Modules that are
    /// written with the SDK check them themselves.
    pub validate_arguments: bool,
    /// The capabilities that the module asks for beyond the paths that its options name.
    pub requests: Vec<Request>,
    /// Examples, each a text.
    pub examples: Vec<String>,
    /// The return values: for each key, a dict with `description`, `type`, `returned`.
    pub returns: Dict,
}

impl Metadata {
    /// Reads metadata from JSON text.
    ///
    /// # Errors
    ///
    /// The text is too long, not JSON or not an object, `name` is missing, a value has the wrong type, or the argument
    /// spec has mistakes.
    pub fn from_json(json: &str) -> Result<Self, SpecError> {
        if json.len() > MAX_METADATA_BYTES {
            return Err(SpecError::TooLarge { bytes: json.len(), allowed: MAX_METADATA_BYTES });
        }
        Self::from_value(&decode(json).map_err(SpecError::Json)?)
    }

    /// Reads metadata from a value.
    ///
    /// # Errors
    ///
    /// As [`Metadata::from_json`].
    pub fn from_value(value: &Value) -> Result<Self, SpecError> {
        const PLACE: &str = "the metadata";
        let entries = dict("root", PLACE, value)?;
        let missing = || SpecError::MissingKey { place: PLACE.to_owned(), key: "name".to_owned() };
        let mut metadata = Self {
            name: text("name", PLACE, entries.get("name").ok_or_else(missing)?)?,
            version: String::new(),
            description: Vec::new(),
            argument_spec: ArgumentSpec::default(),
            supports_check_mode: false,
            validate_arguments: false,
            requests: Vec::new(),
            examples: Vec::new(),
            returns: Dict::new(),
        };
        for (key, value) in entries {
            match key.as_str() {
                "version" => metadata.version = text(key, PLACE, value)?,
                "description" => metadata.description = paragraphs(key, PLACE, value)?,
                "argument_spec" => metadata.argument_spec = ArgumentSpec::parse_with_constraints(value, entries)?,
                "supports_check_mode" => metadata.supports_check_mode = boolean(key, PLACE, value)?,
                "validate_arguments" => metadata.validate_arguments = boolean(key, PLACE, value)?,
                "requests" => metadata.requests = request::parse(value)?,
                "examples" => metadata.examples = paragraphs(key, PLACE, value)?,
                "returns" => metadata.returns = dict(key, PLACE, value)?.clone(),
                _ => {}
            }
        }
        Ok(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        let got = Metadata::from_json(json).map_or_else(|error| error.to_string(), |metadata| metadata.name);
        assert_eq!(got, expect, "for {json}");
    }

    #[test]
    fn tolerates_keys_of_the_future() {
        check(r#"{"name": "x", "flavour": {"a": 1}}"#, "x");
    }

    #[test]
    fn refuses_what_is_malformed() {
        check("{}", "missing key `name` in the metadata");
        check("[]", "`root` in the metadata must be a dict, not list");
        check("{", "failed to read the metadata as JSON");
        check(r#"{"name": 1}"#, "`name` in the metadata must be a string, not int");
        check(
            r#"{"name": "x", "requests": {"net": "a"}}"#,
            "`net` in `requests` of the metadata must be a list, not `a`",
        );
        check(r#"{"name": "x", "argument_spec": {"a": {"b": 1}}}"#, "unknown key `b` in option `a`");
        check(
            &" ".repeat(MAX_METADATA_BYTES + 1),
            "failed to read the metadata: 1048577 bytes, where at most 1048576 are allowed",
        );
    }

    #[test]
    fn reads_rules_beside_the_options() {
        let json = r#"{"name": "x", "argument_spec": {"a": {}, "b": {}}, "mutually_exclusive": [["a", "b"]]}"#;
        let metadata = Metadata::from_json(json).unwrap();
        assert_eq!(metadata.argument_spec.constraints.mutually_exclusive, [["a", "b"]]);
    }
}
