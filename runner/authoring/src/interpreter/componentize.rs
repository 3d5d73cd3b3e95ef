//! componentize-py: found as a program, or installed by pip into a folder of modbox's cache.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::context::AuthoringContext;
use crate::environment;
use crate::interpreter::error::{InterpreterError, file_error};
use crate::process::{self, Stderr, Tool};
use crate::program_search::find_program;
use crate::temporary_folder::TemporaryFolder;

/// Version of componentize-py that `--with-pip` installs: the one that modbox is tested with.
pub const COMPONENTIZE_VERSION: &str = "0.25.1";

const PROGRAM: &str = "componentize-py";
const PACKAGE: &str = "componentize_py";

/// Where componentize-py is, the program that makes a component of Python code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Componentize {
    /// A program.
    Program(PathBuf),
    /// A folder with the Python package.
    Package(PathBuf),
}

impl Componentize {
    /// Finds the program in `PATH`, or the package that [`install`](Self::install) has installed in the cache.
    ///
    /// # Errors
    ///
    /// There is neither.
    pub fn find(cx: &AuthoringContext<'_>) -> Result<Self, InterpreterError> {
        let program = find_program(cx, Path::new(PROGRAM)).map(Self::Program);
        let package = || cx.cache_dir.as_deref().map(place).filter(|place| place.join(PACKAGE).is_dir());
        program.or_else(|| package().map(Self::Package)).ok_or(InterpreterError::NoComponentize)
    }

    /// Installs the package with pip into a folder of the cache, unless it is there. Nothing else of the machine changes.
    ///
    /// # Errors
    ///
    /// pip fails, or the folder cannot be written.
    pub fn install(cx: &mut AuthoringContext<'_>, python: &Path, cache: &Path) -> Result<Self, InterpreterError> {
        let place = place(cache);
        if place.join(PACKAGE).is_dir() {
            return Ok(Self::Package(place));
        }
        let parent = place.parent().expect("the place lies in the cache").to_owned();
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&parent);
        made.map_err(file_error("make", &parent))?;
        let folder = TemporaryFolder::create(&cx.cleanup, &parent, ".installing-", 0o700);
        let folder = folder.map_err(file_error("make", &parent))?;
        let package = format!("{PROGRAM}=={COMPONENTIZE_VERSION}");
        let words = ["-I", "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target"];
        let mut args: Vec<OsString> = words.map(OsString::from).into();
        args.extend([folder.path().into(), package.into()]);
        let mut env = environment::for_children(&cx.env);
        let failed = |source| InterpreterError::Run { program: python.to_owned(), source };
        let _temporary = TemporaryFolder::for_tool(&cx.cleanup, &mut env).map_err(failed)?;
        let tool = Tool { program: python, args: &args, dir: &parent, env: &env, stderr: Stderr::Captured };
        let ended = process::run(&cx.cleanup, &tool, &mut |_| ()).map_err(failed)?;
        if !ended.status.success() || !folder.path().join(PACKAGE).is_dir() {
            let (program, status) = (python.to_owned(), ended.status);
            return Err(InterpreterError::Pip { program, status, detail: ended.stderr });
        }
        match folder.publish(&place) {
            // Another process was faster.
            Err(_) if place.join(PACKAGE).is_dir() => {}
            published => published.map_err(file_error("write", &place))?,
        }
        Ok(Self::Package(place))
    }

    /// Returns the arguments of the build script that name it.
    pub(super) fn args(&self) -> [OsString; 2] {
        match self {
            Self::Program(path) => ["--componentize".into(), path.into()],
            Self::Package(path) => ["--componentize-package".into(), path.into()],
        }
    }

    /// Returns the file that has all of componentize-py in it, CPython too: the library beside the program, or the
    /// program itself.
    pub(super) fn file(&self) -> PathBuf {
        match self {
            Self::Package(folder) => library(&folder.join(PACKAGE)).unwrap_or_else(|| folder.join(PACKAGE)),
            Self::Program(path) => {
                let real = path.canonicalize().unwrap_or_else(|_| path.clone());
                let lib = real.parent().and_then(Path::parent).map(|prefix| prefix.join("lib"));
                let versions = lib.into_iter().flat_map(|lib| fs::read_dir(lib).into_iter().flatten().flatten());
                let mut found = versions.filter_map(|entry| library(&entry.path().join("site-packages").join(PACKAGE)));
                found.next().unwrap_or(real)
            }
        }
    }
}

/// Returns the folder of the installed package.
fn place(cache: &Path) -> PathBuf {
    cache.join(PROGRAM).join(COMPONENTIZE_VERSION)
}

/// Returns the shared library in a package.
fn library(package: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(package).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_the_file_that_counts() {
        let dir = tempfile::tempdir().unwrap();
        let package = dir.path().join("lib/python3.9/site-packages/componentize_py");
        fs::create_dir_all(&package).unwrap();
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        let program = dir.path().join("bin/componentize-py");
        fs::write(&program, "").unwrap();
        let real = program.canonicalize().unwrap();
        assert_eq!(Componentize::Program(program.clone()).file(), real);
        let library = package.join("componentize_py.abi3.so");
        fs::write(&library, "").unwrap();
        assert_eq!(Componentize::Program(program).file(), library.canonicalize().unwrap());
        let folder = package.parent().unwrap().to_owned();
        assert_eq!(Componentize::Package(folder).file(), library);
    }
}
