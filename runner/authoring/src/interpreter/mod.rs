//! The Python interpreter of the sandbox: CPython for WASI with a user's `ansible.module_utils` imported, as one
//! component. componentize-py makes it, from modbox's own part (`guest-sdk/python-host`), the user's ansible-core and those
//! collections that the user chooses.
//!
//! ```text
//! find or install componentize-py ──> InterpreterSources ──> key ──> build ──> interpreter.wasm
//! ```
//!
//! No file of ansible-core or of a collection is a part of modbox: all of them are read on the user's machine.

mod carried;
mod componentize;
mod error;
mod key;
mod sources;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

pub use self::componentize::{COMPONENTIZE_VERSION, Componentize};
pub use self::error::InterpreterError;
use self::error::file_error;
pub use self::sources::{CollectionFolder, InterpreterSources};
use crate::context::AuthoringContext;
use crate::environment;
use crate::process::{self, Stderr, Tool};
use crate::temporary_folder::TemporaryFolder;

/// Builds an interpreter. `out` is written when the build has succeeded, and not before.
///
/// # Errors
///
/// componentize-py fails, or `ansible.module_utils.basic` cannot be imported.
pub fn build_interpreter(
    cx: &mut AuthoringContext<'_>,
    sources: &InterpreterSources,
    out: &Path,
) -> Result<(), InterpreterError> {
    let mut words = Vec::new();
    for collection in &sources.collections {
        let mut named = OsString::from(format!("--collection={}=", collection.name));
        named.push(&collection.root);
        words.push(named);
    }
    build(cx, sources, out, words)
}

/// Builds the component of plugins. `out` is written when the build has succeeded, and not before.
///
/// # Errors
///
/// componentize-py fails, or ansible-core's controller half cannot be imported.
pub fn build_plugins(
    cx: &mut AuthoringContext<'_>,
    sources: &InterpreterSources,
    out: &Path,
) -> Result<(), InterpreterError> {
    let named = sources.packages.iter().flatten().map(|(name, folder)| {
        let mut named = OsString::from(format!("--package={name}="));
        named.push(folder);
        named
    });
    build(cx, sources, out, std::iter::once("--plugins".into()).chain(named).collect())
}

/// Runs the build with further words of its command line.
fn build(
    cx: &mut AuthoringContext<'_>,
    sources: &InterpreterSources,
    out: &Path,
    words: Vec<OsString>,
) -> Result<(), InterpreterError> {
    let parent = out.parent().unwrap_or_else(|| Path::new("/"));
    let work = TemporaryFolder::create(&cx.cleanup, parent, ".building-", 0o700).map_err(file_error("make", parent))?;
    for (name, text) in carried::files() {
        let path = work.path().join(name);
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder).map_err(file_error("make", folder))?;
        fs::write(&path, text).map_err(file_error("write", &path))?;
    }
    let script = work.path().join(carried::BUILD);
    // `-I`: neither the user's variables nor packages have a part in the build.
    let mut args: Vec<OsString> = vec!["-I".into(), "-B".into(), script.into(), "--ansible".into()];
    args.extend([sources.ansible.clone().into(), "--wit".into(), work.path().join(carried::WIT).into()]);
    args.extend(["--out".into(), OsString::from(out)]);
    args.extend(words);
    args.extend(sources.componentize.args());
    run(cx, &sources.python, &args, work.path())?;
    match fs::metadata(out) {
        Ok(metadata) if metadata.len() > 0 => Ok(()),
        _ => Err(InterpreterError::NoOutput { path: out.to_owned() }),
    }
}

/// Runs Python to its end; a failure is an error with its last words.
fn run(cx: &mut AuthoringContext<'_>, python: &Path, args: &[OsString], dir: &Path) -> Result<(), InterpreterError> {
    let mut env = environment::for_children(&cx.env);
    let failed = |source| InterpreterError::Run { program: python.to_owned(), source };
    let _temporary = TemporaryFolder::for_tool(&cx.cleanup, &mut env).map_err(failed)?;
    let tool = Tool { program: python, args, dir, env: &env, stderr: Stderr::Captured };
    let ended = process::run(&cx.cleanup, &tool, &mut |_| ());
    let ended = ended.map_err(failed)?;
    if ended.status.success() {
        return Ok(());
    }
    Err(InterpreterError::Build { program: python.to_owned(), status: ended.status, detail: ended.stderr })
}
