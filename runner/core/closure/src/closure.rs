//! The identity of a module: its own file, and every file that a run takes from beside it.
//!
//! ```text
//! modbox-closure-v1
//! sha256:2b7c…  ansible/modules/ping.py
//! sha256:e3b0…  ansible/__init__.py
//! sha256:91f2…  ansible/module_utils/basic.py
//! ```
//!
//! The digest of a module with parts is that of this text, so that `sha256sum` can check it: the first line of a file is its own, the
//! parts follow in the order of their names. The digest of a module without parts is that of its file.
//!
//! The interpreter, its own libraries and the programs that a module starts are not parts: they belong to the machine.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::part::{Part, hex};

/// First line of the text.
const HEADER: &str = "modbox-closure-v1";

/// End of the name of a file that makes a folder a package.
const PACKAGE: &str = "/__init__.py";

/// A module with all files that a run takes from beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closure {
    file: Part,
    parts: Vec<Part>,
    /// Names of parts that run nothing: empty files, and those that only make a folder a package.
    inert: BTreeSet<String>,
    digest: String,
}

impl Closure {
    /// Returns the closure of a module without parts.
    #[must_use]
    pub fn of_file(file: Part) -> Self {
        let digest = file.digest.clone();
        Self { file, parts: Vec::new(), inert: BTreeSet::new(), digest }
    }

    /// Returns the closure of a module with parts. `inert` names the parts that run nothing.
    #[must_use]
    pub fn of(file: Part, mut parts: Vec<Part>, inert: BTreeSet<String>) -> Self {
        if parts.is_empty() {
            return Self::of_file(file);
        }
        parts.sort();
        parts.dedup();
        let mut closure = Self { file, parts, inert, digest: String::new() };
        closure.digest = hex(closure.to_string().as_bytes());
        closure
    }

    /// Returns the closure with more parts.
    #[must_use]
    pub fn with(&self, more: Vec<Part>) -> Self {
        let Self { file, parts, inert, .. } = self.clone();
        Self::of(file, [parts, more].concat(), inert)
    }

    /// Returns the digest by which reports, rules and audit logs name the module.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the module's own file.
    #[must_use]
    pub fn file(&self) -> &Part {
        &self.file
    }

    /// Returns the other files, in the order of their names.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns whether a part runs nothing and hides no other file: a package of a name that a listed file has, too, would be imported
    /// in its place. `is_listed` says whether a statement has a file of a name.
    #[must_use]
    pub fn is_inert(&self, part: &Part, is_listed: impl Fn(&str) -> bool) -> bool {
        let hides = |folder: &str| {
            let file = format!("{folder}.py");
            is_listed(&file) || self.file.name == file || self.parts.iter().any(|other| other.name == file)
        };
        self.inert.contains(&part.name) && part.name.strip_suffix(PACKAGE).is_some_and(|folder| !hides(folder))
    }
}

impl fmt::Display for Closure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}\n{}", self.file)?;
        self.parts.iter().try_for_each(|part| writeln!(f, "{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closure(parts: &[(&str, &str)]) -> Closure {
        let parts = parts.iter().map(|(name, text)| Part::of(*name, text.as_bytes())).collect();
        Closure::of(Part::of("m.py", b"m"), parts, ["a/__init__.py".to_owned()].into())
    }

    #[test]
    fn a_module_without_parts_has_the_digest_of_its_file() {
        assert_eq!(closure(&[]).digest(), Part::of("x", b"m").digest);
    }

    #[test]
    fn names_and_bytes_count_and_order_does_not() {
        let one = closure(&[("a.py", "1"), ("b.py", "2")]);
        assert_eq!(one, closure(&[("b.py", "2"), ("a.py", "1")]));
        for other in [&[("a.py", "1")][..], &[("a.py", "1"), ("b.py", "3")], &[("a.py", "1"), ("c.py", "2")]] {
            assert_ne!(one.digest(), closure(other).digest());
        }
        assert_eq!(one.digest(), hex(one.to_string().as_bytes()));
    }

    #[test]
    fn a_package_that_hides_a_file_is_not_inert() {
        let plain = closure(&[("a/__init__.py", ""), ("a/b.py", "1")]);
        assert!(plain.is_inert(&plain.parts()[0], |_| false));
        assert!(!plain.is_inert(&plain.parts()[0], |name| name == "a.py"), "the statement lists `a.py`");
        assert!(!plain.is_inert(&plain.parts()[1], |_| false));
        let both = closure(&[("a/__init__.py", ""), ("a.py", "1")]);
        assert!(!both.is_inert(&both.parts()[1], |_| false));
    }
}
