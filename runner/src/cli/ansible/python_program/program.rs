//! Reads the program that ansible-core gives to an interpreter.
//!
//! Options of Python and programs of other origin are refused.

use std::ffi::OsString;
use std::io::stdin;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use modbox_kinds::ansiballz::{MAX_PAYLOAD, NotReceived, ReceivedPayload};

use crate::cli::ansible::python_rule::NAME;
use crate::cli::process::deep_stack;

/// Reads the bytes of a program: of the file that the first word names, or of standard input.
///
/// # Errors
///
/// The first word is an option of Python, or the program cannot be read or is too long.
pub(super) fn read(words: &[OsString]) -> anyhow::Result<Vec<u8>> {
    let file = words.first().filter(|word| *word != "-");
    if let Some(option) = file.filter(|word| word.as_encoded_bytes().starts_with(b"-")) {
        return Err(anyhow!("the option `{}` is one of Python", option.display())).context(refusal());
    }
    let limit = MAX_PAYLOAD as u64;
    match file.map(Path::new) {
        Some(file) => modbox_files::read_file(file, limit)
            .with_context(|| format!("failed to read the module `{}`", file.display())),
        None => {
            modbox_files::read_stream(stdin().lock(), limit).context("failed to read the module from standard input")
        }
    }
}

/// Parses a program that ansible-core has made.
///
/// # Errors
///
/// The program is another one, or is damaged.
pub(super) fn parse(program: &[u8]) -> anyhow::Result<ReceivedPayload> {
    // The parser is recursive.
    let received = deep_stack::run(|| ReceivedPayload::read(program)).context("failed to start a thread")?;
    received.map_err(|error| match error {
        NotReceived::Other => anyhow::Error::from(error).context(refusal()),
        error => error.into(),
    })
}

fn refusal() -> String {
    format!("{NAME} runs only modules that ansible-core has packed, because it confines them; run this with python3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_python_are_refused() {
        for words in [&["-c", "print(1)"][..], &["-V"], &["-m", "json.tool"]] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            let error = format!("{:#}", read(&words).unwrap_err());
            assert!(error.contains("only modules that ansible-core has packed"), "{error}");
        }
    }
}
