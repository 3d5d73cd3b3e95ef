//! Escape sequences in arguments that are written as `key=value`: those of Python's text, and nothing else.

/// Replaces escape sequences by their characters.
///
/// # Errors
///
/// Returns the sequence that has no character. Names of characters, `\N{…}`, are known to Python only.
pub(crate) fn decode_escapes(text: &str) -> Result<String, String> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    // Without it, each `\N{` would look for its end through the whole text.
    let last_brace = text.rfind('}');
    while let Some(start) = rest.find('\\') {
        decoded.push_str(&rest[..start]);
        rest = &rest[start..];
        let has_brace = last_brace.is_some_and(|last| last > text.len() - rest.len());
        let width = sequence_width(rest, has_brace);
        if width > 1 {
            decoded.push(character_of(&rest[..width]).ok_or_else(|| rest[..width].to_owned())?);
        } else {
            decoded.push('\\');
        }
        rest = &rest[width..];
    }
    decoded.push_str(rest);
    Ok(decoded)
}

/// Returns the bytes of the escape sequence at the start of a text; 1 if the backslash there begins none.
/// `has_brace` says whether the text has a `}`.
fn sequence_width(text: &str, has_brace: bool) -> usize {
    let bytes = text.as_bytes();
    let hexadecimal = |count: usize| {
        let digits = bytes.get(2..2 + count);
        if digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) { 2 + count } else { 1 }
    };
    match bytes.get(1) {
        Some(b'U') => hexadecimal(8),
        Some(b'u') => hexadecimal(4),
        Some(b'x') => hexadecimal(2),
        Some(b'N') if has_brace => match text[2..].strip_prefix('{').and_then(|name| name.find('}')) {
            Some(length) if length > 0 => length + 4,
            _ => 1,
        },
        Some(b'\\' | b'\'' | b'"' | b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v') => 2,
        _ => 1,
    }
}

fn character_of(sequence: &str) -> Option<char> {
    match sequence.as_bytes()[1] {
        b'U' | b'u' | b'x' => char::from_u32(u32::from_str_radix(&sequence[2..], 16).ok()?),
        b'N' => None,
        b'a' => Some('\u{7}'),
        b'b' => Some('\u{8}'),
        b'f' => Some('\u{c}'),
        b'n' => Some('\n'),
        b'r' => Some('\r'),
        b't' => Some('\t'),
        b'v' => Some('\u{b}'),
        literal => Some(literal.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: Result<&str, &str>) {
        assert_eq!(decode_escapes(text).as_deref().map_err(String::as_str), wanted, "{text}");
    }

    #[test]
    fn sequences_of_python_are_replaced() {
        check(r"a\nb\t\\n", Ok("a\nb\t\\n"));
        check(r"\x41\u00e9\U0001F600", Ok("Aé😀"));
        check(r"\d\x4\u12\", Ok(r"\d\x4\u12\"));
        check(r"\N{DASH}", Err(r"\N{DASH}"));
        check(r"\N{}\N", Ok(r"\N{}\N"));
        check(r"\N{a", Ok(r"\N{a"));
        check(r"}\N{a", Ok(r"}\N{a"));
        check(r"\ud800", Err(r"\ud800"));
        check(r"é\'", Ok("é'"));
    }
}
