//! Methods of dates, times, moments and durations.

use minijinja::Value;
use minijinja::value::Tuple;
use time::Date;

use super::arguments::Arguments;
use crate::call::{int_argument, str_argument};
use crate::failure::{Outcome, failure};
use crate::host::Host;
use crate::values::{Calendar, Clock, Duration, Fields, Moment, View, strftime, view};

/// Calls a method of a date. `None`: there is no such method.
///
/// # Errors
///
/// The arguments do not fit, or the host knows no local time.
pub(super) fn call(value: &Value, host: &dyn Host, arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    match view(value) {
        View::DateTime(moment) => match moment_method(moment, host, arguments)? {
            Some(result) => Ok(Some(result)),
            None => date_method(moment.date().date(), arguments),
        },
        View::Date(date) => match arguments.name {
            "isoformat" => arguments.none().map(|()| Some(Value::from(date.iso()))),
            "strftime" => {
                let midnight = Moment::new(*date, Clock(time::Time::MIDNIGHT), None);
                formatted(&midnight, arguments).map(Some)
            }
            _ => date_method(date.date(), arguments),
        },
        View::Time(clock) if arguments.name == "isoformat" => arguments.none().map(|()| Some(Value::from(clock.iso()))),
        View::TimeDelta(duration) if arguments.name == "total_seconds" => {
            arguments.none().map(|()| Some(Value::from(duration.total_seconds())))
        }
        _ => Ok(None),
    }
}

fn moment_method(moment: &Moment, host: &dyn Host, arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    if arguments.name == "strftime" {
        return formatted(moment, arguments).map(Some);
    }
    if arguments.name == "isoformat" {
        let ([], [between]) = arguments.bind([], ["sep"])?;
        let between = between.unwrap_or_else(|| Value::from("T"));
        let mut between = str_argument("sep", &between)?.chars().collect::<Vec<_>>().into_iter();
        let (Some(between), None) = (between.next(), between.next()) else {
            return Err(failure("isoformat() argument 1 must be a unicode character"));
        };
        return Ok(Some(Value::from(moment.iso(between))));
    }
    if arguments.name == "replace" {
        return replaced(moment, arguments).map(Some);
    }
    let result = match arguments.name {
        "date" => Value::from_object(moment.date()),
        "time" => Value::from_object(moment.clock()),
        "utcoffset" => moment.offset().map_or_else(
            || Value::from(()),
            |offset| Value::from_object(Duration::from_micros(i128::from(offset.seconds) * 1_000_000)),
        ),
        "timestamp" => timestamp(moment, host)?,
        _ => return Ok(None),
    };
    arguments.none()?;
    Ok(Some(result))
}

/// Returns seconds since the start of 1970. A moment without an offset is in local time.
fn timestamp(moment: &Moment, host: &dyn Host) -> Outcome {
    let micros = moment.instant();
    let local = match moment.offset() {
        Some(_) => 0,
        None => {
            let seconds = i64::try_from(micros.div_euclid(1_000_000)).unwrap_or(0);
            let guess = host.offset(seconds)?.seconds;
            host.offset(seconds - i64::from(guess))?.seconds
        }
    };
    Ok(Value::from(Duration::from_micros(micros - i128::from(local) * 1_000_000).total_seconds()))
}

fn formatted(moment: &Moment, arguments: &Arguments<'_>) -> Outcome {
    let ([format], []) = arguments.bind(["format"], [])?;
    let fields = Fields {
        date: moment.date().date(),
        time: moment.clock().0,
        offset: moment.offset(),
        seconds: i64::try_from(moment.instant().div_euclid(1_000_000)).unwrap_or(0),
        has_micros: true,
    };
    Ok(Value::from(strftime(&str_argument("the format", &format)?, &fields)))
}

fn replaced(moment: &Moment, arguments: &Arguments<'_>) -> Outcome {
    let parts = ["year", "month", "day", "hour", "minute", "second", "microsecond"];
    let ([], given) = arguments.bind([], parts)?;
    let (date, (hour, minute, second, micros)) = (moment.date().date(), moment.clock().0.as_hms_micro());
    let known = [
        i64::from(date.year()),
        u8::from(date.month()).into(),
        date.day().into(),
        hour.into(),
        minute.into(),
        second.into(),
        micros.into(),
    ];
    let mut numbers = known;
    for (number, given) in numbers.iter_mut().zip(&given) {
        if let Some(given) = given {
            *number = int_argument(given)?;
        }
    }
    let small = |at: usize| u8::try_from(numbers[at]).ok();
    let build = || {
        let date = Calendar::new(i32::try_from(numbers[0]).ok()?, small(1)?, small(2)?)?;
        let clock = Clock::new(small(3)?, small(4)?, small(5)?, u32::try_from(numbers[6]).ok()?)?;
        Some(Moment::new(date, clock, moment.offset().cloned()))
    };
    build().map(Value::from_object).ok_or_else(|| failure("a part of the moment is out of range"))
}

fn date_method(date: Date, arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    let result = match arguments.name {
        "weekday" => Value::from(date.weekday().number_days_from_monday()),
        "isoweekday" => Value::from(date.weekday().number_from_monday()),
        // The calendar library counts days from another one.
        "toordinal" => Value::from(date.to_julian_day() - 1_721_425),
        "isocalendar" => {
            let (year, week, day) = date.to_iso_week_date();
            Value::from(Tuple::from([Value::from(year), Value::from(week), Value::from(day.number_from_monday())]))
        }
        _ => return Ok(None),
    };
    arguments.none()?;
    Ok(Some(result))
}
