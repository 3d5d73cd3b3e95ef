//! Encodes the output lines of a batch: a job's report, preceded by the job's `id`.

use modbox_python_json::{Value, encode, to_value};
use serde::Serialize;

use crate::app::Report;

/// Encodes a worker's answer: one byte that is 1 if the job succeeded, then its report line.
pub(super) fn answer(line: &[u8], success: bool) -> Vec<u8> {
    let mut answer = Vec::with_capacity(1 + line.len());
    answer.push(u8::from(success));
    answer.extend_from_slice(line);
    answer
}

/// Splits a worker's answer into success and report line.
pub(super) fn read_answer(answer: &[u8]) -> Option<(bool, &[u8])> {
    answer.split_first().map(|(success, line)| (*success != 0, line))
}

/// An output line of a batch.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(flatten)]
    report: &'a Report,
}

/// Returns a report as one JSON line. `number` is the line number of a job that could not be read.
pub(super) fn line(id: &Value, number: Option<u64>, report: &Report) -> Vec<u8> {
    let line = to_value(&Line { id, line: number, report }).expect("every part of a report has a JSON form");
    let mut text = encode(&line);
    text.push('\n');
    text.into_bytes()
}
