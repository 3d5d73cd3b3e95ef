//! The filter `pprint`: Python's `pprint.pformat` for Ansible's values.
//!
//! Ansible's own lists and dicts are unknown to `pprint`, so it writes them on one line.

use minijinja::Value;

use crate::call::Call;
use crate::failure::Outcome;
use crate::values::{View, repr, view};

/// The width of lines.
const WIDTH: usize = 80;

/// Writes a value as in a program. Long text is split at blanks.
pub(super) fn pprint(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    let short = repr(&value)?;
    match view(&value) {
        View::Str(text) if short.chars().count() > WIDTH => Ok(Value::from(split(text))),
        _ => Ok(Value::from(short)),
    }
}

/// Returns a text as several literals in parentheses, or as one if it cannot be split.
fn split(text: &str) -> String {
    let literal = modbox_python_json::str_repr;
    let lines = crate::text::lines::split_lines(text, true);
    let mut chunks: Vec<String> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let last = index + 1 == lines.len();
        if literal(line).chars().count() + 1 + usize::from(last) <= WIDTH {
            chunks.push(literal(line));
            continue;
        }
        let parts = words_with_blanks(line);
        let mut current = String::new();
        for (at, part) in parts.iter().enumerate() {
            let ends = at + 1 == parts.len() && last;
            let candidate = format!("{current}{part}");
            if literal(&candidate).chars().count() + 1 + usize::from(ends) > WIDTH {
                if !current.is_empty() {
                    chunks.push(literal(&current));
                }
                current.clone_from(part);
            } else {
                current = candidate;
            }
        }
        if !current.is_empty() {
            chunks.push(literal(&current));
        }
    }
    if let [chunk] = chunks.as_slice() { chunk.clone() } else { format!("({})", chunks.join("\n ")) }
}

/// Splits a line into words, each with the blanks behind it.
fn words_with_blanks(line: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let word = rest.find(crate::values::is_python_space).unwrap_or(rest.len());
        let end = rest[word..].find(|c| !crate::values::is_python_space(c)).map_or(rest.len(), |at| word + at);
        parts.push(rest[..end].to_owned());
        rest = &rest[end..];
    }
    parts
}
