//! Lines as Python splits them.

/// Splits text like Python's `str.splitlines`.
#[must_use]
pub fn split_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if !is_line_end(c) {
            continue;
        }
        lines.push(&text[start..at]);
        start = at + c.len_utf8();
        if c == '\r' && chars.next_if(|(_, next)| *next == '\n').is_some() {
            start += 1;
        }
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_lines_as_python_does() {
        for (text, expect) in [
            ("", &[][..]),
            ("a", &["a"]),
            ("a\n", &["a"]),
            ("\n", &[""]),
            ("a\r\nb\rc\n\nd", &["a", "b", "c", "", "d"]),
            ("a\u{b}b\u{c}c\u{1c}d\u{1d}e\u{1e}f\u{1f}g", &["a", "b", "c", "d", "e", "f\u{1f}g"]),
            ("a\u{85}b\u{2028}c\u{2029}d", &["a", "b", "c", "d"]),
        ] {
            assert_eq!(split_lines(text), expect, "for {text:?}");
        }
    }
}
