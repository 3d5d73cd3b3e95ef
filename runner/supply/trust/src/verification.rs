//! The verdict on a signature file: who signed the module whose bytes are about to run.

use std::collections::BTreeSet;

use jiff::Timestamp;
use modbox_closure::Closure;

use crate::allowed_signers::{AllowedSigners, Signer};
use crate::revocations::Revocations;
use crate::signature_file::{SignatureFile, SignatureFileError};
use crate::ssh_signature::{SigningKey, SshSignatureError};
use crate::statement::Statement;
use crate::vouched;
pub use crate::vouched::{CheckedCore, PartsError, VouchedCore};

/// The keys that count, and those that count no longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keyring {
    /// The keys that count.
    pub signers: AllowedSigners,
    /// What counts no longer.
    pub revocations: Revocations,
}

/// A statement with a signature that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedStatement {
    /// What the signers vouch for.
    pub statement: Statement,
    /// The signers, each with another key. There is at least one.
    pub signers: Vec<Signer>,
    /// Why further signatures do not count.
    pub refused: Vec<String>,
    /// The release of ansible-core whose statement vouches for parts of the module.
    pub ansible_core: Option<String>,
}

/// Reason why a signature file says nothing about a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerificationError {
    /// The module, its file or a part of it counts no longer.
    #[error("{0} is revoked")]
    Revoked(String),
    /// The file is none.
    #[error(transparent)]
    File(#[from] SignatureFileError),
    /// The statement is about other bytes.
    #[error("the signature is one of sha256:{stated}, and the module is sha256:{found}")]
    OtherModule {
        /// The digest in the statement.
        stated: String,
        /// The digest of the module.
        found: String,
    },
    /// No statement vouches for a part of the module.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// No signature counts.
    #[error("no signature counts: {}", .0.join("; "))]
    NoSigner(Vec<String>),
}

/// A signature file whose signatures were verified. Which of their keys count is another question, whose answer depends on
/// the time; so this may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFile {
    statement: Statement,
    signatures: Vec<Result<SigningKey, SshSignatureError>>,
}

impl CheckedFile {
    /// Reads a signature file, and verifies its signatures.
    ///
    /// # Errors
    ///
    /// The bytes are not a signature file.
    pub fn of(file: &[u8]) -> Result<Self, SignatureFileError> {
        let SignatureFile { statement, signatures } = SignatureFile::parse(file)?;
        let text = statement.to_string();
        let signatures = signatures.iter().map(|signature| SigningKey::verify(signature, &text)).collect();
        Ok(Self { statement, signatures })
    }
}

impl Keyring {
    /// Verifies a signature file for a module: `closure` is what will run.
    ///
    /// # Errors
    ///
    /// The file says nothing about the module or about a part of it, or it has no signature that counts at the time.
    pub fn verify(
        &self,
        file: &[u8],
        closure: &Closure,
        now: Timestamp,
    ) -> Result<VerifiedStatement, VerificationError> {
        self.judge(&CheckedFile::of(file)?, closure, &[], now)
    }

    /// Does the same with a file whose signatures were verified. `cores` are the releases of ansible-core that may vouch for parts.
    ///
    /// # Errors
    ///
    /// As [`Keyring::verify`].
    pub fn judge(
        &self,
        file: &CheckedFile,
        closure: &Closure,
        cores: &[VouchedCore],
        now: Timestamp,
    ) -> Result<VerifiedStatement, VerificationError> {
        if let Some(revoked) = self.revocations.of_closure(closure) {
            return Err(VerificationError::Revoked(revoked));
        }
        let CheckedFile { statement, signatures } = file;
        if statement.digest != closure.file().digest {
            let (stated, found) = (statement.digest.clone(), closure.file().digest.clone());
            return Err(VerificationError::OtherModule { stated, found });
        }
        let (mut signers, mut refused, mut keys) = (Vec::new(), Vec::new(), BTreeSet::new());
        for signature in signatures {
            match self.signer(signature, now) {
                Ok(signer) if keys.insert(signer.key.clone()) => signers.push(signer),
                Ok(signer) => refused.push(format!("the key {} has signed before", signer.key)),
                Err(reason) => refused.push(reason),
            }
        }
        if signers.is_empty() {
            return Err(VerificationError::NoSigner(refused));
        }
        let ansible_core = vouched::release_for(closure, statement, cores)?;
        Ok(VerifiedStatement { statement: statement.clone(), signers, refused, ansible_core })
    }

    /// Returns the release that a file is about, if a signature counts of a signer that `may_vouch` accepts.
    ///
    /// # Errors
    ///
    /// The reasons why no signature counts.
    pub fn judge_core(
        &self,
        file: &CheckedCore,
        may_vouch: impl Fn(&Signer) -> bool,
        now: Timestamp,
    ) -> Result<VouchedCore, VerificationError> {
        let mut refused = Vec::new();
        for signature in &file.signatures {
            match self.signer(signature, now) {
                Ok(signer) if may_vouch(&signer) => {
                    return Ok(VouchedCore { statement: file.statement.clone() });
                }
                Ok(signer) => {
                    refused.push(format!("`{}` may not vouch for ansible-core", signer.principals.join(", ")))
                }
                Err(reason) => refused.push(reason),
            }
        }
        Err(VerificationError::NoSigner(refused))
    }

    /// Returns whether a signature of a text counts at a time.
    #[must_use]
    pub fn counts(&self, signature: &str, text: &str, now: Timestamp) -> bool {
        self.signer(&SigningKey::verify(signature, text), now).is_ok()
    }

    fn signer(&self, signature: &Result<SigningKey, SshSignatureError>, now: Timestamp) -> Result<Signer, String> {
        let key = signature.as_ref().map_err(SshSignatureError::to_string)?;
        match self.revocations.key_of(key) {
            Some(key) => Err(format!("the key {key} is revoked")),
            None => self.signers.find(key, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use ssh_key::private::{Ed25519Keypair, PrivateKey};
    use ssh_key::{HashAlg, LineEnding};

    use super::*;
    use crate::namespace::NAMESPACE;
    use modbox_closure::Part;

    fn key(seed: u8) -> PrivateKey {
        PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
    }

    fn public(seed: u8) -> String {
        key(seed).public_key().to_openssh().unwrap()
    }

    fn sign(seed: u8, namespace: &str, text: &str) -> String {
        let signature = key(seed).sign(namespace, HashAlg::Sha512, text.as_bytes()).unwrap();
        signature.to_pem(LineEnding::LF).unwrap().trim_end().to_owned()
    }

    fn statement() -> Statement {
        let digest = "ab".repeat(32);
        Statement { digest, file: "m.wasm".to_owned(), name: None, version: None, requests: None, parts: Vec::new() }
    }

    /// The module that the statement is about.
    fn module() -> Closure {
        of_digest(&statement().digest)
    }

    fn of_digest(digest: &str) -> Closure {
        Closure::of_file(Part { name: "m.wasm".to_owned(), digest: digest.to_owned() })
    }

    fn file(signatures: &[String]) -> Vec<u8> {
        SignatureFile { statement: statement(), signatures: signatures.to_vec() }.to_string().into_bytes()
    }

    fn keyring(signers: &str, revoked: &str) -> Keyring {
        Keyring {
            signers: AllowedSigners::parse(signers, &TimeZone::UTC).unwrap(),
            revocations: Revocations::parse(revoked).unwrap(),
        }
    }

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[track_caller]
    fn refused(keyring: &Keyring, file: &[u8], because: &str) {
        let error = keyring.verify(file, &module(), now()).unwrap_err().to_string();
        assert!(error.contains(because), "{error}");
    }

    #[test]
    fn a_signature_counts_if_its_key_is_listed() {
        let text = statement().to_string();
        let signed = file(&[sign(1, NAMESPACE, &text), sign(2, NAMESPACE, &text), sign(1, NAMESPACE, &text)]);
        let ring = keyring(&format!("a@x,b@x {}\n", public(1)), "");
        let verified = ring.verify(&signed, &module(), now()).unwrap();
        let [signer] = &verified.signers[..] else { panic!("{verified:?}") };
        assert_eq!((signer.line, &signer.principals[..]), (1, &["a@x".to_owned(), "b@x".to_owned()][..]));
        assert!(signer.signs_for("a@x") && !signer.signs_for("c@x"));
        assert_eq!(verified.refused.len(), 2, "{verified:?}");
        let both = keyring(&format!("a@x {}\nb@x {}\n", public(1), public(2)), "");
        assert_eq!(both.verify(&signed, &module(), now()).unwrap().signers.len(), 2);
    }

    #[test]
    fn what_does_not_count_is_named() {
        let text = statement().to_string();
        let signed = file(&[sign(1, NAMESPACE, &text)]);
        let ring = keyring(&format!("a@x {}", public(1)), "");
        refused(&keyring(&format!("a@x {}", public(2)), ""), &signed, "is not listed");
        refused(&ring, &file(&[sign(1, "git", &text)]), "it is one for `git`");
        refused(&ring, &file(&[sign(1, NAMESPACE, &text.replace("m.wasm", "n.wasm"))]), "did not sign this statement");
        refused(&ring, &signed[..signed.len() - 40], "something that is not an SSH signature");
        refused(&ring, text.as_bytes(), "or no signature");
        let other = ring.verify(&signed, &of_digest(&"cd".repeat(32)), now()).unwrap_err().to_string();
        assert!(other.contains("is one of sha256:abab"), "{other}");
        for (options, because) in [
            ("valid-before=\"20251231Z\"", "was valid before 2025-12-31T00:00:00Z, and it is 2026-01-01T00:00:00Z"),
            ("valid-after=\"20260102Z\"", "is valid after 2026-01-02"),
            ("namespaces=\"git,file\"", "does not sign for the namespace"),
            ("cert-authority", "is not listed"),
        ] {
            refused(&keyring(&format!("a@x {options} {}", public(1)), ""), &signed, because);
        }
        let fits = "namespaces=\"git,*@modbox\",valid-after=\"20250101\",valid-before=\"20270101\"";
        assert!(keyring(&format!("a@x {fits} {}", public(1)), "").verify(&signed, &module(), now()).is_ok());
        let fingerprint = key(1).fingerprint(HashAlg::Sha256).to_string();
        for revoked in [public(1), fingerprint] {
            refused(&keyring(&format!("a@x {}", public(1)), &revoked), &signed, "is revoked");
        }
        let digest = format!("sha256:{}", statement().digest);
        refused(&keyring(&format!("a@x {}", public(1)), &digest), &signed, "the module sha256:abab");
    }

    #[test]
    fn wrong_lines_are_named() {
        let parse = |text: &str| AllowedSigners::parse(text, &TimeZone::UTC).unwrap_err().to_string();
        let key = public(1);
        for (line, expect) in [
            ("a@x", "line 2 has no public key"),
            ("a@x nonsense", "line 2 has the option `nonsense`"),
            (&format!("a@x sometimes {key}"), "line 2 has the option `sometimes`"),
            (&format!("a@x valid-before=\"soon\" {key}"), "line 2 has `soon`, which is not a time"),
            (&format!("a@x valid-before=20260101 {key}"), "without quotes"),
            (&format!("a@x valid-after=\"20260101\",valid-before=\"20250101\" {key}"), "valid at no time"),
            (&format!("\"a@x {key}"), "a quote without an end"),
        ] {
            let error = parse(&format!("# comment\n{line}\n"));
            assert!(error.starts_with(expect) || error.contains(expect), "{line}: {error}");
        }
        assert_eq!(Revocations::parse("# x\n\nssh-ed25519 zzz").unwrap_err(), crate::revocations::RevocationsError(3));
    }

    #[test]
    fn no_damage_is_accepted() {
        let text = statement().to_string();
        let whole = file(&[sign(1, NAMESPACE, &text)]);
        let ring = keyring(&format!("a@x {}", public(1)), "");
        for at in 0..whole.len() {
            for change in [0x01, 0x20, 0x80] {
                let mut damaged = whole.clone();
                damaged[at] ^= change;
                let verdict = ring.verify(&damaged, &module(), now());
                assert!(verdict.is_err(), "byte {at} is changed: {}", String::from_utf8_lossy(&damaged));
            }
            assert!(ring.verify(&whole[..at], &module(), now()).is_err(), "cut off at {at}");
        }
    }
}
