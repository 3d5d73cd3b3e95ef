//! Functions that the guests share: read arguments, print one result.
//!
//! The tests build the guests for wasm32-wasip2. The guests do not use modbox's SDK, so that a mistake in it cannot
//! hide one in the runner.

use std::io::{self, Write};

use serde_json::{Map, Value};

/// The arguments of a run, from the JSON file.
#[derive(Debug)]
pub struct Args(pub Map<String, Value>);

impl Args {
    /// Reads the file in `argv[1]`.
    ///
    /// # Panics
    ///
    /// The file does not exist or is not a JSON object, which is a mistake of the runner.
    #[must_use]
    pub fn read() -> Self {
        let path = std::env::args().nth(1).expect("argv[1] names the arguments file");
        let bytes = std::fs::read(path).expect("the arguments file can be read");
        Self(serde_json::from_slice(&bytes).expect("the arguments file holds a JSON object"))
    }

    /// Returns a string argument, or `""`.
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a number, which may be written as a string.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        let value = self.0.get(name)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    }

    /// Returns a flag.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}

/// Prints a result.
///
/// # Panics
///
/// Standard output cannot be written.
pub fn print(result: &Value) {
    let mut stdout = io::stdout();
    writeln!(stdout, "{result}").expect("standard output takes the result");
}

/// Returns `ok`, or the kind and number of the error.
pub fn seen<T>(result: &io::Result<T>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("{:?} {}", error.kind(), error.raw_os_error().unwrap_or_default()),
    }
}

/// Creates the file of the argument `started`, so that the test knows that the guest runs.
///
/// # Panics
///
/// The file cannot be created.
pub fn say_started(args: &Args) {
    if !args.text("started").is_empty() {
        std::fs::write(args.text("started"), "").expect("the file `started` can be created");
    }
}
