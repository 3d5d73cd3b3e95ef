//! String literals, with Python's escapes or without any.

/// How backslashes in a literal are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compile) enum Escapes {
    /// As they are: in `{{ }}`, so that a regular expression needs no more backslashes than YAML asks for.
    Kept,
    /// As in Python: in `{% %}` and in expressions.
    Processed,
}

/// Returns the byte of the closing quote of the literal whose opening quote is at a byte.
pub(super) fn closing_quote(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(at)?;
    let mut next = at + 1;
    loop {
        match *bytes.get(next)? {
            byte if byte == quote => return Some(next),
            b'\\' => next += 2,
            _ => next += 1,
        }
    }
}

/// Returns the value of a text that is one literal of Python or several, with blanks between them, and nothing else but a
/// comment.
pub(in crate::compile) fn value_of(text: &str) -> Option<String> {
    let mut value = String::new();
    let mut at = 0;
    while at < text.len() {
        match text.as_bytes()[at] {
            b'"' | b'\'' => {
                let end = closing_quote(text, at)?;
                value.push_str(&unescaped(&text[at + 1..end]).ok()?);
                at = end + 1;
            }
            byte if at > 0 && byte.is_ascii_whitespace() => at += 1,
            // Python's `literal_eval` takes a comment.
            b'#' if at > 0 => break,
            _ => return None,
        }
    }
    (at > 0).then_some(value)
}

/// Says whether all escapes of a literal are of those that have the same meaning in arguments of tasks.
pub(in crate::compile) fn has_common_escapes(raw: &str) -> bool {
    let mut characters = raw.chars();
    while let Some(c) = characters.next() {
        let next = if c == '\\' { characters.next() } else { continue };
        if !next.is_some_and(|next| "\\'\"abfnrtvxuU".contains(next)) {
            return false;
        }
    }
    true
}

/// Returns the value of a literal with Python's escapes: its codec `unicode-escape`, as Jinja uses it.
///
/// # Errors
///
/// An escape has no character. The error is Python's, in words.
pub(in crate::compile) fn unescaped(raw: &str) -> Result<String, &'static str> {
    let (mut rest, mut out) = (raw, String::with_capacity(raw.len()));
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let escape = rest.chars().next().ok_or("\\ at end of string")?;
        rest = &rest[escape.len_utf8()..];
        match escape {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(escape),
            'a' => out.push('\u{7}'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            'x' => rest = hexadecimal(rest, 2, &mut out).ok_or("truncated \\xXX escape")?,
            'u' => rest = hexadecimal(rest, 4, &mut out).ok_or("truncated \\uXXXX escape")?,
            'U' => rest = hexadecimal(rest, 8, &mut out).ok_or("truncated \\UXXXXXXXX escape")?,
            '0'..='7' => rest = octal(escape, rest, &mut out),
            // Names of characters need a table that nothing else here needs.
            'N' => return Err("names of characters (\\N{…}) are not supported; write \\u or \\U with the number"),
            other if other.is_ascii() => out.extend(['\\', other]),
            other => out.push_str(&escaped_twice(other)),
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns what a backslash before a character beyond ASCII becomes: Jinja escapes the character first, and then the
/// backslash before that escape is an escaped one.
fn escaped_twice(c: char) -> String {
    match u32::from(c) {
        code @ ..=0xff => format!("\\x{code:02x}"),
        code @ ..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    }
}

fn hexadecimal<'a>(rest: &'a str, digits: usize, out: &mut String) -> Option<&'a str> {
    let text = rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    out.push(char::from_u32(u32::from_str_radix(text, 16).ok()?)?);
    rest.get(digits..)
}

fn octal<'a>(first: char, rest: &'a str, out: &mut String) -> &'a str {
    let more = rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let code = format!("{first}{}", &rest[..more]);
    out.extend(u32::from_str_radix(&code, 8).ok().and_then(char::from_u32));
    &rest[more..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_escapes_as_python_does() {
        for (raw, expect) in [
            (r"a\n\t\\\'\x41\u00e9\101\q", Ok("a\n\t\\'Aé\u{41}\\q")),
            (r"\777\7z\08", Ok("\u{1ff}\u{7}z\u{0}8")),
            ("a\\\nb", Ok("ab")),
            ("\\é\\€\\😀é", Ok("\\xe9\\u20ac\\U0001f600é")),
            (r"\x4", Err("truncated \\xXX escape")),
            (r"\ud800", Err("truncated \\uXXXX escape")),
            (r"\U00110000", Err("truncated \\UXXXXXXXX escape")),
        ] {
            assert_eq!(unescaped(raw), expect.map(str::to_owned), "{raw}");
        }
        assert!(unescaped(r"\N{DASH}").is_err());
    }

    #[test]
    fn literals_end_at_a_quote_that_is_not_escaped() {
        assert_eq!(closing_quote(r"'a\'b' c'", 0), Some(5));
        assert_eq!(closing_quote(r#""a'b""#, 0), Some(4));
        assert_eq!(closing_quote(r"'a\", 0), None);
        assert_eq!(closing_quote("'é'", 0), Some(3));
    }

    #[test]
    fn values_are_those_of_adjacent_literals() {
        assert_eq!(value_of(r#""a" 'b\n'"#).as_deref(), Some("ab\n"));
        assert_eq!(value_of("'a' # b'").as_deref(), Some("a"));
        for text in ["", " 'a'", "'a", "a", "'a' b"] {
            assert_eq!(value_of(text), None, "{text}");
        }
    }
}
