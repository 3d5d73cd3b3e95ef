//! The request for one run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use modbox_contract::{Dict, GivenSecrets, InternalArgs, Release, Value};
use modbox_policy::Policy;
use modbox_vocabulary::{HttpStub, Limits};

use crate::request::argument_origin::ArgumentOrigin;
use crate::request::scrutiny::Scrutiny;

/// Arguments for a module.
#[derive(Debug, Clone)]
pub enum Arguments {
    /// A task's arguments. modbox adds the internal ones, with the run's temporary directory in them.
    Task {
        /// Arguments that the caller gave.
        args: Dict,
        /// Internal arguments to add.
        internal: Box<InternalArgs>,
    },
    /// Arguments that the caller has completed, as Ansible does. They reach the module unchanged, except for a guest's
    /// temporary directory.
    Complete(Dict),
}

impl Arguments {
    /// Returns the arguments that the caller gave; for complete arguments, all of them.
    #[must_use]
    pub fn given(&self) -> &Dict {
        let (Self::Task { args, .. } | Self::Complete(args)) = self;
        args
    }

    /// Returns whether the arguments ask for check mode.
    pub(crate) fn asks_for_check(&self) -> bool {
        match self {
            Self::Task { internal, .. } => internal.check_mode,
            Self::Complete(args) => args.get("_ansible_check_mode").is_some_and(Value::is_truthy),
        }
    }

    /// Returns the arguments that the caller gave, to change them.
    pub(crate) fn given_mut(&mut self) -> &mut Dict {
        let (Self::Task { args, .. } | Self::Complete(args)) = self;
        args
    }
}

/// Request for one run.
#[derive(Debug)]
pub struct RunRequest<'a> {
    /// Name of the module, and a guest's `argv[0]`.
    pub name: &'a str,
    /// What the module is asked to do, with or without Ansible's internal arguments.
    pub arguments: Cow<'a, Arguments>,
    /// Names of options whose values are secrets, at every depth, besides those that the module declares.
    pub secrets: &'a [String],
    /// Secrets that came with the arguments, as ansible-core 2.22 sends them.
    pub given_secrets: Option<&'a GivenSecrets>,
    /// Where arguments come from that are not only the caller's word.
    pub origins: &'a [ArgumentOrigin],
    /// Grants, and what arguments may designate.
    pub policy: &'a Policy,
    /// What the run may use of time, memory, disk and output.
    pub limits: &'a Limits,
    /// Programs to start instead of an interpreter, by the interpreter's base name.
    pub interpreters: &'a BTreeMap<String, String>,
    /// Takes the last line that is a JSON object as the result.
    pub last_json_line: bool,
    /// Gives a guest its arguments on stdin, too.
    pub stdin_args: bool,
    /// Keeps the temporary directory after the run.
    pub keep_files: bool,
    /// Pipes a native module to its interpreter on standard input where its kind allows that, unless files are kept.
    pub pipelining: bool,
    /// The soft limit of open files of a native Python module; 0 to leave it.
    pub open_files: u64,
    /// Answers for a guest's HTTP requests, in place of the network's.
    pub http: Option<&'a HttpStub>,
    /// How the uses of paths and addresses by a native module are treated.
    pub scrutiny: Scrutiny,
}

/// Default of [`RunRequest::interpreters`]: replaces none.
static NO_INTERPRETERS: BTreeMap<String, String> = BTreeMap::new();

impl<'a> RunRequest<'a> {
    /// Requests an ordinary run: Ansible's rule for the result, arguments only in a file, no files kept.
    #[must_use]
    pub fn new(name: &'a str, arguments: Arguments, policy: &'a Policy, limits: &'a Limits) -> Self {
        Self {
            name,
            arguments: Cow::Owned(arguments),
            secrets: &[],
            given_secrets: None,
            origins: &[],
            policy,
            limits,
            interpreters: &NO_INTERPRETERS,
            last_json_line: false,
            stdin_args: false,
            keep_files: false,
            pipelining: true,
            open_files: 0,
            http: None,
            scrutiny: Scrutiny::default(),
        }
    }

    /// Returns whether the module runs without confinement.
    pub(crate) fn is_free(&self) -> bool {
        self.policy.allows_everything() || self.scrutiny == Scrutiny::Observed
    }

    /// Returns whether the caller asks for differences.
    pub(crate) fn wants_diff(&self) -> bool {
        match &*self.arguments {
            Arguments::Task { internal, .. } => internal.diff,
            Arguments::Complete(args) => args.get("_ansible_diff").is_some_and(Value::is_truthy),
        }
    }

    /// Returns the release whose contract applies: the requested one, or the one that completed the arguments.
    #[must_use]
    pub fn release(&self) -> Release {
        match &*self.arguments {
            Arguments::Task { internal, .. } => internal.release,
            Arguments::Complete(args) => {
                let version = args.get("_ansible_version").and_then(Value::as_str);
                version.map_or_else(Release::default, Release::of_version)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_arguments_say_whether_they_ask_for_check_mode() {
        for (value, expect) in [(Value::from(true), true), (false.into(), false), (Value::Null, false)] {
            let args = Dict::from_iter([("_ansible_check_mode".to_owned(), value)]);
            assert_eq!(Arguments::Complete(args).asks_for_check(), expect);
        }
        assert!(!Arguments::Complete(Dict::new()).asks_for_check());
    }
}
