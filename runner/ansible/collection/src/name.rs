//! Names of collections, and their versions.

use std::fmt;
use std::str::FromStr;

/// Name of a collection: a namespace and a name, each of lowercase letters, digits and underscores, not beginning with a
/// digit or an underscore (ansible-core 2.19, `AnsibleCollectionRef.is_valid_collection_name`, and Galaxy's stricter rule).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionName {
    namespace: String,
    name: String,
}

/// Why a name or a version cannot be that of a collection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Not a part of a name.
    #[error(
        "`{0}` cannot be a part of a collection's name: write lowercase letters, digits and `_`, a letter first, and no \
         word of Python"
    )]
    Part(String),
    /// Not a version.
    #[error("`{0}` is not a semantic version, such as 1.4.0")]
    Version(String),
}

/// Words of Python, which cannot be parts of the name of a package.
const RESERVED: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

impl CollectionName {
    /// Returns the name of modbox's own collection, which has the action plugin.
    #[must_use]
    pub fn own() -> Self {
        Self { namespace: "modbox".to_owned(), name: "modbox".to_owned() }
    }

    /// Checks a name.
    ///
    /// # Errors
    ///
    /// A part of the name is invalid.
    pub fn new(namespace: &str, name: &str) -> Result<Self, NameError> {
        for part in [namespace, name] {
            if !is_part(part) {
                return Err(NameError::Part(part.chars().take(80).collect()));
            }
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// Returns the namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the name without the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for CollectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.namespace, self.name)
    }
}

/// Says whether a text can be a part of a collection's name, or the name of a module in it.
#[must_use]
pub fn is_part(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        && text.bytes().all(is_letter)
        && text.len() <= 64
        && !RESERVED.contains(&text)
}

/// Maximum length of a version in bytes: it is a part of a file's name.
const MAX_VERSION: usize = 64;

/// A semantic version, which Ansible requires of collections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(semver::Version);

impl FromStr for Version {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = Some(text).filter(|text| text.len() <= MAX_VERSION).and_then(|text| text.parse().ok());
        parsed.map(Self).ok_or_else(|| NameError::Version(text.chars().take(80).collect()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_packages() {
        assert_eq!(CollectionName::new("acme", "web_2").unwrap().to_string(), "acme.web_2");
        for (namespace, name) in [
            ("Acme", "web"),
            ("acme", ""),
            ("acme", "2web"),
            ("acme", "_web"),
            ("..", "web"),
            ("a.b", "c"),
            ("acme", "import"),
        ] {
            assert!(CollectionName::new(namespace, name).is_err(), "{namespace}.{name}");
        }
    }

    #[test]
    fn versions_are_semantic() {
        for good in ["0.1.0", "1.20.3", "1.0.0-beta.1", "1.0.0+build-5"] {
            assert_eq!(good.parse::<Version>().unwrap().to_string(), good);
        }
        for bad in ["", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.x", "1.0.0-", "1.0.0 ", "v1.0.0", "1.0.0-ü"] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }
}
