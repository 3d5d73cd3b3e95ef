//! Python's `datetime`: dates, times, moments and durations as values.
//!
//! YAML has dates, and templates parse and subtract times. Nothing here knows the time of the machine or its zones.

mod calendar;
mod clock;
mod duration;
mod format;
mod moment;
mod parse;

pub use calendar::Calendar;
pub use clock::{Clock, Offset};
pub use duration::Duration;
pub use moment::Moment;
pub use parse::{ParseError, strptime};

pub(crate) use calendar::date_repr;
pub(crate) use clock::clock_repr;
pub(crate) use duration::duration_repr;
pub(crate) use format::{Fields, strftime};
pub(crate) use moment::moment_repr;
