//! `datetime.date`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};
use time::{Date, Month};

/// A `datetime.date`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Calendar(Date);

impl Calendar {
    /// Returns a date of the years 1 to 9999, or `None` if the calendar lacks it.
    #[must_use]
    pub fn new(year: i32, month: u8, day: u8) -> Option<Self> {
        let month = Month::try_from(month).ok()?;
        Date::from_calendar_date(year, month, day).ok().and_then(Self::of)
    }

    /// Returns a date, or `None` if its year is not one of 1 to 9999.
    #[must_use]
    pub fn of(date: Date) -> Option<Self> {
        (1..=9999).contains(&date.year()).then_some(Self(date))
    }

    /// Returns the date of the calendar library.
    #[must_use]
    pub fn date(&self) -> Date {
        self.0
    }

    /// Returns the result of `isoformat()`.
    #[must_use]
    pub fn iso(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.0.year(), u8::from(self.0.month()), self.0.day())
    }
}

/// Returns Python's `repr()` of a date.
pub(crate) fn date_repr(date: &Calendar) -> String {
    let date = date.date();
    format!("datetime.date({}, {}, {})", date.year(), u8::from(date.month()), date.day())
}

impl Object for Calendar {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        Some(match key.as_str()? {
            "year" => Value::from(self.0.year()),
            "month" => Value::from(u8::from(self.0.month())),
            "day" => Value::from(self.0.day()),
            _ => return None,
        })
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        Some(self.as_ref().cmp(other.downcast_ref::<Self>()?))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.iso())
    }
}
