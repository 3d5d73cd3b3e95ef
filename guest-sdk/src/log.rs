//! A module's log messages: one JSON object per line, on standard error.
//!
//! modbox removes these lines from standard error, and shows them with `--log` and `-v`. Standard output is for the
//! result.

use std::io::{self, Write};

use modbox_python_json::{Value, encode};

use crate::module::Module;

/// The only key of a line. It distinguishes these lines from other output.
const KEY: &str = "modbox_log";

impl Module {
    /// Writes a message to the log, unless the caller turned logging off. Secrets are masked.
    pub fn log(&self, message: impl Into<String>) {
        if !self.internal.no_log {
            self.write("info", message.into());
        }
    }

    /// Writes a message for finding mistakes to the log, if the caller turned debug output on.
    pub fn debug(&self, message: impl Into<String>) {
        if self.internal.debug && !self.internal.no_log {
            self.write("debug", message.into());
        }
    }

    fn write(&self, level: &str, message: String) {
        let message = self.secrets.mask_text(&message);
        let line = Value::from([(KEY, Value::from([("level", Value::from(level)), ("msg", message.into())]))]);
        // A module must not fail because its log cannot be written.
        let _ = writeln!(io::stderr().lock(), "{}", encode(&line));
    }
}
