//! The identity of a module at the doors of the command line: what a run would take from its file and from beside it.
//!
//! A policy is made for an identity, and binds the run to it. So each door identifies a module before it asks for the policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use modbox_closure::{Closure, Part};
use modbox_policy::Policy;
use modbox_run::{ClosureRequest, Module, Runner};
use modbox_vocabulary::error_chain;

/// The identity of a module.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// All that a run takes; only the module's file if the rest cannot be found.
    pub(crate) closure: Arc<Closure>,
    /// Why the parts of the module cannot be found.
    pub(crate) unresolved: Option<String>,
}

impl Identity {
    /// Identifies a module. `policy` is that of every module, with the user whose run it is.
    pub(crate) fn of(
        runner: &Runner,
        module: &Module,
        name: &str,
        interpreters: &BTreeMap<String, String>,
        policy: &Policy,
    ) -> Self {
        match runner.closure(module, &ClosureRequest { name, interpreters, policy }) {
            Ok(closure) => Self { closure, unresolved: None },
            Err(error) => {
                let file = module.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
                let closure = Self::of_file(&file, module.digest());
                Self { unresolved: Some(error_chain(&error)), ..closure }
            }
        }
    }

    /// Returns the identity of a module that has no parts, such as a component.
    pub(crate) fn of_file(name: &str, digest: &str) -> Self {
        let file = Part { name: name.to_owned(), digest: digest.to_owned() };
        Self { closure: Arc::new(Closure::of_file(file)), unresolved: None }
    }
}
