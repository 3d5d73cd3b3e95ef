//! The digests by which policies, caches and signatures identify modules.

use std::fmt::Write as _;

use modbox_kinds::detect;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of a module in hex, by which policies and caches identify it.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Returns the digest of a module's file, in hex; that of a wasm module excludes a `#!` line.
#[must_use]
pub fn module_digest(bytes: &[u8]) -> String {
    digest(wasm_bytes(bytes).unwrap_or(bytes))
}

/// Returns the wasm binary in a module's file, without a `#!` line; `None` for other kinds.
#[must_use]
pub fn wasm_bytes(bytes: &[u8]) -> Option<&[u8]> {
    detect::detect(bytes).is_ok_and(|found| found.kind.is_wasm()).then(|| modbox_kinds::skip_shebang(bytes))
}
