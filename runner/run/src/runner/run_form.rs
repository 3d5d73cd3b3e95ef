//! What runs: a module by its kind, natively or in the sandbox for WebAssembly.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use modbox_kinds::Kind;
use modbox_policy::Policy;

use crate::modules::module::Module;
use crate::runner::python_base::with_base;
use crate::runner::python_guest::PythonGuest;

/// What runs.
#[derive(Debug, Clone)]
pub struct RunForm {
    /// The kind of the module.
    pub kind: Kind,
    /// How a Python module runs in the sandbox, if it does.
    pub python: Option<Arc<PythonGuest>>,
}

impl RunForm {
    /// Returns the form of a module that does not run.
    #[must_use]
    pub fn of(module: &Module) -> Self {
        let kind = module.detection().map_or(Kind::Binary, |found| found.kind);
        kind.into()
    }

    /// Returns whether another module of the same file and grants runs in the same way.
    #[must_use]
    pub fn runs_like(&self, other: &Self) -> bool {
        match (&self.python, &other.python) {
            (Some(python), Some(other)) => python.shares_interpreter(other),
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns whether the module runs in the sandbox for WebAssembly.
    #[must_use]
    pub fn is_guest(&self) -> bool {
        self.kind.is_wasm() || self.python.is_some()
    }

    /// Returns the policy of the guest that runs, for a module with this policy, and a user with this home.
    #[must_use]
    pub fn policy<'a>(&self, policy: &'a Policy, home: Option<&Path>) -> Cow<'a, Policy> {
        match &self.python {
            Some(_) => Cow::Owned(with_base(policy, home)),
            None => Cow::Borrowed(policy),
        }
    }

    /// Returns the guest that runs for a module: the interpreter of a Python module in the sandbox, else the module itself.
    #[must_use]
    pub fn guest<'a>(&'a self, module: &'a Module) -> &'a Module {
        self.python.as_ref().map_or(module, |python| python.module())
    }
}

impl From<Kind> for RunForm {
    /// Returns the form of a module that no interpreter of the sandbox runs.
    fn from(kind: Kind) -> Self {
        Self { kind, python: None }
    }
}
