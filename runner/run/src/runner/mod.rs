//! State that all runs of a process share: the configuration, the source of compiled code, the engine, the folder for
//! temporary directories, the open interpreters of the sandbox. `run_form` says what of it a run takes.

pub(crate) mod config;
pub(crate) mod python_base;
pub(crate) mod python_guest;
pub(crate) mod run_form;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use modbox_policy::Policy;
use modbox_scratch::ScratchRoot;
use modbox_wasm::{CodeSource, Compiler, Loader};
use rustix::process::Pid;

use crate::home;
use crate::runner::config::RunnerConfig;
use crate::runner::python_guest::SandboxPython;
use crate::runner::run_form::RunForm;

/// Runner of modules.
pub struct Runner {
    pub(crate) config: RunnerConfig,
    /// Compiled code of guests.
    pub(crate) code: CodeSource,
    /// Engine of this process for guests that have no worker, made when the first one is loaded.
    pub(crate) engine: OnceLock<Loader>,
    pub(crate) scratch: ScratchRoot,
    /// Interpreters of the sandbox, once they were looked for.
    pub(crate) pythons: OnceLock<Vec<Arc<SandboxPython>>>,
    /// Whether the kernel gives a room mounts of its own, once it was tried.
    pub(crate) has_mounts: OnceLock<bool>,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("cache", &self.config.cache).finish_non_exhaustive()
    }
}

impl Runner {
    /// Makes a runner, without opening or starting anything.
    #[must_use]
    pub fn new(config: RunnerConfig) -> Self {
        let scratch = ScratchRoot::new(&config.temp_dir, config.cleanup.clone());
        let program = config.workers.as_ref().map(|workers| workers.program().to_owned());
        let compiler = program.map_or(Compiler::InProcess, Compiler::Worker);
        let mut code = CodeSource::new(compiler, config.cache.clone(), config.cleanup.clone());
        if let Some(callback) = config.on_compile.clone() {
            code.on_compile(move || callback());
        }
        let (engine, pythons, has_mounts) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { config, code, engine, scratch, pythons, has_mounts }
    }

    /// Returns a runner whose workers join the namespaces of a process.
    pub(crate) fn with_mounts_of(&self, process: Pid) -> Self {
        let workers = self.config.workers.as_ref().map(|workers| workers.with_mounts_of(process));
        Self::new(RunnerConfig { workers, ..self.config.clone() })
    }

    /// Returns the whole environment, with the variables of the user whose run it is.
    pub(crate) fn environment(&self, policy: &Policy) -> Cow<'_, [(OsString, OsString)]> {
        match policy.user() {
            Some(user) => Cow::Owned(user.environment(&self.config.environment)),
            None => Cow::Borrowed(&self.config.environment),
        }
    }

    /// Returns the policy of the guest that runs, for a module with this policy.
    pub(crate) fn guest_policy<'a>(&self, form: &RunForm, policy: &'a Policy) -> Cow<'a, Policy> {
        form.policy(policy, self.home(policy).as_deref())
    }

    /// Returns the home of the user whose run it is.
    pub(crate) fn home(&self, policy: &Policy) -> Option<PathBuf> {
        home::of_run(&self.config.environment, policy)
    }
}
