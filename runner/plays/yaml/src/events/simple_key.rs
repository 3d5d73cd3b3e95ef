//! Keys without `?`: what looks like a value is one if a colon follows, on the same line and not too far away.

use super::error::{Scanned, SyntaxError};
use super::mark::Mark;

/// The most characters of a key and the colon behind it.
const MAX_LENGTH: usize = 1024;

/// A token that is a key if a colon follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct SimpleKey {
    /// Only a key may stand there.
    pub(super) is_required: bool,
    /// The number of the token, over the whole text.
    pub(super) token: usize,
    pub(super) mark: Mark,
}

/// The last possible key in each flow collection that is open, and in the block around them.
#[derive(Debug)]
pub(super) struct SimpleKeys(Vec<Option<SimpleKey>>);

impl SimpleKeys {
    pub(super) fn new() -> Self {
        Self(vec![None])
    }

    /// Begins a flow collection.
    pub(super) fn open(&mut self) {
        self.0.push(None);
    }

    /// Ends a flow collection.
    pub(super) fn close(&mut self) {
        if self.0.len() > 1 {
            self.0.pop();
        }
    }

    /// Sets the possible key of the innermost collection.
    pub(super) fn set(&mut self, key: SimpleKey) {
        if let Some(last) = self.0.last_mut() {
            *last = Some(key);
        }
    }

    /// Takes the possible key of the innermost collection.
    pub(super) fn take(&mut self) -> Option<SimpleKey> {
        self.0.last_mut()?.take()
    }

    /// Says whether a token may be a key, so that what follows it has to be read first.
    pub(super) fn has(&self, token: usize) -> bool {
        self.0.iter().flatten().any(|key| key.token == token)
    }

    /// Drops the possible key of the innermost collection.
    pub(super) fn remove(&mut self, here: Mark) -> Scanned<()> {
        self.take().filter(|key| key.is_required).map_or(Ok(()), |key| missing_colon(&key, here))
    }

    /// Drops the possible keys that are on another line or too far away.
    pub(super) fn remove_stale(&mut self, here: Mark) -> Scanned<()> {
        for slot in &mut self.0 {
            let is_stale = |key: &SimpleKey| key.mark.line < here.line || key.mark.index + MAX_LENGTH < here.index;
            if let Some(key) = slot.take_if(|key| is_stale(key))
                && key.is_required
            {
                return missing_colon(&key, here);
            }
        }
        Ok(())
    }
}

fn missing_colon(key: &SimpleKey, here: Mark) -> Scanned<()> {
    SyntaxError::within("while scanning a simple key", key.mark, "could not find expected ':'", here)
}
