//! Validates a request in JSON and answers in JSON, for programs in other languages.
//!
//! The request is `{"spec": {…}, "kw": {…}, "params": {…}, "env": {…}}`, with the names that ansible-core's
//! `ArgumentSpecValidator` uses. The spec is read as Ansible reads it. The answer names errors by ansible-core's
//! classes.

use indexmap::IndexMap;
use modbox_python_json::{Dict, Value, str};

use crate::environment::Environment;
use crate::error::SpecError;
use crate::parse_values::dict;
use crate::spec::{ArgumentSpec, Flaw, OptionSpec};
use crate::validated::{Deprecation, Validated, ValidationError};

/// A request to validate arguments.
#[derive(Debug, Clone)]
pub struct Question {
    /// The spec with its rules, read as Ansible reads it.
    pub spec: ArgumentSpec,
    /// A mistake in the spec itself, if there is one. Ansible does not report it.
    pub mistake: Option<SpecError>,
    /// The arguments.
    pub parameters: Dict,
    /// The variables that replace those of the process.
    pub environment: Option<IndexMap<String, String>>,
}

impl Question {
    /// Reads a request. Only the spec is required, and unknown keys are ignored.
    ///
    /// # Errors
    ///
    /// The spec is missing, a part is not a dict, or Ansible could not read the spec.
    pub fn from_value(value: &Value) -> Result<Self, SpecError> {
        const PLACE: &str = "the request";
        let empty = Dict::new();
        let entries = dict("root", PLACE, value)?;
        let part = |key: &str| match entries.get(key) {
            None | Some(Value::Null) => Ok(&empty),
            Some(value) => dict(key, PLACE, value),
        };
        let missing = || SpecError::MissingKey { place: PLACE.to_owned(), key: "spec".to_owned() };
        let (options, rules) = (entries.get("spec").ok_or_else(missing)?, part("kw")?);
        let text = |(name, value): (&String, &Value)| (name.clone(), str(value));
        let environment = part("env")?.iter().map(text).collect();
        Ok(Self {
            spec: ArgumentSpec::parse_as_ansible(options, rules)?,
            mistake: ArgumentSpec::parse_with_constraints(options, rules).err(),
            parameters: part("params")?.clone(),
            environment: entries.get("env").filter(|value| **value != Value::Null).map(|_| environment),
        })
    }

    /// Validates the arguments and returns the answer.
    #[must_use]
    pub fn answer(&self, environment: &dyn Environment) -> Value {
        let mut answer = self.spec.validate(&self.parameters, environment).to_dict(&self.spec);
        if let Some(mistake) = &self.mistake {
            answer.insert("spec_error".to_owned(), mistake.to_string().into());
        }
        Value::Dict(answer)
    }
}

impl Validated {
    /// Returns the result of a validation as a dict: `validated`, `errors`, `unsupported`, `no_log_values`, `aliases`,
    /// `deprecations` and `warnings`.
    #[must_use]
    pub fn to_dict(&self, spec: &ArgumentSpec) -> Dict {
        let mut secrets: Vec<&str> = self.no_log_values.iter().map(String::as_str).collect();
        secrets.sort_unstable();
        let entries = [
            ("validated", self.parameters.clone().into()),
            ("errors", Value::List(self.errors.iter().map(error).collect())),
            ("unsupported", self.unsupported.clone().into()),
            ("no_log_values", secrets.into()),
            ("aliases", aliases(spec)),
            ("deprecations", Value::List(self.deprecations.iter().map(deprecation).collect())),
            ("warnings", self.warnings.clone().into()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn error(error: &ValidationError) -> Value {
    [("type", error.kind.class()), ("msg", error.message.as_str())].into()
}

fn deprecation(deprecation: &Deprecation) -> Value {
    let removal = &deprecation.removal;
    let mut entries = Dict::from_iter([("msg".to_owned(), Value::from(deprecation.message.as_str()))]);
    let others =
        [("version", &removal.version), ("date", &removal.date), ("collection_name", &removal.collection_name)];
    for (key, text) in others {
        entries.extend(text.as_deref().map(|text| (key.to_owned(), Value::from(text))));
    }
    Value::Dict(entries)
}

/// Returns the aliases. Ansible has none after it found a mistake while it reads them.
fn aliases(spec: &ArgumentSpec) -> Value {
    let broken = |option: &OptionSpec| {
        (option.required && option.default_value().is_some()) || option.flaws.contains(&Flaw::AliasesAreNoList)
    };
    if spec.options.values().any(broken) {
        return Value::Dict(Dict::new());
    }
    let entry = |(alias, name): (&str, &str)| (alias.to_owned(), Value::from(name));
    Value::Dict(spec.aliases().into_iter().map(entry).collect())
}

#[cfg(test)]
mod tests {
    use modbox_python_json::{decode, encode};

    use super::*;

    #[track_caller]
    fn check(question: &str, expect: &str) {
        let answer = match Question::from_value(&decode(question).unwrap()) {
            Ok(question) => encode(&question.answer(question.environment.as_ref().unwrap())),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer, expect, "for {question}");
    }

    #[test]
    fn answers() {
        check(
            r#"{"spec": {"a": {"aliases": ["b"], "no_log": true}, "p": {"type": "path"}}, "params": {"b": "x", "p": "$H/y"},
                "kw": {"mutually_exclusive": [["a", "p"]]}, "env": {"H": "/h"}}"#,
            concat!(
                r#"{"validated": {"b": "x", "p": "/h/y", "a": "x"}, "errors": [{"type": "MutuallyExclusiveError", "#,
                r#""msg": "parameters are mutually exclusive: a|p"}], "unsupported": [], "no_log_values": ["x"], "#,
                r#""aliases": {"b": "a"}, "deprecations": [], "warnings": []}"#
            ),
        );
    }

    #[test]
    fn says_what_is_wrong_with_the_spec_besides() {
        check(
            r#"{"spec": {"a": {"required": true, "default": 1, "aliases": ["b"]}}, "env": {}}"#,
            concat!(
                r#"{"validated": {"a": "1"}, "errors": [{"type": "AliasError", "msg": "internal error: required and default "#,
                r#"are mutually exclusive for a"}], "unsupported": [], "no_log_values": [], "aliases": {}, "#,
                r#""deprecations": [], "warnings": [], "#,
                r#""spec_error": "contradiction in option `a`: `required` and `default` exclude each other"}"#
            ),
        );
    }

    #[test]
    fn refuses_invalid_requests() {
        check("[]", "`root` in the request must be a dict, not list");
        check("{}", "missing key `spec` in the request");
        check(r#"{"spec": {}, "params": 5}"#, "`params` in the request must be a dict, not int");
        check(
            r#"{"spec": {"a": {"type": "text"}}}"#,
            "`type` in option `a` must be one of Ansible's option types, not `text`",
        );
    }
}
