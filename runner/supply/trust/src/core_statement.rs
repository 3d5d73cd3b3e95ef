//! The statement about a release of ansible-core: the digests of those of its files that modules run with.
//!
//! ```text
//! modbox-core-statement-v1
//! ansible-core: 2.19.14
//! sha256:91f2…  ansible/module_utils/basic.py
//! ```
//!
//! The author of a module cannot know the ansible-core of a machine. So the operator signs each release once, and says in the policy
//! whose signature of such a statement counts. Its signatures follow it, as in the signature file of a module.

use std::collections::BTreeMap;
use std::fmt;

use modbox_closure::part::{Part, part_line};

use crate::signature_file::{SignatureFileError, split};
use crate::statement::StatementError;
use crate::words::is_word;

/// First line of the statement.
const HEADER: &str = "modbox-core-statement-v1";

/// Key of the release.
const RELEASE: &str = "ansible-core: ";

/// A claim about the files of a release of ansible-core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreStatement {
    /// The release, such as `2.19.14`.
    pub release: String,
    /// The digests of its files by their names.
    pub files: BTreeMap<String, String>,
}

impl CoreStatement {
    /// Makes the statement of a release.
    ///
    /// # Errors
    ///
    /// A value cannot be written into a statement.
    pub fn new(release: String, parts: Vec<Part>) -> Result<Self, StatementError> {
        let wrong = |what, value: &str| StatementError::Value(what, value.chars().take(80).collect());
        if !is_word(&release) {
            return Err(wrong("release", &release));
        }
        if let Some(part) = parts.iter().find(|part| !part.is_written()) {
            return Err(wrong("name of the part", &part.name));
        }
        Ok(Self { release, files: parts.into_iter().map(|part| (part.name, part.digest)).collect() })
    }

    /// Reads a statement. Only the text that [`fmt::Display`] writes is one.
    ///
    /// # Errors
    ///
    /// The text is another one.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err(StatementError::Header);
        }
        let release = lines.next().and_then(|line| line.strip_prefix(RELEASE)).ok_or(StatementError::Line(2))?;
        let part = |(number, line)| part_line(line).ok_or(StatementError::Line(number));
        let parts = (3..).zip(lines).map(part).collect::<Result<Vec<_>, _>>()?;
        let statement = Self::new(release.to_owned(), parts)?;
        let written = statement.to_string();
        if written == text {
            return Ok(statement);
        }
        let same =
            written.split_inclusive('\n').zip(text.split_inclusive('\n')).take_while(|(ours, line)| ours == line);
        Err(StatementError::Line(same.count() + 1))
    }

    /// Returns whether the release has this file.
    #[must_use]
    pub fn has(&self, part: &Part) -> bool {
        self.files.get(&part.name) == Some(&part.digest)
    }
}

impl fmt::Display for CoreStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}\n{RELEASE}{}", self.release)?;
        self.files.iter().try_for_each(|(name, digest)| writeln!(f, "sha256:{digest}  {name}"))
    }
}

/// A statement about a release with its signatures, which are not verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreFile {
    /// The release, and the digests of its files.
    pub statement: CoreStatement,
    /// The signatures, as text without the last line end.
    pub signatures: Vec<String>,
}

impl CoreFile {
    /// Reads a file. It has the bounds of a signature file.
    ///
    /// # Errors
    ///
    /// The bytes are another file.
    pub fn parse(bytes: &[u8]) -> Result<Self, SignatureFileError> {
        let (text, signatures) = split(bytes)?;
        Ok(Self { statement: CoreStatement::parse(text)?, signatures })
    }
}

impl fmt::Display for CoreFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statement.fmt(f)?;
        self.signatures.iter().try_for_each(|signature| writeln!(f, "{signature}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_read_as_written_and_no_other_text_is_one() {
        let part = |name: &str| Part::of(name, name.as_bytes());
        let statement =
            CoreStatement::new("2.19.14".to_owned(), vec![part("ansible/b.py"), part("ansible/a.py")]).unwrap();
        let text = statement.to_string();
        assert_eq!(CoreStatement::parse(&text), Ok(statement.clone()));
        assert!(statement.has(&part("ansible/a.py")) && !statement.has(&Part::of("ansible/a.py", b"")));
        for wrong in [
            text.replace("-v1", "-v2"),
            text.replace("2.19.14", "2 19"),
            text.replace("  ansible/a.py", "  ansible/c.py"),
            text.replace("  ansible/a.py", "  ansible/b.py"),
            text.replace("sha256:", "sha1:"),
            text.replace('\n', "\r\n"),
            text.trim_end().to_owned(),
            format!("{text}\n"),
        ] {
            assert!(CoreStatement::parse(&wrong).is_err(), "{wrong}");
        }
    }
}
