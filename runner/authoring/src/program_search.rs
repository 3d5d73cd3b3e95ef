//! The search for the author's programs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::context::AuthoringContext;

/// Looks for a program in `PATH`, then in rustup's directory. Right after the installation of rustup, that directory is
/// not yet in the `PATH` of the running shell.
pub(crate) fn find_program(cx: &AuthoringContext<'_>, name: &Path) -> Option<PathBuf> {
    let in_path = cx.var("PATH").into_iter().flat_map(std::env::split_paths);
    let cargo_home = cx.var("CARGO_HOME").map(PathBuf::from);
    let home = cargo_home.or_else(|| Some(Path::new(cx.var("HOME")?).join(".cargo")));
    // A name with a slash, as `RUSTC` may be, is already a path.
    let directories: Vec<PathBuf> = if name.components().count() > 1 {
        vec![PathBuf::new()]
    } else {
        in_path.chain(home.map(|home| home.join("bin"))).collect()
    };
    directories.iter().map(|directory| cx.cwd.join(directory).join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
