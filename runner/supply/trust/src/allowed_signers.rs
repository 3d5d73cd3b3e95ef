//! The keys that count, in OpenSSH's format `allowed_signers`, each with the names that it signs for.
//!
//! Source: ssh-keygen(1), ALLOWED SIGNERS. As `ssh-keygen` does, a wrong line makes the whole file wrong: a restriction
//! that is not understood must not be lost.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use ssh_key::PublicKey;
use ssh_key::public::KeyData;

use crate::namespace::NAMESPACE;
use crate::pattern_list::PatternList;
use crate::ssh_signature::SigningKey;
use crate::validity::{Validity, parse_time};

/// The keys that count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedSigners(Vec<Entry>);

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    line: usize,
    principals: PatternList,
    is_authority: bool,
    namespaces: Option<PatternList>,
    validity: Validity,
    key: KeyData,
}

/// Error of a file that is not in the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} {reason}")]
pub struct AllowedSignersError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// A signer whose key counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// The line of the file that names the key.
    pub line: usize,
    /// The key's fingerprint, as `ssh-keygen -l` shows it.
    pub key: String,
    /// The fingerprint of the authority that certified the key, if one did.
    pub authority: Option<String>,
    /// The names that the key signs for. Without a certificate they may be patterns.
    pub principals: Vec<String>,
    identity: Identity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Identity {
    /// Each name that fits the patterns.
    Patterns(PatternList),
    /// The names in a certificate.
    Names(Vec<String>),
}

impl Signer {
    /// Returns whether the key signs for a name, such as `release@acme.example`.
    #[must_use]
    pub fn signs_for(&self, name: &str) -> bool {
        match &self.identity {
            Identity::Patterns(patterns) => patterns.matches(name),
            Identity::Names(names) => names.iter().any(|own| own == name),
        }
    }
}

impl AllowedSigners {
    /// Reads a file. `zone` is that of times without a `Z`.
    ///
    /// # Errors
    ///
    /// A line is not in the format.
    pub fn parse(text: &str, zone: &TimeZone) -> Result<Self, AllowedSignersError> {
        let is_entry = |(_, line): &(usize, &str)| !line.trim_start().starts_with('#') && !line.trim().is_empty();
        let entries = (1..).zip(text.lines()).filter(is_entry).map(|(line, text)| {
            Entry::parse(line, text.trim(), zone).map_err(|reason| AllowedSignersError { line, reason })
        });
        Ok(Self(entries.collect::<Result<_, _>>()?))
    }

    /// Returns the lines and the names that they sign for, as patterns.
    pub fn names(&self) -> impl Iterator<Item = (usize, Vec<String>)> {
        self.0.iter().map(|entry| (entry.line, entry.principals.included().collect()))
    }

    /// Returns whether a key signs for a name.
    #[must_use]
    pub fn has_signer(&self, name: &str) -> bool {
        self.0.iter().any(|entry| entry.principals.matches(name))
    }

    /// Returns the keys that do not count at a time: their lines, and why.
    pub fn out_of_time(&self, now: Timestamp) -> impl Iterator<Item = (usize, String)> {
        self.0.iter().filter_map(move |entry| Some((entry.line, entry.validity.reason_against(now)?)))
    }

    /// Returns the signer that a key is at a time.
    ///
    /// # Errors
    ///
    /// No line makes the key count; the reason is that of the last line that names it.
    pub fn find(&self, signed: &SigningKey, now: Timestamp) -> Result<Signer, String> {
        let key = signed.fingerprint();
        let mut reason = format!("the key {key} is not listed");
        if let Some(against) = signed.reason_against(now) {
            return Err(format!("the key {key} does not count: {against}"));
        }
        for entry in &self.0 {
            let identity = match (&signed.certificate, entry.is_authority) {
                (None, false) if entry.key == signed.key => Identity::Patterns(entry.principals.clone()),
                (Some(certificate), true) if entry.key == certificate.authority => {
                    let names = certificate.principals.iter().filter(|name| entry.principals.matches(name));
                    Identity::Names(names.cloned().collect())
                }
                _ => continue,
            };
            match entry.reason_against(now, &identity) {
                None => return Ok(entry.signer(signed, identity)),
                Some(against) => reason = format!("line {}: {against}", entry.line),
            }
        }
        Err(reason)
    }
}

impl Entry {
    fn parse(line: usize, text: &str, zone: &TimeZone) -> Result<Self, String> {
        let (principals, rest) = first_word(text).ok_or("has a quote without an end")?;
        let mut entry = Self {
            line,
            principals: PatternList::new(principals),
            is_authority: false,
            namespaces: None,
            validity: Validity::default(),
            key: KeyData::Ed25519(ssh_key::public::Ed25519PublicKey([0; 32])),
        };
        let key = match PublicKey::from_openssh(rest) {
            Ok(key) => key,
            Err(_) => {
                if rest.is_empty() {
                    return Err("has no public key after the names".to_owned());
                }
                let (options, rest) = split_options(rest).ok_or("has a quote without an end")?;
                entry.add_options(options, zone)?;
                PublicKey::from_openssh(rest).map_err(|_| "has no public key after the names and options")?
            }
        };
        entry.key = key.key_data().clone();
        Ok(entry)
    }

    fn add_options(&mut self, text: &str, zone: &TimeZone) -> Result<(), String> {
        for option in split_quoted(text, ',') {
            let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let value = match value {
                None => None,
                Some(value) => {
                    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
                    Some(inner.ok_or_else(|| format!("has the option `{name}` without quotes around its value"))?)
                }
            };
            let time =
                |value: &str| parse_time(value, zone).ok_or_else(|| format!("has `{value}`, which is not a time"));
            match (name.to_ascii_lowercase().as_str(), value) {
                ("cert-authority", None) => self.is_authority = true,
                ("namespaces", Some(value)) if self.namespaces.is_none() => {
                    self.namespaces = Some(PatternList::new(value));
                }
                ("valid-after", Some(value)) if self.validity.after.is_none() => {
                    self.validity.after = Some(time(value)?);
                }
                ("valid-before", Some(value)) if self.validity.before.is_none() => {
                    self.validity.before = Some(time(value)?);
                }
                _ => return Err(format!("has the option `{option}`, which is unknown or repeated, or no public key")),
            }
        }
        match (self.validity.after, self.validity.before) {
            (Some(after), Some(before)) if after >= before => Err("is valid at no time".to_owned()),
            _ => Ok(()),
        }
    }

    fn reason_against(&self, now: Timestamp, identity: &Identity) -> Option<String> {
        if self.namespaces.as_ref().is_some_and(|namespaces| !namespaces.matches(NAMESPACE)) {
            return Some(format!("the key does not sign for the namespace `{NAMESPACE}`"));
        }
        if let Identity::Names(names) = identity
            && names.is_empty()
        {
            return Some("the certificate has no name that the authority may certify".to_owned());
        }
        self.validity.reason_against(now)
    }

    fn signer(&self, signed: &SigningKey, identity: Identity) -> Signer {
        let authority = self.is_authority.then(|| self.key.fingerprint(ssh_key::HashAlg::Sha256).to_string());
        let principals = match &identity {
            Identity::Patterns(patterns) => patterns.included().collect(),
            Identity::Names(names) => names.clone(),
        };
        Signer { line: self.line, key: signed.fingerprint(), authority, principals, identity }
    }
}

/// Splits off the first word, which may stand in quotes.
fn first_word(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(word, rest)| (word, rest.trim_start())),
        None => Some(text.split_once([' ', '\t']).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))),
    }
}

/// Splits off the options: up to a space that is not in quotes.
fn split_options(text: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    for (at, character) in text.char_indices() {
        match character {
            '"' => is_quoted = !is_quoted,
            ' ' | '\t' if !is_quoted => return Some((&text[..at], text[at..].trim_start())),
            _ => {}
        }
    }
    (!is_quoted).then_some((text, ""))
}

fn split_quoted(text: &str, separator: char) -> Vec<&str> {
    let mut is_quoted = false;
    text.split(|character| {
        is_quoted ^= character == '"';
        character == separator && !is_quoted
    })
    .collect()
}
