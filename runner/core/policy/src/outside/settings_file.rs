//! Judges a file that `sysctl -p` reads, line by line.

use std::collections::HashSet;

use crate::outside::kinds::Kind;
use crate::outside::names::BoundNames;

/// The most lines that are judged.
const MAX_LINES: usize = 100_000;

/// A line that is not permitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the settings, `{text}`, is neither a permitted setting nor one that the machine's file has")]
pub struct RefusedLine {
    /// The number of the line.
    pub line: usize,
    /// The line, shortened.
    pub text: String,
}

/// Checks that each line is empty, a comment, a permitted setting, or a line of the file that the machine has already.
///
/// # Errors
///
/// The first line that is not. A text that is not UTF-8, or too long, has its first line refused.
pub fn check_settings(content: &[u8], machine: &[u8], names: &BoundNames) -> Result<(), RefusedLine> {
    let refused = |line: usize, text: &str| RefusedLine { line: line + 1, text: text.chars().take(80).collect() };
    let text = std::str::from_utf8(content).map_err(|_| refused(0, &String::from_utf8_lossy(content)))?;
    let known: HashSet<&[u8]> = machine.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    for (number, line) in text.split('\n').enumerate() {
        let plain = line.trim_ascii();
        let is_known = plain.is_empty() || known.contains(plain.as_bytes());
        let is_comment = plain.starts_with(['#', ';']) && !plain.contains(['\0', '\r']);
        if number >= MAX_LINES || !(is_known || is_comment || is_permitted(plain, names)) {
            return Err(refused(number, line));
        }
    }
    Ok(())
}

/// `sysctl` takes blanks around `=`, and a `-` before a parameter that may fail.
fn is_permitted(line: &str, names: &BoundNames) -> bool {
    let line = line.strip_prefix('-').unwrap_or(line);
    let Some((key, value)) = line.split_once('=') else { return false };
    names.permit(Kind::Setting, &format!("{}={}", key.trim_ascii_end(), value.trim_ascii_start().replace('\t', " ")))
}
