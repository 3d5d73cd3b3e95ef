//! The encodings of text files, and Python's way to read them: strictly, and with `\n` at the end of each line.
//!
//! Inside a module, text is UTF-8. Python has about a hundred encodings; these are the ones that files on Linux have.

use crate::result::Failure;

/// An encoding of text files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8.
    Utf8,
    /// ASCII, which is a part of UTF-8.
    Ascii,
    /// Latin-1: each byte is the character of its number.
    Latin1,
}

/// Bytes that are not text of an encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongByte {
    /// The number of bytes before the first wrong one.
    pub valid: usize,
    /// The number of bytes that are wrong together; at the end of the bytes, a character may be incomplete.
    pub length: usize,
}

impl TextEncoding {
    /// Returns the encoding with a name, in any of Python's spellings.
    ///
    /// # Errors
    ///
    /// The name is unknown.
    pub fn named(name: &str) -> Result<Self, Failure> {
        match name.to_ascii_lowercase().replace(['-', '_', ' '], "").as_str() {
            "utf8" | "u8" => Ok(Self::Utf8),
            "ascii" | "usascii" | "646" => Ok(Self::Ascii),
            "latin1" | "iso88591" | "l1" | "latin" | "88591" => Ok(Self::Latin1),
            _ => Err(Failure::new(format!(
                "unknown encoding: {name}; expected one of utf-8, latin-1, ascii (ansible-core's own module knows more)"
            ))),
        }
    }

    /// Returns the name, as Python writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Ascii => "ascii",
            Self::Latin1 => "latin-1",
        }
    }

    /// Returns the first bytes that are not of the encoding, if there are any.
    #[must_use]
    pub fn wrong_byte(self, bytes: &[u8]) -> Option<WrongByte> {
        match self {
            Self::Utf8 => {
                let error = str::from_utf8(bytes).err()?;
                Some(WrongByte { valid: error.valid_up_to(), length: error.error_len().unwrap_or(1) })
            }
            Self::Ascii => bytes.iter().position(|byte| !byte.is_ascii()).map(|valid| WrongByte { valid, length: 1 }),
            Self::Latin1 => None,
        }
    }

    /// Returns bytes as text. Bytes that are not of the encoding stay as they are.
    #[must_use]
    pub fn decode(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Ascii => bytes.to_vec(),
            Self::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes(),
        }
    }

    /// Returns bytes as text.
    ///
    /// # Errors
    ///
    /// Bytes that are not of the encoding; the error names `path` and the first of them.
    pub fn decode_strictly(self, path: &str, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        match self.wrong_byte(bytes) {
            None => Ok(self.decode(bytes)),
            Some(WrongByte { valid, .. }) => Err(Failure::new(format!(
                "failed to read `{path}` as text: '{}' codec can't decode byte 0x{:02x} in position {valid}; name the \
                 encoding of the file by `encoding`",
                self.name(),
                bytes[valid]
            ))),
        }
    }

    /// Returns text as bytes.
    ///
    /// # Errors
    ///
    /// Characters that the encoding does not have.
    pub fn encode(self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        let bad = || Failure::new(format!("the new text has characters that the encoding {} lacks", self.name()));
        match self {
            Self::Utf8 => Ok(text.to_vec()),
            Self::Ascii if text.is_ascii() => Ok(text.to_vec()),
            Self::Ascii => Err(bad()),
            Self::Latin1 => {
                let text = str::from_utf8(text).map_err(|_| bad())?;
                text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| bad())).collect()
            }
        }
    }
}

/// Returns a text in which `\r\n` and `\r` are `\n`, as Python's `open` reads it.
#[must_use]
pub fn with_plain_newlines(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut after_return = false;
    for &byte in bytes {
        match byte {
            b'\n' if after_return => {}
            b'\r' | b'\n' => text.push(b'\n'),
            other => text.push(other),
        }
        after_return = byte == b'\r';
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_known_in_pythons_spellings() {
        for (name, encoding) in [
            ("UTF_8", TextEncoding::Utf8),
            ("utf-8", TextEncoding::Utf8),
            ("US-ASCII", TextEncoding::Ascii),
            ("iso-8859-1", TextEncoding::Latin1),
        ] {
            assert_eq!(TextEncoding::named(name).unwrap(), encoding);
            assert_eq!(TextEncoding::named(encoding.name()).unwrap(), encoding);
        }
        assert!(TextEncoding::named("cp1252").is_err());
    }

    #[test]
    fn text_is_read_and_written() {
        for (encoding, bytes, text) in [
            (TextEncoding::Utf8, "ü€".as_bytes(), "ü€"),
            (TextEncoding::Latin1, b"\xfc\x80", "ü\u{80}"),
            (TextEncoding::Ascii, b"a", "a"),
        ] {
            assert_eq!(encoding.decode_strictly("f", bytes).unwrap(), text.as_bytes());
            assert_eq!(encoding.encode(text.as_bytes()).unwrap(), bytes);
        }
        assert!(TextEncoding::Latin1.encode("€".as_bytes()).is_err());
        assert!(TextEncoding::Ascii.encode("ü".as_bytes()).is_err());
    }

    #[test]
    fn wrong_bytes_are_named_or_kept() {
        let wrong = TextEncoding::Utf8.decode_strictly("/f", b"ok\xff").unwrap_err().message;
        assert!(
            wrong.contains("`/f`") && wrong.contains("'utf-8' codec can't decode byte 0xff in position 2"),
            "{wrong}"
        );
        assert_eq!(TextEncoding::Utf8.decode(b"ok\xff"), b"ok\xff");
        assert_eq!(TextEncoding::Utf8.wrong_byte(b"a\xc3"), Some(WrongByte { valid: 1, length: 1 }));
        assert_eq!(TextEncoding::Ascii.wrong_byte("aü".as_bytes()), Some(WrongByte { valid: 1, length: 1 }));
        assert_eq!(TextEncoding::Latin1.wrong_byte(b"\xff"), None);
    }

    #[test]
    fn lines_end_as_in_python() {
        assert_eq!(with_plain_newlines(b"a\r\nb\rc\n\r\r\n"), b"a\nb\nc\n\n\n");
    }
}
