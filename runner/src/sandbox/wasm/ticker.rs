//! Increments the epochs by which the engine looks at running guests.
//!
//! One thread ticks for all engines of a process, while guests run and for a little while after: waking it for every
//! run of a millisecond would cost more than the ticks do. For a guest on a thread of its own, whoever waits for that
//! thread ticks.

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

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    engines: Vec<EngineWeak>,
    running: usize,
    /// When the last guest ended.
    idle_since: Option<Instant>,
    thread: Thread,
}

/// What the ticking thread does.
#[derive(Default, PartialEq, Eq)]
enum Thread {
    #[default]
    None,
    Ticking,
    Parked,
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
        let mut state = self.shared.lock();
        match state.thread {
            Thread::Ticking => {}
            Thread::Parked => self.shared.wake.notify_one(),
            Thread::None => {
                let shared = Arc::downgrade(&self.shared);
                thread::Builder::new().name("ticker".to_owned()).spawn(move || {
                    while let Some(shared) = shared.upgrade() {
                        shared.tick();
                    }
                })?;
            }
        }
        state.thread = Thread::Ticking;
        state.running += 1;
        drop(state);
        Ok(Ticking { shared: Arc::clone(&self.shared) })
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        thread::sleep(TICK);
        let mut state = self.lock();
        if state.running > 0 {
            state.engines.iter().filter_map(EngineWeak::upgrade).for_each(|engine| engine.increment_epoch());
            return;
        }
        if state.idle_since.is_none_or(|since| since.elapsed() > LINGER) {
            state.thread = Thread::Parked;
            // Wakes by itself now and then, to see whether anybody still owns the ticker.
            let (mut state, _) = self.wake.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state.thread = Thread::Ticking;
        }
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.running -= 1;
        state.idle_since = Some(Instant::now());
    }
}
