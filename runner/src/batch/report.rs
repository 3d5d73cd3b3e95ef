//! The lines that a batch prints: the report of a job, with the `id` in front.

use modbox_python_json::{Value, encode};

use crate::contract::Dict;
use crate::run::Report;

/// What a worker answers: whether the job went well, then its report.
pub(super) fn answer(line: &[u8], success: bool) -> Vec<u8> {
    let mut answer = Vec::with_capacity(1 + line.len());
    answer.push(u8::from(success));
    answer.extend_from_slice(line);
    answer
}

/// Takes a worker's answer apart.
pub(super) fn read_answer(answer: &[u8]) -> Option<(bool, &[u8])> {
    answer.split_first().map(|(success, line)| (*success != 0, line))
}

/// Returns a report as one JSON line. `number` is the line of a job that could not be read.
pub(super) fn line(id: Value, number: Option<u64>, report: &Report) -> Vec<u8> {
    let mut entries = Dict::new();
    entries.insert("id".to_owned(), id);
    if let Some(number) = number {
        entries.insert("line".to_owned(), number.into());
    }
    if let Value::Dict(rest) = report.to_value() {
        entries.extend(rest);
    }
    let mut line = encode(&Value::Dict(entries)).into_bytes();
    line.push(b'\n');
    line
}
