//! The full name of a module in a collection: `NAMESPACE.COLLECTION.NAME`, with folders before `NAME`.

use std::fmt;

/// The collection of ansible-core's own modules.
const BUILTIN: [&str; 2] = ["ansible", "builtin"];

/// The collection that stands for modules outside of collections, and then for ansible-core's own.
const LEGACY: [&str; 2] = ["ansible", "legacy"];

/// The full name of a module in a collection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QualifiedName {
    collection: [String; 2],
    parts: Vec<String>,
}

impl QualifiedName {
    /// Parses a full name; `None` for any other text. A full name has three or more parts of letters, digits and
    /// underscores, and the first two do not start with a digit.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
        let is_identifier = |part: &str| !part.starts_with(char::is_numeric);
        let parts: Vec<&str> = name.split('.').collect();
        match parts.as_slice() {
            [namespace, collection, rest @ ..]
                if !rest.is_empty()
                    && parts.iter().all(|part| is_part(part))
                    && is_identifier(namespace)
                    && is_identifier(collection) =>
            {
                let own = |part: &&str| (*part).to_owned();
                Some(Self { collection: [own(namespace), own(collection)], parts: rest.iter().map(own).collect() })
            }
            _ => None,
        }
    }

    /// Returns the full name of one of ansible-core's own modules.
    #[must_use]
    pub fn builtin(name: &str) -> Option<Self> {
        Self::parse(&format!("{}.{name}", BUILTIN.join(".")))
    }

    /// Returns the namespace and the name of the collection.
    #[must_use]
    pub fn collection(&self) -> &[String; 2] {
        &self.collection
    }

    /// Returns the folders below `plugins/modules`, and the name of the file without its extension.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Returns the name inside the collection, by which the collection lists redirects.
    #[must_use]
    pub fn resource(&self) -> String {
        self.parts.join(".")
    }

    /// Returns whether the module is one of ansible-core's own.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.collection == BUILTIN
    }

    /// Returns whether the name stands for a module outside of collections.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.collection == LEGACY
    }
}

impl fmt::Display for QualifiedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.collection.join("."), self.resource())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_has_three_parts_or_more() {
        for name in ["community.general.ini_file", "a.b.sub.deep.c", "ansible.builtin.ping", "n.c.2fa", "ä.b_1.c"] {
            let parsed = QualifiedName::parse(name).unwrap();
            assert_eq!(parsed.to_string(), name);
        }
        let deep = QualifiedName::parse("a.b.sub.c").unwrap();
        assert_eq!((deep.collection().join("."), deep.parts().join("/")), ("a.b".to_owned(), "sub/c".to_owned()));
        for other in [
            "",
            "ping",
            "ping.wasm",
            "a.b",
            "a..c",
            ".a.b.c",
            "a.b.",
            "a.b.c.",
            "a.b.c/d",
            "a.b.c d",
            "1a.b.c",
            "a.2.c",
            "a-b.c.d",
            "a.b.c\n",
        ] {
            assert_eq!(QualifiedName::parse(other), None, "{other:?}");
        }
    }
}
