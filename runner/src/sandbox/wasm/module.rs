//! A compiled module, ready to be run many times and from many threads, each time in a fresh store.

use wasmtime::Engine;
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::sandbox::invocation::{Confinement, Invocation, LimitKind, Outcome, Timing, WasmProgram};
use crate::sandbox::limits::Limits;
use crate::sandbox::policy::Policy;
use crate::sandbox::scratch::GuestDirs;
use crate::sandbox::wasm::guest::{self, Guest};
use crate::sandbox::wasm::output::HeadStream;
use crate::sandbox::wasm::store::State;
use crate::sandbox::wasm::ticker::Ticker;
use crate::sandbox::wasm::{WasmError, wasi};

/// A compiled module.
pub struct LoadedModule {
    engine: Engine,
    pre: CommandPre<State>,
    ticker: Ticker,
    timing: Timing,
    note: Option<String>,
}

impl std::fmt::Debug for LoadedModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedModule").field("timing", &self.timing).finish_non_exhaustive()
    }
}

impl LoadedModule {
    pub(super) fn new(
        engine: Engine,
        pre: CommandPre<State>,
        ticker: Ticker,
        timing: Timing,
        note: Option<String>,
    ) -> Self {
        Self { engine, pre, ticker, timing, note }
    }

    /// Returns why the compile cache could not be used, if so.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Returns where the time for loading went.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// Runs the module once, in a fresh store; `watched` on a thread of its own, so that this returns at the wall-clock
    /// limit even when a host call does not.
    ///
    /// # Errors
    ///
    /// A granted directory that cannot be opened, or a runtime that cannot be made. Whatever the guest does is
    /// an outcome.
    pub fn run(
        &self,
        invocation: &Invocation,
        program: &WasmProgram,
        policy: &Policy,
        limits: &Limits,
        dirs: &GuestDirs,
        watched: bool,
    ) -> Result<Outcome, WasmError> {
        let (stdout, stderr) = (HeadStream::new(limits.max_output), HeadStream::new(limits.max_output));
        let stdin = invocation.stdin.clone();
        let wasi = wasi::context(program, stdin, policy, dirs, stdout.clone(), stderr.clone())?;
        let guest = Guest {
            engine: self.engine.clone(),
            command: self.pre.clone(),
            wasi,
            limits: *limits,
            network: policy.allows_everything(),
            ticking: self.ticker.start().map_err(WasmError::Runtime)?,
        };
        let ended = guest::run(guest, watched)?;
        let timing = Timing {
            instantiate_us: ended.instantiate_us,
            run_us: ended.usage.wall_us.saturating_sub(ended.instantiate_us),
            ..Timing::default()
        };
        let (stdout, stderr) = (stdout.take(), stderr.take());
        let hit = ended
            .hit
            .or_else(|| stdout.is_truncated().then_some(LimitKind::Stdout))
            .or_else(|| stderr.is_truncated().then_some(LimitKind::Stderr));
        let limit = hit.map(|kind| limits.hit(kind));
        let confinement = Confinement { level: 0, layers: vec!["wasmtime".to_owned()] };
        let (exit, usage, denials) = (ended.exit, ended.usage, Vec::new());
        Ok(Outcome { exit, stdout, stderr, limit, usage, timing, denials, confinement })
    }
}
