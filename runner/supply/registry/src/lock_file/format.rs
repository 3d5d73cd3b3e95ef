//! The text of `modbox.lock`: TOML, sorted by reference, so that two branches merge.
//!
//! ```toml
//! # Written by modbox: the modules that tags stood for. Commit it.
//! version = 1
//!
//! [[module]]
//! ref = "oci://ghcr.io/acme/lineinfile:1.4.2"
//! manifest = "sha256:…"
//! module = "sha256:…"
//! version = "1.4.2"
//! signers = ["release@acme.example"]
//! keys = ["SHA256:…"]
//! requests = ["net x:443"]
//! ```
//!
//! The last four are optional. Comments of people are not kept when modbox writes the file.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::digest::Digest;
use crate::reference::{Reference, ReferenceError};

/// First line of the file.
const COMMENT: &str = "# Written by modbox: the modules that tags stood for. Commit it.";

/// The version of the format.
const VERSION: i64 = 1;

/// How much of a parser's message is kept, in characters: a key can be as long as the file.
const MAX_REASON: usize = 300;

/// The modules that tags stood for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    entries: BTreeMap<Reference, LockedModule>,
}

/// The module that a tag stood for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedModule {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The digest of the module's bytes.
    pub module: Digest,
    /// The version in the module's metadata; `None` if it has none.
    pub version: Option<String>,
    /// The names for which its signatures were verified.
    pub signers: Vec<String>,
    /// The fingerprints of the keys that made those signatures.
    pub keys: Vec<String>,
    /// What the module asks for, to show what an update changes.
    pub requests: Vec<String>,
}

/// Error of a text that is not a lock file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockFileError {
    /// The text is not TOML, or a key is unknown, missing or of another type.
    #[error("failed to read line {line}: {reason}; correct it, or restore the file")]
    Toml {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The version of the format is missing.
    #[error("failed to find the version of the format; begin the file with `version = {VERSION}`, or restore it")]
    NoVersion,
    /// The version of the format is another one.
    #[error(
        "failed to read version `{version}` of the format (line {line}), since only `{VERSION}` is known; update modbox"
    )]
    Version {
        /// The line, counted from 1.
        line: usize,
        /// The version.
        version: i64,
    },
    /// A `ref` is not a repository and a tag.
    #[error("failed to read the `ref` in line {line}")]
    Reference {
        /// The line, counted from 1.
        line: usize,
        /// The cause.
        #[source]
        source: LockedReferenceError,
    },
    /// A `ref` is there twice.
    #[error("failed to read line {line}: `{reference}` is there twice; keep one of its entries")]
    Doubled {
        /// The line of the second one, counted from 1.
        line: usize,
        /// The reference.
        reference: String,
    },
}

/// Error of a reference that has no place in a lock file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockedReferenceError {
    /// The text is not a reference.
    #[error(transparent)]
    Malformed(#[from] ReferenceError),
    /// The tag is missing.
    #[error("`{0}` has no tag, and only a tag is locked; write `REPOSITORY:TAG`")]
    NoTag(String),
    /// The reference names content already.
    #[error("`{0}` has a digest, and only a tag is locked; write `REPOSITORY:TAG`")]
    HasDigest(String),
}

/// The version, read before everything else: a later version may have other keys.
#[derive(Deserialize)]
struct FormatVersion {
    version: Option<Spanned<i64>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    module: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "ref")]
    reference: Spanned<String>,
    manifest: Digest,
    module: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    signers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    keys: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    requests: Vec<String>,
}

impl LockFile {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// The text is not a lock file of the known version, or a `ref` is wrong or there twice.
    pub fn parse(text: &str) -> Result<Self, LockFileError> {
        let misread = |error| misread(text, &error);
        let version = toml::from_str::<FormatVersion>(text).map_err(misread)?.version;
        let version = version.ok_or(LockFileError::NoVersion)?;
        if *version.get_ref() != VERSION {
            let line = line_at(text, version.span().start);
            return Err(LockFileError::Version { line, version: version.into_inner() });
        }
        let mut lock = Self::default();
        for entry in toml::from_str::<Document>(text).map_err(misread)?.module {
            let place = entry.reference.span().start;
            let wrong = |source| LockFileError::Reference { line: line_at(text, place), source };
            let (reference, module) = entry.into_parts().map_err(wrong)?;
            if lock.insert(&reference, module).map_err(wrong)?.is_some() {
                let reference = reference.to_string();
                return Err(LockFileError::Doubled { line: line_at(text, place), reference });
            }
        }
        Ok(lock)
    }

    /// Returns the module that a tag stood for. A reference with a digest needs none, and has none.
    #[must_use]
    pub fn get(&self, reference: &Reference) -> Option<&LockedModule> {
        self.entries.get(reference)
    }

    /// Sets the module of a tag. Returns the one that was set before.
    ///
    /// # Errors
    ///
    /// The reference has no tag, or has a digest.
    pub fn insert(
        &mut self,
        reference: &Reference,
        module: LockedModule,
    ) -> Result<Option<LockedModule>, LockedReferenceError> {
        match (&reference.tag, &reference.digest) {
            (None, _) => Err(LockedReferenceError::NoTag(reference.to_string())),
            (_, Some(_)) => Err(LockedReferenceError::HasDigest(reference.to_string())),
            (Some(_), None) => Ok(self.entries.insert(reference.clone(), module)),
        }
    }

    /// Removes a tag. Returns its module.
    pub fn remove(&mut self, reference: &Reference) -> Option<LockedModule> {
        self.entries.remove(reference)
    }

    /// Returns the tags and their modules.
    pub fn iter(&self) -> impl Iterator<Item = (&Reference, &LockedModule)> {
        self.entries.iter()
    }
}

impl fmt::Display for LockFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut module: Vec<_> = self.entries.iter().map(|(reference, module)| Entry::new(reference, module)).collect();
        // By their text, as programs for text sort.
        module.sort_by(|one, other| one.reference.get_ref().cmp(other.reference.get_ref()));
        let text = toml::to_string(&Document { version: VERSION, module }).map_err(|_| fmt::Error)?;
        write!(f, "{COMMENT}\n{text}")
    }
}

impl Entry {
    fn new(reference: &Reference, module: &LockedModule) -> Self {
        let LockedModule { manifest, module, version, signers, keys, requests } = module.clone();
        let reference = Spanned::new(0..0, reference.to_string());
        Self { reference, manifest, module, version, signers, keys, requests }
    }

    fn into_parts(self) -> Result<(Reference, LockedModule), LockedReferenceError> {
        let Self { reference, manifest, module, version, signers, keys, requests } = self;
        let reference = reference.get_ref().parse()?;
        Ok((reference, LockedModule { manifest, module, version, signers, keys, requests }))
    }
}

fn misread(text: &str, error: &toml::de::Error) -> LockFileError {
    let line = line_at(text, error.span().map_or(0, |span| span.start));
    let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    LockFileError::Toml { line, reason: reason.chars().take(MAX_REASON).collect() }
}

/// Returns the line of a place in a text, counted from 1.
fn line_at(text: &str, place: usize) -> usize {
    text.bytes().take(place).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(text: &str) -> LockedModule {
        LockedModule {
            manifest: Digest::of(text.as_bytes()),
            module: Digest::of(b"\0asm"),
            version: None,
            signers: Vec::new(),
            keys: Vec::new(),
            requests: Vec::new(),
        }
    }

    fn entry(reference: &str) -> String {
        let LockedModule { manifest, module, .. } = locked("x");
        format!("\n[[module]]\nref = \"{reference}\"\nmanifest = \"{manifest}\"\nmodule = \"{module}\"\n")
    }

    fn reference(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn texts_are_written_sorted_and_read_again() {
        let mut lock = LockFile::default();
        assert_eq!(lock.to_string(), format!("{COMMENT}\nversion = 1\n"));
        let full = LockedModule {
            version: Some("1.4.2".to_owned()),
            signers: vec!["release@acme.example".to_owned()],
            keys: vec!["SHA256:abc".to_owned()],
            requests: vec!["net x:443".to_owned(), "read /etc".to_owned()],
            ..locked("x")
        };
        for (tag, module) in
            [("oci://h/b:1", locked("x")), ("oci://h/a:1", full.clone()), ("oci://h/a-b:1", locked("x"))]
        {
            assert_eq!(lock.insert(&reference(tag), module), Ok(None));
        }
        let more = "version = \"1.4.2\"\nsigners = [\"release@acme.example\"]\nkeys = [\"SHA256:abc\"]\n\
                    requests = [\"net x:443\", \"read /etc\"]\n";
        let (a, b, c) = (entry("oci://h/a:1"), entry("oci://h/a-b:1"), entry("oci://h/b:1"));
        let text = format!("{COMMENT}\nversion = 1\n{b}{a}{more}{c}");
        assert_eq!(lock.to_string(), text);
        assert_eq!(LockFile::parse(&text), Ok(lock.clone()));
        let unsorted = format!("version = 1\n{c}# A comment.\n{a}{more}{b}").replace('\n', "\r\n");
        assert_eq!(LockFile::parse(&unsorted), Ok(lock.clone()));
        assert_eq!(lock.get(&reference("oci://h/a:1")), Some(&full));
        assert_eq!(lock.get(&reference("oci://h/a:2")), None);
        assert_eq!(lock.insert(&reference("oci://h/a:1"), locked("y")), Ok(Some(full)));
        assert_eq!(lock.remove(&reference("oci://h/b:1")), Some(locked("x")));
        assert_eq!(lock.iter().count(), 2);
    }

    #[test]
    fn each_text_in_an_entry_is_read_again() {
        let hostile =
            ["", "\"", "'''\"\"\"", "\\", "a\nb\r\n", "\u{0}\u{7f}\u{1b}[31m", "ref = \"x\"", "ä\u{2028}\u{feff}", "#"];
        let texts: Vec<String> = hostile.iter().map(|text| (*text).to_owned()).collect();
        let mut lock = LockFile::default();
        for (number, text) in hostile.iter().enumerate() {
            let lists = [texts.clone(), vec![(*text).to_owned()], Vec::new()];
            let [signers, keys, requests] = lists;
            let module = LockedModule { version: Some((*text).to_owned()), signers, keys, requests, ..locked("x") };
            lock.insert(&reference(&format!("oci://h/a:{number}")), module).unwrap();
        }
        assert_eq!(LockFile::parse(&lock.to_string()), Ok(lock));
    }

    #[test]
    fn only_tags_are_locked() {
        let digest = Digest::of(b"x");
        let wrong = |text: &str| LockFile::default().insert(&reference(text), locked("x")).unwrap_err().to_string();
        assert!(wrong(&format!("oci://h/a@{digest}")).contains("has no tag"));
        assert!(wrong(&format!("oci://h/a:1@{digest}")).contains("has a digest"));
        let parsed = |text: &str| LockFile::parse(&format!("version = 1\n{}", entry(text))).unwrap_err();
        for (text, cause) in [
            ("h/a:1".to_owned(), "does not begin with `oci://`"),
            ("oci://h/a".to_owned(), "names no version"),
            (format!("oci://h/a@{digest}"), "has no tag"),
            (format!("oci://h/a:1@{digest}"), "has a digest"),
        ] {
            let error = parsed(&text);
            assert_eq!(error.to_string(), "failed to read the `ref` in line 4");
            let found = std::error::Error::source(&error).unwrap().to_string();
            assert!(found.contains(cause), "{found}");
        }
    }

    #[test]
    fn errors_name_the_line_and_the_remedy() {
        let good = entry("oci://h/a:1");
        let check = |text: &str, expect: &str| {
            let error = LockFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("", "begin the file with `version = 1`");
        check(&good, "begin the file with `version = 1`");
        check("version = 2\nnew = 1\n", "version `2` of the format (line 1)");
        check("\nversion = -1", "(line 2)");
        check("version = 2", "update modbox");
        check("version = \"1\"", "line 1: invalid type: string \"1\"");
        check(&format!("version = 1\nx = 2\n{good}"), "line 2: unknown field `x`");
        check(&format!("version = 1\n{good}x = 2\n"), "line 7: unknown field `x`");
        check(&format!("version = 1\n{good}{good}"), "line 9: `oci://h/a:1` is there twice");
        check(&format!("version = 1\n{good}ref = \"x\"\n"), "line 7: duplicate key");
        check(
            &format!("version = 1\n{good}").replace("manifest = \"sha256:", "manifest = \"sha512:"),
            "line 5: `sha512:",
        );
        check(&format!("version = 1\n{good}").replace("module = \"sha256:", "x = \""), "line 6: unknown field `x`");
        check("version = 1\n\n[[module]]\nref = \"oci://h/a:1\"\n", "line 3: missing field `manifest`");
        check(&format!("version = 1\n<<<<<<< HEAD\n{good}=======\n"), "line 2: ");
        check("version = 1\nmodule = 3\n", "line 2: invalid type: integer `3`");
        check(&format!("version = 1\n{good}signers = \"x\"\n"), "line 7: invalid type: string \"x\"");
    }

    #[test]
    fn hostile_texts_are_refused() {
        let long = "x".repeat(1 << 20);
        let error = LockFile::parse(&format!("version = 1\n{long} = 2\n")).unwrap_err().to_string();
        assert!(error.len() < 500, "{} bytes", error.len());
        for text in [
            format!("version = 1\nmodule = {}", "[".repeat(100_000)),
            format!("version = 1\nmodule = {}", "{a=".repeat(100_000)),
            format!("version = 1\n{}a = 1", "a.".repeat(100_000)),
            format!("version = 1\n[{}a]", "a.".repeat(100_000)),
            format!("version = 1\n{}", "[[module]]\n".repeat(50_000)),
            format!("version = 1\nmodule = \"{long}"),
            format!("version = {}", "9".repeat(100_000)),
            "version = 1\n\u{0}".to_owned(),
            "\u{feff}version = 1\nmodule = 1".to_owned(),
            "\"".repeat(1000),
            "[[[[[[".to_owned(),
        ] {
            assert!(LockFile::parse(&text).is_err(), "{}", text.chars().take(40).collect::<String>());
        }
    }

    #[test]
    fn no_damage_makes_the_reader_panic() {
        let text =
            format!("{COMMENT}\nversion = 1\n{}signers = [\"a\", 'b']\n{}", entry("oci://h/a:1"), entry("oci://h/b:1"));
        for at in 0..text.len() {
            let _ = LockFile::parse(&text[..at]);
            for damage in ["\"", "[", "\n", "\u{0}", "ä", "=", "}"] {
                let _ = LockFile::parse(&format!("{}{damage}{}", &text[..at], &text[at + 1..]));
            }
        }
    }

    #[test]
    fn many_modules_are_read_in_a_moment() {
        let mut text = "version = 1\n".to_owned();
        for number in 0..10_000 {
            text += &entry(&format!("oci://h/a:{number}"));
        }
        let lock = LockFile::parse(&text).unwrap();
        assert_eq!(lock.iter().count(), 10_000);
        assert_eq!(LockFile::parse(&lock.to_string()), Ok(lock));
    }
}
