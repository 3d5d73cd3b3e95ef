//! `json.loads`: the grammar and the error messages of CPython's C scanner.
//!
//! Written after the behaviour of CPython 3.11 and 3.12 (`Modules/_json.c`); 3.13 words a trailing comma
//! differently. Positions count code points, as Python's do.

use std::fmt;

use crate::value::{Dict, Surrogates, Value};

/// How deep lists and dicts may nest. CPython stops at its recursion limit of 1000 frames, some of which its caller has
/// used. A fixed limit a little below protects the stack from a hostile document.
pub const MAX_DEPTH: usize = 950;

/// How many digits an integer may have: CPython's own default (`sys.int_info.default_max_str_digits`).
pub const MAX_INT_DIGITS: usize = 4300;

/// Why a text is not JSON, in CPython's words: `Expecting value: line 1 column 1 (char 0)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    message: String,
    position: Option<Position>,
    surrogate_key: Option<Surrogates>,
    is_too_deep: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
    char: usize,
}

impl DecodeError {
    /// Returns the message without the position.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the key with a lone surrogate, if that is the mistake.
    #[must_use]
    pub fn surrogate_key(&self) -> Option<&Surrogates> {
        self.surrogate_key.as_ref()
    }

    /// Returns whether the document has too many levels. Python raises a `RecursionError` then, which is no `ValueError`.
    #[must_use]
    pub fn is_too_deep(&self) -> bool {
        self.is_too_deep
    }

    fn at(message: &str, text: &str, byte: usize) -> Self {
        let before = &text[..byte];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let position = Position {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            char: before.chars().count(),
        };
        Self { message: message.to_owned(), position: Some(position), surrogate_key: None, is_too_deep: false }
    }

    fn bare(message: String) -> Self {
        Self { message, position: None, surrogate_key: None, is_too_deep: false }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.position {
            Some(Position { line, column, char }) => write!(f, ": line {line} column {column} (char {char})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Reads one JSON document, as Python's `json.loads` does: `NaN`, `Infinity` and `-Infinity` are numbers,
/// integers have any size, the last of duplicate keys wins, control characters in strings are errors.
///
/// # Errors
///
/// `json.loads` would refuse the text; message and position are the same. In addition: the text nests deeper than
/// [`MAX_DEPTH`], an integer is longer than [`MAX_INT_DIGITS`], or a key has a lone surrogate (Python keeps it).
pub fn decode(text: &str) -> Result<Value, DecodeError> {
    if text.starts_with('\u{feff}') {
        return Err(DecodeError::at("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0));
    }
    let scanner = Scanner { text, bytes: text.as_bytes() };
    let (value, end) = scanner.value(scanner.skip_whitespace(0), 0)?;
    let end = scanner.skip_whitespace(end);
    if end != text.len() {
        return Err(scanner.error("Extra data", end));
    }
    Ok(value)
}

/// The scanner. Every method takes the byte offset where it begins, and returns the offset where it ended.
struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
}

type Scanned<T> = Result<(T, usize), DecodeError>;

impl Scanner<'_> {
    fn error(&self, message: &str, at: usize) -> DecodeError {
        DecodeError::at(message, self.text, at)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    fn skip_whitespace(&self, from: usize) -> usize {
        let rest = &self.bytes[from..];
        from + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
    }

    fn value(&self, at: usize, depth: usize) -> Scanned<Value> {
        match self.byte(at) {
            Some(b'"') => self.string(at),
            Some(b'{') => self.dict(at + 1, nested(depth, "object")?),
            Some(b'[') => self.list(at + 1, nested(depth, "array")?),
            _ => match self.constant(at) {
                Some(found) => Ok(found),
                None => self.number(at),
            },
        }
    }

    fn constant(&self, at: usize) -> Option<(Value, usize)> {
        let (word, value) = match self.byte(at)? {
            b'n' => ("null", Value::Null),
            b't' => ("true", Value::Bool(true)),
            b'f' => ("false", Value::Bool(false)),
            b'N' => ("NaN", Value::Float(f64::NAN)),
            b'I' => ("Infinity", Value::Float(f64::INFINITY)),
            b'-' => ("-Infinity", Value::Float(f64::NEG_INFINITY)),
            _ => return None,
        };
        self.bytes[at..].starts_with(word.as_bytes()).then(|| (value, at + word.len()))
    }

    fn dict(&self, at: usize, depth: usize) -> Scanned<Value> {
        let mut entries = Dict::new();
        let mut at = self.skip_whitespace(at);
        if self.byte(at) == Some(b'}') {
            return Ok((Value::Dict(entries), at + 1));
        }
        loop {
            if self.byte(at) != Some(b'"') {
                return Err(self.error("Expecting property name enclosed in double quotes", at));
            }
            let (key, end) = self.string(at)?;
            let key = match key {
                Value::Str(key) => key,
                Value::Surrogates(key) => {
                    let error = self.error("Lone surrogate in a property name", at);
                    return Err(DecodeError { surrogate_key: Some(key), ..error });
                }
                _ => unreachable!("a string is one of the two"),
            };
            at = self.skip_whitespace(end);
            if self.byte(at) != Some(b':') {
                return Err(self.error("Expecting ':' delimiter", at));
            }
            let (value, end) = self.value(self.skip_whitespace(at + 1), depth)?;
            entries.insert(key, value);
            at = self.skip_whitespace(end);
            match self.byte(at) {
                Some(b'}') => return Ok((Value::Dict(entries), at + 1)),
                Some(b',') => at = self.skip_whitespace(at + 1),
                _ => return Err(self.error("Expecting ',' delimiter", at)),
            }
        }
    }

    fn list(&self, at: usize, depth: usize) -> Scanned<Value> {
        let mut items = Vec::new();
        let mut at = self.skip_whitespace(at);
        if self.byte(at) == Some(b']') {
            return Ok((Value::List(items), at + 1));
        }
        loop {
            let (value, end) = self.value(at, depth)?;
            items.push(value);
            at = self.skip_whitespace(end);
            match self.byte(at) {
                Some(b']') => return Ok((Value::List(items), at + 1)),
                Some(b',') => at = self.skip_whitespace(at + 1),
                _ => return Err(self.error("Expecting ',' delimiter", at)),
            }
        }
    }

    /// Reads a string whose opening quote is at `begin`. Plain text is copied in runs; UTF-16 units are collected only
    /// after a lone surrogate appears.
    fn string(&self, begin: usize) -> Scanned<Value> {
        let mut at = begin + 1;
        let mut run = self.plain_run(begin, at)?;
        // Nearly every string is one run.
        if self.bytes[run] == b'"' {
            return Ok((Value::Str(self.text[at..run].to_owned()), run + 1));
        }
        let mut text = String::new();
        let mut lone: Option<Vec<u16>> = None;
        loop {
            match &mut lone {
                None => text.push_str(&self.text[at..run]),
                Some(units) => units.extend(self.text[at..run].encode_utf16()),
            }
            if self.bytes[run] == b'"' {
                let value = lone.map_or(Value::Str(text), Value::from_utf16);
                return Ok((value, run + 1));
            }
            let (code, end) = self.escape(begin, run)?;
            at = end;
            match (char::from_u32(code), &mut lone) {
                (Some(c), None) => text.push(c),
                (Some(c), Some(units)) => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
                (None, lone) => {
                    let units = lone.get_or_insert_with(|| text.encode_utf16().collect());
                    units.push(u16::try_from(code).expect("every unit except surrogates is a char"));
                }
            }
            run = self.plain_run(begin, at)?;
        }
    }

    /// Returns the offset of the `"` or `\` that ends a run of plain characters.
    fn plain_run(&self, begin: usize, from: usize) -> Result<usize, DecodeError> {
        for (offset, byte) in self.bytes[from..].iter().enumerate() {
            match byte {
                b'"' | b'\\' => return Ok(from + offset),
                0..=0x1f => return Err(self.error("Invalid control character at", from + offset)),
                _ => {}
            }
        }
        Err(self.error("Unterminated string starting at", begin))
    }

    /// Reads the escape whose backslash is at `backslash`. A surrogate pair is one escape.
    fn escape(&self, begin: usize, backslash: usize) -> Scanned<u32> {
        let at = backslash + 1;
        let Some(kind) = self.byte(at) else {
            return Err(self.error("Unterminated string starting at", begin));
        };
        let plain = match kind {
            b'"' | b'\\' | b'/' => kind,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode_escape(at),
            _ => return Err(self.error("Invalid \\escape", backslash)),
        };
        Ok((plain.into(), at + 1))
    }

    fn unicode_escape(&self, at: usize) -> Scanned<u32> {
        let high = self.hex4(at + 1).ok_or_else(|| self.error("Invalid \\uXXXX escape", at))?;
        let end = at + 5;
        // CPython reads the second half only if text can follow it.
        let partner =
            (0xD800..0xDC00).contains(&high) && self.bytes[end..].starts_with(b"\\u") && end + 6 < self.bytes.len();
        if !partner {
            return Ok((high, end));
        }
        let low = self.hex4(end + 2).ok_or_else(|| self.error("Invalid \\uXXXX escape", end + 1))?;
        if (0xDC00..0xE000).contains(&low) {
            return Ok((0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), end + 6));
        }
        Ok((high, end))
    }

    /// Reads four hex digits. As in CPython, at least one more byte must follow.
    fn hex4(&self, at: usize) -> Option<u32> {
        self.byte(at + 4)?;
        let digits = &self.bytes[at..at + 4];
        digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
    }

    fn digits(&self, from: usize) -> usize {
        from + self.bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    fn number(&self, start: usize) -> Scanned<Value> {
        let integer = start + usize::from(self.byte(start) == Some(b'-'));
        let mut end = match self.byte(integer) {
            Some(b'0') => integer + 1,
            Some(b'1'..=b'9') => self.digits(integer),
            _ => return Err(self.error("Expecting value", start)),
        };
        let integer_end = end;
        if self.byte(end) == Some(b'.') && self.digits(end + 1) > end + 1 {
            end = self.digits(end + 1);
        }
        if matches!(self.byte(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(end + 1), Some(b'+' | b'-')));
            let exponent = end + 1 + sign;
            if exponent <= self.bytes.len() && self.digits(exponent) > exponent {
                end = self.digits(exponent);
            }
        }
        let text = &self.text[start..end];
        let value = if end > integer_end {
            Value::Float(text.parse().expect("the scanner took only the grammar of a float"))
        } else {
            check_digits(integer_end - integer)?;
            Value::int_from_decimal(text).expect("the scanner took only the grammar of an integer")
        };
        Ok((value, end))
    }
}

fn nested(depth: usize, what: &str) -> Result<usize, DecodeError> {
    if depth >= MAX_DEPTH {
        let message = format!("maximum recursion depth exceeded while decoding a JSON {what} from a unicode string");
        return Err(DecodeError { is_too_deep: true, ..DecodeError::bare(message) });
    }
    Ok(depth + 1)
}

fn check_digits(digits: usize) -> Result<(), DecodeError> {
    if digits > MAX_INT_DIGITS {
        return Err(DecodeError::bare(format!(
            "Exceeds the limit ({MAX_INT_DIGITS} digits) for integer string conversion: value has {digits} digits; \
             use sys.set_int_max_str_digits() to increase the limit"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let got = match decode(text) {
            Ok(value) => encode(&value),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expect, "for {text:?}");
    }

    #[test]
    fn reads_what_python_reads() {
        check(" {\"a\":1,\"a\":[2.50,1e2,-0]} \n", r#"{"a": [2.5, 100.0, 0]}"#);
        check("[NaN,Infinity,-Infinity,1E400]", "[NaN, Infinity, -Infinity, Infinity]");
        check(r#""\ud83d\ude00\ud83d\u0041\/""#, r#""\ud83d\ude00\ud83dA/""#);
        check("\"\u{7f}\u{85}é\"", r#""\u007f\u0085\u00e9""#);
    }

    #[test]
    fn fails_in_pythons_words() {
        check("", "Expecting value: line 1 column 1 (char 0)");
        check("{} {}", "Extra data: line 1 column 4 (char 3)");
        check("{}\n{}", "Extra data: line 2 column 1 (char 3)");
        check("{'a': 1}", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)");
        check("{\"a\" 1}", "Expecting ':' delimiter: line 1 column 6 (char 5)");
        check("{\"a\": 1 \"b\"}", "Expecting ',' delimiter: line 1 column 9 (char 8)");
        check("{\"é\": \"\t\"}", "Invalid control character at: line 1 column 8 (char 7)");
        check(r#"{"a": "\x"}"#, "Invalid \\escape: line 1 column 8 (char 7)");
        check(r#"{"a": "\u12g4"}"#, "Invalid \\uXXXX escape: line 1 column 9 (char 8)");
        check("[\"abc", "Unterminated string starting at: line 1 column 2 (char 1)");
        check("[1,]", "Expecting value: line 1 column 4 (char 3)");
        check("[1, 2", "Expecting ',' delimiter: line 1 column 6 (char 5)");
        check("-", "Expecting value: line 1 column 1 (char 0)");
        check("01", "Extra data: line 1 column 2 (char 1)");
        check("\u{feff}{}", "Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)");
    }

    #[test]
    fn bounds_hostile_documents() {
        let too_deep = decode(&"[".repeat(100_000)).unwrap_err();
        assert!(too_deep.is_too_deep() && too_deep.message().starts_with("maximum recursion depth"));
        assert!(decode(&format!("{}1{}", "[".repeat(900), "]".repeat(900))).is_ok());
        assert!(decode(&"9".repeat(4300)).is_ok());
        let too_long = decode(&"9".repeat(4301)).unwrap_err();
        assert!(!too_long.is_too_deep() && too_long.message().starts_with("Exceeds the limit (4300 digits)"));
    }
}
