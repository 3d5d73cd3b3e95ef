//! Opens the Python interpreters of the sandbox, once for all runs of a process.

use std::sync::Arc;

use crate::modules::module::Module;
use crate::python::{InstalledInterpreter, Interpreters};
use crate::runner::Runner;
use crate::runner::python_guest::SandboxPython;

impl Runner {
    /// Returns the interpreters that the user has installed, the one that was installed last first. They are looked for
    /// once.
    pub(crate) fn sandbox_pythons(&self) -> &[Arc<SandboxPython>] {
        self.pythons.get_or_init(|| {
            let Some(folder) = &self.config.python.interpreters else { return Vec::new() };
            let listed = Interpreters::new(folder.clone(), self.config.cleanup.clone()).list();
            let installed = listed.unwrap_or_else(|error| {
                tracing::warn!(%error, "the Python interpreters of the sandbox are not used");
                Vec::new()
            });
            installed.into_iter().filter_map(|installed| self.open_python(installed)).map(Arc::new).collect()
        })
    }

    /// Says whether the user has installed an interpreter.
    #[must_use]
    pub fn has_sandbox_pythons(&self) -> bool {
        !self.sandbox_pythons().is_empty()
    }

    fn open_python(&self, installed: InstalledInterpreter) -> Option<SandboxPython> {
        let opened = Module::open(&installed.component, None, self.config.cache.as_ref(), &self.config.cleanup);
        match opened {
            // Another file than the one that was tested.
            Ok(module) if module.digest() != installed.facts.digest => {
                tracing::warn!(key = installed.key, "a Python interpreter of the sandbox was changed; it is not used");
                None
            }
            Ok(module) => Some(SandboxPython { installed, module }),
            Err(error) => {
                tracing::warn!(%error, "a Python interpreter of the sandbox cannot be read");
                None
            }
        }
    }
}
