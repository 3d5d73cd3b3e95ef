//! Filters for dates and times.

use minijinja::Value;

use crate::call::{Call, flag, given, str_argument};
use crate::failure::{Outcome, failure};
use crate::values::{Fields, Moment, Offset, View, parse_float, strftime, strptime, text, view};

/// Reads a moment by a format.
pub(super) fn to_datetime(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [format]) = call.bind(["string"], ["format"])?;
    let format = format.unwrap_or_else(|| Value::from("%Y-%m-%d %H:%M:%S"));
    let moment = strptime(&str_argument("strptime() argument 1", &value)?, &str_argument("format", &format)?);
    moment.map(Value::from_object).map_err(|error| failure(error.to_string()))
}

/// Writes a moment by a format: now, or a number of seconds since 1970.
pub(super) fn strftime_filter(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([format], [second, utc]) = call.bind(["string_format"], ["second", "utc"])?;
    let format = str_argument("strftime() argument 1", &format)?;
    let seconds = match given(second) {
        Some(second) => seconds(&second)?,
        None => i64::try_from(call.host.now()?.div_euclid(1_000_000)).unwrap_or(i64::MAX),
    };
    let local = call.host.offset(seconds);
    let offset =
        if flag(utc.as_ref()) { Offset { seconds: 0, name: Some("UTC".to_owned()) } } else { local.clone()? };
    let out_of_range = || failure("timestamp out of range for platform time_t");
    let moment = Moment::from_micros(i128::from(seconds) * 1_000_000, Some(offset.clone())).ok_or_else(out_of_range)?;
    // `%s` takes the parts of the moment for local time, whatever they are.
    let seconds = seconds + i64::from(offset.seconds) - i64::from(local.map_or(offset.seconds, |local| local.seconds));
    let fields = Fields {
        date: moment.date().date(),
        time: moment.clock().0,
        offset: Some(&offset),
        seconds,
        has_micros: false,
    };
    Ok(Value::from(strftime(&format, &fields)))
}

fn seconds(value: &Value) -> Outcome<i64> {
    let number = match view(value) {
        View::Str(text) => parse_float(text),
        _ => crate::values::Number::of(value).map(|number| number.to_f64()),
    };
    let text = text(value)?;
    let number = number.ok_or_else(|| failure(format!("Invalid value for epoch value ({text})")))?;
    let number = number.floor();
    if !number.is_finite() || number.abs() > 1e15 {
        return Err(failure("timestamp out of range for platform time_t"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked to be small")]
    let seconds = number as i64;
    Ok(seconds)
}
