//! The text that minijinja's parser gets.
//!
//! Python and minijinja disagree on escapes in string literals, and Ansible does not process them in `{{ }}` at all. So
//! escapes that minijinja would refuse or convert are masked, byte for byte, and the literals are read from the text
//! itself.

use std::borrow::Cow;

/// Returns the text with the characters after backslashes replaced, where they could be escapes. The length stays.
///
/// Spaces that ASCII lacks become spaces, and a plus sign of a number too: Jinja takes both, and minijinja neither. Texts
/// and literals are read from the text itself, so that nothing of them is lost.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '+']) && text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '+' if is_sign(&out, characters.peek().copied()) => out.push(' '),
            c if !c.is_ascii() && c.is_whitespace() => out.extend(std::iter::repeat_n(' ', c.len_utf8())),
            c => out.push(c),
        }
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

/// Says whether a plus sign after a text belongs to the number that follows, and adds nothing.
fn is_sign(before: &str, next: Option<char>) -> bool {
    let operand = next.is_some_and(|next| next.is_ascii_digit() || next == '.');
    operand && before.trim_end().ends_with(['(', '[', ',', '=', '<', '>', '*', '/', '-', '~', '|', ':'])
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
            ("{{ a }} + b", "{{ a }} + b"),
            ("{{\u{a0}a\u{2003}}}", "{{  a   }}"),
            ("[-2, +2.5, 1 + 2, a +b]", "[-2,  2.5, 1 + 2, a +b]"),
            ("{%+ if a %}", "{%+ if a %}"),
        ] {
            assert_eq!(mask(text), expect);
            assert_eq!(mask(text).len(), text.len());
        }
    }
}
