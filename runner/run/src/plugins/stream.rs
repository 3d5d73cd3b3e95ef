//! A socket that is read and written until a moment, whatever the other end does.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A socket with a deadline.
#[derive(Debug)]
pub(super) struct DeadlineStream<'a> {
    socket: &'a UnixStream,
    deadline: Instant,
}

impl<'a> DeadlineStream<'a> {
    /// Gives a socket this much time from now on.
    pub(super) fn new(socket: &'a UnixStream, patience: Duration) -> Self {
        Self::until(socket, Instant::now() + patience)
    }

    /// Gives a socket time until a moment.
    pub(super) fn until(socket: &'a UnixStream, deadline: Instant) -> Self {
        Self { socket, deadline }
    }

    /// Returns the time that is left.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// Returns an error of a socket whose time is over as such: the kernel says that the call would block.
fn timed(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.left()?))?;
        let mut socket = self.socket;
        socket.read(buffer).map_err(timed)
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.left()?))?;
        let mut socket = self.socket;
        socket.write(bytes).map_err(timed)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_silent_or_does_not_read_takes_no_longer() {
        let (here, _there) = UnixStream::pair().unwrap();
        let patience = Duration::from_millis(20);
        let read = DeadlineStream::new(&here, patience).read(&mut [0]).unwrap_err();
        assert_eq!(read.kind(), io::ErrorKind::TimedOut);
        let written = DeadlineStream::new(&here, patience).write_all(&vec![0; 16 << 20]).unwrap_err();
        assert_eq!(written.kind(), io::ErrorKind::TimedOut);
    }
}
