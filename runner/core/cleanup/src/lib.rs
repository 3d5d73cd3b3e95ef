//! A list of actions that undo something even when a signal ends the process: scratch directories, half-written files,
//! child processes.
//!
//! Destructors do not run when SIGTERM arrives. Code that makes something temporary therefore registers how to undo it:
//! with [`Cleanup::make`], or with [`Cleanup::register`] before it is made.
//! Normally the guard undoes it; the thread that waits for signals undoes all that is still registered. Nothing helps
//! against SIGKILL: the next start sweeps the directories that such a run left.
//!
//! This crate only calls closures; it contains nothing about what they undo.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the end of the process waits for actions that other threads are running.
const PATIENCE: Duration = Duration::from_secs(5);

/// Error of making something temporary while a signal is ending the process.
#[derive(Debug)]
struct Ending;

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signal is ending the process")
    }
}

impl std::error::Error for Ending {}

type Undo = Box<dyn FnOnce() + Send>;

/// List of actions that undo something. Clones share one list.
#[derive(Clone, Default)]
pub struct Cleanup {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    entries: Mutex<Entries>,
    /// Notified after each action of a guard.
    undone: Condvar,
}

#[derive(Default)]
struct Entries {
    /// Whether a signal is ending the process. Actions that are registered after that run at once.
    ending: bool,
    next: u64,
    undo: BTreeMap<u64, Undo>,
    /// Number of actions that are running now.
    undoing: usize,
    /// Called once, before the next registration.
    before_next: Option<Undo>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cleanup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pending = self.shared.lock().undo.len();
        f.debug_struct("Cleanup").field("pending", &pending).finish()
    }
}

impl Cleanup {
    /// Sets a function to call before the next registration. Until then a signal may end the process by its default
    /// action.
    pub fn before_next(&self, prepare: impl FnOnce() + Send + 'static) {
        self.shared.lock().before_next = Some(Box::new(prepare));
    }

    /// Registers an action that undoes something that was just made. The guard runs it when it is dropped.
    #[must_use = "dropping the guard undoes it at once"]
    pub fn register(&self, undo: impl FnOnce() + Send + 'static) -> UndoGuard {
        self.prepare();
        let mut entries = self.shared.lock();
        let id = entries.next;
        entries.next += 1;
        let ending = entries.ending;
        if !ending {
            entries.undo.insert(id, Box::new(undo));
            return UndoGuard { cleanup: self.clone(), id };
        }
        drop(entries);
        undo();
        UndoGuard { cleanup: self.clone(), id }
    }

    fn prepare(&self) {
        // Taken out under the lock and called outside it, because the thread that it starts takes the lock, too.
        let prepare = self.shared.lock().before_next.take();
        if let Some(prepare) = prepare {
            prepare();
        }
    }

    /// Makes something temporary, and registers how to undo it. `make` returns what it made and the action. No signal
    /// ends the process between the two.
    ///
    /// # Errors
    ///
    /// `make` fails, or a signal is ending the process: then nothing is made.
    pub fn make<T, U>(&self, make: impl FnOnce() -> io::Result<(T, U)>) -> io::Result<(T, UndoGuard)>
    where
        U: FnOnce() + Send + 'static,
    {
        // Before a handler is installed, a signal ends the process at once.
        self.prepare();
        let registered = || make().map(|(made, undo)| (made, self.register(undo)));
        self.hold(registered).unwrap_or_else(|| Err(io::Error::other(Ending)))
    }

    /// Calls `action`, for whose end the end of the process waits as for an action that undoes something. Returns `None`
    /// without calling it if a signal is ending the process already.
    pub fn hold<T>(&self, action: impl FnOnce() -> T) -> Option<T> {
        {
            let mut entries = self.shared.lock();
            if entries.ending {
                return None;
            }
            entries.undoing += 1;
        }
        let result = action();
        self.shared.lock().undoing -= 1;
        self.shared.undone.notify_all();
        Some(result)
    }

    /// Returns whether [`Cleanup::undo_all`] has been called: the process is about to end.
    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.shared.lock().ending
    }

    /// Runs all registered actions, the newest first. From now on, new actions run at once. Waits for actions that
    /// other threads are running, because the process is about to end. Two threads may call this: both wait for all.
    pub fn undo_all(&self) {
        self.shared.lock().ending = true;
        // Taken out under the lock and called outside it, because an action may take a while or register another.
        while let Some(undo) = self.pop() {
            self.run(undo);
        }
        let busy = |entries: &mut Entries| entries.undoing > 0;
        let waited = self.shared.undone.wait_timeout_while(self.shared.lock(), PATIENCE, busy);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn pop(&self) -> Option<Undo> {
        let mut entries = self.shared.lock();
        let (_, undo) = entries.undo.pop_last()?;
        entries.undoing += 1;
        Some(undo)
    }

    fn undo(&self, id: u64) {
        let mut entries = self.shared.lock();
        let Some(undo) = entries.undo.remove(&id) else { return };
        entries.undoing += 1;
        drop(entries);
        self.run(undo);
    }

    /// Runs an action that was counted as running.
    fn run(&self, undo: Undo) {
        undo();
        self.shared.lock().undoing -= 1;
        self.shared.undone.notify_all();
    }
}

/// Guard that runs one action when it is dropped.
#[derive(Debug)]
pub struct UndoGuard {
    cleanup: Cleanup,
    id: u64,
}

impl UndoGuard {
    /// Removes the action from the list without running it.
    pub fn disarm(self) {
        drop(self.cleanup.shared.lock().undo.remove(&self.id));
    }
}

impl Drop for UndoGuard {
    fn drop(&mut self) {
        self.cleanup.undo(self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_end_waits_for_what_is_being_undone() {
        let cleanup = Cleanup::default();
        let (begun, wait) = (Arc::new(std::sync::Barrier::new(2)), Duration::from_millis(50));
        let undone = Arc::new(AtomicU32::new(0));
        let guard = {
            let (begun, undone) = (begun.clone(), undone.clone());
            cleanup.register(move || {
                begun.wait();
                std::thread::sleep(wait);
                undone.store(1, Ordering::SeqCst);
            })
        };
        let owner = std::thread::spawn(move || drop(guard));
        begun.wait();
        cleanup.undo_all();
        assert_eq!(undone.load(Ordering::SeqCst), 1);
        owner.join().unwrap();
    }

    #[test]
    fn a_second_end_waits_for_the_first() {
        let cleanup = Cleanup::default();
        let (begun, undone) = (Arc::new(std::sync::Barrier::new(2)), Arc::new(AtomicU32::new(0)));
        let guard = {
            let (begun, undone) = (begun.clone(), undone.clone());
            cleanup.register(move || {
                begun.wait();
                std::thread::sleep(Duration::from_millis(50));
                undone.store(1, Ordering::SeqCst);
            })
        };
        let first = std::thread::spawn({
            let cleanup = cleanup.clone();
            move || cleanup.undo_all()
        });
        begun.wait();
        cleanup.undo_all();
        assert_eq!(undone.load(Ordering::SeqCst), 1);
        first.join().unwrap();
        drop(guard);
    }

    #[test]
    fn the_end_undoes_what_is_being_made() {
        let cleanup = Cleanup::default();
        let (begun, is_made) = (Arc::new(std::sync::Barrier::new(2)), Arc::new(AtomicU32::new(0)));
        let maker = std::thread::spawn({
            let (cleanup, begun, is_made) = (cleanup.clone(), begun.clone(), is_made.clone());
            move || {
                let making = cleanup.make(|| {
                    begun.wait();
                    std::thread::sleep(Duration::from_millis(50));
                    is_made.store(1, Ordering::SeqCst);
                    Ok(((), move || is_made.store(0, Ordering::SeqCst)))
                });
                std::mem::forget(making);
            }
        });
        begun.wait();
        cleanup.undo_all();
        assert_eq!(is_made.load(Ordering::SeqCst), 0);
        maker.join().unwrap();
        let refused = cleanup.make(|| -> io::Result<((), fn())> { panic!("is made") });
        assert_eq!(refused.unwrap_err().to_string(), "a signal is ending the process");
    }

    #[test]
    fn handlers_are_installed_before_something_is_made() {
        let cleanup = Cleanup::default();
        let handlers = Arc::new(AtomicU32::new(0));
        let installed = handlers.clone();
        cleanup.before_next(move || installed.store(1, Ordering::SeqCst));
        let (seen, _guard) = cleanup.make(|| Ok((handlers.load(Ordering::SeqCst), || ()))).unwrap();
        assert_eq!(seen, 1);
    }

    #[test]
    fn each_thing_is_undone_exactly_once() {
        let cleanup = Cleanup::default();
        let undone = Arc::new(AtomicU32::new(0));
        let register = |weight: u32| {
            let undone = undone.clone();
            cleanup.register(move || {
                undone.fetch_add(weight, Ordering::SeqCst);
            })
        };
        drop(register(1));
        register(10).disarm();
        let by_signal = register(100);
        cleanup.undo_all();
        drop(by_signal);
        drop(register(1000));
        assert_eq!(undone.load(Ordering::SeqCst), 1101);
    }
}
