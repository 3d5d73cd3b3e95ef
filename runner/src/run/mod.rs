//! Joins the layers: a module's file and its arguments go in, a report comes out.
//!
//! detect → check against the policy → prepare → sandbox → parse. Whatever the module does ends as a
//! [`Report`] with a well-formed result; what keeps it from starting does, too.

mod designation;
mod error;
pub mod locate;
mod metadata;
mod module;
mod prepare;
mod report;
mod request;
mod requests;
mod unfinished;
mod verdict;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use self::designation::{Caller, Settled};
pub use self::error::RunError;
pub use self::locate::ModuleFile;
pub use self::metadata::{MetadataError, WasmInfo};
pub use self::module::{Module, digest, wasm_bytes};
pub use self::report::{CENSORED, ModuleFacts, Report, Status};
pub use self::request::{Arguments, RunRequest};
pub use self::requests::{Compared, compare};
use crate::contract::ModuleResult;
use crate::kinds::Kind;
use crate::sandbox;
use crate::sandbox::cleanup::Cleanup;
use crate::sandbox::invocation::{Denial, Invocation, Outcome, Program, WasmFormat, WasmProgram};
use crate::sandbox::limits::Limits;
use crate::sandbox::native::{self, NativeContext};
use crate::sandbox::scratch::{Scratch, ScratchRoot};
use crate::sandbox::wasm::{CompileCache, Instances, LoadedModule, Ticker, WasmError, WasmSandbox};

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
    /// Where the memory of guests comes from: [`Instances::Pooled`] where modules run many times.
    pub instances: Instances,
    /// Run each guest on a thread of its own, so that [`Runner::run`] returns at the wall-clock limit even when a host
    /// call hangs. A call that hangs in the file system cannot be ended otherwise than with its process.
    pub watched: bool,
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
    ticker: Ticker,
    scratch: ScratchRoot,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("cache", &self.config.cache).finish_non_exhaustive()
    }
}

impl Runner {
    /// Makes a runner; nothing is opened or started yet.
    #[must_use]
    pub fn new(config: RunnerConfig) -> Self {
        let scratch = ScratchRoot::new(&config.temp_dir, config.cleanup.clone());
        Self { config, wasm: OnceLock::new(), ticker: Ticker::default(), scratch }
    }

    /// Compiles a wasm module, or takes its compiled code from the cache, so that no run has to wait for it. A run does
    /// this by itself when it was not done; modules of other kinds need nothing.
    ///
    /// # Errors
    ///
    /// Bytes that are no valid module, or that take more than the limits allow to compile.
    pub fn load(&self, module: &Module, limits: &Limits) -> Result<(), RunError> {
        module.detection().map_err(Clone::clone)?;
        if let Some(format) = module.format() {
            self.loaded(module, format, limits)?;
        }
        Ok(())
    }

    /// Runs a module once.
    #[must_use]
    pub fn run(&self, module: &Module, request: &RunRequest<'_>) -> Report {
        let mut report = Report::of_module(module, request.policy);
        if let Err(error) = self.try_run(module, request, &mut report) {
            report.result = ModuleResult::runner_failure(&sandbox::chain(&error), None);
            report.status = Status::Failed;
            report.error = Some(error);
        }
        report
    }

    fn try_run(&self, module: &Module, request: &RunRequest<'_>, report: &mut Report) -> Result<(), RunError> {
        let detection = module.detection().map_err(Clone::clone)?;
        let kind = detection.kind;
        report.module.kind = Some(kind);
        report.module.reason.clone_from(&detection.reason);
        let settled = self.settle(kind, module, request);
        let request = &RunRequest { policy: &settled.policy, arguments: settled.arguments, ..*request };
        report.grants = request.policy.grants();
        report.notes.extend(settled.notes);
        report.denials = settled.denials;
        if !report.denials.is_empty() {
            report.status = Status::Denied;
            report.result = ModuleResult::runner_failure(&verdict::denied(&report.denials), None);
            return Ok(());
        }
        let scratch = self.scratch.create(request.keep_files)?;
        if scratch.is_kept() {
            report.kept_files = Some(scratch.path().display().to_string());
        }
        let prepared = prepare::prepare(kind, module, request, &scratch)?;
        let invocation = &prepared.invocation;
        let outcome = match &invocation.program {
            Program::Wasm(program) => self.run_wasm(module, program, invocation, request, &scratch, report)?,
            Program::Native(_) => self.run_native(invocation, request, &scratch)?,
        };
        verdict::reach(report, &outcome, &prepared, request);
        Ok(())
    }

    /// What the run may reach and what it lacks, by its arguments and by what the module asks for.
    fn settle(&self, kind: Kind, module: &Module, request: &RunRequest<'_>) -> Settled {
        let mut settled = Settled {
            policy: request.policy.clone(),
            arguments: request.arguments.clone(),
            denials: Vec::new(),
            notes: Vec::new(),
        };
        if settled.policy.allows_everything() {
            return settled;
        }
        if !kind.is_wasm() {
            let subject = module.path().display().to_string();
            let allow = "--allow-all".to_owned();
            settled.denials.push(Denial { capability: "native", subject, operation: "argument", allow });
            return settled;
        }
        // Bytes that cannot be read are for the engine to complain about.
        let Some(metadata) = module.metadata() else { return settled };
        let caller = Caller { directory: &self.config.directory, environment: &self.config.environment };
        settled = designation::settle(metadata, request.policy, &request.arguments, &caller);
        requests::check(metadata, &mut settled);
        settled
    }

    fn run_native(
        &self,
        invocation: &Invocation,
        request: &RunRequest<'_>,
        scratch: &Scratch,
    ) -> Result<Outcome, RunError> {
        let context = NativeContext {
            launcher: PathBuf::from(native::THIS_BINARY),
            directory: self.config.directory.clone(),
            environment: self.config.environment.clone(),
            cleanup: self.config.cleanup.clone(),
        };
        Ok(native::run(&context, invocation, scratch.path(), request.limits)?)
    }

    fn run_wasm(
        &self,
        module: &Module,
        program: &WasmProgram,
        invocation: &Invocation,
        request: &RunRequest<'_>,
        scratch: &Scratch,
        report: &mut Report,
    ) -> Result<Outcome, RunError> {
        let first = module.loaded.get().is_none();
        let loaded = self.loaded(module, program.format, request.limits)?;
        report.notes.extend(loaded.note().map(|note| format!("the compile cache is not used: {note}")));
        let dirs = scratch.lay_out(&invocation.files)?;
        let run = |loaded: &LoadedModule| {
            loaded.run(invocation, program, request.policy, request.limits, &dirs, self.config.watched)
        };
        let mut outcome = match run(loaded) {
            Err(WasmError::PoolFull) => run(&self.load_on_demand(module, program.format)?)?,
            outcome => outcome?,
        };
        if first {
            outcome.timing.add(loaded.timing());
        }
        (outcome.usage.disk_bytes, outcome.usage.files) = Scratch::count(&dirs.tmp);
        Ok(outcome)
    }

    fn loaded<'m>(
        &self,
        module: &'m Module,
        format: WasmFormat,
        _limits: &Limits,
    ) -> Result<&'m LoadedModule, RunError> {
        if let Some(loaded) = module.loaded.get() {
            return Ok(loaded);
        }
        let loaded = match self.config.instances {
            Instances::OnDemand => self.load_on_demand(module, format)?,
            // Too little address space, an old kernel, or a module that does not fit: it runs all the same.
            Instances::Pooled => match self.load_pooled(module, format) {
                Ok(loaded) => loaded,
                Err(_) => self.load_on_demand(module, format)?,
            },
        };
        // Another thread may have been first; both loaded the same.
        Ok(module.loaded.get_or_init(|| loaded))
    }

    fn load_on_demand(&self, module: &Module, format: WasmFormat) -> Result<LoadedModule, WasmError> {
        if self.wasm.get().is_none() {
            // Another thread may be first.
            drop(self.wasm.set(self.new_sandbox(Instances::OnDemand)?));
        }
        let sandbox = self.wasm.get().ok_or(WasmError::Vanished)?;
        sandbox.load(module.bytes(), format, module.digest())
    }

    /// Loads a module into an engine, and so a pool, of its own.
    fn load_pooled(&self, module: &Module, format: WasmFormat) -> Result<LoadedModule, WasmError> {
        self.new_sandbox(Instances::Pooled)?.load(module.bytes(), format, module.digest())
    }

    fn new_sandbox(&self, instances: Instances) -> Result<WasmSandbox, WasmError> {
        let config = &self.config;
        let ticker = self.ticker.clone();
        let mut sandbox = WasmSandbox::new(config.cache.clone(), config.cleanup.clone(), ticker, instances)?;
        if let Some(callback) = config.on_compile.clone() {
            sandbox.on_compile(move || callback());
        }
        Ok(sandbox)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use std::collections::BTreeMap;

    use super::*;
    use crate::contract::Dict;
    use crate::sandbox::policy::Policy;

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
            instances: Instances::OnDemand,
            watched: false,
            on_compile: Some(Arc::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })),
        });
        let wasm = wat::parse_str(r#"(module (memory (export "memory") 1) (func (export "_start")))"#).unwrap();
        let file = ModuleFile { path: "nothing.wasm".into(), bytes: wasm.into() };
        let module = || Module::new(file.clone(), None);
        let request = RunRequest {
            name: "nothing",
            arguments: Arguments::Complete(Dict::new()),
            policy: &Policy::default(),
            limits: &Limits::default(),
            interpreters: &BTreeMap::new(),
            last_json_line: false,
            stdin_args: false,
            keep_files: false,
        };
        for _ in 0..2 {
            let report = runner.run(&module(), &request);
            assert!(report.error.is_none(), "{report:?}");
        }
        assert_eq!(told.load(Ordering::Relaxed), 1, "the second run finds compiled code");
    }
}
