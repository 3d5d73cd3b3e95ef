//! `range(…)`: integers that are not made until they are read.

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Object, ObjectRepr, Value};
use minijinja::{Error, ErrorKind};

/// How many items a range may give.
pub const MAX_RANGE: usize = 1_000_000;

/// Integers from a first one to a last one.
#[derive(Debug, PartialEq, Eq)]
pub struct Range {
    /// The first integer.
    pub start: i64,
    /// The integer before which it ends.
    pub stop: i64,
    /// The difference between an item and the next, never 0.
    pub step: i64,
}

impl Range {
    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        let (start, stop, step) = (i128::from(self.start), i128::from(self.stop), i128::from(self.step));
        let span = if step > 0 { stop - start } else { start - stop };
        let count = if span <= 0 { 0 } else { (span - 1) / step.abs() + 1 };
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// Says whether the range is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns an item.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value> {
        let index = i64::try_from(index).ok().filter(|_| index < self.len())?;
        Some(Value::from(self.start.checked_add(self.step.checked_mul(index)?)?))
    }

    /// Returns the range of the items that a slice picks.
    #[must_use]
    pub fn slice(&self, [start, stop, step]: [Option<i64>; 3]) -> Option<Self> {
        let (length, step) = (i64::try_from(self.len()).ok()?, step.unwrap_or(1));
        let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
        let place = |bound: Option<i64>, default: i64| match bound {
            None => default,
            Some(bound) if bound < 0 => bound.saturating_add(length).max(low),
            Some(bound) => bound.min(high),
        };
        let (first, end) = if step > 0 { (low, high) } else { (high, low) };
        let value = |at: i64| self.step.checked_mul(at).and_then(|offset| self.start.checked_add(offset));
        let (start, stop) = (value(place(start, first))?, value(place(stop, end))?);
        Some(Self { start, stop, step: self.step.checked_mul(step)? })
    }

    /// Says whether two ranges have the same items.
    #[must_use]
    pub fn equals(&self, other: &Self) -> bool {
        let length = self.len();
        length == other.len()
            && (length == 0 || (self.start == other.start && (length == 1 || self.step == other.step)))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            1 => write!(f, "range({}, {})", self.start, self.stop),
            step => write!(f, "range({}, {}, {step})", self.start, self.stop),
        }
    }
}

/// The items of a range, as filters read them. Its text is that of the range.
#[derive(Debug)]
pub struct RangeItems(pub Arc<Range>);

impl Object for Range {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.is_empty()
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl Object for RangeItems {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        let range = self.0.clone();
        if range.len() <= MAX_RANGE {
            return Enumerator::Seq(range.len());
        }
        let items = (0..MAX_RANGE).map_while(move |index| range.get(index));
        let end = Error::new(ErrorKind::InvalidOperation, format!("a range has more than {MAX_RANGE} items"));
        Enumerator::Iter(Box::new(items.chain(std::iter::once(Value::from(end)))))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }
}
