//! The thread that unmounts the layers of a run from their places.
//!
//! The kernel lets an unmount wait until every processor has passed a quiet state. Meanwhile the monitor judges the run and
//! makes the layers of the next one. This file does not decide when a place is used again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};

/// Whether descriptors of removed layers are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// No process has a descriptor or a mapping in a layer.
    Whole,
    /// A process keeps one. It has no path any more, and Landlock refuses to open anything by it.
    Kept,
}

/// The thread. It has the mounts of the one that started it.
#[derive(Debug)]
pub(crate) struct Remover {
    /// `None` when the thread ends.
    orders: Option<Sender<Vec<PathBuf>>>,
    results: Receiver<io::Result<Removed>>,
    /// Whether a result is to come.
    is_busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Remover {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The kernel gives no thread.
    pub(crate) fn start() -> io::Result<Self> {
        let (orders, ordered) = mpsc::channel::<Vec<PathBuf>>();
        let (done, results) = mpsc::channel();
        let serve = move || {
            for places in ordered {
                if done.send(remove(&places)).is_err() {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("unmount".to_owned()).spawn(serve)?;
        Ok(Self { orders: Some(orders), results, is_busy: false, thread: Some(thread) })
    }

    /// Returns whether the result of a removal is to be asked for.
    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Begins to unmount what is at these places. Ask for the result of the former removal first.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub(crate) fn begin(&mut self, places: Vec<PathBuf>) -> io::Result<()> {
        let orders = self.orders.as_ref().ok_or_else(ended)?;
        orders.send(places).map_err(|_| ended())?;
        self.is_busy = true;
        Ok(())
    }

    /// Waits until nothing is at the places.
    ///
    /// # Errors
    ///
    /// A layer stays attached, or the thread has ended.
    pub(crate) fn finish(&mut self) -> io::Result<Removed> {
        if !std::mem::take(&mut self.is_busy) {
            return Ok(Removed::Whole);
        }
        self.results.recv().map_err(|_| ended())?
    }
}

impl Drop for Remover {
    fn drop(&mut self) {
        self.orders = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the thread that unmounts layers ended by a panic");
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that unmounts layers has ended")
}

/// Unmounts what is at the places, the last one first.
fn remove(places: &[PathBuf]) -> io::Result<Removed> {
    let mut removed = Removed::Whole;
    for place in places.iter().rev() {
        if remove_one(place)? == Removed::Kept {
            removed = Removed::Kept;
        }
    }
    Ok(removed)
}

fn remove_one(place: &Path) -> io::Result<Removed> {
    match unmount(place, UnmountFlags::NOFOLLOW) {
        // A layer that could not be attached.
        Ok(()) | Err(Errno::INVAL) => Ok(Removed::Whole),
        Err(Errno::BUSY) => {
            unmount(place, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)?;
            Ok(Removed::Kept)
        }
        Err(errno) => Err(errno.into()),
    }
}
