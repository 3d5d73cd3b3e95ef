//! The `#!` line of a script: parsing it, replacing its interpreter, writing it back.
//!
//! The rules follow ansible-core 2.19 (`_extract_interpreter`, `_get_shebang`), with one intended difference: the
//! interpreter's arguments stay separate words. 2.19 passes the whole line to the shell as one quoted word, so that
//! `#!/usr/bin/env python3` fails. Every release before it passes the words separately, and so do we.

use std::sync::Arc;

use modbox_contract::Release;
use modbox_vocabulary::quoting::split;

use crate::request::{PrepareError, Request};

/// An interpreter line after replacement of the interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shebang {
    /// The interpreter and its arguments.
    pub(super) words: Vec<String>,
    /// Whether the interpreter differs from the one in the file.
    pub(super) replaced: bool,
    /// Whether a line after it has to declare the script's encoding.
    pub(super) names_encoding: bool,
}

/// The line that releases before ansible-core 2.19 insert after the first line of every Python script, because Python 2
/// assumes ASCII sources (`modify_module`).
const ENCODING: &[u8] = b"\n# -*- coding: utf-8 -*-";

impl Shebang {
    /// Returns the line without `#!`: the words joined by single spaces, without their quoting, like Ansible.
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// Parses the first line of a script and replaces its interpreter as the request says.
pub(super) fn read(bytes: &[u8], request: &Request<'_>) -> Result<Shebang, PrepareError> {
    let module = || request.module_name.to_owned();
    let line = first_line(bytes).ok_or_else(|| PrepareError::MissingInterpreter(module()))?;
    let line = str::from_utf8(line.trim_ascii_end()).map_err(|_| PrepareError::InterpreterNotText(module()))?;
    let bad = |line: &str| {
        let line = line.to_owned();
        move |reason| PrepareError::BadInterpreter { module: request.module_name.to_owned(), line, reason }
    };
    let mut words = split(line).map_err(bad(line))?;
    let interpreter = words.first().ok_or_else(|| PrepareError::EmptyInterpreter(module()))?;
    let names_encoding = request.release < Release::V2_19 && base_name(interpreter).starts_with("python");
    let Some(other) = replacement(interpreter, request).filter(|other| other != interpreter) else {
        return Ok(Shebang { words, replaced: false, names_encoding });
    };
    // People write `/usr/bin/env python3.12` here, so it is split into words as well.
    let other_words = split(other).map_err(bad(other))?;
    words.splice(..1, other_words);
    Ok(Shebang { words, replaced: true, names_encoding })
}

/// Returns the words of a script's interpreter line; none if it has no line that can be read.
#[must_use]
pub fn interpreter_words(bytes: &[u8]) -> Vec<String> {
    let line = first_line(bytes).and_then(|line| str::from_utf8(line.trim_ascii_end()).ok());
    line.and_then(|line| split(line).ok()).unwrap_or_default()
}

/// Returns the replacement for an interpreter. The lookup uses the base name, so `/usr/bin/env python3` is `env`, and
/// `python3` is not `python`.
fn replacement<'a>(interpreter: &str, request: &Request<'a>) -> Option<&'a str> {
    let name = base_name(interpreter).trim();
    let given = request.interpreters.get(name).map(|other| other.trim()).filter(|other| !other.is_empty());
    given.or_else(|| request.default_python.filter(|_| name == "python"))
}

fn base_name(interpreter: &str) -> &str {
    interpreter.rsplit('/').next().unwrap_or(interpreter)
}

/// Replaces the first line of a file with the shebang. Returns the same bytes unless the interpreter was replaced or
/// the release adds a line.
pub(super) fn rewrite(bytes: &Arc<[u8]>, shebang: &Shebang) -> Arc<[u8]> {
    if !shebang.replaced && !shebang.names_encoding {
        return Arc::clone(bytes);
    }
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let text = shebang.text();
    let line = if shebang.replaced { &[b"#!", text.as_bytes()].concat()[..] } else { &bytes[..end] };
    let encoding = if shebang.names_encoding { ENCODING } else { b"" };
    [line, encoding, &bytes[end..]].concat().into()
}

/// Returns the first line without `#!` and the newline, if the bytes start with exactly `#!`.
fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    let line = bytes.strip_prefix(b"#!")?;
    line.split(|byte| *byte == b'\n').next()
}

/// Returns the bytes after a leading `#!` line, or all bytes when there is none.
pub fn skip_line(bytes: &[u8]) -> &[u8] {
    match first_line(bytes) {
        Some(line) => bytes.get(line.len() + 3..).unwrap_or_default(),
        None => bytes,
    }
}
