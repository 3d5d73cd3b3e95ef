//! Host names in a normal form.

use std::fmt;

/// A host name: lower-case ASCII letters, digits, `-` and `_` in labels, without a dot at the end. Texts that resolvers
/// take for addresses, such as `0x7f.1` or `2130706433`, are not names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Maximum length in DNS.
const MAX_NAME: usize = 253;

/// Maximum length of a label in DNS.
const MAX_LABEL: usize = 63;

impl Name {
    /// Parses a name, ignoring case. Returns `None` for other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        if text.is_empty() || text.len() > MAX_NAME || !text.split('.').all(is_label) {
            return None;
        }
        let last = text.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let hex = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = hex || last.bytes().all(|byte| byte.is_ascii_digit());
        (!number).then(|| Self(text.to_ascii_lowercase()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the name is a subdomain of another one.
    #[must_use]
    pub fn is_below(&self, parent: &Self) -> bool {
        self.0.strip_suffix(&parent.0).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(label: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = label.as_bytes();
    bytes.len() <= MAX_LABEL
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}
