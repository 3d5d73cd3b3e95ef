//! One SSH signature, as `ssh-keygen -Y sign` writes it.
//!
//! Source: OpenSSH, PROTOCOL.sshsig and PROTOCOL.certkeys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, EcdsaCurve, HashAlg, PublicKey, Signature, SshSig};

use crate::certificate::{Certificate, plain_key};
use crate::namespace::NAMESPACE;
use crate::wire::{number, string};

/// First line of the text of a signature.
pub(crate) const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";

/// Last line.
pub(crate) const END: &str = "-----END SSH SIGNATURE-----";

/// What the bytes of a signature begin with.
const MAGIC: &[u8] = b"SSHSIG";

/// The only version of the format.
const VERSION: u32 = 1;

/// The key that made a valid signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    pub(crate) key: KeyData,
    /// The certificate that was used in place of the plain key.
    pub(crate) certificate: Option<Certificate>,
}

/// Reason why a signature is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SshSignatureError {
    /// The text is not an SSH signature.
    #[error("it is not an SSH signature")]
    Malformed,
    /// It was made for another purpose.
    #[error("it is one for `{0}`, not for `{NAMESPACE}`")]
    Namespace(String),
    /// The algorithm is not supported.
    #[error("keys of the type `{0}` are not supported; sign with a key of the type ssh-ed25519 or ecdsa-sha2-nistp256")]
    Algorithm(String),
    /// The key did not sign this statement.
    #[error("the key {0} did not sign this statement")]
    Mismatch(String),
    /// The certificate is damaged, is not one of a user, or its authority did not sign it.
    #[error(
        "the certificate (`{0}`) is damaged, is not one of a user, or has an authority whose keys are not supported"
    )]
    Certificate(String),
}

impl SigningKey {
    /// Verifies a signature of a text. Whether the key is one that counts is another question.
    ///
    /// # Errors
    ///
    /// The signature is not valid.
    pub fn verify(armored: &str, text: &str) -> Result<Self, SshSignatureError> {
        let bytes = unarmored(armored).ok_or(SshSignatureError::Malformed)?;
        let fields = Fields::read(&bytes).ok_or(SshSignatureError::Malformed)?;
        if fields.namespace != NAMESPACE.as_bytes() {
            let namespace = String::from_utf8_lossy(fields.namespace).chars().take(80).collect();
            return Err(SshSignatureError::Namespace(namespace));
        }
        let signer = Self::read(fields.key)?;
        let fingerprint = signer.fingerprint();
        let mismatch = || SshSignatureError::Mismatch(fingerprint.clone());
        let signature = Signature::try_from(fields.signature).map_err(|_| mismatch())?;
        // The decoder passes over wrong lengths; a key or signature has only one form.
        if Vec::<u8>::try_from(signature.clone()).ok().as_deref() != Some(fields.signature) {
            return Err(SshSignatureError::Malformed);
        }
        let signature = SshSig::new(signer.key.clone(), NAMESPACE, fields.hash, signature).map_err(|_| mismatch())?;
        let key = PublicKey::from(signer.key.clone());
        key.verify(NAMESPACE, text.as_bytes(), &signature).map_err(|_| mismatch())?;
        Ok(signer)
    }

    fn read(bytes: &[u8]) -> Result<Self, SshSignatureError> {
        let (name, _) = string(bytes).ok_or(SshSignatureError::Malformed)?;
        let name = String::from_utf8_lossy(name).chars().take(80).collect::<String>();
        let unsupported = || SshSignatureError::Algorithm(name.clone());
        let (key, certificate) = if Certificate::is_type(&name) {
            let certificate = Certificate::read(bytes).ok_or_else(|| SshSignatureError::Certificate(name.clone()))?;
            (certificate.key.clone(), Some(certificate))
        } else {
            (plain_key(bytes).ok_or_else(unsupported)?, None)
        };
        let is_supported = |key: &KeyData| {
            let p256 = Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 };
            [Algorithm::Ed25519, Algorithm::SkEd25519, Algorithm::SkEcdsaSha2NistP256, p256].contains(&key.algorithm())
        };
        let authority = certificate.as_ref().map(|certificate| &certificate.authority);
        if [Some(&key), authority].into_iter().flatten().all(is_supported) {
            Ok(Self { key, certificate })
        } else {
            Err(unsupported())
        }
    }

    /// Returns the key's fingerprint, as `ssh-keygen -l` shows it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.key.fingerprint(HashAlg::Sha256).to_string()
    }

    /// Returns why the certificate does not count at a time; `None` if it does, or if there is none.
    pub(crate) fn reason_against(&self, now: Timestamp) -> Option<String> {
        let Certificate { after, before, critical_option, .. } = self.certificate.as_ref()?;
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        if !(*after..*before).contains(&seconds) {
            return Some(format!(
                "its certificate counts from {after} to {before} (seconds since 1970), and it is {seconds} now"
            ));
        }
        // An option that is not known restricts the certificate in an unknown way.
        critical_option
            .as_ref()
            .map(|name| format!("its certificate has the critical option `{name}`, which is unknown"))
    }
}

/// The fields of a signature.
struct Fields<'a> {
    key: &'a [u8],
    namespace: &'a [u8],
    hash: HashAlg,
    signature: &'a [u8],
}

impl<'a> Fields<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (version, rest) = number(bytes.strip_prefix(MAGIC)?)?;
        if version != VERSION {
            return None;
        }
        let (key, rest) = string(rest)?;
        let (namespace, rest) = string(rest)?;
        let (reserved, rest) = string(rest)?;
        let (hash, rest) = string(rest)?;
        let (signature, rest) = string(rest)?;
        let hash = match hash {
            b"sha256" => HashAlg::Sha256,
            b"sha512" => HashAlg::Sha512,
            _ => return None,
        };
        (reserved.is_empty() && rest.is_empty()).then_some(Self { key, namespace, hash, signature })
    }
}

/// Decodes the text of a signature. Its lines have one length, so that no line end can be added or moved.
fn unarmored(text: &str) -> Option<Vec<u8>> {
    let body = text.strip_prefix(BEGIN)?.strip_suffix(END)?.strip_prefix('\n')?.strip_suffix('\n')?;
    let (mut lines, width) = (body.split('\n').rev(), body.find('\n').unwrap_or(body.len()));
    let last = lines.next()?.len();
    if !(1..=width).contains(&last) || lines.any(|line| line.len() != width) {
        return None;
    }
    STANDARD.decode(body.replace('\n', "")).ok()
}
