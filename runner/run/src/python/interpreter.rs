//! Chooses the Python interpreter of a module: the requested one, or the first one found.
//!
//! A module whose `#!` line says exactly `python` gets the interpreter that Ansible would use on its own machine: that
//! of the `ansible` command, or else the first of ansible-core 2.19's list (`INTERPRETER_PYTHON_FALLBACK`). An
//! interpreter is probed once; the answer is cached until a file that it depends on changes.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use modbox_kinds::ansiballz::PROBE_SCRIPT;
use modbox_native::NativeContext;
use modbox_vocabulary::RuntimePath;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::programs::ProgramNeeds;
use crate::python::ask::{ScriptAccess, ask};
use crate::python::cache::{Cache, INTERPRETER};
use crate::python::error::PythonError;
use crate::python::install;
use crate::python::stamp::{Stamp, Stamps};

/// Interpreters that Ansible looks for, in this order.
const FALLBACK: [&str; 8] =
    ["python3.13", "python3.12", "python3.11", "python3.10", "python3.9", "python3.8", "/usr/bin/python3", "python3"];

/// Facts that an interpreter reports about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// First three parts of `sys.version_info`.
    pub(super) version: [u32; 3],
    /// `sys.executable`.
    pub(super) executable: String,
    /// `sys.path`.
    pub(super) folders: Vec<PathBuf>,
    /// Folder for packages of this user, whether it exists or not.
    pub(super) users_folder: Option<PathBuf>,
}

/// Paths that a module's interpreter may read when it runs, besides the module's grants.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadPaths {
    pub(super) paths: Vec<RuntimePath>,
    /// Notes on paths that are left out.
    pub(super) notes: Vec<String>,
}

/// Interpreter that was probed and works.
#[derive(Debug, Clone)]
pub(super) struct Interpreter {
    /// Path of the program.
    pub(super) program: String,
    pub(super) facts: Facts,
    /// Whether a module sees what it needs without a grant.
    pub(super) brings_files: bool,
    /// Digest that differs between interpreters that may not understand each other's compiled files.
    pub(super) identity: String,
}

impl Interpreter {
    pub(super) fn is_at_least(&self, [major, minor]: [u32; 2]) -> bool {
        self.facts.version[..2] >= [major, minor][..]
    }

    /// Returns the paths that it may read when it runs, besides a module's grants. They are looked for at each call.
    pub(super) fn reads(&self, cx: &NativeContext) -> ReadPaths {
        reads(cx, Path::new(&self.program), self.brings_files)
    }
}

/// Returns the candidates when a module does not name an interpreter.
pub(super) fn candidates(search_path: &[PathBuf]) -> Vec<String> {
    let own = install::controllers_python(search_path).map(|python| python.display().to_string());
    let listed = FALLBACK.iter().filter_map(|name| install::find_program(name, search_path));
    own.into_iter().chain(listed.map(|path| path.display().to_string())).collect()
}

/// Cached answer of a probe.
#[derive(Serialize, Deserialize)]
struct CachedProbe {
    facts: Facts,
    stamps: Stamps,
}

/// Returns the facts about an interpreter, from the cache or by running a script with it. The inner error says why the
/// interpreter cannot be used. With `brings_files`, a module sees what the interpreter needs without a grant.
pub(super) fn probe(
    cx: &NativeContext,
    cache: Option<&Cache>,
    search_path: &[PathBuf],
    program: &str,
    tmpdir: &Path,
    brings_files: bool,
) -> Result<Result<Interpreter, String>, PythonError> {
    let Some(path) = install::find_program(program, search_path) else { return Ok(Err("not found".to_owned())) };
    // The module may start in another directory, so the path must be absolute.
    let path = cx.directory.join(path);
    let identity = identity(&path, &cx.environment);
    // A script may start another interpreter every time, so its answers are not cached.
    let cache = cache.filter(|_| is_elf(&path));
    let program = path.display().to_string();
    let interpreter = |facts| Interpreter { program: program.clone(), facts, brings_files, identity: identity.clone() };
    if let Some(known) = cache.and_then(|cache| cache.get::<CachedProbe>(INTERPRETER, &identity))
        && known.stamps.are_current()
    {
        return Ok(Ok(interpreter(known.facts)));
    }
    tracing::debug!(program, "asking an interpreter what it is");
    let paths: Vec<PathBuf> = reads(cx, &path, brings_files).paths.into_iter().map(|runtime| runtime.path).collect();
    let access = ScriptAccess { reads: &paths, writes: None };
    let printed = match ask(cx, tmpdir, &[program.as_str(), "-"], PROBE_SCRIPT, &access)? {
        Ok(printed) => printed,
        Err(reason) if is_script(&path) => {
            return Ok(Err(format!("{reason} (it is a script: name the interpreter that it starts)")));
        }
        Err(reason) => return Ok(Err(reason)),
    };
    let Ok(facts) = serde_json::from_slice::<Facts>(&printed) else { return Ok(Err("it is not Python".to_owned())) };
    if let Some(cache) = cache {
        // `pyvenv.cfg` beside it decides whether it belongs to a virtual environment; a new file in a folder of
        // packages may add a folder to its path.
        let beside = [path.parent().map(|bin| bin.join("../pyvenv.cfg")), facts.users_folder.clone()];
        let stamps = Stamps::of(beside.into_iter().flatten().chain(facts.folders.iter().cloned()));
        cache.put(INTERPRETER, &identity, &CachedProbe { facts: facts.clone(), stamps });
    }
    Ok(Ok(interpreter(facts)))
}

fn reads(cx: &NativeContext, interpreter: &Path, brings_files: bool) -> ReadPaths {
    let mut reads = ReadPaths::default();
    if let Some(confine) = cx.confine.as_ref() {
        let (policy, needs) = (&confine.policy, ProgramNeeds::of(interpreter, &confine.policy));
        reads.paths = if brings_files { needs.for_module(policy, &mut reads.notes) } else { needs.granted(policy) };
    }
    reads
}

/// Returns a digest of the program and of the variables that change its search path.
fn identity(program: &Path, environment: &[(OsString, OsString)]) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(program.as_os_str().as_bytes());
    add(format!("{:?}", Stamp::of(program)).as_bytes());
    let mut variables: Vec<_> = environment.iter().collect();
    variables.sort();
    for (name, value) in variables {
        if name == "HOME" || name.as_bytes().starts_with(b"PYTHON") {
            add(name.as_bytes());
            add(value.as_bytes());
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_elf(program: &Path) -> bool {
    begins(program, *b"\x7fELF")
}

fn is_script(program: &Path) -> bool {
    begins(program, *b"#!")
}

fn begins<const N: usize>(program: &Path, with: [u8; N]) -> bool {
    let mut magic = [0; N];
    File::open(program).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == with
}
