//! Filters for sizes: `human_readable`, `human_to_bytes`, `filesizeformat`.

use minijinja::Value;

use super::number::number;
use crate::call::{Call, flag, given, str_argument};
use crate::failure::{Outcome, failure};
use crate::values::{Number, View, parse_float, text, type_name, view, whole_number};

/// Units, each with its number of bytes.
const UNITS: [(char, f64); 9] = [
    ('Y', 1_208_925_819_614_629_174_706_176.0),
    ('Z', 1_180_591_620_717_411_303_424.0),
    ('E', 1_152_921_504_606_846_976.0),
    ('P', 1_125_899_906_842_624.0),
    ('T', 1_099_511_627_776.0),
    ('G', 1_073_741_824.0),
    ('M', 1_048_576.0),
    ('K', 1024.0),
    ('B', 1.0),
];

/// Names of units, in the order of [`UNITS`].
const NAMES: [&str; 9] = ["yotta", "zetta", "exa", "peta", "tera", "giga", "mega", "kilo", ""];

/// Writes a number of bytes with a unit.
pub(super) fn human_readable(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([size], [is_bits, unit]) = call.bind(["size"], ["isbits", "unit"])?;
    let base = if flag(is_bits.as_ref()) { "bits" } else { "Bytes" };
    let unit = given(unit);
    let unit = unit.as_ref().map(|unit| str_argument("unit", unit)).transpose()?.map(|unit| unit.to_uppercase());
    let bytes = Number::of(&size)
        .ok_or_else(|| failure(format!("human_readable() failed on bad input: {}", type_name(&size))))?
        .to_f64();
    let fits = |(name, limit): &&(char, f64)| unit.as_ref().map_or(bytes >= *limit, |unit| *unit == name.to_string());
    let (name, limit) = UNITS.iter().find(fits).copied().unwrap_or(('B', 1.0));
    let suffix = if name == 'B' { base.to_owned() } else { format!("{name}{}", &base[..1]) };
    Ok(Value::from(format!("{:.2} {suffix}", bytes / limit)))
}

/// Reads a number of bytes that has a unit.
pub(super) fn human_to_bytes(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([size], [default, is_bits]) = call.bind(["size"], ["default_unit", "isbits"])?;
    let is_bits = flag(is_bits.as_ref());
    let size = text(&size)?;
    let unreadable = || failure(format!("human_to_bytes() can't interpret following string: {size}"));
    let trimmed = size.trim_end_matches(crate::values::is_python_space);
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (digits, rest) = trimmed.split_at(end);
    if digits.matches('.').count() > 1 || digits.is_empty() || digits.ends_with('.') {
        return Err(unreadable());
    }
    let unit = rest.trim_start_matches(crate::values::is_python_space);
    if !unit.chars().all(|c| c.is_ascii_alphabetic()) {
        return Err(unreadable());
    }
    let number: f64 = digits.parse().map_err(|_| unreadable())?;
    let default = given(default);
    let unit = match (unit.is_empty(), &default) {
        (false, _) => unit.to_owned(),
        (true, Some(unit)) => str_argument("default_unit", unit)?.into_owned(),
        (true, None) => return rounded(number),
    };
    let limit = limit(&unit, is_bits)
        .ok_or_else(|| failure(format!("human_to_bytes() failed to convert {size} (unit = {unit})")))?;
    rounded(number * limit)
}

fn rounded(number: f64) -> Outcome {
    whole_number(number.round_ties_even()).ok_or_else(|| failure("cannot convert float infinity to integer"))
}

/// Returns the bytes of a unit. Its first letter has any case, the second one distinguishes bytes and bits.
fn limit(unit: &str, is_bits: bool) -> Option<f64> {
    let first = unit.chars().next()?.to_uppercase().next()?;
    let index = UNITS.iter().position(|(name, _)| *name == first)?;
    let (letter, word) = if is_bits { ("b", "bit") } else { ("B", "byte") };
    let short = if first == 'B' { letter.to_owned() } else { format!("{first}{letter}") };
    let long = format!("{}{word}", NAMES[index]);
    (unit.chars().count() == 1 || unit.to_lowercase() == long || unit == short).then_some(UNITS[index].1)
}

/// Writes a size with a decimal or binary prefix, as Jinja does.
pub(super) fn file_size(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [binary]) = call.bind(["value"], ["binary"])?;
    let binary = flag(binary.as_ref());
    let bytes = match view(&value) {
        View::Str(text) => parse_float(text).ok_or_else(|| failure("could not convert string to float"))?,
        _ => number(&value)?,
    };
    let base = if binary { 1024.0 } else { 1000.0 };
    if bytes == 1.0 {
        return Ok(Value::from("1 Byte"));
    }
    if bytes < base {
        let whole = whole_number(bytes).ok_or_else(|| failure("cannot convert float infinity to integer"))?;
        return Ok(Value::from(format!("{} Bytes", text(&whole)?)));
    }
    let prefixes = if binary {
        ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    } else {
        ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]
    };
    let mut unit = base;
    for prefix in prefixes {
        unit *= base;
        if bytes < unit || prefix.starts_with('Y') {
            return Ok(Value::from(format!("{:.1} {prefix}", base * bytes / unit)));
        }
    }
    Err(failure("the size is not a number"))
}
