//! Python's `datetime`: dates, times, moments and durations as values.
//!
//! YAML has dates, and templates parse and subtract times. Nothing here knows the time of the machine or its zones.

mod calendar;
mod clock;
mod duration;
mod moment;

pub use calendar::Calendar;
pub use clock::{Clock, Offset};
pub use duration::Duration;
pub use moment::Moment;

pub(crate) use calendar::date_repr;
pub(crate) use clock::clock_repr;
pub(crate) use duration::duration_repr;
pub(crate) use moment::moment_repr;
