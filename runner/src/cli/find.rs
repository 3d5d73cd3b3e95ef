//! Finds a module's file and name from the MODULE argument of the command line.
//!
//! Only commands that run a module build its project. Building runs the project's code unconfined, which a command that
//! shows or checks a module must not do.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_vocabulary::quoting::quote;

use crate::app::locate::{self, Located};
use crate::cli::authoring;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::settings;

/// Returns the path of a module's file. Starts no program: the file of a project is the component of its last build,
/// which must be up to date.
pub(crate) fn find_module(context: &Context, module: &Path, module_path: &[PathBuf]) -> Result<PathBuf, Failure> {
    match locate(context, module, module_path)? {
        Located::File(path) => Ok(path),
        Located::Crate(dir) => authoring::find_fresh(context, &dir).with_context(|| not_built(&dir)).or_unavailable(),
    }
}

/// Returns the path of a module's file. Builds the file first when the module is a project whose component is stale.
pub(crate) fn find_or_build_module(
    context: &Context,
    module: &Path,
    module_path: &[PathBuf],
) -> Result<PathBuf, Failure> {
    match locate(context, module, module_path)? {
        Located::File(path) => Ok(path),
        Located::Crate(dir) => authoring::build_if_stale(context, &dir),
    }
}

fn locate(context: &Context, module: &Path, module_path: &[PathBuf]) -> Result<Located, Failure> {
    locate::locate(module, &settings::library(&context.environment, module_path)).or_unavailable()
}

fn not_built(dir: &Path) -> String {
    let shown = dir.display();
    format!(
        "`{shown}` is a module project without an up-to-date component; run `modbox build {}` first, or name the \
         component in `{}`",
        quote(&dir.to_string_lossy()),
        dir.join("target/modbox").display(),
    )
}

/// Returns the module's name: the MODULE argument without folder and extension.
pub(crate) fn module_name(module: &Path) -> String {
    // A directory that is not written as a path is not the module, so its real name does not count.
    let is_project = locate::is_path(module) && module.is_dir();
    let name = is_project.then(|| module.canonicalize().ok()).flatten().unwrap_or_else(|| module.to_owned());
    name.file_stem().unwrap_or(name.as_os_str()).to_string_lossy().into_owned()
}
