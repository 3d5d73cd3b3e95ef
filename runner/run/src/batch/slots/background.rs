//! Work in a thread, whose end wakes the main loop of a batch.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Receiver of wake-ups.
#[derive(Debug)]
pub(crate) struct Wakeups {
    reader: PipeReader,
    sender: WakeupSender,
}

/// Sender of wake-ups.
#[derive(Debug, Clone)]
pub(crate) struct WakeupSender(Arc<PipeWriter>);

impl WakeupSender {
    /// Wakes the main loop.
    pub(crate) fn wake(&self) {
        // Fails if the pipe is full: then the main loop wakes anyway.
        let _ = (&*self.0).write(b"w");
    }
}

/// Work in progress.
#[derive(Debug)]
pub(crate) struct Background<T> {
    /// `None` once the result was taken.
    thread: Option<JoinHandle<T>>,
    is_done: Arc<AtomicBool>,
}

/// Wakes the main loop when a thread ends, also by a panic.
struct Waker {
    is_done: Arc<AtomicBool>,
    wakeups: WakeupSender,
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.is_done.store(true, Ordering::Release);
        self.wakeups.wake();
    }
}

impl Wakeups {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        rustix::io::ioctl_fionbio(&reader, true)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        Ok(Self { reader, sender: WakeupSender(Arc::new(writer)) })
    }

    /// Empties the pipe. After this, the caller must check all work in progress.
    pub(crate) fn clear(&mut self) {
        let mut chunk = [0; 64];
        while self.reader.read(&mut chunk).is_ok_and(|count| count == chunk.len()) {}
    }

    /// Returns a sender for a thread that reports more than its end.
    pub(crate) fn sender(&self) -> WakeupSender {
        self.sender.clone()
    }

    /// Starts a thread.
    ///
    /// # Errors
    ///
    /// The kernel gives no thread.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Background<T>> {
        let is_done = Arc::new(AtomicBool::new(false));
        let waker = Waker { is_done: Arc::clone(&is_done), wakeups: self.sender() };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _waker = waker;
            work()
        })?;
        Ok(Background { thread: Some(thread), is_done })
    }
}

impl AsFd for Wakeups {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

impl<T> Background<T> {
    /// Returns whether the work is done.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Waits for the end of the work.
    pub(crate) fn wait(&mut self) {
        // A panic was reported by its thread.
        let _ = self.thread.take().map(JoinHandle::join);
    }

    /// Takes the result, once the work is done; an error is a panic.
    pub(crate) fn take(&mut self) -> Option<thread::Result<T>> {
        if !self.is_done() {
            return None;
        }
        self.thread.take().map(JoinHandle::join)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    fn wait(wakeups: &mut Wakeups) {
        poll(&mut [PollFd::new(wakeups, PollFlags::IN)], None).unwrap();
        wakeups.clear();
    }

    #[test]
    fn a_thread_that_ends_wakes_the_loop_also_by_a_panic() {
        let mut wakeups = Wakeups::new().unwrap();
        let (go, start) = mpsc::channel::<()>();
        let mut work = wakeups.start("test", move || start.recv().is_ok()).unwrap();
        assert!(work.take().is_none());
        go.send(()).unwrap();
        wait(&mut wakeups);
        assert!(work.take().unwrap().unwrap() && work.take().is_none());
        let mut panics = wakeups.start("test", || -> u8 { panic!("as expected") }).unwrap();
        wait(&mut wakeups);
        assert!(panics.take().unwrap().is_err());
    }
}
