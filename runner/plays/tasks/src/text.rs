//! White space of texts, as Python's `str` methods see it.

/// Says whether Python takes a character for white space.
#[must_use]
pub fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Removes white space at both ends, as `str.strip` does.
#[must_use]
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Removes white space at the start, as `str.lstrip` does.
#[must_use]
pub fn strip_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// Removes white space at the end, as `str.rstrip` does.
#[must_use]
pub fn strip_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}
