//! Names for the folders of this machine in components, so that a module has the same digest wherever it is built, and does
//! not tell where that was.
//!
//! The compiler puts the paths of sources into messages of panics. Those of the package itself are relative to it; those of
//! crates from a registry lie in the author's home.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cargo::cargo_flags;
use crate::cargo::package::Package;
use crate::cargo::toolchain::Toolchain;
use crate::context::AuthoringContext;

/// Version of the names: components with others are stale.
pub(crate) const RECIPE: &str = "local paths: 1";

/// Adds the flags for the compiler to the toolchain's environment.
///
/// `shares_output` says that other projects use the same compiled crates. Then no flag depends on the project: cargo would
/// compile all crates again for each one.
pub(crate) fn hide(
    cx: &mut AuthoringContext<'_>,
    toolchain: &mut Toolchain,
    package: &Package,
    libraries: &Path,
    shares_output: bool,
) {
    let home = cargo_home(cx);
    let Some(variable) = cargo_flags::variable(&toolchain.env, &toolchain.dir, home.as_deref()) else {
        cx.say(
            "the component may keep paths of this machine: the settings of cargo may set flags of the compiler in two \
             places; set those for modules in `[target.wasm32-wasip2]`",
        );
        return;
    };
    let mut names = names_of_user(cx, home, libraries);
    if !shares_output {
        names.extend(names_of_project(package));
    }
    let flags = toolchain.env.entry(variable.into()).or_default();
    for (path, name) in ordered(names) {
        match flag(&path, &name) {
            Some(flag) => {
                flags.push(" ");
                flags.push(flag);
            }
            None => cx.say(&format!("the component may keep `{}`: the path has a space", path.display())),
        }
    }
}

/// Returns the folders of the user, each with its name.
fn names_of_user(cx: &AuthoringContext<'_>, cargo_home: Option<PathBuf>, libraries: &Path) -> Vec<(PathBuf, String)> {
    // LIBRARIES is `SYSROOT/lib/rustlib/TARGET/lib`.
    let sysroot = libraries.ancestors().nth(4).map(Path::to_owned);
    let folders = [
        (cx.var("HOME").map(PathBuf::from), "/home"),
        (cargo_home, "/cargo"),
        (sysroot, "/rust"),
        (cx.cache_dir.clone(), "/modbox"),
    ];
    folders.into_iter().filter_map(|(path, name)| Some((path?, name.to_owned()))).collect()
}

/// Returns the folders of a project, each with its name.
fn names_of_project(package: &Package) -> Vec<(PathBuf, String)> {
    let mut names = vec![(package.workspace_root.clone(), "/module".to_owned())];
    names.extend(package.made.iter().map(|made| (made.clone(), "/build".to_owned())));
    names.extend(package.outside.iter().map(|(name, path)| (path.clone(), format!("/{name}"))));
    names
}

/// Returns the folders in the order of flags: of those that fit a path, the compiler takes the last one.
fn ordered(names: Vec<(PathBuf, String)>) -> Vec<(PathBuf, String)> {
    let links = |(path, name): (PathBuf, String)| {
        let target = path.canonicalize().ok().filter(|target| *target != path);
        [Some((path, name.clone())), target.map(|target| (target, name))]
    };
    let mut names: Vec<(PathBuf, String)> = names.into_iter().flat_map(links).flatten().collect();
    // The root is part of every path, and tells nothing.
    names.retain(|(path, _)| path.is_absolute() && path.parent().is_some());
    names.sort_by_key(|(path, _)| path.components().count());
    names
}

/// Returns the flag, or `None` if cargo would take it for several.
fn flag(path: &Path, name: &str) -> Option<OsString> {
    let path = path.as_os_str();
    let is_whole = path.to_str().is_some_and(|path| !path.contains(char::is_whitespace));
    let parts = [OsStr::new("--remap-path-prefix="), path, OsStr::new("="), OsStr::new(name)];
    is_whole.then(|| parts.into_iter().collect())
}

/// Returns cargo's folder of the user.
fn cargo_home(cx: &AuthoringContext<'_>) -> Option<PathBuf> {
    let named = cx.var("CARGO_HOME").map(|path| cx.resolve(Path::new(path)));
    named.or_else(|| Some(Path::new(cx.var("HOME")?).join(".cargo")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_folder_comes_last() {
        let names = [("/h/u/.cargo", "/cargo"), ("/h/u", "/home"), ("/", "/root"), ("relative", "/r")];
        let names = names.map(|(path, name)| (PathBuf::from(path), name.to_owned())).to_vec();
        let flags: Vec<_> = ordered(names).into_iter().filter_map(|(path, name)| flag(&path, &name)).collect();
        assert_eq!(flags, ["--remap-path-prefix=/h/u=/home", "--remap-path-prefix=/h/u/.cargo=/cargo"]);
    }

    #[test]
    fn a_path_with_a_space_has_no_flag() {
        assert_eq!(flag(Path::new("/home/a b"), "/home"), None);
    }
}
