//! The lines that a batch prints: the report of a job, with the `id` in front.

use modbox_python_json::Value;

use crate::contract::Item;
use crate::run::Report;

/// Bytes of a line with an ordinary result.
const ORDINARY: usize = 1 << 10;

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
pub(super) fn line(id: &Value, number: Option<u64>, report: &Report) -> Vec<u8> {
    let first = [("id", Item::Value(id))].into_iter().chain(number.map(|number| ("line", number.into())));
    let mut entries = report.entries();
    entries.splice(..0, first);
    let mut line = String::with_capacity(ORDINARY);
    Item::Object(entries).write(&mut line);
    line.push('\n');
    line.into_bytes()
}
