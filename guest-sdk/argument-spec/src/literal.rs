//! Reads Python literals whose values JSON can hold, for dicts written as text.
//!
//! Ansible passes a string that starts with `{` and is not JSON to `ast.literal_eval`. Sets, bytes and complex numbers
//! are refused here, since JSON cannot hold them. Characters by their Unicode names (`\N{…}`) are refused too. Tuples
//! become lists, and keys become the strings that JSON makes of them.

use modbox_python_json::{Dict, Value, encode};

use crate::big::Big;
use crate::literal_text::{read_string, starts_string};
use crate::lone;

/// How deep brackets may nest in Python's parser.
const MAX_DEPTH: usize = 200;

/// Returns the value of a Python literal that takes up the whole text; `None` if the text is none, or JSON cannot hold
/// the value.
#[must_use]
pub fn parse_literal(text: &str) -> Option<Value> {
    if text.contains('\0') {
        return None;
    }
    let mut reader = Reader { rest: text, depth: 0 };
    let value = reader.value()?;
    reader.skip_space();
    reader.rest.is_empty().then(|| lone::restore(value))
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    /// Skips white space, comments, and line ends that a backslash hides.
    fn skip_space(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
            if self.rest.starts_with('#') {
                self.rest = self.rest.trim_start_matches(|c| c != '\n' && c != '\r');
            } else if let Some(rest) = self.rest.strip_prefix("\\\n") {
                self.rest = rest;
            } else {
                return;
            }
        }
    }

    fn take(&mut self, token: char) -> bool {
        self.skip_space();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        let value = match self.rest.chars().next()? {
            '{' => self.dict(),
            '[' => self.sequence('[', ']').map(|(items, _)| Value::List(items)),
            '(' => self.parenthesised(),
            '+' | '-' => self.signed(),
            '.' | '0'..='9' => self.number(""),
            _ if starts_string(self.rest) => self.strings(),
            _ => self.constant(),
        };
        self.depth -= 1;
        value
    }

    fn dict(&mut self) -> Option<Value> {
        self.take('{');
        let mut entries = Dict::new();
        loop {
            if self.take('}') {
                return Some(Value::Dict(entries));
            }
            let key = key_text(self.value()?)?;
            if !self.take(':') {
                return None;
            }
            let value = self.value()?;
            entries.insert(key, value);
            if !self.take(',') {
                return self.take('}').then_some(Value::Dict(entries));
            }
        }
    }

    /// Reads the items, and whether a comma follows the last one.
    fn sequence(&mut self, open: char, close: char) -> Option<(Vec<Value>, bool)> {
        self.take(open);
        let mut items = Vec::new();
        loop {
            if self.take(close) {
                let comma = !items.is_empty();
                return Some((items, comma));
            }
            items.push(self.value()?);
            if !self.take(',') {
                return self.take(close).then_some((items, false));
            }
        }
    }

    /// Reads parentheses: `(1)` is 1; `(1,)` and `()` are tuples.
    fn parenthesised(&mut self) -> Option<Value> {
        let (mut items, comma) = self.sequence('(', ')')?;
        if items.len() == 1 && !comma { items.pop() } else { Some(Value::List(items)) }
    }

    fn constant(&mut self) -> Option<Value> {
        let constants = [("None", Value::Null), ("True", Value::Bool(true)), ("False", Value::Bool(false))];
        let (word, value) = constants.into_iter().find(|(word, _)| self.rest.starts_with(word))?;
        self.rest = &self.rest[word.len()..];
        let ends = !self.rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        ends.then_some(value)
    }

    /// Reads one string, or several next to each other.
    fn strings(&mut self) -> Option<Value> {
        let mut text = String::new();
        while starts_string(self.rest) {
            self.rest = read_string(self.rest, &mut text)?;
            self.skip_space();
        }
        Some(Value::Str(text))
    }

    /// Reads a number with an optional sign. The number may be in parentheses.
    fn signed(&mut self) -> Option<Value> {
        let sign = if self.take('-') { "-" } else { "" };
        if sign.is_empty() {
            self.take('+');
        }
        let mut open = 0;
        while self.take('(') {
            open += 1;
        }
        let value = self.number(sign)?;
        (0..open).all(|_| self.take(')')).then_some(value)
    }

    fn number(&mut self, sign: &str) -> Option<Value> {
        self.skip_space();
        let mut end = 0;
        for (at, c) in self.rest.char_indices() {
            let exponent_sign = matches!(c, '+' | '-')
                && self.rest[..at].ends_with(['e', 'E'])
                && !self.rest.starts_with("0x")
                && !self.rest.starts_with("0X");
            if !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || exponent_sign) {
                break;
            }
            end = at + c.len_utf8();
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        number(sign, text)
    }
}

/// Returns the text that `json.dumps` makes of a key.
fn key_text(key: Value) -> Option<String> {
    match key {
        Value::Str(text) => Some(text),
        Value::List(_) | Value::Dict(_) => None,
        other => Some(encode(&other)),
    }
}

fn number(sign: &str, text: &str) -> Option<Value> {
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let digits = ungrouped(digits.strip_prefix('_').unwrap_or(digits), radix)?;
            return Value::int_from_decimal(&format!("{sign}{}", decimal(&digits, radix)?));
        }
    }
    let starts_well = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let digits = ungrouped(text, 10)?;
    if !starts_well {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let leading_zero = digits.starts_with('0') && digits.bytes().any(|byte| byte != b'0');
        let fits = digits.len() <= modbox_python_json::MAX_INT_DIGITS;
        return (fits && !leading_zero).then(|| Value::int_from_decimal(&format!("{sign}{digits}")))?;
    }
    format!("{sign}{digits}").parse().ok().map(Value::Float)
}

/// Removes underscores, which are allowed only between two digits.
fn ungrouped(text: &str, radix: u32) -> Option<String> {
    let parts: Vec<&str> = text.split('_').collect();
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_digit(radix));
    let fits = |pair: &[&str]| is_digit(pair[0].chars().next_back()) && is_digit(pair[1].chars().next());
    parts.windows(2).all(fits).then(|| parts.concat())
}

/// Returns the decimal digits of a number in another radix, up to the largest size of a value.
fn decimal(digits: &str, radix: u32) -> Option<String> {
    if digits.is_empty() || digits.len() > 4 * modbox_python_json::MAX_INT_DIGITS {
        return None;
    }
    let mut big = Big::new();
    for digit in digits.chars() {
        big.multiply_add(radix, digit.to_digit(radix)?);
    }
    let text = big.digits();
    (text.len() <= modbox_python_json::MAX_INT_DIGITS).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(parse_literal(text).map(|value| encode(&value)).as_deref(), expect, "for {text}");
    }

    #[test]
    fn reads_literals() {
        check(
            "{'a': 1, \"b\": [True, None, 1.5, -2, (1,), (3)],}",
            Some(r#"{"a": 1, "b": [true, null, 1.5, -2, [1], 3]}"#),
        );
        check("{'a': 'x' u\"y\\n\\x41\\'\", 1: r'\\n', True: 1.}", Some(r#"{"a": "xy\nA'", "1": "\\n", "true": 1.0}"#));
        check("{'a':0x10,'b':1_0, 'c': '''it's\\x41\n'''}", Some(r#"{"a": 16, "b": 10, "c": "it'sA\n"}"#));
        check(
            "{'a': -(1), 'b': - 2.5, #c\n'c': 0xffffffffffffffffffff}",
            Some(r#"{"a": -1, "b": -2.5, "c": 1208925819614629174706175}"#),
        );
        check("{'a': '\\ud800x'}", Some(r#"{"a": "\ud800x"}"#));
    }

    #[test]
    fn refuses_invalid_literals() {
        for text in [
            "{a: 1}",
            "{1,2}",
            "{'a'}",
            "{'a': f()}",
            "{'a': 1} x",
            "{'a': 010}",
            "{[1]: 2}",
            "{'a': Truex}",
            "{",
            "{'a': --1}",
            "{'a': -True}",
            "{'a': 1__0}",
            "{'a': 1_}",
            "{'a': 0x}",
            "{'a': b'x'}",
            "{'a': 1j}",
            "{'a': '\n'}",
            "{'a': '\\x4'}",
        ] {
            check(text, None);
        }
        check(&"[".repeat(10_000), None);
    }
}
