//! The reserved arguments that a caller may set: those that do not follow from the run itself.
//!
//! Check mode, diff, verbosity and `no_log` have separate switches everywhere. The temporary directory and whether
//! files are kept follow from the run.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::internal_args::InternalArgs;
use crate::release::Release;

/// The events for which Python modules can add a traceback, in the order of ansible-core 2.19 (`TracebackEvent`).
pub const TRACEBACK_EVENTS: [&str; 4] = ["error", "warning", "deprecated", "deprecated_value"];

/// Choices of the caller. A field that is left out has Ansible's default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallerChoices {
    /// The release whose contract applies.
    pub contract: Release,
    /// The module's name, as the module sees it.
    pub module_name: Option<String>,
    /// Write no arguments to the system's log. The result is still shown.
    pub no_target_syslog: bool,
    /// Write debug lines to the system's log.
    pub debug: bool,
    /// The facility of the system's log.
    pub syslog_facility: Option<String>,
    /// Filesystems without SELinux contexts.
    pub selinux_special_fs: Option<Vec<String>>,
    /// The action for a value that is not a string where a string is expected.
    pub string_conversion_action: Option<String>,
    /// The socket of a persistent connection.
    pub socket: Option<String>,
    /// The shell in which the module runs commands.
    pub shell_executable: Option<String>,
    /// The folder in which the module makes a temporary directory when the runner gave it none.
    pub remote_tmp: Option<String>,
    /// Accept arguments that the module does not know.
    pub ignore_unknown_opts: bool,
    /// The prefix of every line in the system's log.
    pub target_log_info: Option<String>,
    /// The events for which to add a traceback; `always` stands for all.
    pub tracebacks_for: Vec<String>,
}

/// An invalid choice.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChoiceError {
    /// An unknown traceback event.
    #[error("unknown traceback event `{0}`; expected one of error, warning, deprecated, deprecated_value, always")]
    Event(String),
    /// An unknown action for string conversion.
    #[error("unknown action `{0}` for string conversion; expected one of warn, error, ignore")]
    Conversion(String),
    /// A key that the chosen release does not have.
    #[error("contract {release} has no `_ansible_{key}`; use `--contract` with {owner}")]
    NotOfRelease {
        /// The release.
        release: Release,
        /// The key, without its prefix.
        key: &'static str,
        /// The releases that have the key.
        owner: &'static str,
    },
}

impl CallerChoices {
    /// Checks that the chosen release supports the choices.
    ///
    /// # Errors
    ///
    /// Unknown words, and keys that the chosen release does not send.
    pub fn check(&self) -> Result<(), ChoiceError> {
        let known = |event: &&String| *event == "always" || TRACEBACK_EVENTS.contains(&event.as_str());
        if let Some(event) = self.tracebacks_for.iter().find(|event| !known(event)) {
            return Err(ChoiceError::Event(event.clone()));
        }
        if let Some(action) = &self.string_conversion_action
            && !["warn", "error", "ignore"].contains(&action.as_str())
        {
            return Err(ChoiceError::Conversion(action.clone()));
        }
        let (newer, older) = ("2.19", "2.9 or 2.14");
        let is_new = self.contract >= Release::V2_19;
        let misplaced = [
            (!is_new && self.ignore_unknown_opts, "ignore_unknown_opts", newer),
            (!is_new && self.target_log_info.is_some(), "target_log_info", newer),
            (!is_new && !self.tracebacks_for.is_empty(), "tracebacks_for", newer),
            (is_new && self.string_conversion_action.is_some(), "string_conversion_action", older),
        ];
        match misplaced.into_iter().find(|(misplaced, ..)| *misplaced) {
            Some((_, key, owner)) => Err(ChoiceError::NotOfRelease { release: self.contract, key, owner }),
            None => Ok(()),
        }
    }

    /// Returns the reserved arguments for the module `name` with these choices applied.
    #[must_use]
    pub fn internal_args(&self, name: &str) -> InternalArgs {
        let choices = self.clone();
        let defaults = InternalArgs::new(name);
        let always = self.tracebacks_for.iter().any(|event| event == "always");
        let wanted = |event: &&str| always || self.tracebacks_for.iter().any(|wanted| wanted == event);
        InternalArgs {
            release: choices.contract,
            module_name: choices.module_name.unwrap_or(defaults.module_name),
            no_log: choices.no_target_syslog,
            debug: choices.debug,
            syslog_facility: choices.syslog_facility.map_or(defaults.syslog_facility, Cow::Owned),
            selinux_special_fs: choices
                .selinux_special_fs
                .map_or(defaults.selinux_special_fs, |all| all.into_iter().map(Cow::Owned).collect()),
            string_conversion_action: choices
                .string_conversion_action
                .map_or(defaults.string_conversion_action, Cow::Owned),
            socket: choices.socket,
            shell_executable: choices.shell_executable.map_or(defaults.shell_executable, Cow::Owned),
            remote_tmp: choices.remote_tmp.map_or(defaults.remote_tmp, Cow::Owned),
            ignore_unknown_opts: choices.ignore_unknown_opts,
            target_log_info: choices.target_log_info,
            tracebacks_for: TRACEBACK_EVENTS
                .iter()
                .filter(|event| wanted(event))
                .map(|event| (*event).into())
                .collect(),
            ..defaults
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> CallerChoices {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn nothing_chosen_is_the_default() {
        assert_eq!(parse("{}").internal_args("m"), InternalArgs::new("m"));
        assert_eq!(parse("{}").check(), Ok(()));
    }

    #[test]
    fn tracebacks_are_named_once_and_in_order() {
        let events = |json| parse(json).internal_args("m").tracebacks_for;
        assert_eq!(events(r#"{"tracebacks_for": ["warning", "error", "error"]}"#), ["error", "warning"]);
        assert_eq!(events(r#"{"tracebacks_for": ["always"]}"#), TRACEBACK_EVENTS);
    }

    #[test]
    fn choices_that_the_release_does_not_have_are_refused() {
        for (json, expect) in [
            (r#"{"tracebacks_for": ["x"]}"#, "unknown traceback event `x`"),
            (r#"{"contract": "2.14", "string_conversion_action": "x"}"#, "unknown action `x`"),
            (r#"{"contract": "2.14", "target_log_info": "x"}"#, "contract 2.14 has no `_ansible_target_log_info`"),
            (r#"{"contract": "2.9", "ignore_unknown_opts": true}"#, "with 2.19"),
            (r#"{"string_conversion_action": "warn"}"#, "with 2.9 or 2.14"),
        ] {
            let error = parse(json).check().unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
    }
}
