//! One action from the arguments of a task: `ral_action=find name=x`. Nothing is known of the provider here.
//!
//! The actions of the simple convention take the other arguments as words, those of the JSON convention as the object on
//! standard input.

use modbox_contract::{Dict, Value};
use thiserror::Error;

use crate::action::{Action, Convention, UnknownAction};
use crate::argument::{ArgumentError, simple_arguments};
use crate::formats::ralsh_json::compact;
use crate::metadata::NAME;
use crate::resource::Attributes;
use crate::text::Text;
use crate::value::AttributeValue;

/// The argument that names the action.
const ACTION: &str = "ral_action";

/// The argument that asks for no change.
const NOOP: &str = "ral_noop";

/// Prefix of arguments that Ansible adds.
const INTERNAL: &str = "_ansible_";

/// Call of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawCall {
    /// The action.
    pub action: Action,
    /// Words for the program, without its own name.
    pub words: Vec<Text>,
    /// Bytes for its standard input.
    pub stdin: Vec<u8>,
    /// The resource that the action is about.
    pub name: Option<Text>,
}

/// Reason why arguments are not those of an action.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RawCallError {
    /// The action is missing.
    #[error("failed to call the provider: the argument `{ACTION}` is missing; expected one of {}", Action::ALL.map(Action::as_str).join(", "))]
    NoAction,
    /// The action is unknown.
    #[error("failed to call the provider: {0}")]
    Action(#[from] UnknownAction),
    /// The action needs a name.
    #[error("failed to call the provider: the action `{0}` needs the argument `name`")]
    NoName(Action),
    /// The action takes no such argument.
    #[error("failed to call the provider: the action `{action}` does not take the argument `{argument}`")]
    Unexpected {
        /// The action.
        action: Action,
        /// The argument.
        argument: String,
    },
    /// The argument has another type.
    #[error("failed to call the provider: the argument `{argument}` must be {expected}, not {found}")]
    Type {
        /// The argument.
        argument: String,
        /// The types that it can have.
        expected: &'static str,
        /// Its type.
        found: &'static str,
    },
    /// One call changes one resource.
    #[error("failed to call the provider: `updates` has {0} entries; expected one")]
    Updates(usize),
    /// A value that no argument can hold.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
}

impl RawCall {
    /// Reads the action from arguments. Other values than text become text: `true`, a number, or entries with commas
    /// between them.
    ///
    /// # Errors
    ///
    /// Arguments that are not those of an action.
    pub fn from_arguments(arguments: &Dict) -> Result<Self, RawCallError> {
        let action = action(arguments)?;
        let given = || arguments.iter().filter(|(key, _)| *key != ACTION && !key.starts_with(INTERNAL));
        if action.convention() == Some(Convention::Json) {
            let input: Dict = given().map(|(key, value)| (key.clone(), value.clone())).collect();
            let words = simple_arguments(action, None, &Attributes::new(), false)?;
            let name = only_name(action, &input)?;
            return Ok(Self { action, words, stdin: compact(&input.into()).into_bytes(), name });
        }
        let (mut name, mut noop, mut attributes) = (None, false, Attributes::new());
        for (key, value) in given() {
            let unexpected = || RawCallError::Unexpected { action, argument: key.clone() };
            match key.as_str() {
                NAME if matches!(action, Action::Find | Action::Update) => name = Some(text(key, value)?),
                NOOP if action == Action::Update => noop = truth(value)?,
                key if key.starts_with("ral_") => return Err(unexpected()),
                key if action == Action::Update => drop(attributes.insert(key.to_owned(), attribute(key, value)?)),
                _ => return Err(unexpected()),
            }
        }
        if name.is_none() && matches!(action, Action::Find | Action::Update) {
            return Err(RawCallError::NoName(action));
        }
        let words = simple_arguments(action, name.as_ref(), &attributes, noop)?;
        Ok(Self { action, words, stdin: Vec::new(), name })
    }
}

/// Returns the one resource that the input of `get` or `set` names. `get` may name none or several.
fn only_name(action: Action, input: &Dict) -> Result<Option<Text>, RawCallError> {
    let (key, changes) = if action.changes() { ("updates", true) } else { ("names", false) };
    let missing = Value::Null;
    let list = input.get(key).unwrap_or(&missing);
    let entries = list.as_list().ok_or_else(|| wrong_type(key, "a list", list))?;
    let name_of = |entry: &Value| match changes {
        true => entry.as_dict().and_then(|entry| entry.get(NAME)).and_then(Text::from_value),
        false => Text::from_value(entry),
    };
    let names: Option<Vec<Text>> = entries.iter().map(name_of).collect();
    match (names.as_deref(), changes) {
        (None, true) => Err(RawCallError::NoName(action)),
        (None, false) => Err(wrong_type(key, "a list of strings", list)),
        (Some([name]), _) => Ok(Some(name.clone())),
        (Some(_), false) => Ok(None),
        (Some(names), true) => Err(RawCallError::Updates(names.len())),
    }
}

fn action(arguments: &Dict) -> Result<Action, RawCallError> {
    match arguments.get(ACTION) {
        None => Err(RawCallError::NoAction),
        Some(Value::Str(word)) => Ok(word.parse::<Action>()?),
        Some(other) => Err(wrong_type(ACTION, "a string", other)),
    }
}

fn wrong_type(argument: &str, expected: &'static str, found: &Value) -> RawCallError {
    RawCallError::Type { argument: argument.to_owned(), expected, found: found.type_name() }
}

fn text(key: &str, value: &Value) -> Result<Text, RawCallError> {
    match attribute(key, value)? {
        AttributeValue::Text(text) => Ok(text),
        AttributeValue::Boolean(truth) => Ok(truth.to_string().into()),
        AttributeValue::None | AttributeValue::Array(_) => Err(wrong_type(key, "a string", value)),
    }
}

fn attribute(key: &str, value: &Value) -> Result<AttributeValue, RawCallError> {
    const EXPECTED: &str = "a string, a boolean, an integer or a list of strings";
    let read = AttributeValue::from_value(value).filter(|read| *read != AttributeValue::None);
    read.ok_or_else(|| wrong_type(key, EXPECTED, value))
}

fn truth(value: &Value) -> Result<bool, RawCallError> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        Value::Str(text) if text == "true" => Ok(true),
        Value::Str(text) if text == "false" => Ok(false),
        other => Err(wrong_type(NOOP, "true or false", other)),
    }
}

#[cfg(test)]
mod tests {
    use modbox_contract::decode;

    use super::*;

    #[track_caller]
    fn call(json: &str) -> Result<RawCall, RawCallError> {
        let Ok(Value::Dict(arguments)) = decode(json) else { panic!("{json}") };
        RawCall::from_arguments(&arguments)
    }

    #[track_caller]
    fn check(json: &str, words: &[&str], stdin: &str) {
        let call = call(json).unwrap();
        assert_eq!(call.words, words, "{json}");
        assert_eq!(call.stdin, stdin.as_bytes(), "{json}");
    }

    #[track_caller]
    fn fails(json: &str, expect: &str) {
        let error = call(json).expect_err(json).to_string();
        assert!(error.contains(expect), "{json}: {error}");
    }

    #[test]
    fn arguments_become_words() {
        check(r#"{"ral_action": "describe", "_ansible_check_mode": true}"#, &["ral_action=describe"], "");
        check(r#"{"ral_action": "list"}"#, &["ral_action=list"], "");
        check(r#"{"name": "it's", "ral_action": "find"}"#, &[r"name='it'\''s'", "ral_action=find"], "");
        check(
            r#"{"ral_action": "update", "name": 7, "z": true, "a": ["x", "y"], "n": 12, "ral_noop": "true"}"#,
            &["name='7'", "a='x,y'", "n='12'", "z='true'", "ral_noop=true", "ral_action=update"],
            "",
        );
        check(r#"{"ral_action": "update", "name": "x", "ral_noop": false}"#, &["name='x'", "ral_action=update"], "");
        check(r#"{"ral_action": "get", "names": ["a"]}"#, &["ral_action=get"], r#"{"names":["a"]}"#);
        check(r#"{"ral_action": "get", "names": []}"#, &["ral_action=get"], r#"{"names":[]}"#);
        let set = r#"{"updates":[{"name":"x","should":{}}]}"#;
        check(&set.replace("{\"up", r#"{"ral_action": "set", "up"#), &["ral_action=set"], set);
        for (json, name) in [
            (r#"{"ral_action": "get", "names": ["a"]}"#, Some("a")),
            (r#"{"ral_action": "get", "names": ["a", "b"]}"#, None),
            (r#"{"ral_action": "set", "updates": [{"name": "x"}]}"#, Some("x")),
        ] {
            assert_eq!(call(json).unwrap().name, name.map(Text::from), "{json}");
        }
        assert_eq!(call(r#"{"ral_action": "find", "name": "x"}"#).unwrap().name, Some("x".into()));
    }

    #[test]
    fn other_arguments_are_refused() {
        fails("{}", "the argument `ral_action` is missing; expected one of describe, list");
        fails(r#"{"ral_action": 1}"#, "the argument `ral_action` must be a string, not int");
        fails(r#"{"ral_action": "destroy"}"#, "unknown action `destroy`");
        fails(r#"{"ral_action": "find"}"#, "the action `find` needs the argument `name`");
        fails(r#"{"ral_action": "update", "a": 1}"#, "the action `update` needs the argument `name`");
        fails(r#"{"ral_action": "list", "name": "x"}"#, "the action `list` does not take the argument `name`");
        fails(r#"{"ral_action": "find", "name": "x", "a": 1}"#, "does not take the argument `a`");
        fails(r#"{"ral_action": "find", "name": "x", "ral_noop": true}"#, "does not take the argument `ral_noop`");
        fails(r#"{"ral_action": "update", "name": "x", "ral_new": 1}"#, "does not take the argument `ral_new`");
        fails(r#"{"ral_action": "update", "name": "x", "ral_noop": ""}"#, "must be true or false");
        fails(r#"{"ral_action": "update", "name": "x", "a": null}"#, "the argument `a` must be a string, a boolean");
        fails(r#"{"ral_action": "update", "name": "x", "a": {}}"#, "not dict");
        fails(r#"{"ral_action": "update", "name": ["x"]}"#, "the argument `name` must be a string, not list");
        fails(r#"{"ral_action": "find", "name": "a\u0000b"}"#, "has a NUL byte");
        fails(r#"{"ral_action": "get"}"#, "the argument `names` must be a list, not NoneType");
        fails(r#"{"ral_action": "get", "names": [1]}"#, "must be a list of strings");
        fails(r#"{"ral_action": "set", "updates": []}"#, "`updates` has 0 entries; expected one");
        fails(r#"{"ral_action": "set", "updates": [{}]}"#, "the action `set` needs the argument `name`");
    }
}
