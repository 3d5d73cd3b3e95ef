//! Names of files as a component sees them. A name on Linux is bytes, and a path of WASI is a string.
//!
//! modbox shows a byte that belongs to no UTF-8 character as the character `U+10F700` + byte, and escapes characters of that
//! block in real names byte by byte (`runner/core/wasm/src/files/encoding.rs`). The functions here know no file.

#![cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "elsewhere, names are bytes"))]

use std::borrow::Cow;

/// The character of the byte 0.
const FIRST: u32 = 0x10_F700;

/// Returns the host's bytes of a path that a component has.
pub(crate) fn to_host(path: &str) -> Cow<'_, [u8]> {
    if !path.chars().any(|character| byte_of(character).is_some()) {
        return Cow::Borrowed(path.as_bytes());
    }
    let mut bytes = Vec::with_capacity(path.len());
    for character in path.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// Returns the path of a component for bytes of the host.
pub(crate) fn to_guest(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
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
    use super::*;

    #[test]
    fn each_name_has_one_spelling() {
        for (name, text) in [
            (&b"caf\xE9"[..], "caf\u{10F7E9}"),
            ("café".as_bytes(), "café"),
            (b"", ""),
            ("\u{10F7FF}".as_bytes(), "\u{10F7F4}\u{10F78F}\u{10F79F}\u{10F7BF}"),
        ] {
            assert_eq!((to_guest(name).as_str(), &*to_host(text)), (text, name));
        }
    }
}
