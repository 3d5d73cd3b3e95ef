//! One run of one guest, on its caller's thread or on its own thread.
//!
//! File calls of a guest block the thread that makes them: handing each call to a thread pool and back costs more than
//! most calls take. A thread cannot be taken out of a call that does not return, such as a read from a dead file
//! server. So unless another process watches this one, the guest gets its own thread, and the caller stops waiting at
//! the wall-clock limit. The thread is then left behind. The guest does not continue in it, because the epoch deadline
//! has passed when the call returns.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use modbox_vocabulary::time::micros;
use modbox_vocabulary::{Exit, LimitHit, LimitKind, Limits, Usage};
use tokio::runtime::Runtime;
use tracing::{debug, warn};
use wasmtime::{Engine, PoolConcurrencyLimitError, Store};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::{I32Exit, WasiCtx};

use crate::error::WasmError;
use crate::files::{FileGuard, Ledger};
use crate::net::Network;
use crate::process::Commands;
use crate::store::{self, Meter, State};
use crate::ticker::Ticker;

/// How long a guest's thread may take to notice its limit: a few ticks of the epoch.
const GRACE: Duration = Duration::from_millis(100);

/// Compiled code, its engine and the engine's ticker. All runs share it, also threads that were left behind.
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
    pub(super) limits: Limits,
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

/// Runs a guest to its end or to its wall-clock limit. With `on_own_thread`, returns at that limit even if a host call
/// of the guest does not.
///
/// # Errors
///
/// Fails if the thread or the runtime cannot be created, if the pool has no free place, or if the thread ends without a
/// result.
pub(super) fn run(guest: Guest, on_own_thread: bool) -> Result<GuestEnd, WasmError> {
    debug!(on_own_thread, "the guest starts");
    // A runtime cannot be entered from within another runtime.
    if on_own_thread || tokio::runtime::Handle::try_current().is_ok() { run_apart(guest) } else { run_here(guest) }
}

/// Runs a guest on its own thread.
fn run_apart(guest: Guest) -> Result<GuestEnd, WasmError> {
    let patience = guest.limits.timeout.saturating_add(GRACE);
    let (sender, receiver) = mpsc::sync_channel(1);
    let started = Instant::now();
    let spawned = thread::Builder::new().name("guest".to_owned()).spawn(move || {
        // Fails if the caller has stopped waiting.
        let _ = sender.send(run_here(guest));
    });
    spawned.map_err(WasmError::Runtime)?;
    match receiver.recv_timeout(patience) {
        Ok(end) => end,
        Err(RecvTimeoutError::Timeout) => {
            warn!("the guest is blocked in a host call; its thread is left behind");
            let usage = Usage { wall_us: micros(started.elapsed()), ..Usage::default() };
            Ok(GuestEnd { exit: Exit::Killed, hit: Some(LimitKind::Wall), quota: None, usage, instantiate_us: 0 })
        }
        Err(RecvTimeoutError::Disconnected) => Err(WasmError::Vanished),
    }
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
    let mut store =
        store::new_store(&guest.code.engine, guest.wasi, guest.files, guest.commands, guest.network, &guest.limits);
    let started = Instant::now();
    let mut instantiate_us = 0;
    let call = async {
        let command = guest.code.command.instantiate_async(&mut store).await?;
        instantiate_us = micros(started.elapsed());
        command.wasi_cli_run().call_run(&mut store).await
    };
    let timeout = guest.limits.timeout;
    // Timers must be created inside the runtime.
    let result = runtime.block_on(async { tokio::time::timeout(timeout, call).await }).ok();
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
