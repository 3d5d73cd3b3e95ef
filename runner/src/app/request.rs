//! One run asked for.

use std::collections::BTreeMap;

use modbox_contract::{Dict, InternalArgs, Release, Value};
use modbox_policy::Policy;
use modbox_vocabulary::Limits;

/// Arguments on their way to a module.
#[derive(Debug, Clone)]
pub enum Arguments {
    /// A task's arguments; the internal ones are added, with the run's temporary directory in them.
    Task {
        /// What the caller gave.
        args: Dict,
        /// What the module is told beside it.
        internal: Box<InternalArgs>,
    },
    /// Arguments that somebody else has completed: they reach the module as they are, but for a guest's temporary
    /// directory.
    Complete(Dict),
}

impl Arguments {
    /// Returns what the caller gave; all of them, when they are complete.
    #[must_use]
    pub fn given(&self) -> &Dict {
        let (Self::Task { args, .. } | Self::Complete(args)) = self;
        args
    }
}

/// One run asked for.
#[derive(Debug)]
pub struct RunRequest<'a> {
    /// Its name, a guest's `argv[0]`.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: Arguments,
    /// What it may reach.
    pub policy: &'a Policy,
    /// How much it may use.
    pub limits: &'a Limits,
    /// What to start instead of an interpreter, by the interpreter's base name.
    pub interpreters: &'a BTreeMap<String, String>,
    /// Take the last line that is a JSON object as the result.
    pub last_json_line: bool,
    /// Give a guest its arguments on stdin, too.
    pub stdin_args: bool,
    /// Leave the temporary directory.
    pub keep_files: bool,
    /// Feed a native module to its interpreter on standard input where its kind allows that, unless files are kept.
    pub pipelining: bool,
}

/// No interpreter is replaced.
static NO_INTERPRETERS: BTreeMap<String, String> = BTreeMap::new();

impl<'a> RunRequest<'a> {
    /// Asks for an ordinary run: Ansible's rule for the result, arguments in a file alone, nothing left.
    #[must_use]
    pub fn new(name: &'a str, arguments: Arguments, policy: &'a Policy, limits: &'a Limits) -> Self {
        Self {
            name,
            arguments,
            policy,
            limits,
            interpreters: &NO_INTERPRETERS,
            last_json_line: false,
            stdin_args: false,
            keep_files: false,
            pipelining: true,
        }
    }

    /// Returns the release whose contract is kept: the one that was asked for, or the one that completed the arguments.
    #[must_use]
    pub fn release(&self) -> Release {
        match &self.arguments {
            Arguments::Task { internal, .. } => internal.release,
            Arguments::Complete(args) => {
                let version = args.get("_ansible_version").and_then(Value::as_str);
                version.map_or_else(Release::default, Release::of_version)
            }
        }
    }
}
