//! Names of files as guests see them. A name on Linux is bytes, and a path of WASI is a string.
//!
//! A byte that belongs to no UTF-8 character appears to guests as the character `U+10F700` + byte, from a block for
//! private use. Characters of that block in a real name are escaped byte by byte, so that each name has one spelling
//! and each spelling leads to one name. Guests list, open and remove such files without knowing.
//!
//! Escapes stand for bytes of 0x80 and above only, so that none yields a `/`, a dot or a NUL.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The character of the byte 0.
const FIRST: u32 = 0x10_F700;

/// The first byte of all characters of the block in UTF-8.
const LEAD: u8 = 0xF4;

/// Returns a name or a path of the host as guests see it.
pub(crate) fn to_guest(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(text) if !has_escapes(text) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(name)),
    }
}

fn escaped(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len() * 4);
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            if byte_of(character).is_some() {
                text.extend(character.encode_utf8(&mut [0; 4]).bytes().map(escape));
            } else {
                text.push(character);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(escape));
    }
    text
}

/// Returns the host's bytes of a name or a path of a guest.
pub(crate) fn to_host(path: &str) -> Cow<'_, OsStr> {
    if !has_escapes(path) {
        return Cow::Borrowed(OsStr::new(path));
    }
    let mut bytes = Vec::with_capacity(path.len());
    for character in path.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(OsStr::from_bytes(&bytes).to_owned())
}

/// Returns the one spelling of a path that a guest has written. Two spellings could otherwise lead to one file, and only
/// one of them be compared with the grants.
pub(crate) fn canonical(path: String) -> String {
    if !has_escapes(&path) {
        return path;
    }
    to_guest(to_host(&path).as_bytes()).into_owned()
}

fn has_escapes(text: &str) -> bool {
    text.as_bytes().contains(&LEAD) && text.chars().any(|character| byte_of(character).is_some())
}

/// Returns the character that stands for a byte.
fn escape(byte: u8) -> char {
    char::from_u32(FIRST + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns the byte that a character stands for.
fn byte_of(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spelling(name: &[u8]) -> String {
        to_guest(name).into_owned()
    }

    #[test]
    fn ordinary_names_stay() {
        for name in ["a", "é", "a b", "\u{10F600}", "\u{10F77F}", "\u{10FFFD}"] {
            assert_eq!(spelling(name.as_bytes()), name);
            assert_eq!(to_host(name).as_bytes(), name.as_bytes());
        }
    }

    #[test]
    fn a_byte_that_is_not_utf_8_is_one_character() {
        assert_eq!(spelling(b"caf\xE9"), "caf\u{10F7E9}");
        assert_eq!(to_host("caf\u{10F7E9}").as_bytes(), b"caf\xE9");
        // Escapes that together are a character: one spelling only.
        assert_eq!(canonical("\u{10F7C3}\u{10F7A9}".to_owned()), "é");
    }

    proptest! {
        #[test]
        fn each_name_has_one_spelling(
            name in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..12),
                "[\u{10F780}-\u{10F7FF}é/.a]{0,6}".prop_map(String::into_bytes),
            ],
            other in prop::collection::vec(prop_oneof![Just(0xF4_u8), Just(0x8F), 0x9C_u8..=0x9F, any::<u8>()], 0..8),
        ) {
            for name in [&name, &other] {
                let text = spelling(name);
                let host = to_host(&text);
                prop_assert_eq!(host.as_bytes(), &name[..]);
                prop_assert_eq!(canonical(text.clone()), text);
            }
            prop_assert_eq!(spelling(&name) == spelling(&other), name == other);
        }

        #[test]
        fn escapes_yield_no_separator(text in "[\u{10F700}-\u{10F7FF}]{0,6}") {
            let host = to_host(&text);
            prop_assert!(!host.as_bytes().iter().any(|byte| matches!(byte, b'/' | b'.' | 0)));
            let once = canonical(text);
            prop_assert_eq!(canonical(once.clone()), once);
        }
    }
}
