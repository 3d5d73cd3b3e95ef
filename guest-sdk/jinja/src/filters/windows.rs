//! Filters on Windows' paths: Python's `ntpath`.

use minijinja::Value;

use crate::call::{Call, str_argument};
use crate::failure::Outcome;

fn is_separator(c: char) -> bool {
    c == '\\' || c == '/'
}

/// Splits a path behind its drive, or behind the share of a path in a network.
fn split_drive(path: &str) -> (&str, &str) {
    let plain = path.replace('/', "\\");
    if plain.starts_with("\\\\") || plain.to_uppercase().starts_with("\\\\?\\UNC\\") {
        let start = if plain.to_uppercase().starts_with("\\\\?\\UNC\\") { 8 } else { 2 };
        let Some(server) = plain[start..].find('\\').map(|at| start + at) else { return (path, "") };
        let share = plain[server + 1..].find('\\').map(|at| server + 1 + at);
        return share.map_or((path, ""), |share| path.split_at(share));
    }
    match path.char_indices().nth(1) {
        Some((at, ':')) => path.split_at(at + 1),
        _ => ("", path),
    }
}

fn split(path: &str) -> (String, &str) {
    let (drive, rest) = split_drive(path);
    let at = rest.rfind(is_separator).map_or(0, |at| at + 1);
    let (head, tail) = rest.split_at(at);
    let trimmed = head.trim_end_matches(is_separator);
    (format!("{drive}{}", if trimmed.is_empty() { head } else { trimmed }), tail)
}

fn input(call: &Call<'_, '_, '_>) -> Outcome<String> {
    let ([path], []) = call.bind(["p"], [])?;
    str_argument("a path", &path).map(std::borrow::Cow::into_owned)
}

/// Returns the last part of a path.
pub(super) fn basename(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|path| Value::from(split(&path).1))
}

/// Returns a path without its last part.
pub(super) fn dirname(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|path| Value::from(split(&path).0))
}

/// Splits a path into drive and rest.
pub(super) fn splitdrive(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|path| Value::from(split_drive(&path)))
}
