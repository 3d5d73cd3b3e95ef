//! The text that is signed.
//!
//! ```text
//! modbox-statement-v1
//! sha256:b5cd…  lineinfile.wasm
//! name: acme/lineinfile
//! version: 1.4.2
//! requests: sha256:07ab…
//! ```
//!
//! The second line is one that `sha256sum` writes, with `sha256:` before it. The lines after it are optional, in this
//! order. A statement that vouches for parts of the module, too, is one of version 2, with a line for each part:
//!
//! ```text
//! part: sha256:91f2…  ansible/module_utils/acme.py
//! ```

use std::fmt;

use modbox_closure::part::is_digest;
use modbox_closure::part::{DIGEST_PREFIX, Part, part_line};

use crate::words::{MAX_VALUE, is_word};

/// First line of a statement.
const HEADER: &str = "modbox-statement-v1";

/// First line of a statement with parts.
const HEADER_WITH_PARTS: &str = "modbox-statement-v2";

/// A claim about the bytes of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// SHA-256 of the module's file, 64 lower-case hex digits.
    pub digest: String,
    /// The name of the file when it was signed. It identifies nothing.
    pub file: String,
    /// The module's name, such as `acme/lineinfile`.
    pub name: Option<String>,
    /// The module's version.
    pub version: Option<String>,
    /// SHA-256 of what the module asks for beyond its options, as its metadata lists it.
    pub requests: Option<String>,
    /// The files that a run takes from beside the module, in the order of their names.
    pub parts: Vec<Part>,
}

/// Error of a text that is not a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// The first line is another one.
    #[error("the statement does not begin with `{HEADER}` or `{HEADER_WITH_PARTS}`")]
    Header,
    /// A line is missing, in the wrong place or not of its form.
    #[error("line {0} of the statement is not one of a statement")]
    Line(usize),
    /// A value has characters that no statement has, or is too long.
    #[error("the {0} `{1}` is empty, longer than {MAX_VALUE} bytes, or has characters that no statement has")]
    Value(&'static str, String),
}

impl Statement {
    /// Checks a statement that is to be signed.
    ///
    /// # Errors
    ///
    /// A value cannot be written into a statement.
    pub fn check(&self) -> Result<(), StatementError> {
        let wrong = |what, value: &str| StatementError::Value(what, value.chars().take(80).collect());
        if !is_digest(&self.digest) {
            return Err(wrong("digest", &self.digest));
        }
        if !is_file_name(&self.file) {
            return Err(wrong("file name", &self.file));
        }
        if let Some(name) = self.name.as_deref().filter(|name| !is_name(name)) {
            return Err(wrong("name", name));
        }
        if let Some(version) = self.version.as_deref().filter(|version| !is_word(version)) {
            return Err(wrong("version", version));
        }
        if let Some(digest) = self.requests.as_deref().filter(|digest| !is_digest(digest)) {
            return Err(wrong("digest of the requests", digest));
        }
        // Two lines for one name, or another order, would be a second text with the same meaning.
        let out_of_order = self.parts.windows(2).find(|pair| pair[0].name >= pair[1].name).map(|pair| &pair[1]);
        match self.parts.iter().find(|part| !part.is_written()).or(out_of_order) {
            Some(part) => Err(wrong("name of the part", &part.name)),
            None => Ok(()),
        }
    }

    /// Reads a statement. Only the text that [`fmt::Display`] writes is one.
    ///
    /// # Errors
    ///
    /// The text is another one.
    pub fn parse(text: &str) -> Result<Self, StatementError> {
        let mut lines = text.lines();
        if !matches!(lines.next(), Some(HEADER | HEADER_WITH_PARTS)) {
            return Err(StatementError::Header);
        }
        let (digest, file) = lines
            .next()
            .and_then(|line| line.strip_prefix(DIGEST_PREFIX)?.split_once("  "))
            .ok_or(StatementError::Line(2))?;
        let (digest, file) = (digest.to_owned(), file.to_owned());
        let mut statement = Self { digest, file, name: None, version: None, requests: None, parts: Vec::new() };
        for (number, line) in (3..).zip(lines) {
            let (key, value) = line.split_once(": ").ok_or(StatementError::Line(number))?;
            if key == "part" {
                statement.parts.push(part_line(value).ok_or(StatementError::Line(number))?);
                continue;
            }
            let value = match key {
                "requests" => value.strip_prefix(DIGEST_PREFIX).ok_or(StatementError::Line(number))?,
                _ => value,
            };
            let field = match key {
                "name" => &mut statement.name,
                "version" => &mut statement.version,
                "requests" => &mut statement.requests,
                _ => return Err(StatementError::Line(number)),
            };
            *field = Some(value.to_owned());
        }
        statement.check()?;
        // Two texts with one meaning would be two statements: order, line ends and repetitions count.
        let written = statement.to_string();
        if written == text {
            return Ok(statement);
        }
        let different =
            written.split_inclusive('\n').zip(text.split_inclusive('\n')).take_while(|(ours, line)| ours == line);
        Err(StatementError::Line(different.count() + 1))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = if self.parts.is_empty() { HEADER } else { HEADER_WITH_PARTS };
        writeln!(f, "{header}\n{DIGEST_PREFIX}{}  {}", self.digest, self.file)?;
        for (key, value) in [("name", &self.name), ("version", &self.version)] {
            if let Some(value) = value {
                writeln!(f, "{key}: {value}")?;
            }
        }
        if let Some(digest) = &self.requests {
            writeln!(f, "requests: {DIGEST_PREFIX}{digest}")?;
        }
        self.parts.iter().try_for_each(|part| writeln!(f, "part: {part}"))
    }
}

fn is_file_name(text: &str) -> bool {
    let is_plain = |character: char| !character.is_control() && character != '/';
    !text.is_empty() && text.len() <= MAX_VALUE && text.chars().all(is_plain)
}

/// Returns whether a text is the name of a module: words between slashes.
fn is_name(text: &str) -> bool {
    text.len() <= MAX_VALUE && text.split('/').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        Statement {
            digest: "ab".repeat(32),
            file: "line in file.wasm".to_owned(),
            name: Some("acme/lineinfile".to_owned()),
            version: Some("1.4.2-rc.1+x".to_owned()),
            requests: Some("cd".repeat(32)),
            parts: Vec::new(),
        }
    }

    fn with_parts() -> Statement {
        let part = |name: &str| Part::of(name, name.as_bytes());
        Statement { parts: vec![part("a/b.py"), part("c d.yaml")], ..statement() }
    }

    #[test]
    fn a_statement_is_read_as_written() {
        for whole in [statement(), with_parts()] {
            assert_eq!(Statement::parse(&whole.to_string()), Ok(whole.clone()));
        }
        let whole = statement();
        let least = Statement { name: None, version: None, requests: None, ..whole };
        assert_eq!(Statement::parse(&least.to_string()), Ok(least));
    }

    #[test]
    fn no_other_text_is_one() {
        let text = statement().to_string();
        let digest = "ab".repeat(32);
        for wrong in [
            String::new(),
            text.to_uppercase(),
            text.trim_end().to_owned(),
            format!("{text}\n"),
            format!("{text}version: 2\n"),
            format!("{text}more: x\n"),
            text.replace('\n', "\r\n"),
            text.replace("  line", " line"),
            text.replace("sha256:ab", "sha256:AB"),
            text.replace("sha256:", "sha1:"),
            text.replace("acme/", "../"),
            text.replace("acme/", "acme//"),
            text.replace("line in file.wasm", "a/b"),
            text.replace("1.4.2", "1 2"),
            format!("modbox-statement-v1\nsha256:{digest}  a\nversion: 1\nname: b\n"),
            format!("modbox-statement-v2\nsha256:{digest}  a\n"),
            with_parts().to_string().replace("-v2", "-v1"),
            with_parts().to_string().replace("-v2", "-v3"),
            with_parts().to_string().replace("  a/b.py", "  z/b.py"),
            with_parts().to_string().replace("  c d.yaml", "  a/b.py"),
            with_parts().to_string().replace("  c d.yaml", " c d.yaml"),
            with_parts().to_string().replace("part: sha256:", "part: "),
        ] {
            assert!(Statement::parse(&wrong).is_err(), "{wrong:?}");
        }
        let unwritable = Statement { version: Some("1\nname: other".to_owned()), ..statement() };
        assert!(unwritable.check().unwrap_err().to_string().starts_with("the version `1"));
    }
}
