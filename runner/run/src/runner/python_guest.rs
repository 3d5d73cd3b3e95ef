//! The Python interpreters of the sandbox that a process has opened. They stay open, so that no other process removes them
//! while runs use them.

use std::sync::Arc;

use modbox_kinds::PythonStart;

use crate::modules::module::Module;
use crate::python::InstalledInterpreter;

/// An open interpreter.
#[derive(Debug)]
pub(crate) struct SandboxPython {
    pub(crate) installed: InstalledInterpreter,
    /// Its component.
    pub(crate) module: Module,
}

/// A Python module that runs as a guest: the interpreter, and how it starts the module.
#[derive(Debug)]
pub struct PythonGuest {
    pub(crate) python: Arc<SandboxPython>,
    pub(crate) start: PythonStart,
    /// Whether what it needs and the sandbox does not have is remembered. A run that was told to be in the sandbox may have
    /// arguments with which the choice is native.
    pub(crate) is_chosen: bool,
}

impl PythonGuest {
    /// Returns the interpreter's component.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.python.module
    }

    /// Returns whether another module runs in the same interpreter.
    #[must_use]
    pub fn shares_interpreter(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.python, &other.python)
    }
}
