//! Joins the layers: a module's file and its arguments go in, a report comes out.
//!
//! detect → check against the policy → prepare → sandbox → parse. Whatever the module does ends as a
//! [`Report`] with a well-formed result; what keeps it from starting does, too.

pub mod audit;
pub mod commands;
mod config;
mod confine;
mod designation;
mod documentation;
mod error;
mod known;
pub mod locate;
mod metadata;
mod missing_grant;
mod module;
mod native;
mod native_runs;
mod powershell;
mod prepare;
mod python;
mod report;
mod request;
mod requests;
mod unfinished;
mod verdict;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tracing::{debug, error, info, info_span};

use self::commands::Broker;
pub use self::config::RunnerConfig;
pub use self::confine::{ProcessConfinement, Shortfall};
use self::designation::{Caller, Settled};
pub use self::error::RunError;
pub use self::locate::ModuleFile;
pub use self::metadata::{MetadataError, WasmInfo};
pub use self::module::{Module, digest, wasm_bytes};
pub use self::python::{PayloadForm, PythonConfig, PythonError, clear_cache as clear_python_cache};
pub use self::report::{CENSORED, ModuleFacts, Report, Status};
pub use self::request::{Arguments, RunRequest};
pub use self::requests::{Compared, compare};
use modbox_contract::Dict;
use modbox_kernel::Reached;
use modbox_kinds::Kind;
use modbox_policy::{Access, Policy, Shape};
use modbox_scratch::RunDir;
use modbox_scratch::{ScratchError, ScratchRoot, Use};
use modbox_vocabulary::Limits;
use modbox_vocabulary::{Invocation, Outcome, Program, WasmFormat, WasmProgram};
use modbox_wasm::{Compiler, Host, Instances, LoadedModule, WasmError, WasmSandbox};

/// Runs modules. Makes the engine when the first wasm module comes.
pub struct Runner {
    config: RunnerConfig,
    wasm: OnceLock<WasmSandbox>,
    scratch: ScratchRoot,
    /// What confines this process, once it is confined.
    confined: OnceLock<Reached>,
    /// Who runs commands for guests, once this process can start none itself.
    broker: OnceLock<Arc<Broker>>,
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
        Self { config, wasm: OnceLock::new(), scratch, confined: OnceLock::new(), broker: OnceLock::new() }
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
        let _span = info_span!("run", name = request.name).entered();
        let mut report = Report::of_module(module, request.policy);
        for grant in &report.grants {
            debug!(capability = %grant.capability, subject = grant.subject, source = grant.source, "granted");
        }
        if let Err(error) = self.try_run(module, request, &mut report) {
            error!(error = modbox_vocabulary::error_chain(&error), "the module did not start");
            verdict::not_started(&mut report, error);
        }
        info!(status = report.status.as_str(), wall_us = report.usage.wall_us, cpu_us = report.usage.cpu_us, "ended");
        report
    }

    fn try_run(&self, module: &Module, request: &RunRequest<'_>, report: &mut Report) -> Result<(), RunError> {
        let detection = module.detection().map_err(Clone::clone)?;
        let kind = detection.kind;
        report.module.kind = Some(kind);
        report.module.reason.clone_from(&detection.reason);
        info!(module = %module.path().display(), %kind, reason = report.module.reason, digest = module.digest(), "recognised");
        if kind.is_wasm() {
            modbox_wasm::check_size(module.size(), request.limits)?;
        }
        match self.settle(kind, module, request) {
            None => self.start(kind, module, request, report),
            Some(Settled { policy, arguments, missing, notes }) => {
                report.grants = policy.grants();
                report.notes.extend(notes);
                if !missing.is_empty() {
                    verdict::denied(report, missing);
                    return Ok(());
                }
                self.start(kind, module, &RunRequest { policy: &policy, arguments, ..*request }, report)
            }
        }
    }

    /// Runs what is not denied.
    fn start(
        &self,
        kind: Kind,
        module: &Module,
        request: &RunRequest<'_>,
        report: &mut Report,
    ) -> Result<(), RunError> {
        let run_dir = Arc::new(RunDir::create(&self.scratch, purpose(kind, request))?);
        let python = match kind {
            Kind::Python => Some(self.python_start(module, request, &run_dir)?),
            _ => None,
        };
        let stopped = if kind.is_wasm() { None } else { Some(confine::stop_threads(&self.config)?) };
        let tmpdir = tmpdir(kind, request, &run_dir)?;
        if request.keep_files {
            report.kept_files = Some(run_dir.path().display().to_string());
        }
        report.notes.extend(python.iter().flat_map(|ready| ready.notes.clone()));
        let prepared =
            prepare::prepare(kind, module, request, &tmpdir, &self.config, python.as_ref().map(|ready| &ready.start))?;
        let invocation = &prepared.invocation;
        let ran = match &invocation.program {
            Program::Wasm(program) => {
                self.run_wasm(module, program, invocation, request, &run_dir, report).map(|outcome| (outcome, None))
            }
            Program::Native(_) => self
                .run_native(invocation, request, &run_dir, stopped, report)
                .map(|(outcome, leaving)| (outcome, Some(leaving))),
        };
        // A guest's thread that was left behind makes nothing any more.
        run_dir.close();
        let (mut outcome, _leaving) = ran?;
        verdict::reach(report, &mut outcome, &prepared, request);
        if !kind.is_wasm() && !request.policy.allows_everything() {
            self.add_hints(report, &outcome, request);
        }
        Ok(())
    }

    /// Adds guesses at what a native module that failed was not granted.
    fn add_hints(&self, report: &mut Report, outcome: &Outcome, request: &RunRequest<'_>) {
        if matches!(report.status, Status::Failed | Status::Crashed) {
            report.hints = native::path_hints(report, outcome, &request.arguments, request.policy);
            report.hints.extend(native::variable_hints(outcome, &self.config.environment, request.policy));
        }
    }

    /// What the run may reach and what it lacks, by its arguments and by what the module asks for. Nothing when that is
    /// what the request says.
    fn settle(&self, kind: Kind, module: &Module, request: &RunRequest<'_>) -> Option<Settled> {
        if request.policy.allows_everything() {
            return None;
        }
        let unenforceable = if kind.is_wasm() { Vec::new() } else { native::unenforceable(request.policy) };
        // Bytes that cannot be read are for the engine to complain about.
        let Some(metadata) = documentation::described(module, request.policy, request.arguments.given()) else {
            return (!unenforceable.is_empty()).then(|| Settled {
                policy: request.policy.clone(),
                arguments: request.arguments.clone(),
                missing: unenforceable,
                notes: Vec::new(),
            });
        };
        let (directory, environment) = (&self.config.directory, &self.config.environment);
        let caller = Caller { directory, environment, is_native: !kind.is_wasm() };
        let mut settled = designation::settle(&metadata, request.policy, &request.arguments, &caller);
        requests::check(&metadata, &mut settled);
        settled.missing.extend(unenforceable);
        Some(settled)
    }

    fn run_wasm(
        &self,
        module: &Module,
        program: &WasmProgram,
        invocation: &Invocation,
        request: &RunRequest<'_>,
        run_dir: &Arc<RunDir>,
        report: &mut Report,
    ) -> Result<Outcome, RunError> {
        let first = module.loaded.get().is_none();
        let loaded = self.loaded(module, program.format, request.limits)?;
        report.notes.extend_from_slice(loaded.notes());
        if request.keep_files {
            run_dir.lay_out(&invocation.files)?;
        }
        let commands = self.commands(loaded, request)?;
        let reached = confine::confine(&self.config, &self.confined, request, run_dir)?;
        report.notes.extend(reached.notes());
        let run = |loaded: &LoadedModule| {
            let host = Host { run_dir, commands: commands.clone(), on_own_thread: self.config.watched };
            loaded.run(invocation, program, request.policy, request.limits, host)
        };
        let ran = match run(loaded) {
            Err(WasmError::PoolFull) => run(&self.load_on_demand(module, program.format, request.limits)?),
            ran => ran,
        };
        self.end_commands();
        let mut outcome = ran?;
        report.notes.extend_from_slice(&outcome.notes);
        if first {
            outcome.timing.add(loaded.timing());
        }
        outcome.confinement.level = reached.level;
        outcome.confinement.layers.extend(reached.layers);
        Ok(outcome)
    }

    fn loaded<'m>(
        &self,
        module: &'m Module,
        format: WasmFormat,
        limits: &Limits,
    ) -> Result<&'m LoadedModule, RunError> {
        if let Some(loaded) = module.loaded.get() {
            return Ok(loaded);
        }
        if let Some(error) = module.unloadable.get() {
            return Err(RunError::Unloadable(Arc::clone(error)));
        }
        let loaded = self.load_once(module, format, limits).map_err(|error| match error {
            // Another limit or another moment makes no difference to these.
            RunError::Wasm(error @ (WasmError::Compile(_) | WasmError::Link(_))) => {
                RunError::Unloadable(Arc::clone(module.unloadable.get_or_init(|| Arc::new(error))))
            }
            error => error,
        })?;
        // Another thread may have been first; both loaded the same.
        Ok(module.loaded.get_or_init(|| loaded))
    }

    fn load_once(&self, module: &Module, format: WasmFormat, limits: &Limits) -> Result<LoadedModule, RunError> {
        match self.config.instances {
            Instances::OnDemand => self.load_on_demand(module, format, limits),
            // Too little address space, an old kernel, or a module that does not fit: it runs all the same. What is
            // wrong with the module itself would be so again.
            Instances::Pooled => match self.load_pooled(module, format, limits) {
                Err(error) if error.is_internal() => self.load_on_demand(module, format, limits),
                loaded => loaded,
            },
        }
    }

    fn load_on_demand(&self, module: &Module, format: WasmFormat, limits: &Limits) -> Result<LoadedModule, RunError> {
        if self.wasm.get().is_none() {
            // Another thread may be first.
            drop(self.wasm.set(self.new_sandbox(Instances::OnDemand)?));
        }
        let sandbox = self.wasm.get().ok_or(WasmError::Vanished)?;
        sandbox.load(|| bytes(module), format, module.digest(), limits)
    }

    /// Loads a module into an engine, and so a pool, of its own.
    fn load_pooled(&self, module: &Module, format: WasmFormat, limits: &Limits) -> Result<LoadedModule, RunError> {
        self.new_sandbox(Instances::Pooled)?.load(|| bytes(module), format, module.digest(), limits)
    }

    fn new_sandbox(&self, instances: Instances) -> Result<WasmSandbox, WasmError> {
        let config = &self.config;
        let compiler = config.worker.clone().map_or(Compiler::InProcess, Compiler::Worker);
        let mut sandbox = WasmSandbox::new(compiler, config.cache.clone(), config.cleanup.clone(), instances)?;
        if let Some(callback) = config.on_compile.clone() {
            sandbox.on_compile(move || callback());
        }
        Ok(sandbox)
    }
}

fn bytes(module: &Module) -> Result<&[u8], RunError> {
    Ok(module.bytes()?)
}

/// Returns what a run with these arguments may reach: the policy, and what the arguments name as far as it lets them.
#[must_use]
pub fn settled_policy<'p>(
    module: &Module,
    policy: &'p Policy,
    args: &Dict,
    directory: &Path,
    environment: &[(OsString, OsString)],
) -> Cow<'p, Policy> {
    if policy.allows_everything() || args.is_empty() {
        return Cow::Borrowed(policy);
    }
    let Some(metadata) = documentation::described(module, policy, args) else { return Cow::Borrowed(policy) };
    let caller = Caller { directory, environment, is_native: module.format().is_none() };
    Cow::Owned(designation::settle(&metadata, policy, &Arguments::Complete(args.clone()), &caller).policy)
}

/// What the directory of a run is for. Beside a name that is granted for writing there may be temporaries, which are
/// noted in it.
fn purpose(kind: Kind, request: &RunRequest<'_>) -> Use {
    let notes =
        || request.policy.paths().iter().any(|grant| grant.shape == Shape::Name && grant.access == Access::Write);
    match kind.is_wasm() {
        _ if request.keep_files => Use::Kept,
        true if !request.policy.allows_everything() && !notes() => Use::Guest,
        _ => Use::Run,
    }
}

/// Returns the host's directory for what a module leaves for the time of the run. A guest with a `/tmp` of its own does
/// not learn where that is on the host.
fn tmpdir(kind: Kind, request: &RunRequest<'_>, run_dir: &RunDir) -> Result<PathBuf, ScratchError> {
    match (kind.is_wasm(), request.policy.allows_everything()) {
        (false, _) => Ok(run_dir.path().to_owned()),
        (true, true) => run_dir.tmp(),
        (true, false) => Ok(PathBuf::new()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use modbox_wasm::CompileCache;

    /// A runner that counts how often it compiles.
    fn counting(dir: &tempfile::TempDir) -> (Runner, Arc<AtomicU32>) {
        let told = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&told);
        let runner = Runner::new(RunnerConfig {
            cache: Some(CompileCache::new(dir.path().join("cache"))),
            on_compile: Some(Arc::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            })),
            ..RunnerConfig::new(dir.path().to_owned())
        });
        (runner, told)
    }

    fn file(wat: &str) -> ModuleFile {
        ModuleFile { path: "module.wasm".into(), bytes: wat::parse_str(wat).unwrap().into() }
    }

    #[test]
    fn whoever_waits_for_the_compiler_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (runner, told) = counting(&dir);
        let file = file(r#"(module (memory (export "memory") 1) (func (export "_start")))"#);
        let module = || Module::new(file.clone(), None);
        let (policy, limits) = (Policy::default(), Limits::default());
        let request = RunRequest::new("nothing", Arguments::Complete(Dict::new()), &policy, &limits);
        for _ in 0..2 {
            let report = runner.run(&module(), &request);
            assert!(report.error.is_none(), "{report:?}");
        }
        assert_eq!(told.load(Ordering::Relaxed), 1, "the second run finds compiled code");
    }

    #[test]
    fn a_module_that_no_engine_loads_is_compiled_once() {
        let dir = tempfile::tempdir().unwrap();
        let (runner, told) = counting(&dir);
        let (policy, limits) = (Policy::default(), Limits::default());
        let request = RunRequest::new("broken", Arguments::Complete(Dict::new()), &policy, &limits);
        let invalid = Module::new(file(r#"(module (func (export "_start") i32.const 1))"#), None);
        let unlinked = Module::new(file(r#"(component (import "unheard:of/interface" (instance)))"#), None);
        for (module, compiled) in [(&invalid, 1), (&unlinked, 2)] {
            let errors = [(), ()].map(|()| format!("{:?}", runner.run(module, &request).error.unwrap()));
            assert!(errors[0].contains("Unloadable") && errors[0] == errors[1], "{errors:?}");
            assert_eq!(told.load(Ordering::Relaxed), compiled);
        }
    }
}
