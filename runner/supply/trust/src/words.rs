//! What the lines of statements are made of.

/// Maximum length of a file name, a name or a version, in bytes.
pub(crate) const MAX_VALUE: usize = 255;

/// Returns whether a text is a word of letters, digits and `._+-`.
pub(crate) fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let is_dots = text.bytes().all(|byte| byte == b'.');
    !text.is_empty() && text.len() <= MAX_VALUE && text.bytes().all(is_plain) && !is_dots
}
