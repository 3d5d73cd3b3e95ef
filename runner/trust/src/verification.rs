//! The verdict on a signature file: who signed the module whose bytes are about to run.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::allowed_signers::{AllowedSigners, Signer};
use crate::revocations::Revocations;
use crate::signature_file::{SignatureFile, SignatureFileError};
use crate::ssh_signature::{SigningKey, SshSignatureError};
use crate::statement::Statement;

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
    /// The statement.
    pub statement: Statement,
    /// The signers, each with another key. There is at least one.
    pub signers: Vec<Signer>,
    /// Why further signatures do not count.
    pub refused: Vec<String>,
}

/// Reason why a signature file says nothing about a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerificationError {
    /// The module counts no longer.
    #[error("the module sha256:{0} is revoked")]
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
    /// Verifies a signature file for a module. `digest` is that of the bytes that will run: 64 lower-case hex digits.
    ///
    /// # Errors
    ///
    /// The file says nothing about the module, or it has no signature that counts at the time.
    pub fn verify(&self, file: &[u8], digest: &str, now: Timestamp) -> Result<VerifiedStatement, VerificationError> {
        self.judge(&CheckedFile::of(file)?, digest, now)
    }

    /// Does the same with a file whose signatures were verified.
    ///
    /// # Errors
    ///
    /// As [`Keyring::verify`].
    pub fn judge(
        &self,
        file: &CheckedFile,
        digest: &str,
        now: Timestamp,
    ) -> Result<VerifiedStatement, VerificationError> {
        if self.revocations.has_module(digest) {
            return Err(VerificationError::Revoked(digest.to_owned()));
        }
        let CheckedFile { statement, signatures } = file;
        if statement.digest != digest {
            let (stated, found) = (statement.digest.clone(), digest.to_owned());
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
        match signers.is_empty() {
            true => Err(VerificationError::NoSigner(refused)),
            false => Ok(VerifiedStatement { statement: statement.clone(), signers, refused }),
        }
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
        Statement { digest, file: "m.wasm".to_owned(), name: None, version: None, requests: None }
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
        let error = keyring.verify(file, &statement().digest, now()).unwrap_err().to_string();
        assert!(error.contains(because), "{error}");
    }

    #[test]
    fn a_signature_counts_if_its_key_is_listed() {
        let text = statement().to_string();
        let signed = file(&[sign(1, NAMESPACE, &text), sign(2, NAMESPACE, &text), sign(1, NAMESPACE, &text)]);
        let ring = keyring(&format!("a@x,b@x {}\n", public(1)), "");
        let verified = ring.verify(&signed, &statement().digest, now()).unwrap();
        let [signer] = &verified.signers[..] else { panic!("{verified:?}") };
        assert_eq!((signer.line, &signer.principals[..]), (1, &["a@x".to_owned(), "b@x".to_owned()][..]));
        assert!(signer.signs_for("a@x") && !signer.signs_for("c@x"));
        assert_eq!(verified.refused.len(), 2, "{verified:?}");
        let both = keyring(&format!("a@x {}\nb@x {}\n", public(1), public(2)), "");
        assert_eq!(both.verify(&signed, &statement().digest, now()).unwrap().signers.len(), 2);
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
        let other = ring.verify(&signed, &"cd".repeat(32), now()).unwrap_err().to_string();
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
        assert!(keyring(&format!("a@x {fits} {}", public(1)), "").verify(&signed, &statement().digest, now()).is_ok());
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
                let verdict = ring.verify(&damaged, &statement().digest, now());
                assert!(verdict.is_err(), "byte {at} is changed: {}", String::from_utf8_lossy(&damaged));
            }
            assert!(ring.verify(&whole[..at], &statement().digest, now()).is_err(), "cut off at {at}");
        }
    }
}
