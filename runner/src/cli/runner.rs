//! Creates the runner of this process, and locates the user's cache.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;
use modbox_run::{PythonConfig, Runner, RunnerConfig};
use modbox_wasm::{CompileCache, Instances};

use crate::cli::context::Context;

/// Returns the user's cache of compiled modules; `None` when the user has no home.
pub(crate) fn cache_of_user(context: &Context) -> Option<CompileCache> {
    context.environment.cache_dir.as_ref().map(|dir| CompileCache::new(dir.join("compiled")))
}

/// Returns the folder of what providers say about themselves; `None` when the user has no home.
pub(crate) fn descriptions_of_user(context: &Context) -> Option<PathBuf> {
    context.environment.cache_dir.as_ref().map(|dir| dir.join("providers"))
}

/// Creates the runner of this process.
pub(crate) fn runner(context: &Context, spinner: Option<ProgressBar>, python: PythonConfig) -> Runner {
    let environment = &context.environment;
    Runner::new(RunnerConfig {
        cache: cache_of_user(context),
        temp_dir: environment.temp_dir.clone(),
        directory: environment.cwd.clone(),
        environment: environment.variables.clone(),
        python,
        descriptions: descriptions_of_user(context),
        cleanup: context.cleanup.clone(),
        workers: Some(context.workers.clone()),
        instances: Instances::OnDemand,
        on_compile: spinner.map(|spinner| -> Arc<dyn Fn() + Send + Sync> {
            Arc::new(move || spinner.enable_steady_tick(Duration::from_millis(100)))
        }),
    })
}

/// Creates a runner for modules of modbox's own, which leaves nothing in caches and works outside of the working directory.
pub(crate) fn trial_runner(context: &Context, python: PythonConfig) -> Runner {
    Runner::new(RunnerConfig {
        temp_dir: context.environment.temp_dir.clone(),
        environment: context.environment.variables.clone(),
        python,
        cleanup: context.cleanup.clone(),
        workers: Some(context.workers.clone()),
        ..RunnerConfig::new(PathBuf::from("/"))
    })
}
