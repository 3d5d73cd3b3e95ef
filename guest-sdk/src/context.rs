//! What was being done, before the words of an error.

use std::error::Error;
use std::fmt::Display;

use crate::result::Failure;

/// Says what failed. An error of serde, of `str::from_utf8` or of `std::io` knows no file; this trait puts one before it:
///
/// ```
/// use modbox_sdk::{Context as _, Failure};
///
/// fn port(path: &str, text: &str) -> Result<u16, Failure> {
///     text.trim().parse().with_context(|| format!("failed to read the port in `{path}`"))
/// }
/// let failure = port("/etc/port", "http").unwrap_err();
/// assert_eq!(failure.message(), "failed to read the port in `/etc/port`: invalid digit found in string");
/// ```
pub trait Context<T> {
    /// Makes a failure of an error: the text, a colon, and the error with its causes.
    ///
    /// # Errors
    ///
    /// There was an error, or no value.
    fn context(self, text: impl Display) -> Result<T, Failure>;

    /// As [`context`](Self::context), for a text that is only made when there is an error.
    ///
    /// # Errors
    ///
    /// There was an error, or no value.
    fn with_context<D: Display>(self, text: impl FnOnce() -> D) -> Result<T, Failure>;
}

/// What becomes a failure behind a text: errors, and failures, which do not implement `Error`.
trait Cause {
    fn behind(self, text: &dyn Display) -> Failure;
}

impl<E: Error + 'static> Cause for E {
    fn behind(self, text: &dyn Display) -> Failure {
        Failure::from(self).behind(text)
    }
}

impl Cause for Failure {
    fn behind(mut self, text: &dyn Display) -> Failure {
        self.message = format!("{}: {}", Self::new(text).message, self.message);
        self
    }
}

impl<T, E: Cause> Context<T> for Result<T, E> {
    fn context(self, text: impl Display) -> Result<T, Failure> {
        self.map_err(|error| error.behind(&text))
    }

    fn with_context<D: Display>(self, text: impl FnOnce() -> D) -> Result<T, Failure> {
        self.map_err(|error| error.behind(&text()))
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, text: impl Display) -> Result<T, Failure> {
        self.ok_or_else(|| Failure::new(text))
    }

    fn with_context<D: Display>(self, text: impl FnOnce() -> D) -> Result<T, Failure> {
        self.ok_or_else(|| Failure::new(text()))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_text_stands_before_the_causes() {
        let missing: Result<(), _> = Err(io::Error::from_raw_os_error(2));
        let failure = missing.context("failed to read `motd`").unwrap_err().with("path", "motd");
        assert_eq!(failure.message(), "failed to read `motd`: No such file or directory");
        let outer = Err::<(), _>(failure).with_context(|| "greeting").unwrap_err();
        assert_eq!(outer.message(), "greeting: failed to read `motd`: No such file or directory");
        assert_eq!(outer.entries["path"], "motd".into());
    }

    #[test]
    fn nothing_is_a_failure_with_the_text_alone() {
        assert_eq!(None::<u8>.context("no port").unwrap_err().message(), "no port");
        assert_eq!(Some(1).with_context(|| "no port").unwrap(), 1);
    }
}
