//! Options of lookups: named arguments, and their types as Ansible's configuration converts them.

use std::sync::Arc;

use modbox_jinja::values;
use modbox_python_json::{Value as Json, repr, str as python_str};
use modbox_template::{LookupError, Value};
use modbox_yaml::unquoted;

use crate::scalars;

/// The named arguments of a call. An option that is null counts as not given.
#[derive(Debug, Clone, Default)]
pub(super) struct Options(Vec<(Arc<str>, Value)>);

impl Options {
    pub(super) fn new(options: &[(Arc<str>, Value)]) -> Self {
        Self(options.to_vec())
    }

    /// Returns an option as it was given.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| &**known == name).map(|(_, value)| value)
    }

    /// Sets an option, as an argument in the text of a term does.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.retain(|(known, _)| &**known != name);
        self.0.push((name.into(), value));
    }

    fn json(&self, name: &str) -> Result<Option<Json>, LookupError> {
        let Some(value) = self.value(name) else { return Ok(None) };
        let json = values::to_json(value).map_err(|error| failed(format!("invalid option `{name}`: {error}")))?;
        Ok(Some(json).filter(|json| *json != Json::Null))
    }

    /// Returns text. Numbers and booleans become text.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, LookupError> {
        match self.json(name)? {
            None => Ok(None),
            Some(value @ (Json::List(_) | Json::Dict(_))) => Err(wrong_type(name, "str", &value)),
            Some(value) => Ok(Some(python_str(&value))),
        }
    }

    /// Returns the truth of an option. What is not a word for true is false.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, LookupError> {
        Ok(self.json(name)?.map_or(default, |value| scalars::truth(&value).unwrap_or(false)))
    }

    /// Returns a whole number.
    pub(super) fn integer(&self, name: &str, default: i64) -> Result<i64, LookupError> {
        let Some(value) = self.json(name)? else { return Ok(default) };
        scalars::whole(&value).ok_or_else(|| wrong_type(name, "int", &value))
    }

    /// Returns a list of texts. A text is split at commas.
    pub(super) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, LookupError> {
        match self.json(name)? {
            None => Ok(None),
            Some(Json::List(items)) => Ok(Some(items.iter().map(python_str).collect())),
            Some(Json::Str(text)) => Ok(Some(text.split(',').map(|item| unquoted(item.trim()).to_owned()).collect())),
            Some(value) => Err(wrong_type(name, "list", &value)),
        }
    }
}

fn wrong_type(name: &str, expected: &str, value: &Json) -> LookupError {
    failed(format!(
        "Config '{name}' from 'Direct' has an invalid value: Invalid value provided for '{expected}': {}",
        repr(value)
    ))
}

/// Returns the failure of a lookup.
pub(super) fn failed(text: impl Into<String>) -> LookupError {
    LookupError::Failed(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(name: &str, value: impl Into<Value>) -> Options {
        Options::new(&[(name.into(), value.into())])
    }

    #[test]
    fn options_are_converted_as_ansible_does() {
        assert_eq!(options("a", "yes").flag("a", false), Ok(true));
        assert_eq!(options("a", "maybe").flag("a", true), Ok(false));
        assert_eq!(options("a", "12").integer("a", 0), Ok(12));
        assert!(options("a", "x").integer("a", 0).is_err());
        assert_eq!(options("a", 1).text("a"), Ok(Some("1".to_owned())));
        assert_eq!(options("a", ()).text("a"), Ok(None));
        assert_eq!(options("a", "x, 'y z'").texts("a"), Ok(Some(vec!["x".to_owned(), "y z".to_owned()])));
        assert!(options("a", 3).texts("a").is_err());
    }
}
