//! Chooses the Python interpreter of a module: the requested one, or the first one found.
//!
//! A module whose `#!` line says exactly `python` gets the interpreter that Ansible would use on its own machine: that
//! of the `ansible` command, or else the first of ansible-core 2.19's list (`INTERPRETER_PYTHON_FALLBACK`). A process asks
//! each interpreter once (`answers/probes.rs`). The user's cache keeps the answers of compiled ones until a file that they depend on
//! changes.

use std::ffi::{OsStr, OsString};
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
use crate::python::answers::facts::Facts;
use crate::python::answers::probes::Question;
use crate::python::answers::stamp::{Stamp, Stamps};
use crate::python::ask::{ScriptAccess, ask};
use crate::python::cache::INTERPRETER;
use crate::python::context::AssemblyContext;
use crate::python::error::PythonError;
use crate::python::install;

/// Interpreters that Ansible looks for, in this order.
const FALLBACK: [&str; 8] =
    ["python3.13", "python3.12", "python3.11", "python3.10", "python3.9", "python3.8", "/usr/bin/python3", "python3"];

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

/// Returns the facts about an interpreter: those that it gave before, or by running a script with it. The inner error says why the
/// interpreter cannot be used. With `brings_files`, a module sees what the interpreter needs without a grant.
pub(super) fn probe(
    context: &AssemblyContext<'_>,
    program: &str,
    brings_files: bool,
) -> Result<Result<Interpreter, String>, PythonError> {
    let cx = context.native;
    let found = install::find_program(program, &context.config.search_path);
    let Some(path) = found else { return Ok(Err("not found".to_owned())) };
    // The module may start in another directory, so the path must be absolute.
    let path = cx.directory.join(path);
    let identity = digest(&path, &cx.environment, is_of_python);
    let reads: Vec<PathBuf> = reads(cx, &path, brings_files).paths.into_iter().map(|runtime| runtime.path).collect();
    let question = Question {
        // A script may choose an interpreter by any variable.
        identity: if is_elf(&path) { identity.clone() } else { digest(&path, &cx.environment, |_| true) },
        reads: cx.confine.is_some().then(|| reads.clone()),
        user: cx.user.as_ref().map(|user| user.uid),
        directory: cx.directory.clone(),
    };
    let answer = context.config.probes.answer(question, || answer(context, &path, &identity, &reads))?;
    Ok(answer.map(|facts| Interpreter { program: path.display().to_string(), facts, brings_files, identity }))
}

/// Returns the answer of an interpreter, from the cache of the user or from itself, and what it depends on.
fn answer(
    context: &AssemblyContext<'_>,
    path: &Path,
    identity: &str,
    reads: &[PathBuf],
) -> Result<(Result<Facts, String>, Stamps), PythonError> {
    // A script may start another interpreter every time, so its answers are not cached.
    let cache = context.cache.as_ref().filter(|_| is_elf(path));
    if let Some(known) = cache.and_then(|cache| cache.get::<CachedProbe>(INTERPRETER, identity))
        && known.stamps.are_current()
    {
        return Ok((Ok(known.facts), known.stamps));
    }
    let facts = match ask_facts(context, path, reads)? {
        Ok(facts) => facts,
        Err(reason) => return Ok((Err(reason), Stamps::default())),
    };
    // `pyvenv.cfg` beside it decides whether it belongs to a virtual environment; a new file in a folder of packages may add a
    // folder to its path. A script may start another interpreter when the one that it has started changes.
    let beside = [path.parent().map(|bin| bin.join("../pyvenv.cfg")), facts.users_folder.clone()];
    let started = (!is_elf(path)).then(|| PathBuf::from(&facts.executable));
    let stamps = Stamps::of(beside.into_iter().flatten().chain(facts.folders.iter().cloned()).chain(started));
    if let Some(cache) = cache {
        cache.put(INTERPRETER, identity, &CachedProbe { facts: facts.clone(), stamps: stamps.clone() });
    }
    Ok((Ok(facts), stamps))
}

fn ask_facts(
    context: &AssemblyContext<'_>,
    path: &Path,
    reads: &[PathBuf],
) -> Result<Result<Facts, String>, PythonError> {
    let program = path.display().to_string();
    tracing::debug!(program, "asking an interpreter what it is");
    let access = ScriptAccess { reads, writes: None };
    let printed = ask(context.native, context.tmpdir, &[program.as_str(), "-"], PROBE_SCRIPT, &access)?;
    Ok(match printed {
        Ok(printed) => serde_json::from_slice(&printed).map_err(|_| "it is not Python".to_owned()),
        Err(reason) if is_script(path) => {
            Err(format!("{reason} (it is a script: name the interpreter that it starts)"))
        }
        Err(reason) => Err(reason),
    })
}

fn reads(cx: &NativeContext, interpreter: &Path, brings_files: bool) -> ReadPaths {
    let mut reads = ReadPaths::default();
    if let Some(confine) = cx.confine.as_ref() {
        let (policy, needs) = (&confine.policy, ProgramNeeds::of(interpreter, &confine.policy));
        reads.paths = if brings_files { needs.for_module(policy, &mut reads.notes) } else { needs.granted(policy) };
    }
    reads
}

/// Says whether a variable changes where Python looks for packages.
fn is_of_python(name: &OsStr) -> bool {
    name == "HOME" || name.as_bytes().starts_with(b"PYTHON")
}

/// Returns a digest of the program, its stamp and some variables.
fn digest(program: &Path, environment: &[(OsString, OsString)], counts: impl Fn(&OsStr) -> bool) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(program.as_os_str().as_bytes());
    add(format!("{:?}", Stamp::of(program)).as_bytes());
    let mut variables: Vec<_> = environment.iter().filter(|(name, _)| counts(name)).collect();
    variables.sort();
    for (name, value) in variables {
        add(name.as_bytes());
        add(value.as_bytes());
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
