//! The `#!` line of a script: reading it, replacing its interpreter, writing it back.
//!
//! After ansible-core 2.19 (`_extract_interpreter`, `_get_shebang`), with one difference on purpose: the
//! words behind the interpreter stay words. 2.19 hands the whole line to the shell as a single quoted
//! word, so that `#!/usr/bin/env python3` fails; every release before it, and we, pass it on word by word.

use std::sync::Arc;

use modbox_contract::Release;
use modbox_vocabulary::quoting::split;

use crate::request::{PrepareError, Request};

/// An interpreter line, after the overrides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shebang {
    /// The interpreter and its arguments.
    pub(super) words: Vec<String>,
    /// Whether it is another interpreter than the file names.
    pub(super) replaced: bool,
    /// Whether a line behind it is to say how the script is encoded.
    pub(super) names_encoding: bool,
}

/// What releases before ansible-core 2.19 put behind the first line of scripts for Python, whatever they are: Python 2
/// took sources for ASCII (`modify_module`).
const ENCODING: &[u8] = b"\n# -*- coding: utf-8 -*-";

impl Shebang {
    /// The line without `#!`: words joined by single blanks, their quoting lost, as Ansible does it.
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }
}

/// Reads the first line of a script and applies the request's interpreters to it.
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
    // People write `/usr/bin/env python3.12` here, so it is words as well.
    let other_words = split(other).map_err(bad(other))?;
    words.splice(..1, other_words);
    Ok(Shebang { words, replaced: true, names_encoding })
}

/// Returns what to start instead of an interpreter. The name looked up is its base name, so `/usr/bin/env
/// python3` is `env`, and `python3` is not `python`.
fn replacement<'a>(interpreter: &str, request: &Request<'a>) -> Option<&'a str> {
    let name = base_name(interpreter).trim();
    let given = request.interpreters.get(name).map(|other| other.trim()).filter(|other| !other.is_empty());
    given.or_else(|| request.default_python.filter(|_| name == "python"))
}

fn base_name(interpreter: &str) -> &str {
    interpreter.rsplit('/').next().unwrap_or(interpreter)
}

/// Returns a file whose first line is that shebang: the same bytes unless the interpreter was replaced, or the release
/// adds a line.
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

/// Returns the first line, without `#!` and the newline, of bytes that start with exactly `#!`.
fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    let line = bytes.strip_prefix(b"#!")?;
    line.split(|byte| *byte == b'\n').next()
}

/// Returns what follows a leading `#!` line, or everything when there is none.
pub fn skip_line(bytes: &[u8]) -> &[u8] {
    match first_line(bytes) {
        Some(line) => bytes.get(line.len() + 3..).unwrap_or_default(),
        None => bytes,
    }
}
