//! What a module says of its work, for whoever runs it: one JSON object a line, on standard error.
//!
//! modbox takes these lines out of what a module writes there, and shows them with `--log` and `-v`. Standard output belongs to the
//! result.

use std::io::{self, Write};

use modbox_python_json::{Value, encode};

use crate::module::Module;

/// The one key of a line, so that nothing else is taken for one.
const KEY: &str = "modbox_log";

impl Module {
    /// Says something of the module's work to the log; nothing when the caller wants nothing logged. Secrets are masked.
    pub fn log(&self, message: impl Into<String>) {
        if !self.internal.no_log {
            self.write("info", message.into());
        }
    }

    /// Says something that only somebody who looks for a mistake wants to know, when the caller asks for that.
    pub fn debug(&self, message: impl Into<String>) {
        if self.internal.debug && !self.internal.no_log {
            self.write("debug", message.into());
        }
    }

    fn write(&self, level: &str, message: String) {
        let message = self.secrets.mask_text(&message);
        let line = Value::from([(KEY, Value::from([("level", Value::from(level)), ("msg", message.into())]))]);
        // A log that nobody reads is no reason to fail.
        let _ = writeln!(io::stderr().lock(), "{}", encode(&line));
    }
}
