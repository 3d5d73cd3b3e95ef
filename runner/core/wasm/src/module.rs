//! A compiled module. It can run many times and from many threads, each time in a fresh store.

use std::sync::Arc;

use modbox_policy::Policy;
use modbox_scratch::RunDir;
use modbox_vocabulary::{
    CommandService, Confinement, ConfinementLayer, Exit, HttpStub, InputFile, LimitKind, Limits, Observation, Outcome,
    Timing, WasmProgram,
};
use wasmtime::Engine;
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::error::WasmError;
use crate::files::FileGuard;
use crate::guest::{self, Code, Guest};
use crate::net::Network;
use crate::output::{HeadStream, OnOutput};
use crate::plugins::PluginChannel;
use crate::process::Commands;
use crate::run_clock::RunClock;
use crate::store::State;
use crate::system_log::SystemLog;
use crate::ticker::Ticker;
use crate::{unreached, wasi};

/// A compiled module.
pub struct LoadedModule {
    code: Arc<Code>,
    timing: Timing,
}

/// What one run gets from the host.
pub struct RunContext<'a> {
    /// The run's directory.
    pub run_dir: &'a Arc<RunDir>,
    /// Runs the guest's commands; without it, every command is denied.
    pub commands: Option<Arc<dyn CommandService>>,
    /// The system's log; without it, messages for it are dropped.
    pub log: Option<Arc<SystemLog>>,
    /// The channel of a worker of Python plugins; without it, the guest is none.
    pub plugins: Option<Arc<dyn PluginChannel>>,
    /// Answers for HTTP requests in place of the network's.
    pub http: Option<HttpStub>,
    /// Called with what the guest prints on standard output, as far as the limit keeps it, in addition to capturing it.
    pub on_stdout: Option<OnOutput>,
    /// The same for standard error.
    pub on_stderr: Option<OnOutput>,
}

impl<'a> RunContext<'a> {
    /// Returns the context of a run without commands, whose output is only captured.
    #[must_use]
    pub fn new(run_dir: &'a Arc<RunDir>) -> Self {
        Self { run_dir, commands: None, log: None, plugins: None, http: None, on_stdout: None, on_stderr: None }
    }
}

impl std::fmt::Debug for RunContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext").field("run_dir", &self.run_dir).finish_non_exhaustive()
    }
}

/// Input of one run.
#[derive(Debug)]
pub struct GuestInput<'a> {
    /// The format of the code, and `argv`.
    pub program: &'a WasmProgram,
    /// Its files in `/args`.
    pub files: &'a [InputFile],
    /// Its standard input.
    pub stdin: Vec<u8>,
}

impl std::fmt::Debug for LoadedModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedModule").field("timing", &self.timing).finish_non_exhaustive()
    }
}

impl LoadedModule {
    pub(super) fn new(engine: Engine, command: CommandPre<State>, ticker: Arc<Ticker>, timing: Timing) -> Self {
        Self { code: Arc::new(Code { engine, command, ticker }), timing }
    }

    /// Returns how long the steps of the load took.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Runs the module once, in a fresh store. A host call that blocks in the kernel delays the end of the run: only the
    /// end of the process would end it.
    ///
    /// # Errors
    ///
    /// Fails if a granted path cannot be opened, or if the runtime cannot be created. Every result of the guest itself
    /// is an outcome.
    pub fn run(
        &self,
        input: GuestInput<'_>,
        policy: &Policy,
        limits: &Limits,
        context: RunContext<'_>,
    ) -> Result<Outcome, WasmError> {
        let GuestInput { program, files, stdin } = input;
        let RunContext { run_dir, commands, log, plugins, http, on_stdout, on_stderr } = context;
        let stdout = HeadStream::new(limits.max_output, on_stdout);
        let stderr = HeadStream::new(limits.max_output, on_stderr);
        let network = Network::new(policy, limits, http);
        let wasi = wasi::context(program, stdin, policy, &network, stdout.clone(), stderr.clone());
        let files = FileGuard::new(policy, files, limits, Arc::clone(run_dir))?;
        let (ledger, temporaries) = (files.ledger(), files.temporaries());
        let clock = Arc::new(RunClock::start(limits.timeout));
        let commands = Commands::new(commands, Arc::clone(&ledger), Arc::clone(run_dir), Arc::clone(&clock));
        let guest = Guest {
            code: Arc::clone(&self.code),
            wasi,
            files,
            commands,
            log,
            plugins,
            limits: *limits,
            clock,
            network: Arc::clone(&network),
        };
        let end = guest::run(guest);
        let left = temporaries.close();
        let mut end = end?;
        ledger.fill(&mut end.usage);
        end.usage.descriptors = end.usage.descriptors.max(network.peak_open());
        let timing = Timing {
            instantiate_us: end.instantiate_us,
            run_us: end.usage.wall_us.saturating_sub(end.instantiate_us),
            ..Timing::default()
        };
        let (stdout, stderr) = (stdout.take(), stderr.take());
        let hit = end
            .hit
            // Like the quotas of files: blame this limit only if the guest failed.
            .or_else(|| network.hit().filter(|_| end.exit != Exit::Code(0)))
            .or_else(|| stdout.is_truncated().then_some(LimitKind::Stdout))
            .or_else(|| stderr.is_truncated().then_some(LimitKind::Stderr));
        let limit = end.quota.or_else(|| hit.map(|kind| limits.hit(kind)));
        let confinement = Confinement { level: 0, layers: vec![ConfinementLayer::Wasmtime], missing: Vec::new() };
        let mut denials = ledger.denials();
        denials.extend(network.denials());
        let (exit, usage, notes) = (end.exit, end.usage, ledger.notes());
        let left = if exit == Exit::Code(0) { unreached::left(&left) } else { Vec::new() };
        let lost = [ledger.lost(), unreached::find(policy, run_dir), left].concat();
        let refused_renames = ledger.refused_renames();
        Ok(Outcome {
            exit,
            stdout,
            stderr,
            limit,
            usage,
            timing,
            denials,
            lost,
            left_in_tmp: unreached::left_in_tmp(policy, run_dir),
            survivors: Vec::new(),
            observation: Observation::default(),
            outside: Vec::new(),
            requests: network.stubbed_requests(),
            refused_renames,
            confinement,
            notes,
        })
    }
}
