//! Certificates of OpenSSH: a key, the names that it signs for, and the authority that says so.
//!
//! The crate `ssh-key` refuses certificates without an end, which `ssh-keygen` makes unless it is told a time; so the
//! fields are read here.
//!
//! Source: OpenSSH, PROTOCOL.certkeys.

use signature::Verifier as _;
use ssh_key::public::KeyData;
use ssh_key::{PublicKey, Signature};

use crate::wire::{long_number, number, push_string, string};

/// What the names of the types of certificates have before `@openssh.com`, or at their end.
const MARK: &str = "-cert-v01@openssh.com";

/// The type of a user's certificate; the other one is a host's.
const USER: u32 = 1;

/// A certificate that its authority signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) key: KeyData,
    pub(crate) authority: KeyData,
    pub(crate) principals: Vec<String>,
    /// The first second since 1970 in which it counts.
    pub(crate) after: u64,
    /// The first second in which it does not count any more.
    pub(crate) before: u64,
    /// The name of an option that restricts it.
    pub(crate) critical_option: Option<String>,
}

impl Certificate {
    /// Returns whether the bytes of a key are those of a certificate.
    pub(crate) fn is_type(name: &str) -> bool {
        name.ends_with(MARK)
    }

    /// Reads a certificate. Returns `None` if it is not one of a user, or if its authority did not sign it.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (name, rest) = string(bytes)?;
        let (_nonce, rest) = string(rest)?;
        let (key, rest) = key(str::from_utf8(name).ok()?, rest)?;
        let (_serial, rest) = long_number(rest)?;
        let (kind, rest) = number(rest)?;
        let (_id, rest) = string(rest)?;
        let (principals, rest) = string(rest)?;
        let (after, rest) = long_number(rest)?;
        let (before, rest) = long_number(rest)?;
        let (critical, rest) = string(rest)?;
        let (_extensions, rest) = string(rest)?;
        let (_reserved, rest) = string(rest)?;
        let (authority, rest) = string(rest)?;
        let signed = &bytes[..bytes.len() - rest.len()];
        let (signature, rest) = string(rest)?;
        if kind != USER || !rest.is_empty() {
            return None;
        }
        let authority = plain_key(authority)?;
        let read = Signature::try_from(signature).ok()?;
        if Vec::<u8>::try_from(read.clone()).ok()? != signature || authority.verify(signed, &read).is_err() {
            return None;
        }
        let critical_option = match critical {
            [] => None,
            options => Some(String::from_utf8_lossy(string(options)?.0).into_owned()),
        };
        Some(Self { key, authority, principals: texts(principals)?, after, before, critical_option })
    }
}

/// Reads a plain public key. It has only one form, although the decoder passes over wrong lengths.
pub(crate) fn plain_key(bytes: &[u8]) -> Option<KeyData> {
    let key = PublicKey::from_bytes(bytes).ok()?;
    (key.to_bytes().ok()? == bytes).then(|| key.key_data().clone())
}

/// Splits off the fields of the certified key.
fn key<'b>(name: &str, bytes: &'b [u8]) -> Option<(KeyData, &'b [u8])> {
    let stem = name.strip_suffix(MARK)?;
    let (plain, fields) = match stem {
        "ssh-ed25519" => (stem.to_owned(), 1),
        "ecdsa-sha2-nistp256" => (stem.to_owned(), 2),
        "sk-ssh-ed25519" => (format!("{stem}@openssh.com"), 2),
        "sk-ecdsa-sha2-nistp256" => (format!("{stem}@openssh.com"), 3),
        _ => return None,
    };
    let mut blob = Vec::new();
    push_string(&mut blob, plain.as_bytes());
    let mut rest = bytes;
    for _ in 0..fields {
        let (field, after) = string(rest)?;
        push_string(&mut blob, field);
        rest = after;
    }
    Some((plain_key(&blob)?, rest))
}

fn texts(bytes: &[u8]) -> Option<Vec<String>> {
    let (mut texts, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (text, after) = string(rest)?;
        texts.push(String::from_utf8(text.to_vec()).ok()?);
        rest = after;
    }
    Some(texts)
}
