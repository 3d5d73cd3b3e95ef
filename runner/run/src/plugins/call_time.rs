//! The processor time of one call of a plugin, measured while its answer is waited for.
//!
//! The first look at a call, a fraction of a second after its begin, is what the later ones are compared with: a look costs more
//! than most calls, which end before the first one.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// What the call that runs has used.
#[derive(Debug)]
pub(super) struct CallTime {
    limit: Duration,
    /// The end of the call, by which it is known, and what the process had used at the first look.
    call: Option<(Instant, Duration)>,
}

impl CallTime {
    /// Returns the time of calls that may use so much.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, call: None }
    }

    /// Looks at the call that has to end at `deadline`. A look that fails is repeated the next time; the limit of the whole process
    /// holds meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::QuotaExceeded`] if the call has used more than it may.
    pub(super) fn check(&mut self, deadline: Instant, used: impl FnOnce() -> io::Result<Duration>) -> io::Result<()> {
        let Ok(used) = used() else { return Ok(()) };
        let before = match self.call {
            Some((call, before)) if call == deadline => before,
            _ => self.call.insert((deadline, used)).1,
        };
        if used.saturating_sub(before) > self.limit { Err(ErrorKind::QuotaExceeded.into()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_its_own_time() {
        let seconds = Duration::from_secs;
        let mut time = CallTime::new(seconds(20));
        let (first, second) = (Instant::now(), Instant::now() + seconds(1));
        let kind = |found: io::Result<()>| found.err().map(|error| error.kind());
        assert_eq!(kind(time.check(first, || Ok(seconds(100)))), None);
        assert_eq!(kind(time.check(first, || Ok(seconds(120)))), None);
        assert_eq!(kind(time.check(first, || Err(ErrorKind::NotFound.into()))), None);
        assert_eq!(kind(time.check(second, || Ok(seconds(121)))), None);
        assert_eq!(kind(time.check(second, || Ok(seconds(142)))), Some(ErrorKind::QuotaExceeded));
    }
}
