//! References to modules in registries: `oci://HOST[:PORT]/NAME[:TAG][@sha256:…]`.
//!
//! The rules for names and tags are those of the OCI distribution specification 1.1. A reference has no default host and
//! no default tag: what runs is what was written.

use std::fmt;
use std::str::FromStr;

use crate::digest::Digest;

/// What a reference begins with.
pub const SCHEME: &str = "oci://";

/// Maximum length of the host with the name (OCI distribution specification 1.1, "Pulling manifests").
const MAX_NAME: usize = 255;

/// Maximum length of a tag, from the same specification.
const MAX_TAG: usize = 128;

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    /// The host, with its port if it has one.
    pub host: String,
    /// The name: words between slashes.
    pub name: String,
}

impl Repository {
    /// Returns the last part of the name, by which people call the module.
    #[must_use]
    pub fn module_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.host, self.name)
    }
}

/// A reference to one module of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// The host, and the name of the module there.
    pub repository: Repository,
    /// The tag, which its owner can move.
    pub tag: Option<String>,
    /// The digest of the manifest, which names content.
    pub digest: Option<Digest>,
}

impl Reference {
    /// Returns the text as other tools write it, and as layouts have it: without the scheme.
    #[must_use]
    pub fn without_scheme(&self) -> String {
        self.to_string().split_off(SCHEME.len())
    }

    /// Reads the text of a layout.
    ///
    /// # Errors
    ///
    /// It is not a reference without the scheme.
    pub fn from_layout(text: &str) -> Result<Self, ReferenceError> {
        format!("{SCHEME}{text}").parse()
    }

    /// Returns the reference without its digest.
    #[must_use]
    pub fn without_digest(&self) -> Self {
        Self { digest: None, ..self.clone() }
    }

    /// Returns the reference with this digest.
    #[must_use]
    pub fn with_digest(&self, digest: Digest) -> Self {
        Self { digest: Some(digest), ..self.clone() }
    }
}

/// Returns a tip if a text is a reference without its scheme.
fn meant(text: &str) -> String {
    match text.contains('/') && !text.contains("://") && !text.starts_with(['/', '.']) {
        true => format!("; did you mean `{SCHEME}{text}`?"),
        false => String::new(),
    }
}

/// Error of a text that is not a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The scheme is missing.
    #[error("`{0}` does not begin with `{SCHEME}`{tip}", tip = meant(.0))]
    Scheme(String),
    /// There is no name after the host.
    #[error("`{0}` has no name after the host; write `{SCHEME}HOST/NAME:TAG`")]
    NoName(String),
    /// The host is none.
    #[error("`{0}` is not a host with an optional port")]
    Host(String),
    /// The name is none.
    #[error(
        "`{0}` is not the name of a repository: lower-case letters and digits, with single `.`, `_` or `-` between them, \
         and slashes"
    )]
    Name(String),
    /// The tag is none.
    #[error(
        "`{0}` is not a tag: at most {MAX_TAG} letters, digits, `_`, `.` and `-`, beginning with none of the last two"
    )]
    Tag(String),
    /// The digest is none.
    #[error(transparent)]
    Digest(#[from] crate::digest::DigestError),
    /// Neither a tag nor a digest is there.
    #[error("`{0}` names no version; add a tag such as `:1.0.0`, or a digest")]
    NoVersion(String),
}

/// Returns whether a text is meant as a reference.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    text.starts_with(SCHEME)
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let short = || text.chars().take(300).collect::<String>();
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| ReferenceError::Scheme(short()))?;
        let (host, rest) = rest.split_once('/').ok_or_else(|| ReferenceError::NoName(short()))?;
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse()?)),
            None => (rest, None),
        };
        let (name, tag) = match rest.split_once(':') {
            Some((name, tag)) => (name, Some(tag.to_owned())),
            None => (rest, None),
        };
        if name.is_empty() {
            return Err(ReferenceError::NoName(short()));
        }
        if !is_host(host) {
            return Err(ReferenceError::Host(host.to_owned()));
        }
        if host.len() + name.len() >= MAX_NAME || !name.split('/').all(is_word) {
            return Err(ReferenceError::Name(name.to_owned()));
        }
        if let Some(tag) = tag.as_deref().filter(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Tag(tag.to_owned()));
        }
        if tag.is_none() && digest.is_none() {
            return Err(ReferenceError::NoVersion(short()));
        }
        let repository = Repository { host: host.to_owned(), name: name.to_owned() };
        Ok(Self { repository, tag, digest })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

/// Returns whether a text is a host name or an address, with an optional port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let is_address = address.parse::<std::net::Ipv6Addr>().is_ok();
            return is_address && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(is_plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    host.split('.').all(is_label) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse().is_ok_and(|port: u16| port > 0)
}

/// Returns whether a text is a part of a name: `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends_plain = bytes.first().is_some_and(is_plain) && bytes.last().is_some_and(is_plain);
    let is_separator = |part: &[u8]| match part {
        [] | b"." | b"_" | b"__" => true,
        part => part.iter().all(|byte| *byte == b'-'),
    };
    ends_plain && bytes.split(is_plain).all(is_separator)
}

/// Returns whether a text is a tag.
#[must_use]
pub fn is_tag(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || byte == b'-';
    !text.is_empty() && text.len() <= MAX_TAG && text.bytes().all(is_plain) && !text.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_written() {
        let digest = Digest::of(b"x");
        for text in [
            "oci://ghcr.io/acme/lineinfile:1.4.2".to_owned(),
            "oci://localhost:5000/a:b".to_owned(),
            "oci://127.0.0.1:5000/a/b--c/d_e/f__g.h:_X".to_owned(),
            "oci://[::1]:5000/a:1".to_owned(),
            format!("oci://x.example/a@{digest}"),
            format!("oci://x.example/a:1@{digest}"),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused_by_their_part() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("ghcr.io/a:1", "does not begin with `oci://`; did you mean `oci://ghcr.io/a:1`?");
        check("http://ghcr.io/a:1", "does not begin with `oci://`");
        check("oci://ghcr.io", "no name");
        check("oci://ghcr.io/:1", "no name");
        check("oci://ghcr.io/a", "names no version");
        for host in ["", "GHCR.io", "a..b", "-a", "a:0", "a:x", "a:1:2", "u@h", "[::g]", "a b", "a:+1"] {
            check(&format!("oci://{host}/a:1"), "is not a host");
        }
        let long = "a".repeat(255);
        for name in ["A", "a//b", "/a", "a/", "..", "a..b", "a._b", "-a", "a___b", "a b", "a%2e", &long] {
            check(&format!("oci://h/{name}:1"), "is not the name of a repository");
        }
        for tag in ["", ".a", "-a", "..", "a/b", "a:b", "a b", &"a".repeat(129)] {
            check(&format!("oci://h/a:{tag}"), "is not a tag");
        }
        check("oci://h/a@sha256:12", "is not a digest");
        check("oci://h/a:1@", "is not a digest");
    }
}
