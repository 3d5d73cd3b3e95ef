//! String literals, with Python's escapes or without any.

/// How backslashes in a literal are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// As they are: in `{{ }}`, so that a regular expression needs no more backslashes than YAML asks for.
    Kept,
    /// As in Python: in `{% %}` and in expressions.
    Processed,
}

/// A literal, read from the text.
pub(crate) struct Literal {
    pub(crate) value: String,
    /// The bytes of the text that the value equals, if there are any.
    pub(crate) verbatim: Option<std::ops::Range<usize>>,
    /// The bytes of the text whose escapes give the value, if it is one literal with the escapes that YAML arguments have.
    pub(crate) escaped: Option<std::ops::Range<usize>>,
}

/// Reads adjacent string literals that begin at an offset. `None` means that there is none, or an invalid escape.
pub(crate) fn read(text: &str, start: usize, end: usize, escapes: Escapes) -> Option<Literal> {
    let mut value = String::new();
    let mut parts = Vec::new();
    let mut at = start;
    while at < end {
        let rest = text.get(at..end)?;
        let quote = rest.chars().next()?;
        if quote.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        if quote != '"' && quote != '\'' {
            break;
        }
        let length = length_of(&rest[1..], quote)?;
        let inner = at + 1..at + 1 + length;
        let raw = text.get(inner.clone())?;
        match escapes {
            Escapes::Processed if raw.contains('\\') => unescape(raw, &mut value)?,
            _ => value.push_str(raw),
        }
        parts.push(inner);
        at += length + 2;
    }
    let (mut verbatim, mut escaped) = (None, None);
    match &parts[..] {
        [] => return None,
        [part] if text.get(part.clone()) == Some(&value) => verbatim = Some(part.clone()),
        [part] if text.get(part.clone()).is_some_and(has_common_escapes) => escaped = Some(part.clone()),
        _ => {}
    }
    Some(Literal { value, verbatim, escaped })
}

/// Says whether all escapes of a literal are of those that have the same meaning in arguments of tasks.
fn has_common_escapes(raw: &str) -> bool {
    let mut characters = raw.chars();
    while let Some(c) = characters.next() {
        let next = if c == '\\' { characters.next() } else { continue };
        if !next.is_some_and(|next| "\\'\"abfnrtvxuU".contains(next)) {
            return false;
        }
    }
    true
}

/// Returns the number of bytes before the closing quote.
fn length_of(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// Adds the value of a literal with Python's escapes. `None` is Python's error.
fn unescape(raw: &str, out: &mut String) -> Option<()> {
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let escape = rest.chars().next()?;
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
            'x' => rest = hexadecimal(rest, 2, out)?,
            'u' => rest = hexadecimal(rest, 4, out)?,
            'U' => rest = hexadecimal(rest, 8, out)?,
            '0'..='7' => rest = octal(escape, rest, out)?,
            // Names of characters need a table that nothing else here needs.
            'N' => return None,
            other => {
                out.push('\\');
                out.push(other);
            }
        }
    }
    out.push_str(rest);
    Some(())
}

fn hexadecimal<'a>(rest: &'a str, digits: usize, out: &mut String) -> Option<&'a str> {
    let text = rest.get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    out.push(char::from_u32(u32::from_str_radix(text, 16).ok()?)?);
    rest.get(digits..)
}

fn octal<'a>(first: char, rest: &'a str, out: &mut String) -> Option<&'a str> {
    let more = rest.bytes().take(2).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let digits = format!("{first}{}", &rest[..more]);
    out.push(char::from_u32(u32::from_str_radix(&digits, 8).ok()?)?);
    rest.get(more..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, escapes: Escapes, expect: Option<&str>) {
        let found = read(text, 0, text.len(), escapes).map(|literal| literal.value);
        assert_eq!(found.as_deref(), expect, "{text}");
    }

    #[test]
    fn reads_escapes_as_python_does() {
        check(r"'a\n\t\\\'\x41\u00e9\101\q'", Escapes::Processed, Some("a\n\t\\'Aé\u{41}\\q"));
        check(r#""a" 'b'"#, Escapes::Processed, Some("ab"));
        check(r"'\x4'", Escapes::Processed, None);
        check(r"'\ud800'", Escapes::Processed, None);
        check("'a\\\nb'", Escapes::Processed, Some("ab"));
    }

    #[test]
    fn keeps_backslashes_between_braces() {
        check(r"'^(.*)\1\'s'", Escapes::Kept, Some(r"^(.*)\1\'s"));
        check(r"'C:\users\x'", Escapes::Kept, Some(r"C:\users\x"));
    }
}
