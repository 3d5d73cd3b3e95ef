//! Encodes the output lines of a batch: a job's report, preceded by the job's `id`.

use modbox_python_json::{Value, to_json};
use serde::Serialize;

use crate::reports::report::Report;

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
pub(crate) fn line(id: &Value, number: Option<u64>, report: &Report) -> Vec<u8> {
    let line = Line { id, line: number, report };
    let mut text = to_json(&line).expect("every part of a report has a JSON form");
    text.push('\n');
    text.into_bytes()
}
