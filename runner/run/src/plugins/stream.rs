//! A socket that is read and written until a moment, whatever the other end does, and as long as a check of its caller allows.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How often the check is asked.
const INTERVAL: Duration = Duration::from_millis(200);

/// Says whether the exchange may go on.
type Check<'a> = &'a mut dyn FnMut() -> io::Result<()>;

/// A socket with a deadline.
pub(super) struct DeadlineStream<'a> {
    socket: &'a UnixStream,
    deadline: Instant,
    /// The check, and when it is asked the next time.
    check: Option<(Check<'a>, Instant)>,
}

impl<'a> DeadlineStream<'a> {
    /// Gives a socket this much time from now on.
    pub(super) fn new(socket: &'a UnixStream, patience: Duration) -> Self {
        Self::until(socket, Instant::now() + patience)
    }

    /// Gives a socket time until a moment.
    pub(super) fn until(socket: &'a UnixStream, deadline: Instant) -> Self {
        Self { socket, deadline, check: None }
    }

    /// Asks `check` several times a second while an exchange lasts. Its error ends the exchange.
    pub(super) fn checked_by(mut self, check: Check<'a>) -> Self {
        self.check = Some((check, Instant::now() + INTERVAL));
        self
    }

    /// Returns how long the next call may wait: until the deadline, or the next check.
    fn patience(&mut self) -> io::Result<Duration> {
        let now = Instant::now();
        let left = self.deadline.saturating_duration_since(now);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let Some((check, next)) = &mut self.check else { return Ok(left) };
        if now >= *next {
            check()?;
            *next = now + INTERVAL;
        }
        // The kernel takes nothing for no limit.
        Ok(left.min(next.saturating_duration_since(now)).max(Duration::from_millis(1)))
    }

    /// Repeats a call of the socket that only waited until the next check.
    fn patiently(
        &mut self,
        set: fn(&UnixStream, Option<Duration>) -> io::Result<()>,
        mut call: impl FnMut(&UnixStream) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            set(self.socket, Some(self.patience()?))?;
            match call(self.socket) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.patiently(UnixStream::set_read_timeout, |mut socket| socket.read(buffer))
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(UnixStream::set_write_timeout, |mut socket| socket.write(bytes))
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
    #[test]
    fn a_check_ends_an_exchange_also_with_a_peer_that_goes_on_sending() {
        let (here, mut there) = UnixStream::pair().unwrap();
        there.write_all(b"a").unwrap();
        let mut asked = 0;
        let mut check = || {
            asked += 1;
            there.write_all(b"b").unwrap();
            if asked < 3 { Ok(()) } else { Err(io::ErrorKind::QuotaExceeded.into()) }
        };
        let mut stream = DeadlineStream::new(&here, Duration::from_secs(600)).checked_by(&mut check);
        let read = stream.read_exact(&mut [0; 8]).unwrap_err();
        assert_eq!((read.kind(), asked), (io::ErrorKind::QuotaExceeded, 3));
    }
}
