//! A compiled module, ready to be run many times and from many threads, each time in a fresh store.

use std::sync::Arc;

use modbox_policy::Policy;
use modbox_scratch::RunDir;
use modbox_vocabulary::{Confinement, Exit, Invocation, LimitKind, Limits, Outcome, RunsCommands, Timing, WasmProgram};
use wasmtime::Engine;
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::files::FileGuard;
use crate::guest::{self, Guest};
use crate::net::Network;
use crate::output::HeadStream;
use crate::process::Commands;
use crate::store::State;
use crate::ticker::Ticker;
use crate::{WasmError, wasi};

/// A compiled module.
pub struct LoadedModule {
    code: Arc<Code>,
    timing: Timing,
    notes: Vec<String>,
    runs_commands: bool,
}

/// Compiled code, its engine and the engine's ticker. All runs share it, and so do threads that were left behind.
pub(super) struct Code {
    pub(super) engine: Engine,
    pub(super) command: CommandPre<State>,
    pub(super) ticker: Arc<Ticker>,
}

/// What a run has on its host's side.
pub struct Host<'a> {
    /// The directory of the run.
    pub run_dir: &'a Arc<RunDir>,
    /// What runs its commands; without it, every command is denied.
    pub commands: Option<Arc<dyn RunsCommands>>,
    /// Whether the guest runs on a thread of its own.
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

    /// Returns what an operator should know of loading it: a cache that cannot be used, a compiler that could not be
    /// wholly confined.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns whether it imports what runs commands.
    #[must_use]
    pub fn runs_commands(&self) -> bool {
        self.runs_commands
    }

    /// Returns where the time for loading went.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Runs the module once, in a fresh store. [On a thread of its own](Host::on_own_thread), this returns at the
    /// wall-clock limit even when a host call of the guest does not.
    ///
    /// # Errors
    ///
    /// A granted path that cannot be opened, or a runtime that cannot be made. Whatever the guest does is
    /// an outcome.
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
        let ended = guest::run(guest, on_own_thread);
        // Also when the guest's thread does not come back.
        temporaries.close();
        let mut ended = ended?;
        ledger.fill(&mut ended.usage);
        ended.usage.descriptors = ended.usage.descriptors.max(network.most_open());
        let timing = Timing {
            instantiate_us: ended.instantiate_us,
            run_us: ended.usage.wall_us.saturating_sub(ended.instantiate_us),
            ..Timing::default()
        };
        let (stdout, stderr) = (stdout.take(), stderr.take());
        let hit = ended
            .hit
            // As with the quotas of files: a guest that went on to its end was not stopped by it.
            .or_else(|| network.hit().filter(|_| ended.exit != Exit::Code(0)))
            .or_else(|| stdout.is_truncated().then_some(LimitKind::Stdout))
            .or_else(|| stderr.is_truncated().then_some(LimitKind::Stderr));
        let limit = ended.quota.or_else(|| hit.map(|kind| limits.hit(kind)));
        let confinement = Confinement { level: 0, layers: vec!["wasmtime".to_owned()] };
        let mut denials = ledger.denials();
        denials.extend(network.denials());
        let (exit, usage) = (ended.exit, ended.usage);
        Ok(Outcome { exit, stdout, stderr, limit, usage, timing, denials, confinement, notes: ledger.notes() })
    }
}
