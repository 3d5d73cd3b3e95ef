//! Increments the epochs by which the engine looks at running guests.
//!
//! One thread ticks for all engines of a process, while guests run and for a little while after: waking it for every
//! run of a millisecond would cost more than the ticks do. For a guest on a thread of its own, whoever waits for that
//! thread ticks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wasmtime::{Engine, EngineWeak};

/// How often a running guest is looked at. A limit is noticed this much late, at the most; ten
/// milliseconds of ticking cost nothing that can be measured.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// How long the thread goes on when no guest runs.
const LINGER: Duration = Duration::from_millis(500);

/// The ticking thread, started by the first run. Clones share it.
#[derive(Clone, Default)]
pub struct Ticker {
    shared: Arc<Shared>,
}

/// Every run of every thread passes here, so nobody takes the lock who finds the thread ticking.
#[derive(Default)]
struct Shared {
    /// Runs that began, ever.
    begun: AtomicU64,
    /// Runs that ended.
    ended: AtomicU64,
    /// Whether the thread ticks, or looks once more before it stops.
    is_ticking: AtomicBool,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    engines: Vec<EngineWeak>,
    has_thread: bool,
    /// How many runs had begun when the thread last looked.
    seen: u64,
    /// When that was more than before, or one of them ran.
    idle_since: Option<Instant>,
}

impl std::fmt::Debug for Ticker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticker").finish_non_exhaustive()
    }
}

/// Keeps the epochs going while a guest runs.
pub(super) struct Ticking {
    shared: Arc<Shared>,
}

impl Ticker {
    /// Has the ticker tick for an engine from now on, for as long as the engine lives.
    pub(super) fn add(&self, engine: &Engine) {
        let mut state = self.shared.lock();
        state.engines.retain(|engine| engine.upgrade().is_some());
        state.engines.push(engine.weak());
    }

    /// Ticks until the guard is dropped.
    ///
    /// # Errors
    ///
    /// A thread that cannot be started.
    pub(super) fn start(&self) -> std::io::Result<Ticking> {
        self.shared.begun.fetch_add(1, Ordering::SeqCst);
        let ticking = Ticking { shared: Arc::clone(&self.shared) };
        if !self.shared.is_ticking.load(Ordering::SeqCst) {
            self.wake()?;
        }
        Ok(ticking)
    }

    fn wake(&self) -> std::io::Result<()> {
        let mut state = self.shared.lock();
        if state.has_thread {
            self.shared.wake.notify_one();
        } else {
            let shared = Arc::downgrade(&self.shared);
            thread::Builder::new().name("ticker".to_owned()).spawn(move || {
                while let Some(shared) = shared.upgrade() {
                    shared.tick();
                }
            })?;
            state.has_thread = true;
        }
        self.shared.is_ticking.store(true, Ordering::SeqCst);
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        thread::sleep(TICK);
        // In this order: where both are the same, nobody ran when the first was read.
        let ended = self.ended.load(Ordering::SeqCst);
        let begun = self.begun.load(Ordering::SeqCst);
        let mut state = self.lock();
        if begun != ended {
            state.engines.iter().filter_map(EngineWeak::upgrade).for_each(|engine| engine.increment_epoch());
        }
        if begun != ended || begun != state.seen {
            (state.seen, state.idle_since) = (begun, Some(Instant::now()));
        } else if state.idle_since.is_none_or(|since| since.elapsed() > LINGER) {
            self.is_ticking.store(false, Ordering::SeqCst);
            // A run that begins now sees that, or is seen here.
            if self.begun.load(Ordering::SeqCst) == begun {
                // Wakes by itself now and then, to see whether anybody still owns the ticker.
                drop(self.wake.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner));
            }
            self.is_ticking.store(true, Ordering::SeqCst);
        }
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.shared.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Config, Engine, Store, UpdateDeadline};

    use super::*;

    /// Waits until a guest would be looked at, as long as it takes.
    fn wait_for_tick(engine: &Engine) {
        let endless = wat::parse_str(r#"(module (func (export "f") (loop (br 0))))"#).unwrap();
        let module = wasmtime::Module::new(engine, endless).unwrap();
        let mut store = Store::new(engine, ());
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Interrupt));
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).unwrap();
        instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap_err();
    }

    #[test]
    fn ticks_for_every_run_also_after_it_had_stopped() {
        let engine = Engine::new(Config::new().epoch_interruption(true)).unwrap();
        let ticker = Ticker::default();
        ticker.add(&engine);
        for _ in 0..2 {
            let ticking = ticker.start().unwrap();
            wait_for_tick(&engine);
            drop(ticking);
            while ticker.shared.is_ticking.load(Ordering::SeqCst) {
                thread::sleep(TICK);
            }
        }
    }

    #[test]
    fn no_run_is_overlooked_while_the_thread_stops() {
        let engine = Engine::new(Config::new().epoch_interruption(true)).unwrap();
        let ticker = Ticker::default();
        ticker.add(&engine);
        drop(ticker.start().unwrap());
        // The thread stops at some time in here.
        let until = Instant::now() + LINGER * 3;
        while Instant::now() < until {
            drop(ticker.start().unwrap());
            thread::sleep(LINGER - TICK * 2);
            let ticking = ticker.start().unwrap();
            wait_for_tick(&engine);
            drop(ticking);
        }
    }
}
