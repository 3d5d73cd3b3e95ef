//! One run of one guest, on its caller's thread.
//!
//! File calls of a guest block the thread that makes them: handing each call to a thread pool and back costs more than
//! most calls take. A thread cannot be taken out of a call that does not return, such as a read from a dead file
//! server. So guests run in worker processes, which the monitor kills at the wall-clock limit.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use modbox_vocabulary::time::micros;
use modbox_vocabulary::{Exit, LimitHit, LimitKind, Limits, Usage};
use tokio::runtime::Runtime;
use wasmtime::{Engine, PoolConcurrencyLimitError, Store};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::{I32Exit, WasiCtx};

use crate::error::WasmError;
use crate::files::{FileGuard, Ledger};
use crate::net::Network;
use crate::plugins::RunPlugins;
use crate::process::Commands;
use crate::run_clock::RunClock;
use crate::store::{self, Meter, State};
use crate::system_log::RunLog;
use crate::ticker::Ticker;

/// Compiled code, its engine and the engine's ticker. All runs share it.
pub(super) struct Code {
    pub(super) engine: Engine,
    pub(super) command: CommandPre<State>,
    pub(super) ticker: Arc<Ticker>,
}

/// All data that a guest's thread owns.
pub(super) struct Guest {
    pub(super) code: Arc<Code>,
    pub(super) wasi: WasiCtx,
    pub(super) files: FileGuard,
    /// Runs the guest's commands.
    pub(super) commands: Commands,
    /// The system's log, if it is granted.
    pub(super) log: RunLog,
    /// The channel of a worker of plugins.
    pub(super) plugins: RunPlugins,
    pub(super) limits: Limits,
    /// The clock of its time limit.
    pub(super) clock: Arc<RunClock>,
    /// The network, restricted to the grants.
    pub(super) network: Arc<Network>,
}

/// The end of a guest: exit, limit, usage.
pub(super) struct GuestEnd {
    pub(super) exit: Exit,
    pub(super) hit: Option<LimitKind>,
    /// The quota of files or of host memory that the guest used up, if it failed because of it.
    pub(super) quota: Option<LimitHit>,
    pub(super) usage: Usage,
    pub(super) instantiate_us: u64,
}

/// Runs a guest to its end or to its wall-clock limit.
///
/// # Errors
///
/// Fails if the thread or the runtime cannot be created, or if the pool has no free place.
pub(super) fn run(guest: Guest) -> Result<GuestEnd, WasmError> {
    // A runtime cannot be entered from within another runtime.
    if tokio::runtime::Handle::try_current().is_err() {
        return run_here(guest);
    }
    let apart = thread::Builder::new().name("guest".to_owned()).spawn(move || run_here(guest));
    apart.map_err(WasmError::Runtime)?.join().unwrap_or_else(|panic| resume_unwind(panic))
}

thread_local! {
    /// The runtime for guests without a network, kept for the next guest on this thread: creating one costs as much as
    /// a short run.
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

fn run_here(guest: Guest) -> Result<GuestEnd, WasmError> {
    if guest.network.is_granted() {
        let runtime = new_runtime(true)?;
        let end = run_on(&runtime, guest);
        runtime.shutdown_background();
        return end;
    }
    RUNTIME.with_borrow_mut(|runtime| {
        let runtime = match runtime {
            Some(runtime) => runtime,
            None => runtime.insert(new_runtime(false)?),
        };
        run_on(runtime, guest)
    })
}

fn new_runtime(network: bool) -> Result<Runtime, WasmError> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    if network {
        runtime.enable_io();
    }
    runtime.enable_time().build().map_err(WasmError::Runtime)
}

fn run_on(runtime: &Runtime, guest: Guest) -> Result<GuestEnd, WasmError> {
    let ledger = guest.files.ledger();
    let ticking = guest.code.ticker.start().map_err(WasmError::Runtime)?;
    let Guest { code, wasi, files, commands, log, plugins, limits, clock, network } = guest;
    let timing = (&limits, Arc::clone(&clock));
    let mut store = store::new_store(&code.engine, wasi, files, commands, (log, plugins), network, timing);
    let started = Instant::now();
    let mut instantiate_us = 0;
    let call = async {
        let command = code.command.instantiate_async(&mut store).await?;
        instantiate_us = micros(started.elapsed());
        command.wasi_cli_run().call_run(&mut store).await
    };
    // Timers must be created inside the runtime.
    let result = runtime.block_on(async { clock.limit(call).await });
    let wall_us = micros(started.elapsed());
    drop(ticking);
    match result {
        Some(Err(error)) if error.is::<PoolConcurrencyLimitError>() => Err(WasmError::PoolFull),
        result => {
            let mut end = conclude(result, &mut store, wall_us, instantiate_us);
            blame_quota(&mut end, &ledger);
            Ok(end)
        }
    }
}

/// Result of [`CommandPre`]'s `run`; `None` is a timeout.
type CallResult = Option<wasmtime::Result<Result<(), ()>>>;

fn conclude(result: CallResult, store: &mut Store<State>, wall_us: u64, instantiate_us: u64) -> GuestEnd {
    let meter = &mut store.data_mut().meter;
    let exit = exit_of(result, meter);
    let usage =
        Usage { wall_us, cpu_us: micros(meter.cpu_used()), memory_bytes: meter.peak_memory as u64, ..Usage::default() };
    GuestEnd { exit, hit: meter.hit, quota: meter.overfull, usage, instantiate_us }
}

/// Blames a quota of files that the guest used up for its failure, whatever exit code the guest chose.
fn blame_quota(end: &mut GuestEnd, ledger: &Ledger) {
    if end.hit.is_none() && end.quota.is_none() && end.exit != Exit::Code(0) {
        end.quota = ledger.hit();
    }
}

fn exit_of(result: CallResult, meter: &mut Meter) -> Exit {
    let error = match result {
        Some(Ok(Ok(()))) => return Exit::Code(0),
        Some(Ok(Err(()))) => return exit_code(1, meter),
        Some(Err(error)) => error,
        None => {
            meter.hit = Some(LimitKind::Wall);
            return Exit::Killed;
        }
    };
    if meter.hit.is_some() {
        return Exit::Killed;
    }
    match error.downcast_ref::<I32Exit>() {
        Some(exit) => exit_code(exit.0, meter),
        None if meter.memory_denied => {
            meter.hit = Some(LimitKind::Memory);
            Exit::Killed
        }
        None => match store::overfull(&error) {
            Some(hit) => {
                meter.overfull = Some(hit);
                Exit::Killed
            }
            // The innermost cause is the trap; the outermost text has the backtrace.
            None => Exit::Trap { reason: error.root_cause().to_string(), backtrace: error.to_string() },
        },
    }
}

/// Returns an exit code. Blames the memory limit if the guest failed after memory was denied.
fn exit_code(code: i32, meter: &mut Meter) -> Exit {
    if code != 0 && meter.memory_denied {
        meter.hit = Some(LimitKind::Memory);
    }
    Exit::Code(code)
}
