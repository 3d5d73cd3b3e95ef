//! Where the plugins of a play may run: natively, in the sandbox for WebAssembly, or either.
//!
//! The sandbox has a Python of its own. Code that depends on the version would have another result there, without an error. So
//! under `auto` only a Python of the same minor version as that of `ansible` counts.

use modbox_policy::{Policy, PythonPlace};
use modbox_run::{PluginPlace, Runner, SandboxPlace};

use crate::cli::printing::output;

/// Where plugins may run.
#[derive(Debug)]
pub(super) enum Places {
    /// Natively, for this reason, if there was something to choose.
    Native(Option<String>),
    /// In the sandbox.
    Sandbox(SandboxPlace),
    /// In the sandbox if it has all that a file imports, else natively.
    Either(SandboxPlace),
    /// Nowhere, for this reason.
    Nowhere(String),
}

impl Places {
    /// Decides where plugins run, by what the policy of modules says of Python.
    pub(super) fn decide(runner: &Runner, place: &PluginPlace, policy: &Policy) -> Self {
        let wanted = policy.python_place();
        if wanted == PythonPlace::Native {
            return Self::Native(Some("the policy says `native`".to_owned()));
        }
        let usable = SandboxPlace::find(runner, place).and_then(|sandbox| match sandbox.obstacle(policy) {
            Some(obstacle) => Err(obstacle),
            None => Ok(sandbox),
        });
        match (usable, wanted) {
            (Ok(sandbox), PythonPlace::Wasm) => {
                if let Some(difference) = sandbox.difference(place) {
                    output::print_note(&format!("Python plugins may have other results in the sandbox: {difference}"));
                }
                Self::Sandbox(sandbox)
            }
            (Ok(sandbox), _) => match sandbox.difference(place) {
                Some(difference) => Self::Native(Some(difference)),
                None => Self::Either(sandbox),
            },
            (Err(reason), PythonPlace::Wasm) => Self::Nowhere(format!("the policy says `wasm`, and {reason}")),
            (Err(_), _) if !runner.has_sandbox_pythons() => Self::Native(None),
            (Err(reason), _) => Self::Native(Some(reason)),
        }
    }

    /// Returns the component, if plugins may run in the sandbox.
    pub(super) fn sandbox(&self) -> Option<&SandboxPlace> {
        match self {
            Self::Sandbox(sandbox) | Self::Either(sandbox) => Some(sandbox),
            Self::Native(_) | Self::Nowhere(_) => None,
        }
    }

    /// Says whether plugins may run natively.
    pub(super) fn has_native(&self) -> bool {
        matches!(self, Self::Native(_) | Self::Either(_))
    }

    /// Returns why a plugin that was loaded runs where it does.
    pub(super) fn reason(&self, is_sandboxed: bool) -> Option<String> {
        match self {
            Self::Native(reason) => reason.clone(),
            Self::Sandbox(_) => Some("the policy says `wasm`".to_owned()),
            Self::Either(_) if is_sandboxed => Some("the sandbox has all that it imports".to_owned()),
            Self::Either(_) | Self::Nowhere(_) => None,
        }
    }
}
