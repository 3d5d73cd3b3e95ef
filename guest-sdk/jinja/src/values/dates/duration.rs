//! `datetime.timedelta`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{DynObject, Object, ObjectRepr};

const DAY: i128 = 86_400_000_000;

/// A `datetime.timedelta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i128);

impl Duration {
    /// Returns a duration of microseconds.
    #[must_use]
    pub fn from_micros(micros: i128) -> Self {
        Self(micros)
    }

    /// Returns the whole duration in microseconds.
    #[must_use]
    pub fn micros(&self) -> i128 {
        self.0
    }

    /// Returns days, seconds and microseconds, of which only days are negative.
    #[must_use]
    pub fn parts(&self) -> (i128, i128, i128) {
        let rest = self.0.rem_euclid(DAY);
        (self.0.div_euclid(DAY), rest / 1_000_000, rest % 1_000_000)
    }

    /// Returns the result of `total_seconds()`.
    #[must_use]
    pub fn total_seconds(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "Python divides floats, too")]
        let seconds = self.0 as f64 / 1e6;
        seconds
    }

    /// Returns the result of `str()`: `1 day, 2:03:04`.
    #[must_use]
    pub fn text(&self) -> String {
        let (days, seconds, micros) = self.parts();
        let days = match days {
            0 => String::new(),
            1 | -1 => format!("{days} day, "),
            _ => format!("{days} days, "),
        };
        let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
        format!("{days}{}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    }
}

/// Returns Python's `repr()` of a duration.
pub(crate) fn duration_repr(duration: &Duration) -> String {
    let (days, seconds, micros) = duration.parts();
    let parts = [("days", days), ("seconds", seconds), ("microseconds", micros)];
    let parts: Vec<String> =
        parts.iter().filter(|(_, number)| *number != 0).map(|(name, number)| format!("{name}={number}")).collect();
    format!("datetime.timedelta({})", if parts.is_empty() { "0".to_owned() } else { parts.join(", ") })
}

impl Object for Duration {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let (days, seconds, micros) = self.parts();
        Some(match key.as_str()? {
            "days" => Value::from(days),
            "seconds" => Value::from(seconds),
            "microseconds" => Value::from(micros),
            _ => return None,
        })
    }

    fn is_true(self: &Arc<Self>) -> bool {
        self.0 != 0
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        Some(self.as_ref().cmp(other.downcast_ref::<Self>()?))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_python_writes() {
        let cases = [
            (0, "0:00:00", "datetime.timedelta(0)"),
            (
                86_400_000_000 + 3_723_000_001,
                "1 day, 1:02:03.000001",
                "datetime.timedelta(days=1, seconds=3723, microseconds=1)",
            ),
            (-1_000_000, "-1 day, 23:59:59", "datetime.timedelta(days=-1, seconds=86399)"),
        ];
        for (micros, text, repr) in cases {
            let duration = Duration::from_micros(micros);
            assert_eq!((duration.text().as_str(), duration_repr(&duration).as_str()), (text, repr));
        }
    }
}
