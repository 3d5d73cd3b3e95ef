//! The parts of an encrypted text: its header, and the bytes behind the two layers of hexadecimal digits.

use crate::error::VaultError;

/// How each encrypted text begins.
const MARK: &[u8] = b"$ANSIBLE_VAULT";

/// Returns whether bytes begin as encrypted texts do. Whether they can be decrypted is another question.
#[must_use]
pub fn is_encrypted(bytes: &[u8]) -> bool {
    bytes.starts_with(MARK)
}

/// An encrypted text.
#[derive(Debug)]
pub(crate) struct Envelope {
    /// The ID of the secret, as far as the header names one. It is a hint.
    pub(crate) id: Option<String>,
    pub(crate) salt: Vec<u8>,
    pub(crate) hmac: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

impl Envelope {
    /// Reads an encrypted text.
    ///
    /// # Errors
    ///
    /// The text is not encrypted, has an unknown version or cipher, or is damaged.
    pub(crate) fn read(text: &[u8]) -> Result<Self, VaultError> {
        if !is_encrypted(text) {
            return Err(VaultError::NotEncrypted);
        }
        let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let header = lines.next().unwrap_or_default();
        let id = read_header(header)?;
        let digits: Vec<u8> = lines.flatten().copied().collect();
        let inner = unhex(&digits).ok_or(VaultError::Damaged("its lines are not hexadecimal digits"))?;
        let mut parts = inner.splitn(3, |byte| *byte == b'\n').map(unhex);
        let mut part = || match parts.next() {
            Some(Some(part)) => Ok(part),
            Some(None) => Err(VaultError::Damaged("a part of it is not hexadecimal digits")),
            None => Err(VaultError::Damaged("it lacks the salt, the HMAC or the data")),
        };
        Ok(Self { id, salt: part()?, hmac: part()?, data: part()? })
    }
}

/// Checks the header, and returns the ID.
fn read_header(header: &[u8]) -> Result<Option<String>, VaultError> {
    let header = str::from_utf8(header).map_err(|_| VaultError::Header)?;
    let mut words = header.split(';').map(str::trim);
    let (mark, version, cipher) = (words.next(), words.next(), words.next());
    match (mark.map(str::as_bytes), version, cipher) {
        (Some(MARK), Some("1.1" | "1.2"), Some("AES256")) => {}
        (Some(MARK), Some("1.1" | "1.2"), Some(_)) => return Err(VaultError::Cipher),
        (Some(MARK), Some(_), Some(_)) => return Err(VaultError::Version),
        _ => return Err(VaultError::Header),
    }
    Ok(words.next().filter(|id| !id.is_empty()).map(str::to_owned))
}

/// Returns the bytes that hexadecimal digits stand for.
fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}
