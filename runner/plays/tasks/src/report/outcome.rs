//! The outcome of a task, of an item of its loop, or of an attempt.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};
use modbox_template::Provenance;
use modbox_yaml::Source;

use crate::action_host::HostErrorKind;
use crate::report::message::Message;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// Nothing had to be changed.
    Ok,
    /// Something was changed.
    Changed,
    /// It did not run.
    Skipped,
    /// It failed.
    Failed,
    /// The host could not be reached.
    Unreachable,
}

/// Key of the outcome of an include with its file. Results do not have it (ansible-core 2.21).
pub const INCLUDED_FILE: &str = "_ansible_include_file";

/// Key of the outcome of an include with its arguments.
pub const INCLUDED_ARGS: &str = "_ansible_include_args";

/// The outcome of a task or of an item.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The result, with the internal keys that start with `_ansible_`.
    pub data: Dict,
    /// Why it failed.
    pub error: Option<Message>,
    /// Why no module ran to its end, if that is the reason.
    pub failure: Option<HostErrorKind>,
    /// Warnings.
    pub warnings: Vec<Message>,
    /// Deprecated things that were used.
    pub deprecations: Vec<Message>,
    /// The reports of the modules that ran.
    pub reports: Vec<Value>,
    /// Where variables that the result sets come from: those of `set_fact`, and of the item of a loop.
    pub provenance: Vec<(String, Arc<Provenance>)>,
    /// The outcomes of a loop's items.
    pub items: Vec<Outcome>,
    /// Whether the task repeats for items.
    pub is_loop: bool,
    /// Whether the task failed only because it ran out of attempts. Its result then has no error.
    pub is_out_of_attempts: bool,
    /// Whether an expression of `register` failed, so that the task has.
    pub is_failed_by_register: bool,
    /// The variable of an item and the text of the play that the item is, if that has conditions in it.
    pub item: Option<(String, Source)>,
}

impl Outcome {
    /// Returns an outcome with a result.
    #[must_use]
    pub fn of(data: Dict) -> Self {
        Self { data, ..Self::default() }
    }

    /// Returns where a variable that the result sets comes from, if that is known.
    #[must_use]
    pub fn provenance_of(&self, name: &str) -> Option<&Arc<Provenance>> {
        self.provenance.iter().rev().find(|(known, _)| known == name).map(|(_, provenance)| provenance)
    }

    /// Returns how the task ended.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.is_failed() {
            Status::Failed
        } else if self.flag("unreachable") {
            Status::Unreachable
        } else if self.is_skipped() {
            Status::Skipped
        } else if self.is_changed() {
            Status::Changed
        } else {
            Status::Ok
        }
    }

    /// Says whether the task failed. What `failed_when` found counts for more than the action.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        if self.is_failed_by_register {
            return true;
        }
        let decided = |outcome: &Self| outcome.data.contains_key("failed_when_result");
        if decided(self) || self.items.iter().any(decided) {
            return self.flag("failed_when_result");
        }
        self.flag("failed")
    }

    /// Says whether something was changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.flag("changed")
    }

    /// Says whether the task did not run: for a loop, for no item.
    #[must_use]
    pub fn is_skipped(&self) -> bool {
        let all = !self.items.is_empty() && self.items.iter().all(|item| item.own_flag("skipped") == Some(true));
        all || self.own_flag("skipped").unwrap_or(false)
    }

    /// Says whether the result must not be shown.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.own_flag("_ansible_no_log").unwrap_or(false)
    }

    /// Returns the truth of a key: of the result, or of any item if the result does not have it.
    fn flag(&self, key: &str) -> bool {
        self.own_flag(key).unwrap_or_else(|| self.items.iter().any(|item| item.own_flag(key) == Some(true)))
    }

    fn own_flag(&self, key: &str) -> Option<bool> {
        self.data.get(key).map(Value::is_truthy)
    }

    /// Returns the result as tasks see it: with those of items, and without internal keys.
    #[must_use]
    pub fn registered(&self) -> Dict {
        let mut data = self.with_items();
        strip_internal(&mut data);
        data
    }

    /// Returns the result with the results of items.
    #[must_use]
    pub fn with_items(&self) -> Dict {
        let mut data = self.data.clone();
        if self.is_loop {
            let items = self.items.iter().map(|item| Value::Dict(item.with_items())).collect();
            data.insert("results".to_owned(), Value::List(items));
        }
        let texts = |messages: &[Message]| Value::List(messages.iter().map(|m| Value::from(m.brief())).collect());
        if !self.warnings.is_empty() {
            data.insert("warnings".to_owned(), texts(&self.warnings));
        }
        if !self.deprecations.is_empty() {
            let entry = |m: &Message| Value::from([("msg", m.brief())]);
            data.insert("deprecations".to_owned(), Value::List(self.deprecations.iter().map(entry).collect()));
        }
        if self.error.is_some() {
            data.insert("exception".to_owned(), Value::from("(traceback unavailable)"));
        }
        data
    }
}

/// Removes the keys that start with `_ansible_`, at all depths.
pub fn strip_internal(data: &mut Dict) {
    data.retain(|key, _| !key.starts_with("_ansible_"));
    data.values_mut().for_each(strip_internal_value);
}

fn strip_internal_value(value: &mut Value) {
    match value {
        Value::Dict(entries) => strip_internal(entries),
        Value::List(items) => items.iter_mut().for_each(strip_internal_value),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(json: &str) -> Outcome {
        let Ok(Value::Dict(data)) = modbox_python_json::decode(json) else { panic!("{json}") };
        Outcome::of(data)
    }

    #[test]
    fn the_status_follows_ansibles_keys() {
        let check = |json, expect| assert_eq!(outcome(json).status(), expect, "{json}");
        check("{}", Status::Ok);
        check(r#"{"changed": true}"#, Status::Changed);
        check(r#"{"failed": true, "changed": true}"#, Status::Failed);
        check(r#"{"failed": true, "failed_when_result": false}"#, Status::Ok);
        check(r#"{"skipped": true}"#, Status::Skipped);
        check(r#"{"skipped": "yes"}"#, Status::Skipped);
        check(r#"{"failed": ""}"#, Status::Ok);
    }

    #[test]
    fn a_loop_is_skipped_when_all_items_are() {
        let mut whole = outcome(r#"{"skipped": false}"#);
        whole.items = vec![outcome(r#"{"skipped": true}"#), outcome("{}")];
        assert_eq!(whole.status(), Status::Ok);
        whole.items.truncate(1);
        assert_eq!(whole.status(), Status::Skipped);
    }

    #[test]
    fn internal_keys_are_removed_at_all_depths() {
        let registered =
            outcome(r#"{"a": [{"_ansible_x": 1, "b": 2}], "_ansible_y": 1, "invocation": {}}"#).registered();
        assert_eq!(modbox_python_json::encode_dict(&registered), r#"{"a": [{"b": 2}], "invocation": {}}"#);
    }
}
