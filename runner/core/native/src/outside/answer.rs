//! The call by which a process of a room asks for a command outside, and the values that it returns.

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The number of `lookup_dcookie`, which Linux 6.7 removed and whose number stays unused. No profile allows it, so the filter of a
/// room reports it. Arguments: the words, their length in bytes, the variables, their length, the umask. Words and variables
/// end with a NUL byte each; the first word is the path of the program.
#[cfg(target_arch = "x86_64")]
pub(crate) const CALL: i64 = 212;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) const CALL: i64 = 18;

/// Added to the number of a signal.
const SIGNAL: i64 = 0x100;

/// The command is started in the room.
const INSIDE: i64 = 0x1000;

/// What a process that has asked is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The command ran outside, and exited with this status.
    Exit(u8),
    /// The command ran outside, and this signal ended it.
    Signal(u8),
    /// No rule covers the command. It may run in the room.
    Inside,
    /// A rule covers the command, and it was not started; a number of an error.
    NotStarted(i32),
}

impl Answer {
    /// Returns the answer for a command that was not started.
    pub(crate) fn not_started(errno: Errno) -> Self {
        Self::NotStarted(errno.raw_os_error())
    }

    /// Returns the value that the call returns, or the error with which it fails.
    pub(crate) fn value(self) -> Result<i64, Errno> {
        match self {
            Self::Exit(status) => Ok(status.into()),
            Self::Signal(signal) => Ok(SIGNAL + i64::from(signal)),
            Self::Inside => Ok(INSIDE),
            Self::NotStarted(errno) => Err(Errno::from_raw_os_error(errno)),
        }
    }

    /// Returns the answer that the call has returned, or the error with which it failed.
    pub(crate) fn of_value(value: Result<i64, Errno>) -> Self {
        let part = |value: i64| u8::try_from(value).unwrap_or(u8::MAX);
        match value {
            Ok(INSIDE) => Self::Inside,
            Ok(value) if value >= SIGNAL => Self::Signal(part(value - SIGNAL)),
            Ok(value) => Self::Exit(part(value)),
            Err(errno) => Self::not_started(errno),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_arrives_as_it_was_given() {
        let answers = [0, 1, 127, 255].map(Answer::Exit).into_iter().chain([1, 9, 15, 64].map(Answer::Signal));
        for answer in answers.chain([Answer::Inside, Answer::not_started(Errno::AGAIN)]) {
            assert_eq!(Answer::of_value(answer.value()), answer);
        }
    }
}
