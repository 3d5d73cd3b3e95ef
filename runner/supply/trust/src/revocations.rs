//! Keys and modules that count no longer: one a line.
//!
//! ```text
//! # the key of a laptop that was lost
//! ssh-ed25519 AAAA… comment
//! SHA256:vOd6…            (a key's fingerprint)
//! sha256:b5cd…            (a module)
//! ```

use std::collections::BTreeSet;

use modbox_closure::Closure;
use modbox_closure::part::is_digest;
use ssh_key::{HashAlg, PublicKey};

use crate::ssh_signature::SigningKey;

/// What counts no longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Revocations {
    /// Fingerprints.
    keys: BTreeSet<String>,
    /// Digests, in hex digits.
    modules: BTreeSet<String>,
}

/// Error of a line that revokes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {0} is not a public key, its fingerprint `SHA256:…` or the digest `sha256:…` of a module")]
pub struct RevocationsError(pub usize);

impl Revocations {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// A line revokes nothing.
    pub fn parse(text: &str) -> Result<Self, RevocationsError> {
        let mut revoked = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let word = line.split_whitespace().next().unwrap_or_default();
            let digest = word.strip_prefix("sha256:").map(str::to_ascii_lowercase);
            if let Some(digest) = digest.filter(|digest| is_digest(digest)) {
                revoked.modules.insert(digest);
            } else if word.parse::<ssh_key::Fingerprint>().is_ok() {
                revoked.keys.insert(word.trim_end_matches('=').to_owned());
            } else if let Ok(key) = PublicKey::from_openssh(line) {
                revoked.keys.insert(key.fingerprint(HashAlg::Sha256).to_string());
            } else {
                return Err(RevocationsError(number));
            }
        }
        Ok(revoked)
    }

    /// Adds what another file revokes.
    pub fn extend(&mut self, other: Self) {
        self.keys.extend(other.keys);
        self.modules.extend(other.modules);
    }

    /// Returns whether a module counts no longer. `digest` has 64 lower-case hex digits.
    #[must_use]
    pub fn has_module(&self, digest: &str) -> bool {
        self.modules.contains(digest)
    }

    /// Returns what of a module counts no longer: the module, its file or a part of it.
    #[must_use]
    pub fn of_closure(&self, closure: &Closure) -> Option<String> {
        let file = &closure.file().digest;
        if self.has_module(closure.digest()) {
            return Some(format!("the module sha256:{}", closure.digest()));
        }
        if self.has_module(file) {
            return Some(format!("the file sha256:{file} of the module"));
        }
        let part = closure.parts().iter().find(|part| self.has_module(&part.digest))?;
        Some(format!("the part `{}` of the module", part.name))
    }

    /// Returns the fingerprint of the key that counts no longer: that of the signer or of the authority.
    pub(crate) fn key_of(&self, signed: &SigningKey) -> Option<String> {
        let authority = signed.certificate.as_ref().map(|made| made.authority.fingerprint(HashAlg::Sha256));
        let keys = [Some(signed.fingerprint()), authority.map(|key| key.to_string())];
        keys.into_iter().flatten().find(|key| self.keys.contains(key))
    }
}
