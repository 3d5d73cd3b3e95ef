//! Finds a module's file and name from the MODULE argument of the command line.

use std::path::{Path, PathBuf};

use crate::app::locate;
use crate::cli::authoring::build_if_stale;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};
use crate::cli::settings;

/// Returns the path of a module's file. Builds the file first when the module is a crate whose component is stale.
pub(crate) fn find_module(context: &Context, module: &Path, module_path: &[PathBuf]) -> Result<PathBuf, Failure> {
    let library = settings::library(&context.environment, module_path);
    match locate::locate(module, &library).or_unavailable()? {
        locate::Located::File(path) => Ok(path),
        locate::Located::Crate(dir) => build_if_stale(context, &dir),
    }
}

/// Returns the module's name: the MODULE argument without folder and extension.
pub(crate) fn module_name(module: &Path) -> String {
    let name = module.is_dir().then(|| module.canonicalize().ok()).flatten().unwrap_or_else(|| module.to_owned());
    name.file_stem().unwrap_or(name.as_os_str()).to_string_lossy().into_owned()
}
