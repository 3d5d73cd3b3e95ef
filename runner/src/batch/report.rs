//! The lines that a batch prints: the report of a job, with the `id` in front.

use modbox_python_json::{Value, encode, to_value};
use serde::Serialize;

use crate::app::Report;

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

/// A line that a batch prints.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(flatten)]
    report: &'a Report,
}

/// Returns a report as one JSON line. `number` is the line of a job that could not be read.
pub(super) fn line(id: &Value, number: Option<u64>, report: &Report) -> Vec<u8> {
    let line = to_value(&Line { id, line: number, report }).expect("every part of a report has a JSON form");
    let mut text = encode(&line);
    text.push('\n');
    text.into_bytes()
}
