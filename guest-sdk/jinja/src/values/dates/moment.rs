//! `datetime.datetime`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};
use time::PrimitiveDateTime;

use super::calendar::Calendar;
use super::clock::{Clock, Offset, clock_arguments, clock_part};
use super::duration::Duration;

/// A `datetime.datetime`, with or without an offset from UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    date: Calendar,
    clock: Clock,
    offset: Option<Offset>,
}

impl Moment {
    /// Returns a moment.
    #[must_use]
    pub fn new(date: Calendar, clock: Clock, offset: Option<Offset>) -> Self {
        Self { date, clock, offset }
    }

    /// Returns the moment this many microseconds after the start of 1970, or `None` outside the years 1 to 9999.
    #[must_use]
    pub fn from_micros(micros: i128, offset: Option<Offset>) -> Option<Self> {
        let local = micros.checked_add(i128::from(offset.as_ref().map_or(0, |offset| offset.seconds)) * 1_000_000)?;
        let moment = time::UtcDateTime::from_unix_timestamp_nanos(local.checked_mul(1000)?).ok()?;
        Some(Self { date: Calendar::of(moment.date())?, clock: Clock(moment.time()), offset })
    }

    /// Returns the date.
    #[must_use]
    pub fn date(&self) -> Calendar {
        self.date
    }

    /// Returns the time of the day.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the offset from UTC.
    #[must_use]
    pub fn offset(&self) -> Option<&Offset> {
        self.offset.as_ref()
    }

    /// Returns microseconds since the start of 1970. A moment without an offset counts as UTC.
    #[must_use]
    pub fn instant(&self) -> i128 {
        let local = PrimitiveDateTime::new(self.date.date(), self.clock.0).assume_utc().unix_timestamp_nanos() / 1000;
        local - i128::from(self.offset.as_ref().map_or(0, |offset| offset.seconds)) * 1_000_000
    }

    /// Compares moments. `None`: one has an offset and the other has none, which Python refuses to order.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        (self.offset.is_some() == other.offset.is_some()).then(|| self.instant().cmp(&other.instant()))
    }

    /// Returns the time between two moments, or `None` if only one has an offset.
    #[must_use]
    pub fn since(&self, other: &Self) -> Option<Duration> {
        self.compare(other).map(|_| Duration::from_micros(self.instant() - other.instant()))
    }

    /// Returns the moment later by a duration, or `None` outside the years 1 to 9999.
    #[must_use]
    pub fn plus(&self, duration: Duration) -> Option<Self> {
        Self::from_micros(self.instant().checked_add(duration.micros())?, self.offset.clone())
    }

    /// Returns the result of `isoformat()`, with a separator.
    #[must_use]
    pub fn iso(&self, between: char) -> String {
        let offset = self.offset.as_ref().map(Offset::iso).unwrap_or_default();
        format!("{}{between}{}{offset}", self.date.iso(), self.clock.iso())
    }
}

/// Returns Python's `repr()` of a moment.
pub(crate) fn moment_repr(moment: &Moment) -> String {
    let date = moment.date.date();
    let zone = moment.offset.as_ref().map(|offset| format!(", tzinfo={}", offset.repr())).unwrap_or_default();
    let clock = clock_arguments(moment.clock.0);
    format!("datetime.datetime({}, {}, {}, {clock}{zone})", date.year(), u8::from(date.month()), date.day())
}

impl Object for Moment {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        clock_part(self.clock.0, name).or_else(|| Arc::new(self.date).get_value(key))
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        self.compare(other.downcast_ref::<Self>()?)
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.iso(' '))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_calendar() {
        let date = Calendar::new(2024, 2, 29).unwrap();
        let moment = Moment::new(date, Clock::new(23, 59, 59, 5).unwrap(), None);
        assert_eq!(moment_repr(&moment), "datetime.datetime(2024, 2, 29, 23, 59, 59, 5)");
        assert_eq!(moment.iso('T'), "2024-02-29T23:59:59.000005");
        assert_eq!(moment.plus(Duration::from_micros(999_995)).unwrap().iso(' '), "2024-03-01 00:00:00");
        let east = Offset { seconds: 3600, name: None };
        let zoned = Moment::from_micros(moment.instant(), Some(east)).unwrap();
        assert_eq!(zoned.iso(' '), "2024-03-01 00:59:59.000005+01:00");
        assert_eq!((zoned.compare(&moment), zoned.instant()), (None, moment.instant()));
        assert_eq!(Calendar::new(2023, 2, 29), None);
    }
}
