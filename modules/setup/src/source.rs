//! Reads the files of facts. A file that does not exist or is not granted yields no facts.

use std::path::Path;

use modbox_sdk::{Dict, Value};

/// The longest file.
const MAX: u64 = 4 << 20;

/// Returns the contents of a file without surrounding blanks, or `None` if it is empty.
pub(crate) fn text(path: &str) -> Option<String> {
    let bytes = modbox_sdk::fs::read(Path::new(path), MAX).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The facts collected so far.
#[derive(Default)]
pub(crate) struct Facts(pub(crate) Dict);

impl Facts {
    /// Adds a fact.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Adds a fact if it is known.
    pub(crate) fn put_known(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}
