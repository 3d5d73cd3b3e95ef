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
//! order.

use std::fmt;

/// First line of a statement.
const HEADER: &str = "modbox-statement-v1";

/// What a digest begins with.
const DIGEST_PREFIX: &str = "sha256:";

/// Maximum length of a file name, a name or a version, in bytes.
const MAX_VALUE: usize = 255;

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
}

/// Error of a text that is not a statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// The first line is another one.
    #[error("the statement does not begin with `{HEADER}`")]
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
        match self.requests.as_deref().filter(|digest| !is_digest(digest)) {
            Some(digest) => Err(wrong("digest of the requests", digest)),
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
        if lines.next() != Some(HEADER) {
            return Err(StatementError::Header);
        }
        let (digest, file) = lines
            .next()
            .and_then(|line| line.strip_prefix(DIGEST_PREFIX)?.split_once("  "))
            .ok_or(StatementError::Line(2))?;
        let mut statement =
            Self { digest: digest.to_owned(), file: file.to_owned(), name: None, version: None, requests: None };
        for (number, line) in (3..).zip(lines) {
            let (key, value) = line.split_once(": ").ok_or(StatementError::Line(number))?;
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
        writeln!(f, "{HEADER}\n{DIGEST_PREFIX}{}  {}", self.digest, self.file)?;
        for (key, value) in [("name", &self.name), ("version", &self.version)] {
            if let Some(value) = value {
                writeln!(f, "{key}: {value}")?;
            }
        }
        match &self.requests {
            Some(digest) => writeln!(f, "requests: {DIGEST_PREFIX}{digest}"),
            None => Ok(()),
        }
    }
}

/// Returns whether a text is 64 lower-case hex digits.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn is_file_name(text: &str) -> bool {
    let is_plain = |character: char| !character.is_control() && character != '/';
    !text.is_empty() && text.len() <= MAX_VALUE && text.chars().all(is_plain)
}

/// Returns whether a text is the name of a module: words between slashes.
fn is_name(text: &str) -> bool {
    text.len() <= MAX_VALUE && text.split('/').all(is_word)
}

fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    let is_dots = text.bytes().all(|byte| byte == b'.');
    !text.is_empty() && text.len() <= MAX_VALUE && text.bytes().all(is_plain) && !is_dots
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
        }
    }

    #[test]
    fn a_statement_is_read_as_written() {
        let whole = statement();
        assert_eq!(Statement::parse(&whole.to_string()), Ok(whole.clone()));
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
        ] {
            assert!(Statement::parse(&wrong).is_err(), "{wrong:?}");
        }
        let unwritable = Statement { version: Some("1\nname: other".to_owned()), ..statement() };
        assert!(unwritable.check().unwrap_err().to_string().starts_with("the version `1"));
    }
}
