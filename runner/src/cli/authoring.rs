//! Calls the authoring crate with this process's environment.

use std::path::{Path, PathBuf};

use modbox_authoring::{AuthoringContext, BuildOptions, BuiltModule};

use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::printing::output;

/// Returns the path of a project's component if it is up to date. Starts no program.
pub(crate) fn find_fresh(context: &Context, dir: &Path) -> Option<PathBuf> {
    let find = |cx: &mut AuthoringContext<'_>| modbox_authoring::find_fresh(cx, dir, &BuildOptions { binary: None });
    with_context(context, find).map(|built| built.component)
}

/// Builds a project unless its component is up to date. Returns the component's path.
pub(crate) fn build_if_stale(context: &Context, dir: &Path) -> Result<PathBuf, Failure> {
    let build =
        |cx: &mut AuthoringContext<'_>| modbox_authoring::build_if_stale(cx, dir, &BuildOptions { binary: None });
    let built: BuiltModule = with_context(context, build).or_unavailable()?;
    Ok(built.component)
}

/// Calls a function of the authoring crate with this process's environment.
pub(crate) fn with_context<T>(context: &Context, call: impl FnOnce(&mut AuthoringContext<'_>) -> T) -> T {
    let mut say = |message: &str| output::print_note(message);
    call(&mut AuthoringContext {
        cwd: context.environment.cwd.clone(),
        env: context.environment.variables.iter().cloned().collect(),
        cache_dir: context.environment.cache_dir.clone(),
        cleanup: context.cleanup.clone(),
        progress: &mut say,
    })
}
