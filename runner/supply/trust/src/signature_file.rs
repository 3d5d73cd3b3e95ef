//! A signature file: a statement, and one or more SSH signatures of it. It lies beside the module, as `FILE.sig`.
//!
//! `ssh-keygen` checks it when the statement is cut off: `sed '/^-----BEGIN/,$d' FILE.sig | ssh-keygen -Y verify …`.

use std::fmt;

use crate::ssh_signature::{BEGIN, END};
use crate::statement::{Statement, StatementError};

/// Maximum length of a signature file, in bytes.
pub const MAX_SIGNATURE_FILE: u64 = 64 << 10;

/// Maximum number of signatures.
pub const MAX_SIGNATURES: usize = 16;

/// A statement with its signatures, which are not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureFile {
    /// The digest of the module, and what else the signers said of it.
    pub statement: Statement,
    /// The signatures, as text without the last line end.
    pub signatures: Vec<String>,
}

/// Error of a text that is not a signature file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureFileError {
    /// The text is too long or not UTF-8.
    #[error("the signature file is not UTF-8 text, or longer than {MAX_SIGNATURE_FILE} bytes")]
    NoText,
    /// The statement is none.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// The statement is not followed by signatures alone.
    #[error("after the statement, the file has something that is not an SSH signature, or no signature")]
    NoSignature,
    /// There are too many signatures.
    #[error("the file has more than {MAX_SIGNATURES} signatures")]
    TooMany,
}

impl SignatureFile {
    /// Reads a signature file.
    ///
    /// # Errors
    ///
    /// The bytes are not a signature file.
    pub fn parse(bytes: &[u8]) -> Result<Self, SignatureFileError> {
        let (text, signatures) = split(bytes)?;
        Ok(Self { statement: Statement::parse(text)?, signatures })
    }
}

/// Splits a file into the text that is signed, and its signatures.
pub(crate) fn split(bytes: &[u8]) -> Result<(&str, Vec<String>), SignatureFileError> {
    if bytes.len() as u64 > MAX_SIGNATURE_FILE {
        return Err(SignatureFileError::NoText);
    }
    let text = str::from_utf8(bytes).map_err(|_| SignatureFileError::NoText)?;
    let end = text.find(BEGIN).ok_or(SignatureFileError::NoSignature)?;
    let (mut signatures, mut rest) = (Vec::new(), &text[end..]);
    while !rest.is_empty() {
        if signatures.len() == MAX_SIGNATURES {
            return Err(SignatureFileError::TooMany);
        }
        let length = rest.find(END).ok_or(SignatureFileError::NoSignature)? + END.len();
        let signature = &rest[..length];
        if !signature.starts_with(BEGIN) {
            return Err(SignatureFileError::NoSignature);
        }
        signatures.push(signature.to_owned());
        rest = rest[length..].strip_prefix('\n').ok_or(SignatureFileError::NoSignature)?;
    }
    Ok((&text[..end], signatures))
}

impl fmt::Display for SignatureFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statement.fmt(f)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}
