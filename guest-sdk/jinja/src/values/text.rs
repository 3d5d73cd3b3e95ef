//! Python's `str()` and `repr()` of values.

use minijinja::Value;
use modbox_python_json::{Value as Json, repr as json_repr, str_repr};

use super::dates;
use super::range::RangeItems;
use super::view::{View, entries, items, view};
use super::walk::{ValueError, Walk};

/// Returns the result of Python's `str(value)`. An undefined value is an empty text, as in Jinja.
///
/// # Errors
///
/// The value is too deep or the text too long.
pub fn text(value: &Value) -> Result<String, ValueError> {
    Ok(match view(value) {
        View::Undefined => String::new(),
        View::Str(text) => text.to_owned(),
        View::Surrogates(text) => text.to_string_lossy(),
        View::Date(date) => date.iso(),
        View::DateTime(moment) => moment.iso(' '),
        View::Time(clock) => clock.iso(),
        View::TimeDelta(duration) => duration.text(),
        _ => return repr(value),
    })
}

/// Returns the result of Python's `repr(value)`.
///
/// # Errors
///
/// The value is too deep or the text too long.
pub fn repr(value: &Value) -> Result<String, ValueError> {
    let mut out = String::new();
    write(&mut out, value, &mut Walk::default())?;
    Ok(out)
}

fn write(out: &mut String, value: &Value, walk: &mut Walk) -> Result<(), ValueError> {
    Walk::fits(out)?;
    match view(value) {
        View::Undefined => out.push_str("Undefined"),
        View::None => out.push_str("None"),
        View::Bool(truth) => out.push_str(if truth { "True" } else { "False" }),
        View::Int(number) => out.push_str(&number.to_string()),
        View::Long(number) => out.push_str(&number),
        View::Float(number) => out.push_str(&json_repr(&Json::Float(number))),
        View::Str(text) => out.push_str(&str_repr(text)),
        View::Surrogates(text) => out.push_str(&json_repr(&Json::Surrogates(text.clone()))),
        View::Bytes(bytes) => write_bytes(out, bytes),
        View::List => match value.downcast_object_ref::<RangeItems>() {
            Some(range) => out.push_str(&range.0.to_string()),
            None => walk.deeper(|walk| write_items(out, value, ('[', ']'), walk))?,
        },
        View::Tuple => walk.deeper(|walk| write_items(out, value, ('(', ')'), walk))?,
        View::Dict => walk.deeper(|walk| write_entries(out, value, walk))?,
        View::Date(date) => out.push_str(&dates::date_repr(date)),
        View::DateTime(moment) => out.push_str(&dates::moment_repr(moment)),
        View::Time(clock) => out.push_str(&dates::clock_repr(clock)),
        View::TimeDelta(duration) => out.push_str(&dates::duration_repr(duration)),
        View::Other => out.push_str(&value.to_string()),
    }
    Ok(())
}

fn write_items(out: &mut String, value: &Value, around: (char, char), walk: &mut Walk) -> Result<(), ValueError> {
    out.push(around.0);
    let all = items(value)?;
    for (index, item) in all.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        walk.step()?;
        write(out, item, walk)?;
    }
    if all.len() == 1 && around.0 == '(' {
        out.push(',');
    }
    out.push(around.1);
    Ok(())
}

fn write_entries(out: &mut String, value: &Value, walk: &mut Walk) -> Result<(), ValueError> {
    out.push('{');
    for (index, (key, item)) in entries(value).unwrap_or_default().iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        walk.step()?;
        write(out, key, walk)?;
        out.push_str(": ");
        write(out, item, walk)?;
    }
    out.push('}');
    Ok(())
}

fn write_bytes(out: &mut String, bytes: &[u8]) {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    out.push('b');
    out.push(quote);
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            _ if char::from(*byte) == quote => out.extend(['\\', quote]),
            0x20..=0x7e => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value, expect: &str) {
        assert_eq!(repr(&value).unwrap(), expect);
    }

    #[test]
    fn writes_what_python_writes() {
        check(Value::from(vec![1.0, 1e16]), "[1.0, 1e+16]");
        check(Value::from((1,)), "(1,)");
        check(Value::from(("it's", true)), r#"("it's", True)"#);
        check(Value::from_pairs([(Value::from(1), Value::from(()))]), "{1: None}");
        check(Value::from_bytes(b"a'\xff\n".to_vec()), r#"b"a'\xff\n""#);
    }

    #[test]
    fn filters_get_the_text_of_a_range() {
        use crate::values::Range;
        let items = |step| Value::from_object(RangeItems(Range { start: 0, stop: 5, step }.into()));
        assert_eq!(text(&items(1)).unwrap(), "range(0, 5)");
        assert_eq!(text(&items(2)).unwrap(), "range(0, 5, 2)");
    }

    #[test]
    fn shared_values_do_not_write_forever() {
        let wide = (0..60).fold(Value::from("x"), |inner, _| Value::from(vec![inner.clone(), inner]));
        assert_eq!(repr(&wide), Err(ValueError::TooLarge));
    }
}
