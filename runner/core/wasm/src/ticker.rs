//! Increments an engine's epoch while guests run, so that the engine looks at their limits.
//!
//! Compiled code compares the epoch with the deadline of its store, and calls the store's meter when the deadline has
//! passed. Each engine has one thread that increments the epoch. The first run starts the thread; it waits while no
//! guest runs, and ends with the engine. The ticker knows no limits, and it cannot end a host call that waits: see
//! [`guest`](super::guest).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use wasmtime::Engine;

/// The time between two increments. A guest may pass a limit by this much. Ticking this often has no measurable cost.
const TICK: Duration = Duration::from_millis(10);

/// The ticker thread of one engine. Runs share it; it ends when the last run and the last loaded module are gone.
pub(super) struct Ticker {
    engine: Engine,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when a run starts and when the thread should end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_thread: bool,
    /// Number of runs in progress.
    runs: usize,
    /// Whether the thread waits for a run, so that a series of short runs does not ask the kernel to wake it each time.
    waits: bool,
    is_over: bool,
}

/// A guard for a run in progress. The epoch is incremented until the guard is dropped.
pub(super) struct Ticking {
    ticker: Arc<Ticker>,
}

impl Ticker {
    /// Creates the ticker of an engine; starts no thread yet.
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, shared: Arc::default() }
    }

    /// Increments the epoch every few milliseconds, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the thread cannot be started.
    pub(super) fn start(self: &Arc<Self>) -> io::Result<Ticking> {
        let mut state = self.shared.lock();
        if !state.has_thread {
            let (engine, shared) = (self.engine.clone(), Arc::clone(&self.shared));
            thread::Builder::new().name("ticker".to_owned()).spawn(move || tick(&engine, &shared))?;
            state.has_thread = true;
        }
        state.runs += 1;
        let waits = state.waits;
        drop(state);
        if waits {
            self.shared.changed.notify_one();
        }
        Ok(Ticking { ticker: Arc::clone(self) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.ticker.shared.lock().runs -= 1;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Increments the epoch until the ticker is dropped. Checks once per tick whether guests run, so that a series of short
/// runs does not wake the thread each time.
fn tick(engine: &Engine, shared: &Shared) {
    loop {
        let is_idle = |state: &mut State| {
            state.waits = state.runs == 0 && !state.is_over;
            state.waits
        };
        let state = shared.changed.wait_while(shared.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        if state.is_over {
            return;
        }
        drop(state);
        thread::sleep(TICK);
        engine.increment_epoch();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use wasmtime::{Config, Store, UpdateDeadline};

    use super::*;

    fn ticker() -> Arc<Ticker> {
        Arc::new(Ticker::new(Engine::new(Config::new().epoch_interruption(true)).unwrap()))
    }

    /// Runs an endless loop until the epoch has been incremented a number of times.
    fn wait_for_ticks(ticker: &Ticker, ticks: u32) {
        let engine = &ticker.engine;
        let endless = wat::parse_str(r#"(module (func (export "f") (loop (br 0))))"#).unwrap();
        let module = wasmtime::Module::new(engine, endless).unwrap();
        let mut store = Store::new(engine, 0);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |mut cx| {
            *cx.data_mut() += 1;
            Ok(if *cx.data() < ticks { UpdateDeadline::Continue(1) } else { UpdateDeadline::Interrupt })
        });
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).unwrap();
        instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap_err();
    }

    #[test]
    fn ticks_for_every_run_even_after_an_idle_time() {
        let ticker = ticker();
        for _ in 0..3 {
            let ticking = ticker.start().unwrap();
            let started = Instant::now();
            wait_for_ticks(&ticker, 3);
            assert!(started.elapsed() > TICK, "{:?}", started.elapsed());
            drop(ticking);
            while !ticker.shared.lock().waits {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn ticks_for_a_run_that_starts_when_the_thread_is_about_to_wait() {
        let ticker = ticker();
        for step in 0..20 {
            drop(ticker.start().unwrap());
            thread::sleep(TICK * step / 10);
            let _ticking = ticker.start().unwrap();
            wait_for_ticks(&ticker, 1);
        }
    }

    #[test]
    fn the_thread_ends_with_the_last_run_or_module() {
        let ticker = ticker();
        let shared = Arc::downgrade(&ticker.shared);
        let ticking = ticker.start().unwrap();
        drop(ticker);
        thread::sleep(TICK * 3);
        assert!(shared.strong_count() > 0, "a run goes on");
        drop(ticking);
        while shared.strong_count() > 0 {
            thread::yield_now();
        }
    }
}
