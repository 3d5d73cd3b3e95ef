//! Blanks.

/// Says whether Python takes a character for a blank: `str.isspace`, and `\s` of regular expressions.
pub(in crate::compile) fn is_blank(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Returns the byte after the blanks that begin at one.
pub(super) fn after_blanks(text: &str, at: usize) -> usize {
    text.len() - text[at..].trim_start_matches(is_blank).len()
}
