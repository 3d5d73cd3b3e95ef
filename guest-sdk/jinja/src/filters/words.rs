//! Filters on text: case, blanks, splitting, wrapping.

use minijinja::Value;

use crate::call::{Call, flag, given, int_argument, str_argument};
use crate::failure::{Outcome, failure, wrong_type};
use crate::text::lines::{Wrapping, split_lines, wrap};
use crate::text::percent::{Values, percent};
use crate::text::split::{Ends, replace as replace_text, split as split_text, strip};
use crate::text::{case, pad};
use crate::values::{View, is_python_space, text, view};

/// Returns the text of the value that is filtered.
fn input(call: &Call<'_, '_, '_>) -> Outcome<String> {
    let ([value], []) = call.bind(["s"], [])?;
    Ok(text(&value)?)
}

/// Converts to upper case.
pub(super) fn upper(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|text| Value::from(text.to_uppercase()))
}

/// Converts to lower case.
pub(super) fn lower(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|text| Value::from(text.to_lowercase()))
}

/// Converts the first character to upper case and the rest to lower case.
pub(super) fn capitalize(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|text| Value::from(case::capitalize(&text)))
}

/// Converts the first character of each word to upper case.
pub(super) fn title(call: &mut Call<'_, '_, '_>) -> Outcome {
    let text = input(call)?;
    let mut out = String::with_capacity(text.len());
    let mut starts = true;
    for c in text.chars() {
        let separates = "-({[<".contains(c) || is_python_space(c);
        if starts && !separates {
            out.extend(c.to_uppercase());
        } else {
            out.extend(c.to_lowercase());
        }
        starts = separates;
    }
    Ok(Value::from(out))
}

/// Converts to text.
pub(super) fn string(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["s"], [])?;
    match view(&value) {
        View::Str(_) | View::Surrogates(_) => Ok(value),
        _ => Ok(Value::from(text(&value)?)),
    }
}

/// Removes blanks, or other characters, from both ends.
pub(super) fn trim(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [chars]) = call.bind(["value"], ["chars"])?;
    let chars = given(chars);
    let chars = chars.as_ref().map(|chars| str_argument("chars", chars)).transpose()?;
    Ok(Value::from(strip(&text(&value)?, chars.as_deref(), Ends::Both)))
}

/// Puts text into the middle of a line.
pub(super) fn center(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [width]) = call.bind(["value"], ["width"])?;
    let width = width.as_ref().map_or(Ok(80), int_argument)?;
    pad::center(&text(&value)?, width, ' ').map(Value::from)
}

/// Replaces a text by another one.
pub(super) fn replace(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, old, new], [count]) = call.bind(["s", "old", "new"], ["count"])?;
    let count = given(count).as_ref().map_or(Ok(-1), int_argument)?;
    replace_text(&text(&value)?, &text(&old)?, &text(&new)?, count).map(Value::from)
}

/// Formats values as Python's `%` does.
pub(super) fn format(call: &mut Call<'_, '_, '_>) -> Outcome {
    let template = text(&call.input()?)?;
    let positional = call.positional.get(1..).unwrap_or_default().to_vec();
    let values = match (positional.is_empty(), call.named.is_empty()) {
        (false, false) => return Err(failure("can't handle positional and keyword arguments at the same time")),
        (true, false) => Values::Named(Value::from_pairs(call.named.clone())),
        _ => Values::Positional(positional),
    };
    percent(&template, &values).map(Value::from)
}

/// Splits text.
pub(super) fn split(call: &mut Call<'_, '_, '_>) -> Outcome {
    let value = call.input()?;
    let text = match view(&value) {
        View::Str(text) => text,
        _ => return Err(wrong_type("the value to split", "str", &value)),
    };
    let ([_], [separator, limit]) = call.bind(["self"], ["sep", "maxsplit"])?;
    let separator = given(separator);
    let separator = separator.as_ref().map(|separator| str_argument("sep", separator)).transpose()?;
    let parts = split_text(text, separator.as_deref(), limit.as_ref().map_or(Ok(-1), int_argument)?)?;
    Ok(Value::from(parts))
}

/// Indents lines.
pub(super) fn indent(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [width, first, blank]) = call.bind(["s"], ["width", "first", "blank"])?;
    let margin = match width.as_ref().map(|width| (width, view(width))) {
        None => "    ".to_owned(),
        Some((_, View::Str(margin))) => margin.to_owned(),
        Some((width, _)) => pad::repeat(" ", int_argument(width)?)?,
    };
    let View::Str(text) = view(&value) else { return Err(wrong_type("the value to indent", "str", &value)) };
    let text = format!("{text}\n");
    let lines = split_lines(&text, false);
    if margin.len().saturating_mul(lines.len()) > pad::MAX_BYTES {
        return Err(failure("the text would be too long"));
    }
    let blank = flag(blank.as_ref());
    let mut out = if flag(first.as_ref()) { margin.clone() } else { String::new() };
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
            if blank || !line.is_empty() {
                out.push_str(&margin);
            }
        }
        out.push_str(line);
    }
    Ok(Value::from(out))
}

/// Shortens text to a length.
pub(super) fn truncate(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [length, kill_words, end, leeway]) = call.bind(["s"], ["length", "killwords", "end", "leeway"])?;
    let length = length.as_ref().map_or(Ok(255), int_argument)?;
    let end = end.as_ref().map_or(Ok("...".into()), |end| str_argument("end", end))?;
    let leeway = given(leeway).as_ref().map_or(Ok(5), int_argument)?;
    let ending = i64::try_from(end.chars().count()).unwrap_or(i64::MAX);
    if length < ending {
        return Err(failure(format!("expected length >= {ending}, got {length}")));
    }
    if leeway < 0 {
        return Err(failure(format!("expected leeway >= 0, got {leeway}")));
    }
    let wrong = || wrong_type("the value to shorten", "str", &value);
    let size = match view(&value) {
        View::Str(text) => text.chars().count(),
        View::List | View::Tuple | View::Dict => value.len().unwrap_or(usize::MAX),
        _ => return Err(wrong()),
    };
    if i64::try_from(size).unwrap_or(i64::MAX) <= length.saturating_add(leeway) {
        return Ok(value);
    }
    let text = value.as_str().ok_or_else(wrong)?;
    let kept: String = text.chars().take(usize::try_from(length - ending).unwrap_or(0)).collect();
    let kept =
        if flag(kill_words.as_ref()) { &kept } else { kept.rsplit_once(' ').map_or(kept.as_str(), |(kept, _)| kept) };
    Ok(Value::from(format!("{kept}{end}")))
}

/// Wraps text to lines of a width.
pub(super) fn wordwrap(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [width, long_words, between, hyphens]) =
        call.bind(["s"], ["width", "break_long_words", "wrapstring", "break_on_hyphens"])?;
    let width = width.as_ref().map_or(Ok(79), int_argument)?;
    let View::Str(text) = view(&value) else { return Err(wrong_type("the value to wrap", "str", &value)) };
    let options = Wrapping {
        width: usize::try_from(width).unwrap_or(0),
        break_long_words: long_words.is_none_or(|value| crate::values::is_true(&value)),
        break_on_hyphens: hyphens.is_none_or(|value| crate::values::is_true(&value)),
    };
    if width <= 0 && split_lines(text, false).iter().any(|line| !line.is_empty()) {
        return Err(failure(format!("invalid width {width} (must be > 0)")));
    }
    let between = given(between);
    let between = between.as_ref().map_or(Ok("\n".into()), |between| str_argument("wrapstring", between))?;
    let lines = split_lines(text, false).into_iter().map(|line| wrap(line, options).join(&between));
    Ok(Value::from(lines.collect::<Vec<_>>().join(&between)))
}

/// Counts the words.
pub(super) fn wordcount(call: &mut Call<'_, '_, '_>) -> Outcome {
    let text = input(call)?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    Ok(Value::from(text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).count()))
}

/// Quotes a word for a POSIX shell.
pub(super) fn quote(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["a"], [])?;
    let word = if value.is_none() { String::new() } else { text(&value)? };
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Ok(Value::from(word));
    }
    Ok(Value::from(format!("'{}'", word.replace('\'', "'\"'\"'"))))
}
