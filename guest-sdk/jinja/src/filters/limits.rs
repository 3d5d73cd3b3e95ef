//! How much a filter may make of small arguments.

use minijinja::Value;

use crate::failure::Outcome;
use crate::values::ValueError;

/// The most items of a list that a filter makes.
pub(super) const MAX_ITEMS: usize = 5_000_000;

/// Returns a list.
///
/// # Errors
///
/// It has too many items.
pub(super) fn list_of(items: Vec<Value>) -> Outcome {
    if items.len() > MAX_ITEMS { Err(ValueError::TooLarge.into()) } else { Ok(Value::from(items)) }
}
