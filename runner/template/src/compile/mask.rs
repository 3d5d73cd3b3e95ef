//! The text that minijinja's parser gets.
//!
//! Python and minijinja disagree on escapes in string literals, and Ansible does not process them in `{{ }}` at all. So
//! escapes that minijinja would refuse or convert are masked, byte for byte, and the literals are read from the text
//! itself.

use std::borrow::Cow;

/// Returns the text with the characters after backslashes replaced, where they could be escapes. The length stays.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        out.push(c);
        if c == '\\' {
            match characters.next() {
                Some(escape) if escape.is_ascii_alphanumeric() => out.push('q'),
                Some(other) => out.push(other),
                None => {}
            }
        }
    }
    Cow::Owned(out)
}

/// Returns the range of a part of a masked text, which is the range in the text itself.
pub(crate) fn range_of(part: &str, whole: &str) -> Option<std::ops::Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_escapes_and_keeps_the_length() {
        for (text, expect) in [
            (r"{{ 'a\x' }}", r"{{ 'a\q' }}"),
            (r"{{ 'a\\x\'' }}", r"{{ 'a\\x\'' }}"),
            (r"a\", r"a\"),
            ("\\é", "\\é"),
            ("plain", "plain"),
        ] {
            assert_eq!(mask(text), expect);
            assert_eq!(mask(text).len(), text.len());
        }
    }
}
