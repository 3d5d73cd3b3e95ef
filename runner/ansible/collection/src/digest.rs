//! The digest of bytes, as lists of collections have it.

use sha2::{Digest as _, Sha256};

/// Returns the SHA-256 of bytes in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
