//! A compiled module. It can run many times and from many threads, each time in a fresh store.

use std::sync::Arc;

use modbox_policy::Policy;
use modbox_scratch::RunDir;
use modbox_vocabulary::{Confinement, Exit, Invocation, LimitKind, Limits, Outcome, RunsCommands, Timing, WasmProgram};
use wasmtime::Engine;
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::error::WasmError;
use crate::files::FileGuard;
use crate::guest::{self, Code, Guest};
use crate::net::Network;
use crate::output::HeadStream;
use crate::process::Commands;
use crate::store::State;
use crate::ticker::Ticker;
use crate::wasi;

/// A compiled module.
pub struct LoadedModule {
    code: Arc<Code>,
    timing: Timing,
    notes: Vec<String>,
    runs_commands: bool,
}

/// The host's side of one run.
pub struct Host<'a> {
    /// The run's directory.
    pub run_dir: &'a Arc<RunDir>,
    /// Runs the guest's commands; without it, every command is denied.
    pub commands: Option<Arc<dyn RunsCommands>>,
    /// Whether the guest gets its own thread.
    pub on_own_thread: bool,
}

impl std::fmt::Debug for Host<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("run_dir", &self.run_dir).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LoadedModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedModule").field("timing", &self.timing).finish_non_exhaustive()
    }
}

impl LoadedModule {
    pub(super) fn new(
        engine: Engine,
        command: CommandPre<State>,
        ticker: Arc<Ticker>,
        timing: Timing,
        notes: Vec<String>,
        runs_commands: bool,
    ) -> Self {
        Self { code: Arc::new(Code { engine, command, ticker }), timing, notes, runs_commands }
    }

    /// Returns notes for the operator about the load, such as an unusable cache or a compiler that could not be fully
    /// confined.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns whether the module imports the interface for commands.
    #[must_use]
    pub fn runs_commands(&self) -> bool {
        self.runs_commands
    }

    /// Returns how long the steps of the load took.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Runs the module once, in a fresh store. With [`Host::on_own_thread`], this returns at the wall-clock limit even
    /// if a host call of the guest does not.
    ///
    /// # Errors
    ///
    /// Fails if a granted path cannot be opened, or if the runtime cannot be created. Every result of the guest itself
    /// is an outcome.
    pub fn run(
        &self,
        invocation: &Invocation,
        program: &WasmProgram,
        policy: &Policy,
        limits: &Limits,
        host: Host<'_>,
    ) -> Result<Outcome, WasmError> {
        let Host { run_dir, commands, on_own_thread } = host;
        let (stdout, stderr) = (HeadStream::new(limits.max_output), HeadStream::new(limits.max_output));
        let stdin = invocation.stdin.clone();
        let network = Network::new(policy, limits);
        let wasi = wasi::context(program, stdin, policy, &network, stdout.clone(), stderr.clone());
        let files = FileGuard::new(policy, &invocation.files, limits, Arc::clone(run_dir));
        let files = files.map_err(|cannot| WasmError::Open { path: cannot.path, source: cannot.why.into() })?;
        let (ledger, temporaries) = (files.ledger(), files.temporaries());
        let commands = Commands::new(commands, Arc::clone(&ledger), limits);
        let guest = Guest {
            code: Arc::clone(&self.code),
            wasi,
            files,
            commands,
            limits: *limits,
            network: Arc::clone(&network),
        };
        let end = guest::run(guest, on_own_thread);
        // Needed also when the guest's thread does not return.
        temporaries.close();
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
        let confinement = Confinement { level: 0, layers: vec!["wasmtime".to_owned()] };
        let mut denials = ledger.denials();
        denials.extend(network.denials());
        let (exit, usage) = (end.exit, end.usage);
        Ok(Outcome { exit, stdout, stderr, limit, usage, timing, denials, confinement, notes: ledger.notes() })
    }
}
