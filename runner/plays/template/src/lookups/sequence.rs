//! `sequence`: numbers as text.

use minijinja::Value;
use modbox_jinja::values::{MAX_RANGE, View, parse_int, view};

use crate::marker::Run;
use crate::run::{Given, Interpreter};

/// The numbers of a sequence, and how they are written.
#[derive(Debug, Clone)]
struct Sequence {
    start: i64,
    end: Option<i64>,
    count: Option<i64>,
    stride: i64,
    format: String,
}

impl Default for Sequence {
    fn default() -> Self {
        Self { start: 1, end: None, count: None, stride: 1, format: "%d".to_owned() }
    }
}

pub(super) fn sequence(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let mut usual = Sequence::default();
    for (name, value) in &given.named {
        let text = match view(value) {
            View::Int(number) => number.to_string(),
            _ => value.as_str().unwrap_or_default().to_owned(),
        };
        set(&mut usual, name, &text).map_err(|message| interpreter.raise(message))?;
    }
    let mut terms = given.positional.clone();
    if terms.is_empty() && !given.named.is_empty() {
        terms.push(Value::from(""));
    }
    let mut made = Vec::new();
    for term in &terms {
        let Some(term) = term.as_str() else {
            let message = "unknown error parsing with_sequence arguments: the term must be text";
            return Err(interpreter.raise(message));
        };
        let sequence = parse(term, &usual).map_err(|message| interpreter.raise(message))?;
        made.extend(numbers(interpreter, &sequence)?);
    }
    Ok(made)
}

fn parse(term: &str, usual: &Sequence) -> Result<Sequence, String> {
    let mut sequence = usual.clone();
    if let Some(parts) = shortcut(term) {
        for (name, value) in parts {
            set(&mut sequence, name, value)?;
        }
        return Ok(sequence);
    }
    for part in words(term)? {
        let (name, value) =
            part.split_once('=').ok_or_else(|| format!("unrecognized arguments to with_sequence: ['{part}']"))?;
        set(&mut sequence, name, value)?;
    }
    Ok(sequence)
}

/// Splits a text at blanks that are not in quotes, and removes the quotes.
fn words(term: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in term.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(format!("unknown error parsing with_sequence arguments: a quote in '{term}' does not end"));
    }
    words.extend(word);
    Ok(words)
}

/// Splits the short form `[start-]end[/stride][:format]`. As in Ansible, its numbers may have hexadecimal digits, which
/// are refused later.
fn shortcut(term: &str) -> Option<Vec<(&'static str, &str)>> {
    let (numbers, format) = term.split_once(':').map_or((term, None), |(numbers, format)| (numbers, Some(format)));
    let (range, stride) = numbers.split_once('/').map_or((numbers, None), |(range, stride)| (range, Some(stride)));
    let (start, end) = range.split_once('-').map_or((None, range), |(start, end)| (Some(start), end));
    let numbers = [("start", start), ("end", Some(end)), ("stride", stride)];
    let is_number = |(_, text): &(&str, Option<&str>)| text.is_none_or(looks_like_number);
    if !numbers.iter().all(is_number) || format.is_some_and(|format| format.is_empty() || format.contains('\n')) {
        return None;
    }
    let parts = numbers.into_iter().chain([("format", format)]);
    Some(parts.filter_map(|(name, text)| Some((name, text?))).collect())
}

fn looks_like_number(text: &str) -> bool {
    let text = text.strip_prefix('0').filter(|rest| rest.starts_with(['x', 'X'])).unwrap_or(text);
    let digits = text.strip_prefix(['x', 'X']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the whole number that an option is, in the forms that Ansible's settings have.
fn integer(text: &str) -> Option<i64> {
    let whole = || {
        let number: f64 = text.trim().parse().ok()?;
        (number.fract() == 0.0).then(|| format!("{number:.0}").parse().ok())?
    };
    parse_int(text, 10).and_then(|value| value.as_i64()).or_else(whole)
}

fn set(sequence: &mut Sequence, name: &str, value: &str) -> Result<(), String> {
    let invalid = || {
        let value = modbox_python_json::str_repr(value);
        format!(
            "Config '{name}' for 'sequence' lookup plugin from 'Direct' has an invalid value: Invalid value provided \
             for 'integer': {value}"
        )
    };
    let number = || integer(value).ok_or_else(invalid);
    match name {
        "start" => sequence.start = number()?,
        "end" => sequence.end = Some(number()?),
        "count" => sequence.count = Some(number()?),
        "stride" => sequence.stride = number()?,
        "format" => value.clone_into(&mut sequence.format),
        _ => return Err(format!("unrecognized arguments to with_sequence: ['{name}']")),
    }
    Ok(())
}

fn numbers(interpreter: &mut Interpreter<'_>, sequence: &Sequence) -> Run<Vec<Value>> {
    let Some((end, stride)) = end_of(sequence).map_err(|message| interpreter.raise(message))? else {
        return Ok(Vec::new());
    };
    let mut made = Vec::new();
    let mut at = sequence.start;
    while (stride > 0 && at <= end) || (stride < 0 && at >= end) {
        if made.len() >= MAX_RANGE {
            return Err(interpreter.raise(format!("the sequence has more than {MAX_RANGE} items")));
        }
        let arguments = [Value::from(sequence.format.as_str()), Value::from(at)];
        let text = interpreter.apply_filter("format", &arguments);
        let format = &sequence.format;
        made.push(text.map_err(|_| interpreter.raise(format!("problem formatting {at} with '{format}'")))?);
        let Some(next) = at.checked_add(stride) else { break };
        at = next;
    }
    Ok(made)
}

/// Returns the last number and the stride, or nothing if there are no numbers.
fn end_of(sequence: &Sequence) -> Result<Option<(i64, i64)>, String> {
    let Sequence { start, end, count, stride, format } = sequence;
    let end = match (end, count) {
        (None, None) => return Err("must specify count or end in with_sequence".to_owned()),
        (Some(_), Some(_)) => return Err("can't specify both count and end in with_sequence".to_owned()),
        (None, Some(0)) => return Ok(None),
        (None, Some(count)) => {
            let last =
                count.checked_mul(*stride).and_then(|span| start.checked_add(span)).and_then(|end| end.checked_sub(1));
            last.ok_or("the sequence is too long")?
        }
        (Some(end), None) => *end,
    };
    if *stride > 0 && end < *start {
        return Err("to count backwards make stride negative".to_owned());
    }
    if *stride < 0 && end > *start {
        return Err("to count forward don't make stride negative".to_owned());
    }
    if *stride == 0 {
        return Ok(None);
    }
    if format.matches('%').count() != 1 {
        return Err(format!("bad formatting string: {format}"));
    }
    Ok(Some((end, *stride)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(term: &str, expect: Result<(i64, i64, i64, &str), &str>) {
        let found = parse(term, &Sequence::default());
        let found = found.as_ref().map(|found| (found.start, found.end.unwrap_or(0), found.stride, &*found.format));
        assert_eq!(found.map_err(|message| message.as_str()), expect, "{term}");
    }

    #[test]
    fn reads_the_short_form() {
        check("5", Ok((1, 5, 1, "%d")));
        check("2-10/2", Ok((2, 10, 2, "%d")));
        check("4:host%02d", Ok((1, 4, 1, "host%02d")));
        check("", Ok((1, 0, 1, "%d")));
    }

    #[test]
    fn numbers_are_decimal() {
        let invalid = |name: &str, value: &str| {
            format!(
                "Config '{name}' for 'sequence' lookup plugin from 'Direct' has an invalid value: Invalid value \
                 provided for 'integer': '{value}'"
            )
        };
        check("A-4/2", Err(&invalid("start", "A")));
        check("1-0x0f", Err(&invalid("end", "0x0f")));
        check("1-4/C", Err(&invalid("stride", "C")));
        check("start=A end=3", Err(&invalid("start", "A")));
        check("start=1 end=3.0", Ok((1, 3, 1, "%d")));
        check("junk=3", Err("unrecognized arguments to with_sequence: ['junk']"));
    }
}
