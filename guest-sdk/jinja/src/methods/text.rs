//! Methods of `str`, and those of `bytes` that lead back to text.

use minijinja::Value;
use minijinja::value::Tuple;

use super::arguments::Arguments;
use crate::call::{flag, given, int_argument, str_argument};
use crate::failure::{Outcome, failure, wrong_type};
use crate::filters::{decode_text, encode_text};
use crate::text::split::{Ends, partition, replace, rsplit, split, strip};
use crate::text::{case, format, lines, pad};
use crate::values::{View, items, view};

/// Calls a method of text. `None`: there is no such method.
///
/// # Errors
///
/// The arguments do not fit, or the method fails.
pub(super) fn call(text: &str, arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    if let Some(value) = simple(text, arguments.name) {
        arguments.none()?;
        return Ok(Some(value));
    }
    Ok(Some(match arguments.name {
        "split" | "rsplit" => split_method(text, arguments)?,
        "strip" | "lstrip" | "rstrip" => strip_method(text, arguments)?,
        "partition" | "rpartition" => {
            let ([separator], []) = arguments.bind(["sep"], [])?;
            let parts = partition(text, &str_argument("sep", &separator)?, arguments.name == "rpartition")?;
            Value::from(Tuple::from(parts.map(Value::from)))
        }
        "splitlines" => {
            let ([], [keep]) = arguments.bind([], ["keepends"])?;
            let found = lines::split_lines(text, flag(keep.as_ref()));
            Value::from(found.into_iter().map(Value::from).collect::<Vec<_>>())
        }
        "join" => join(text, arguments)?,
        "replace" => {
            let ([old, new], [count]) = arguments.bind(["old", "new"], ["count"])?;
            let count = count.as_ref().map_or(Ok(-1), int_argument)?;
            Value::from(replace(text, &str_argument("old", &old)?, &str_argument("new", &new)?, count)?)
        }
        "startswith" | "endswith" => affix(text, arguments)?,
        "find" | "rfind" | "index" | "rindex" | "count" => search(text, arguments)?,
        "removeprefix" | "removesuffix" => {
            let ([part], []) = arguments.bind(["part"], [])?;
            let part = str_argument("the affix", &part)?;
            let rest =
                if arguments.name == "removeprefix" { text.strip_prefix(&*part) } else { text.strip_suffix(&*part) };
            Value::from(rest.unwrap_or(text))
        }
        "ljust" | "rjust" | "center" | "zfill" | "expandtabs" => padded(text, arguments)?,
        "format" => Value::from(format::format(text, arguments.positional, arguments.named)?),
        "format_map" => {
            let ([mapping], []) = arguments.bind(["mapping"], [])?;
            let entries =
                crate::values::entries(&mapping).ok_or_else(|| wrong_type("the mapping", "dict", &mapping))?;
            let named = entries.into_iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value)));
            Value::from(format::format(text, &[], &named.collect::<Vec<_>>())?)
        }
        "encode" => {
            let ([], [encoding, _errors]) = arguments.bind([], ["encoding", "errors"])?;
            let encoding = encoding.unwrap_or_else(|| Value::from("utf-8"));
            Value::from_bytes(encode_text(&Value::from(text), &str_argument("encoding", &encoding)?)?)
        }
        _ => return Ok(None),
    }))
}

/// Calls a method of bytes. `None`: there is no such method.
///
/// # Errors
///
/// The arguments do not fit, or the method fails.
pub(super) fn call_bytes(bytes: &[u8], arguments: &Arguments<'_>) -> Outcome<Option<Value>> {
    if arguments.name == "hex" {
        arguments.none()?;
        return Ok(Some(Value::from(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())));
    }
    if arguments.name != "decode" {
        return Ok(None);
    }
    let ([], [encoding]) = arguments.bind([], ["encoding"])?;
    let encoding = encoding.unwrap_or_else(|| Value::from("utf-8"));
    let text = decode_text(bytes.to_vec(), &str_argument("encoding", &encoding)?)?;
    match view(&text) {
        View::Surrogates(_) => Err(failure("the bytes are not text in this encoding")),
        _ => Ok(Some(text)),
    }
}

/// Returns the result of a method without arguments.
fn simple(text: &str, name: &str) -> Option<Value> {
    let whole = |fits: fn(char) -> bool| Value::from(case::all(text, fits));
    Some(match name {
        "upper" => Value::from(text.to_uppercase()),
        "lower" => Value::from(text.to_lowercase()),
        "title" => Value::from(case::title(text)),
        "capitalize" => Value::from(case::capitalize(text)),
        "swapcase" => Value::from(case::swapcase(text)),
        "casefold" => Value::from(case::casefold(text)),
        "isupper" => Value::from(case::is_upper(text)),
        "islower" => Value::from(case::is_lower(text)),
        "istitle" => Value::from(case::is_title(text)),
        "isdigit" => whole(case::is_digit),
        "isdecimal" => whole(case::is_decimal),
        "isnumeric" => whole(char::is_numeric),
        "isalpha" => whole(case::is_alpha),
        "isalnum" => whole(case::is_alnum),
        "isspace" => whole(case::is_space),
        "isascii" => Value::from(text.is_ascii()),
        "isidentifier" => Value::from(case::is_identifier(text)),
        "isprintable" => Value::from(is_printable(text)),
        _ => return None,
    })
}

/// Returns whether `repr()` shows every character as it is. Quotes and backslashes have an escape of their own.
fn is_printable(text: &str) -> bool {
    let plain = text.replace(['\\', '\'', '"'], "");
    modbox_python_json::str_repr(&plain).len() == plain.len() + 2
}

fn split_method(text: &str, arguments: &Arguments<'_>) -> Outcome {
    let ([], [separator, limit]) = arguments.bind([], ["sep", "maxsplit"])?;
    let separator = given(separator);
    let separator = separator.as_ref().map(|separator| str_argument("sep", separator)).transpose()?;
    let limit = limit.as_ref().map_or(Ok(-1), int_argument)?;
    let function = if arguments.name == "split" { split } else { rsplit };
    function(text, separator.as_deref(), limit).map(Value::from)
}

fn strip_method(text: &str, arguments: &Arguments<'_>) -> Outcome {
    let ([], [chars]) = arguments.bind([], ["chars"])?;
    let chars = given(chars);
    let chars = chars.as_ref().map(|chars| str_argument("chars", chars)).transpose()?;
    let ends = match arguments.name {
        "lstrip" => Ends::Left,
        "rstrip" => Ends::Right,
        _ => Ends::Both,
    };
    Ok(Value::from(strip(text, chars.as_deref(), ends)))
}

fn join(text: &str, arguments: &Arguments<'_>) -> Outcome {
    let ([parts], []) = arguments.bind(["iterable"], [])?;
    let mut out = String::new();
    for (index, part) in items(&parts)?.iter().enumerate() {
        if index > 0 {
            out.push_str(text);
        }
        out.push_str(&str_argument(&format!("sequence item {index}"), part)?);
        crate::values::Walk::fits(&out)?;
    }
    Ok(Value::from(out))
}

/// Returns the part of a text between two places that may count from its end, and the number of characters before it.
/// `None`: the start is behind the end of the text.
fn part<'t>(text: &'t str, start: Option<&Value>, end: Option<&Value>) -> Outcome<Option<(&'t str, usize)>> {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let place = |value: Option<&Value>, default: i64| -> Outcome<i64> {
        let value = value.filter(|value| !value.is_none()).map_or(Ok(default), int_argument)?;
        Ok(if value < 0 { value.saturating_add(length).max(0) } else { value })
    };
    let (start, end) = (place(start, 0)?, place(end, length)?.min(length));
    if start > length || start > end {
        return Ok(None);
    }
    let byte = |at: i64| {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte)
    };
    Ok(Some((&text[byte(start)..byte(end)], usize::try_from(start).unwrap_or(0))))
}

fn affix(text: &str, arguments: &Arguments<'_>) -> Outcome {
    let ([affix], [start, end]) = arguments.bind(["affix"], ["start", "end"])?;
    let affixes = match view(&affix) {
        View::Str(_) => vec![affix],
        View::Tuple => items(&affix)?,
        _ => return Err(wrong_type(&format!("{} first arg", arguments.name), "str or a tuple of str", &affix)),
    };
    let affixes = affixes.iter().map(|affix| str_argument("an affix", affix)).collect::<Outcome<Vec<_>>>()?;
    let Some((text, _)) = part(text, start.as_ref(), end.as_ref())? else { return Ok(Value::from(false)) };
    let starts = arguments.name == "startswith";
    let fits = |affix: &str| if starts { text.starts_with(affix) } else { text.ends_with(affix) };
    Ok(Value::from(affixes.iter().any(|affix| fits(affix))))
}

fn search(text: &str, arguments: &Arguments<'_>) -> Outcome {
    let ([wanted], [start, end]) = arguments.bind(["sub"], ["start", "end"])?;
    let wanted = str_argument("the text to find", &wanted)?;
    let within = part(text, start.as_ref(), end.as_ref())?;
    if arguments.name == "count" {
        let count = within.map_or(0, |(text, _)| match wanted.is_empty() {
            true => text.chars().count() + 1,
            false => text.matches(&*wanted).count(),
        });
        return Ok(Value::from(count));
    }
    let from_end = arguments.name.starts_with('r');
    let found = within.and_then(|(text, before)| {
        let at = if from_end { text.rfind(&*wanted) } else { text.find(&*wanted) };
        at.map(|at| before + text[..at].chars().count())
    });
    match found {
        Some(at) => Ok(Value::from(at)),
        None if arguments.name.ends_with("index") => Err(failure("substring not found")),
        None => Ok(Value::from(-1)),
    }
}

fn padded(text: &str, arguments: &Arguments<'_>) -> Outcome {
    if arguments.name == "expandtabs" {
        let ([], [size]) = arguments.bind([], ["tabsize"])?;
        return pad::expand_tabs(text, size.as_ref().map_or(Ok(8), int_argument)?).map(Value::from);
    }
    let ([width], [fill]) = arguments.bind(["width"], ["fillchar"])?;
    let width = int_argument(&width)?;
    let fill = fill.unwrap_or_else(|| Value::from(" "));
    let fill = str_argument("The fill character", &fill)?;
    let mut chars = fill.chars();
    let (Some(fill), None) = (chars.next(), chars.next()) else {
        return Err(failure("The fill character must be exactly one character long"));
    };
    match arguments.name {
        "ljust" => pad::left(text, width, fill),
        "rjust" => pad::right(text, width, fill),
        "center" => pad::center(text, width, fill),
        _ => pad::zero(text, width),
    }
    .map(Value::from)
}
