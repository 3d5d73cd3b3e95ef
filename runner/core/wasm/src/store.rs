//! The store's data for one run, and the limits that the engine checks.

use std::sync::Arc;
use std::time::Duration;

use modbox_vocabulary::{LimitHit, LimitKind, Limits, MAX_HANDLES, Unit};
use rustix::thread::ClockId;
use wasmtime::component::{ResourceTable, ResourceTableError};
use wasmtime::{Engine, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::sockets::WasiSocketsCtxView;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::files::{FileGuard, GuardView, HasGuard};
use crate::net::{self, HttpState, HttpView, NetView, Network};
use crate::plugins::{MAX_PLUGIN_MESSAGE, RunPlugins};
use crate::process::Commands;
use crate::run_clock::RunClock;
use crate::system_log::RunLog;
use crate::wasi::MAX_RANDOM;

/// Bytes that one host call may copy out of a guest; far more than WASI's own calls carry.
const HOSTCALL_FUEL: usize = 4 << 20;

/// The same for workers of plugins, whose answers may be larger.
const HOSTCALL_FUEL_OF_PLUGINS: usize = MAX_PLUGIN_MESSAGE + (1 << 20);

/// Text of the engine's error when a guest opens too many handles; the engine has no type for it.
const TOO_MANY_HANDLES: &str = "store handle limit exceeded";

/// Text of the engine's error when a guest passes more than [`HOSTCALL_FUEL`]; the engine has no public type for it.
const TOO_MUCH_AT_ONCE: &str = "fuel allocated for hostcalls has been exhausted";

/// Start of wasmtime-wasi's error when a guest asks for more random bytes than [`MAX_RANDOM`]; it has no type for it.
const TOO_MUCH_RANDOM: &str = "requested len ";

/// Limit on core instances, tables and memories of one component. Real components have fewer than ten of each.
const MAX_INSTANCES: usize = 64;

/// Limit on the elements of one table. Real tables have some ten thousand. One instruction copies a whole table and no
/// clock interrupts it, so copying a larger table would exceed the time that a guest may pass its limits by.
const MAX_TABLE_ELEMENTS: usize = 1 << 20;

/// Host memory of one table element, in bytes.
const TABLE_ELEMENT: usize = 8;

/// The host's state for one guest.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    files: FileGuard,
    commands: Commands,
    log: RunLog,
    plugins: RunPlugins,
    network: Arc<Network>,
    http: HttpState,
    pub(super) meter: Meter,
}

impl HasGuard for State {
    fn guard(&mut self) -> GuardView<'_> {
        GuardView { guard: &mut self.files, table: &mut self.table }
    }
}

impl State {
    /// Returns the data for host calls of sockets and name lookup.
    pub(super) fn net(&mut self) -> NetView<'_> {
        let sockets = WasiSocketsCtxView { ctx: self.wasi.sockets(), table: &mut self.table };
        NetView { sockets, network: &self.network }
    }

    /// Returns the data for host calls of `modbox:host/process`.
    pub(super) fn commands(&mut self) -> &mut Commands {
        &mut self.commands
    }

    /// Returns the data for host calls of `modbox:host/system-log`.
    pub(super) fn log(&mut self) -> &mut RunLog {
        &mut self.log
    }

    /// Returns the data for host calls of `modbox:host/plugins`.
    pub(super) fn plugins(&mut self) -> &mut RunPlugins {
        &mut self.plugins
    }

    /// Returns the data for host calls of `wasi:http`.
    pub(super) fn http(&mut self) -> HttpView<'_> {
        self.http.view(&mut self.table)
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Meters a guest's use of memory and processor time, and records the first limit that it hit.
pub(super) struct Meter {
    max_memory: usize,
    memory: usize,
    pub(super) peak_memory: usize,
    pub(super) hit: Option<LimitKind>,
    /// The quota of host memory that the guest used up.
    pub(super) overfull: Option<LimitHit>,
    pub(super) memory_denied: bool,
    clock: Arc<RunClock>,
    cpu_start: Duration,
    cpu_time: Duration,
}

impl Meter {
    fn new(limits: &Limits, clock: Arc<RunClock>) -> Self {
        Self {
            max_memory: usize::try_from(limits.max_memory).unwrap_or(usize::MAX),
            memory: 0,
            peak_memory: 0,
            hit: None,
            overfull: None,
            memory_denied: false,
            clock,
            cpu_start: thread_cpu_time(),
            cpu_time: limits.cpu_time,
        }
    }

    /// Returns the processor time that this thread has used since the run began.
    pub(super) fn cpu_used(&self) -> Duration {
        thread_cpu_time().saturating_sub(self.cpu_start)
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let after = self.memory.saturating_sub(current).saturating_add(desired);
        if maximum.is_some_and(|maximum| desired > maximum) {
            return false;
        }
        if after > self.max_memory {
            self.memory_denied = true;
            return false;
        }
        self.memory = after;
        self.peak_memory = self.peak_memory.max(after);
        true
    }

    fn check_time(&mut self) -> UpdateDeadline {
        if self.cpu_used() > self.cpu_time {
            self.hit = Some(LimitKind::Cpu);
        } else if self.clock.left().is_zero() {
            self.hit = Some(LimitKind::Wall);
        } else {
            return UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()));
        }
        UpdateDeadline::Interrupt
    }
}

/// The engine calls this before a memory or table grows. Wasmtime's stock limiter counts each memory alone. This one
/// adds them up, so that a hundred memories do not evade the limit.
impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(self.grow(current, desired, maximum))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > MAX_TABLE_ELEMENTS {
            return Ok(false);
        }
        let bytes = |elements: usize| elements.saturating_mul(TABLE_ELEMENT);
        Ok(self.grow(bytes(current), bytes(desired), maximum.map(bytes)))
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn tables(&self) -> usize {
        MAX_INSTANCES
    }

    fn memories(&self) -> usize {
        MAX_INSTANCES
    }
}

/// Creates the store of one run and starts its clocks.
pub(super) fn new_store(
    engine: &Engine,
    wasi: WasiCtx,
    files: FileGuard,
    commands: Commands,
    (log, plugins): (RunLog, RunPlugins),
    network: Arc<Network>,
    (limits, clock): (&Limits, Arc<RunClock>),
) -> Store<State> {
    let mut table = ResourceTable::new();
    let handles = usize::try_from(MAX_HANDLES).unwrap_or(usize::MAX);
    table.set_max_capacity(handles);
    let http = HttpState::new(Arc::clone(&network));
    let meter = Meter::new(limits, clock);
    let fuel = if plugins.is_some() { HOSTCALL_FUEL_OF_PLUGINS } else { HOSTCALL_FUEL };
    let mut store = Store::new(engine, State { wasi, table, files, commands, log, plugins, network, http, meter });
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(fuel);
    store.set_max_component_handles(handles);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut cx| Ok(cx.data_mut().meter.check_time()));
    store
}

/// Returns the limit behind a trap, if the guest made the host hold too much: handles (counted by the engine or the
/// host), the data of one call, or the fields of an HTTP message.
pub(super) fn overfull(error: &wasmtime::Error) -> Option<LimitHit> {
    let bytes = |allowed: usize| LimitHit { kind: LimitKind::HostMemory, allowed: allowed as u64, unit: Unit::Bytes };
    let handles = LimitHit { kind: LimitKind::HostMemory, allowed: MAX_HANDLES, unit: LimitKind::HostMemory.unit() };
    let cause = error.root_cause().to_string();
    if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(ResourceTableError::Full))) {
        return Some(handles);
    }
    if error.chain().any(net::http::is_too_large) {
        return Some(bytes(net::http::MAX_FIELDS));
    }
    match cause {
        cause if cause.contains(TOO_MANY_HANDLES) => Some(handles),
        cause if cause.contains(TOO_MUCH_AT_ONCE) => Some(bytes(HOSTCALL_FUEL)),
        cause if cause.starts_with(TOO_MUCH_RANDOM) && cause.contains(" exceeds limit ") => {
            Some(LimitHit { allowed: MAX_RANDOM, ..bytes(0) })
        }
        _ => None,
    }
}

fn thread_cpu_time() -> Duration {
    rustix::time::clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}
