//! Digests of content: SHA-256, as `sha256:` and 64 lower-case hex digits.
//!
//! Registries may also use SHA-512; modbox neither writes nor reads it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What a digest begins with.
const PREFIX: &str = "sha256:";

/// SHA-256 of content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// Error of a text that is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a digest: `sha256:` and 64 lower-case hex digits", .0.chars().take(80).collect::<String>())]
pub struct DigestError(pub String);

impl Digest {
    /// Computes the digest of content.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self::from_hash(Sha256::new_with_prefix(content))
    }

    /// Returns the digest of what a hash was fed.
    pub(crate) fn from_hash(hash: Sha256) -> Self {
        let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("{PREFIX}{hex}"))
    }

    /// Returns the digest with these hex digits.
    ///
    /// # Errors
    ///
    /// They are not 64 lower-case ones.
    pub fn from_hex(hex: &str) -> Result<Self, DigestError> {
        format!("{PREFIX}{hex}").parse()
    }

    /// Returns the hex digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.0[PREFIX.len()..]
    }

    /// Returns the whole text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let is_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        match text.strip_prefix(PREFIX) {
            Some(hex) if hex.len() == 64 && hex.bytes().all(is_hex) => Ok(Self(text.to_owned())),
            _ => Err(DigestError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_form_is_a_digest() {
        let empty = Digest::of(b"");
        assert_eq!(empty.hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(empty.as_str().parse(), Ok(empty.clone()));
        assert_eq!(Digest::from_hex(empty.hex()), Ok(empty.clone()));
        let text = empty.to_string();
        for wrong in [&text[..70], &text.to_uppercase(), &text.replace("256", "512"), &format!("{text}0"), "", "a/../b"]
        {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
