//! The Python interpreters of the sandbox that a process has opened. They stay open, so that no other process removes them
//! while runs use them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use modbox_kinds::PythonStart;

use crate::app::module::Module;
use crate::app::python::{InstalledInterpreter, InterpreterContents};

/// An open interpreter.
pub(super) struct SandboxPython {
    pub(super) installed: InstalledInterpreter,
    /// Its component.
    pub(super) module: Module,
    contents: OnceLock<Option<InterpreterContents>>,
}

impl fmt::Debug for SandboxPython {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SandboxPython").field("key", &self.installed.key).finish_non_exhaustive()
    }
}

impl SandboxPython {
    /// Takes an interpreter with its component.
    pub(super) fn new(installed: InstalledInterpreter, module: Module) -> Self {
        Self { installed, module, contents: OnceLock::new() }
    }

    /// Returns what the interpreter has; `None` if that cannot be read.
    pub(super) fn contents(&self) -> Option<&InterpreterContents> {
        self.contents.get_or_init(|| self.installed.contents()).as_ref()
    }
}

/// A Python module that runs as a guest: the interpreter, and how it starts the module.
#[derive(Debug)]
pub struct PythonGuest {
    pub(super) python: Arc<SandboxPython>,
    pub(super) start: PythonStart,
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
