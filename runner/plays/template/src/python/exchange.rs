//! What one call of a Python plugin exchanges with the evaluation: undefined values by number, and how much may still be sent.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use minijinja::Value;

use crate::evaluation::Evaluation;
use crate::marker::Marker;

/// Maximum size of what is sent in one call: bytes of texts, keys and digits, and one for each value. A frame has no more bytes.
const MAX_SENT: usize = 32 << 20;

/// How many undefined values a call may have in its arguments.
const MAX_MARKERS: usize = 10_000;

/// Maximum characters of the reason of an undefined value that a plugin makes.
const MAX_REASON: usize = 10_000;

/// A call that runs.
#[derive(Debug)]
pub(super) struct Exchange<'e> {
    pub(super) evaluation: &'e Arc<Evaluation>,
    markers: RefCell<Vec<Arc<Marker>>>,
    left: Cell<usize>,
}

impl<'e> Exchange<'e> {
    pub(super) fn new(evaluation: &'e Arc<Evaluation>) -> Self {
        Self { evaluation, markers: RefCell::default(), left: Cell::new(MAX_SENT) }
    }

    /// Counts what is sent.
    ///
    /// # Errors
    ///
    /// It is too much, as `vars` is, which has itself in it.
    pub(super) fn spend(&self, size: usize) -> Result<(), String> {
        let left = self.left.get().checked_sub(size);
        self.left.set(left.ok_or("what the plugin is given is larger than the limit of 32 MiB")?);
        Ok(())
    }

    /// Keeps an undefined value, and returns its number.
    ///
    /// # Errors
    ///
    /// There are too many.
    pub(super) fn keep(&self, marker: Arc<Marker>) -> Result<i64, String> {
        let mut markers = self.markers.borrow_mut();
        if markers.len() == MAX_MARKERS {
            return Err(format!("what the plugin is given has more than {MAX_MARKERS} undefined values"));
        }
        markers.push(marker);
        Ok(i64::try_from(markers.len() - 1).unwrap_or(i64::MAX))
    }

    /// Returns the undefined value of a number.
    pub(super) fn kept(&self, number: i64) -> Option<Value> {
        let markers = self.markers.borrow();
        Some(markers.get(usize::try_from(number).ok()?)?.value())
    }

    /// Makes an undefined value of a plugin's own.
    pub(super) fn undefined(&self, reason: &str) -> Value {
        self.evaluation.absent(reason.chars().take(MAX_REASON).collect()).value()
    }
}
