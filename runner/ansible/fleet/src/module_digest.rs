//! The digest that names a module.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// What a digest begins with.
const PREFIX: &str = "sha256:";

/// Number of bytes of a digest.
const LENGTH: usize = 32;

/// SHA-256 of a module's bytes. Its text is `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleDigest([u8; LENGTH]);

/// A text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a digest: write `sha256:` and 64 lowercase hexadecimal digits")]
pub struct InvalidDigest(String);

impl ModuleDigest {
    /// Returns the digest of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl FromStr for ModuleDigest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidDigest(text.chars().take(80).collect());
        let digits = text.strip_prefix(PREFIX).ok_or_else(invalid)?.as_bytes();
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        if digits.len() != 2 * LENGTH || !digits.iter().all(is_digit) {
            return Err(invalid());
        }
        let value = |digit: u8| if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
        let mut bytes = [0; LENGTH];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = value(pair[0]) << 4 | value(pair[1]);
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for ModuleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_its_text() {
        let empty = ModuleDigest::of(b"");
        let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(empty.to_string(), text);
        assert_eq!(text.parse(), Ok(empty));
    }

    #[test]
    fn other_texts_are_refused() {
        let text = ModuleDigest::of(b"").to_string();
        for wrong in
            ["", "sha256:", "../../etc/passwd", &text[7..], &text[..70], &text.to_uppercase(), &format!("{text}0")]
        {
            assert!(wrong.parse::<ModuleDigest>().is_err(), "{wrong}");
        }
    }
}
