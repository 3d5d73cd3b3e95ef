//! Files that facts are read from. One that is not there, or not granted, has no facts.

use std::path::Path;

use modbox_sdk::{Dict, Value};

/// Longer than any of them.
const MAX: u64 = 4 << 20;

/// Returns what a file holds, without blanks around it; nothing for an empty one.
pub(crate) fn text(path: &str) -> Option<String> {
    let bytes = modbox_sdk::fs::read(Path::new(path), MAX).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Facts in the making.
#[derive(Default)]
pub(crate) struct Facts(pub(crate) Dict);

impl Facts {
    /// Adds one.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Adds one that may not be known.
    pub(crate) fn put_known(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}
