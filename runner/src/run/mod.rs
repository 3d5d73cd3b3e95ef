//! Joins the layers: a module's file and its arguments go in, a report comes out.
//!
//! detect → check against the policy → prepare → sandbox → parse. Whatever the module does ends as a
//! [`Report`] with a well-formed result; what keeps it from starting does, too.

pub mod audit;
mod designation;
pub mod locate;
mod metadata;
pub mod no_log;
mod report;
mod verdict;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

pub use self::locate::ModuleFile;
pub use self::metadata::{MetadataError, WasmInfo};
pub use self::report::{ModuleFacts, Report, Status};
use crate::contract::{Dict, InternalArgs, ModuleResult};
use crate::kinds::{self, Kind, PrepareError, Prepared, detect};
use crate::sandbox;
use crate::sandbox::cleanup::Cleanup;
use crate::sandbox::invocation::{Confinement, Denial, Invocation, Outcome, Program, Timing, Usage, WasmProgram};
use crate::sandbox::limits::Limits;
use crate::sandbox::native::{self, NativeContext, NativeError};
use crate::sandbox::policy::Policy;
use crate::sandbox::scratch::{Scratch, ScratchError, ScratchRoot};
use crate::sandbox::wasm::{CompileCache, WasmError, WasmSandbox};

/// The internal argument that names a module's temporary directory.
const TMPDIR_KEY: &str = "_ansible_tmpdir";

/// The one that every guest has.
const GUEST_TMPDIR: &str = "/tmp/";

/// What a runner takes from its surroundings.
pub struct RunnerConfig {
    /// Where compiled code is kept; without one, every run compiles.
    pub cache: Option<CompileCache>,
    /// The system's folder for temporary files.
    pub temp_dir: PathBuf,
    /// Where native modules start.
    pub directory: PathBuf,
    /// The whole environment, for native modules that are trusted with everything.
    pub environment: Vec<(OsString, OsString)>,
    /// Where to register what a signal must not leave behind.
    pub cleanup: Cleanup,
    /// Called before a module is compiled, since that may take seconds.
    pub on_compile: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl std::fmt::Debug for RunnerConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunnerConfig")
            .field("cache", &self.cache)
            .field("temp_dir", &self.temp_dir)
            .finish_non_exhaustive()
    }
}

/// Runs modules. Makes the engine when the first wasm module comes.
pub struct Runner {
    config: RunnerConfig,
    wasm: OnceLock<WasmSandbox>,
    scratch: ScratchRoot,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("cache", &self.config.cache).finish_non_exhaustive()
    }
}

/// Arguments on their way to a module.
#[derive(Debug, Clone)]
pub enum Arguments {
    /// A task's arguments; the internal ones are added, with the run's temporary directory in them.
    Task {
        /// What the caller gave.
        args: Dict,
        /// What the module is told beside it.
        internal: Box<InternalArgs>,
    },
    /// Arguments that somebody else has completed: they reach the module as they are, but for a guest's temporary
    /// directory.
    Complete(Dict),
}

/// One run asked for.
#[derive(Debug)]
pub struct RunRequest<'a> {
    /// The module.
    pub file: &'a ModuleFile,
    /// Its name, a guest's `argv[0]`.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: Arguments,
    /// The kind that the caller takes it for.
    pub kind: Option<Kind>,
    /// What it may reach.
    pub policy: &'a Policy,
    /// How much it may use.
    pub limits: &'a Limits,
    /// What to start instead of an interpreter, by the interpreter's base name.
    pub interpreters: &'a BTreeMap<String, String>,
    /// Take the last line that is a JSON object as the result.
    pub last_json_line: bool,
    /// Give a guest its arguments on stdin, too.
    pub stdin_args: bool,
    /// Leave the temporary directory.
    pub keep_files: bool,
}

/// Why a module could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The bytes are not what the caller takes them for, or are never run.
    #[error("failed to recognise the module")]
    Detect(#[from] detect::DetectError),
    /// A kind that is not supported, or an interpreter line that is wrong.
    #[error("failed to prepare the module")]
    Prepare(#[from] PrepareError),
    /// No temporary directory.
    #[error("failed to make a temporary directory")]
    Scratch(#[from] ScratchError),
    /// The engine could not load or start it.
    #[error("failed to load the module")]
    Wasm(#[from] WasmError),
    /// No process could be started.
    #[error("failed to start the module")]
    Native(#[from] NativeError),
}

impl RunError {
    /// Returns whether the fault is modbox's or this machine's, and not the module's.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Detect(_) | Self::Prepare(_) => false,
            Self::Scratch(_) | Self::Native(_) => true,
            Self::Wasm(error) => !matches!(error, WasmError::Compile(_) | WasmError::Link(_)),
        }
    }
}

/// Returns the SHA-256 of a module in hex, by which policies and caches know it.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns the wasm binary in a module's file, without a `#!` line; `None` for other kinds.
#[must_use]
pub fn wasm_bytes(bytes: &[u8]) -> Option<&[u8]> {
    detect::detect(bytes).is_ok_and(|found| found.kind.is_wasm()).then(|| kinds::skip_shebang(bytes))
}

impl Runner {
    /// Makes a runner; nothing is opened or started yet.
    #[must_use]
    pub fn new(config: RunnerConfig) -> Self {
        let scratch = ScratchRoot::new(&config.temp_dir, config.cleanup.clone());
        Self { config, wasm: OnceLock::new(), scratch }
    }

    /// Runs a module once.
    #[must_use]
    pub fn run(&self, request: &RunRequest<'_>) -> Report {
        let mut report = new_report(request);
        if let Err(error) = self.try_run(request, &mut report) {
            report.result = ModuleResult::runner_failure(&sandbox::chain(&error), None);
            report.status = Status::Failed;
            report.error = Some(error);
        }
        report
    }

    fn try_run(&self, request: &RunRequest<'_>, report: &mut Report) -> Result<(), RunError> {
        let detection = detect::choose(request.kind, &request.file.bytes)?;
        let kind = detection.kind;
        report.module.kind = Some(kind);
        report.module.reason = detection.reason;
        report.denials = denials(kind, request, &self.config.directory);
        if !report.denials.is_empty() {
            report.status = Status::Denied;
            report.result = ModuleResult::runner_failure(&verdict::denied(&report.denials), None);
            return Ok(());
        }
        let scratch = self.scratch.create(request.keep_files)?;
        if scratch.is_kept() {
            report.kept_files = Some(scratch.path().display().to_string());
        }
        let prepared = prepare(kind, request, &scratch)?;
        let outcome = self.run_prepared(&prepared.invocation, request, &scratch, report)?;
        verdict::reach(report, &outcome, &prepared, request);
        Ok(())
    }

    fn run_prepared(
        &self,
        invocation: &Invocation,
        request: &RunRequest<'_>,
        scratch: &Scratch,
        report: &mut Report,
    ) -> Result<Outcome, RunError> {
        match &invocation.program {
            Program::Wasm(program) => self.run_wasm(program, invocation, request, scratch, report),
            Program::Native(_) => {
                let context = NativeContext {
                    launcher: PathBuf::from(native::THIS_BINARY),
                    directory: self.config.directory.clone(),
                    environment: self.config.environment.clone(),
                    cleanup: self.config.cleanup.clone(),
                };
                Ok(native::run(&context, invocation, scratch.path(), request.limits)?)
            }
        }
    }

    fn run_wasm(
        &self,
        program: &WasmProgram,
        invocation: &Invocation,
        request: &RunRequest<'_>,
        scratch: &Scratch,
        report: &mut Report,
    ) -> Result<Outcome, RunError> {
        let sandbox = self.wasm()?;
        let module = sandbox.load(program, &report.module.digest)?;
        report.notes.extend(module.note().map(|note| format!("the compile cache is not used: {note}")));
        let dirs = scratch.lay_out(&invocation.files)?;
        let mut outcome = sandbox.run(&module, invocation, program, request.policy, request.limits, &dirs)?;
        (outcome.usage.disk_bytes, outcome.usage.files) = Scratch::count(&dirs.tmp);
        Ok(outcome)
    }

    fn wasm(&self) -> Result<&WasmSandbox, WasmError> {
        if let Some(sandbox) = self.wasm.get() {
            return Ok(sandbox);
        }
        let mut sandbox = WasmSandbox::new(self.config.cache.clone(), self.config.cleanup.clone())?;
        if let Some(callback) = self.config.on_compile.clone() {
            sandbox.on_compile(move || callback());
        }
        Ok(self.wasm.get_or_init(|| sandbox))
    }
}

fn new_report(request: &RunRequest<'_>) -> Report {
    Report {
        module: ModuleFacts {
            path: request.file.path.display().to_string(),
            kind: None,
            reason: String::new(),
            digest: digest(&request.file.bytes),
        },
        status: Status::Failed,
        result: ModuleResult::runner_failure("the module was not started", None),
        limit: None,
        grants: request.policy.grants(),
        denials: Vec::new(),
        confinement: Confinement::default(),
        usage: Usage::default(),
        written: (0, 0),
        timing: Timing::default(),
        kept_files: None,
        notes: Vec::new(),
        error: None,
    }
}

/// What the run needs and the policy does not grant.
fn denials(kind: Kind, request: &RunRequest<'_>, directory: &Path) -> Vec<Denial> {
    if request.policy.allows_everything() {
        return Vec::new();
    }
    if !kind.is_wasm() {
        let subject = request.file.path.display().to_string();
        let allow = "--allow-all".to_owned();
        return vec![Denial { capability: "native", subject, operation: "argument", allow }];
    }
    let args = match &request.arguments {
        Arguments::Task { args, .. } | Arguments::Complete(args) => args,
    };
    if !designation::may_name_a_path(args) {
        return Vec::new();
    }
    let info = WasmInfo::parse(kinds::skip_shebang(&request.file.bytes));
    // Bytes that cannot be read are for the engine to complain about.
    let Ok(Some(metadata)) = info.and_then(|info| info.metadata()) else { return Vec::new() };
    designation::missing(&metadata, args, request.policy, directory)
}

fn prepare(kind: Kind, request: &RunRequest<'_>, scratch: &Scratch) -> Result<Prepared, PrepareError> {
    let tmpdir = scratch.path().display().to_string();
    let own_tmpdir = match (kind.is_wasm(), request.policy.allows_everything()) {
        (false, _) => format!("{tmpdir}/"),
        (true, false) => GUEST_TMPDIR.to_owned(),
        // A guest that sees everything sees the host's `/tmp`, too.
        (true, true) => format!("{tmpdir}{GUEST_TMPDIR}"),
    };
    let args = match &request.arguments {
        Arguments::Complete(args) => {
            let mut args = args.clone();
            // A guest has a directory of its own, and cannot see the one that whoever completed the arguments made.
            if let Some(tmpdir) = args.get_mut(TMPDIR_KEY).filter(|_| kind.is_wasm()) {
                *tmpdir = own_tmpdir.into();
            }
            args
        }
        Arguments::Task { args, internal } => {
            let mut internal = internal.clone();
            internal.tmpdir = Some(own_tmpdir);
            internal.append_to(args.clone())
        }
    };
    let file_name = request.file.path.file_name().unwrap_or_default().to_string_lossy();
    let mut prepared = kinds::prepare(
        kind,
        &kinds::Request {
            module_name: request.name,
            file_name: &file_name,
            bytes: &request.file.bytes,
            args: &args,
            tmpdir: &tmpdir,
            interpreters: request.interpreters,
            default_python: None,
        },
    )?;
    if request.stdin_args && kind.is_wasm() {
        prepared.invocation.stdin = crate::contract::args::encode_file(&args);
    }
    Ok(prepared)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn whoever_waits_for_the_compiler_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let told = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&told);
        let runner = Runner::new(RunnerConfig {
            cache: Some(CompileCache::new(dir.path().join("cache"))),
            temp_dir: dir.path().to_owned(),
            directory: dir.path().to_owned(),
            environment: Vec::new(),
            cleanup: Cleanup::default(),
            on_compile: Some(Arc::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })),
        });
        let wasm = wat::parse_str(r#"(module (memory (export "memory") 1) (func (export "_start")))"#).unwrap();
        let file = ModuleFile { path: "nothing.wasm".into(), bytes: wasm.into() };
        let request = RunRequest {
            file: &file,
            name: "nothing",
            arguments: Arguments::Complete(Dict::new()),
            kind: None,
            policy: &Policy::default(),
            limits: &Limits::default(),
            interpreters: &BTreeMap::new(),
            last_json_line: false,
            stdin_args: false,
            keep_files: false,
        };
        for _ in 0..2 {
            let report = runner.run(&request);
            assert!(report.error.is_none(), "{report:?}");
        }
        assert_eq!(told.load(Ordering::Relaxed), 1, "the second run finds compiled code");
    }
}
