//! A file by its name and the digest of its bytes, as statements and closures list it.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The longest name of a part, in bytes.
pub const MAX_NAME: usize = 255;

/// What a digest begins with.
pub const DIGEST_PREFIX: &str = "sha256:";

/// A file by its name and its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Part {
    /// Its name in the closure, such as `ansible/module_utils/basic.py`.
    pub name: String,
    /// SHA-256 of its bytes, 64 lower-case hex digits.
    pub digest: String,
}

impl Part {
    /// Returns the part of a name and of bytes.
    #[must_use]
    pub fn of(name: impl Into<String>, bytes: &[u8]) -> Self {
        Self { name: name.into(), digest: hex(bytes) }
    }

    /// Returns whether the name and the digest can be lines of a statement: no control character, no blank at the ends.
    #[must_use]
    pub fn is_written(&self) -> bool {
        let is_plain = |character: char| !character.is_control();
        let name = &self.name;
        let is_name = !name.is_empty() && name.len() <= MAX_NAME && name.trim() == name && name.chars().all(is_plain);
        is_name && is_digest(&self.digest)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{DIGEST_PREFIX}{}  {}", self.digest, self.name)
    }
}

/// Reads a line `sha256:…  NAME`. The digest is not checked: [`Part::is_written`] does that.
#[must_use]
pub fn part_line(line: &str) -> Option<Part> {
    let (digest, name) = line.strip_prefix(DIGEST_PREFIX)?.split_once("  ")?;
    Some(Part { digest: digest.to_owned(), name: name.to_owned() })
}

/// Returns the SHA-256 of bytes in hex.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns whether a text is 64 lower-case hex digits.
#[must_use]
pub fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}
