//! `datetime.time` and `datetime.timezone`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};
use time::Time;

use super::duration::{Duration, duration_repr};

/// A `datetime.time` without a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Clock(pub Time);

/// A `datetime.timezone`: a fixed distance from UTC.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Offset {
    /// Seconds east of UTC.
    pub seconds: i32,
    /// The name of the zone, if it has one other than `UTC+01:00`.
    pub name: Option<String>,
}

impl Clock {
    /// Returns a time of a day, or `None` if no day has it.
    #[must_use]
    pub fn new(hour: u8, minute: u8, second: u8, micros: u32) -> Option<Self> {
        Time::from_hms_micro(hour, minute, second, micros).ok().map(Self)
    }

    /// Returns the result of `isoformat()`.
    #[must_use]
    pub fn iso(&self) -> String {
        let (hour, minute, second, micros) = self.0.as_hms_micro();
        let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
        format!("{hour:02}:{minute:02}:{second:02}{fraction}")
    }
}

impl Offset {
    /// Returns the offset as `+01:00`.
    #[must_use]
    pub fn iso(&self) -> String {
        let sign = if self.seconds < 0 { '-' } else { '+' };
        let seconds = self.seconds.unsigned_abs();
        let rest = if seconds.is_multiple_of(60) { String::new() } else { format!(":{:02}", seconds % 60) };
        format!("{sign}{:02}:{:02}{rest}", seconds / 3600, seconds / 60 % 60)
    }

    /// Returns the name of the zone, as `%Z` writes it.
    #[must_use]
    pub fn zone(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None if self.seconds == 0 => "UTC".to_owned(),
            None => format!("UTC{}", self.iso()),
        }
    }

    pub(crate) fn repr(&self) -> String {
        if self.seconds == 0 && self.name.is_none() {
            return "datetime.timezone.utc".to_owned();
        }
        let distance = duration_repr(&Duration::from_micros(i128::from(self.seconds) * 1_000_000));
        let name = self.name.as_ref().map(|name| format!(", {}", modbox_python_json::str_repr(name)));
        format!("datetime.timezone({distance}{})", name.unwrap_or_default())
    }
}

/// Returns the arguments of a time in `repr()`, of which those that are zero at the end are left out.
pub(crate) fn clock_arguments(time: Time) -> String {
    match time.as_hms_micro() {
        (hour, minute, 0, 0) => format!("{hour}, {minute}"),
        (hour, minute, second, 0) => format!("{hour}, {minute}, {second}"),
        (hour, minute, second, micros) => format!("{hour}, {minute}, {second}, {micros}"),
    }
}

/// Returns Python's `repr()` of a time.
pub(crate) fn clock_repr(clock: &Clock) -> String {
    format!("datetime.time({})", clock_arguments(clock.0))
}

impl Object for Clock {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        clock_part(self.0, key.as_str()?)
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        Some(self.as_ref().cmp(other.downcast_ref::<Self>()?))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.iso())
    }
}

/// Returns an attribute of a time.
pub(crate) fn clock_part(time: Time, name: &str) -> Option<Value> {
    let (hour, minute, second, micros) = time.as_hms_micro();
    Some(match name {
        "hour" => Value::from(hour),
        "minute" => Value::from(minute),
        "second" => Value::from(second),
        "microsecond" => Value::from(micros),
        _ => return None,
    })
}
