//! A module's log: lines on standard error that are JSON objects with the one key `modbox_log`, as the guest SDK writes
//! them. Other lines are not changed. The content is untrusted, like everything that a module prints.

use modbox_python_json::{Dict, Value, decode};

/// The start of a log line. Other lines are not parsed.
const START: &[u8] = b"{\"modbox_log\":";

/// The maximum number of log lines, so that people can read the log. Further lines stay in standard error.
const MAX_LINES: usize = 256;

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// An action of the module.
    Info,
    /// A detail that helps to find an error.
    Debug,
}

/// One line of a module's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How much the module thinks the line matters.
    pub level: LogLevel,
    /// The text after the level, without the line end.
    pub message: String,
}

/// Splits a module's standard error into its log lines and the rest.
#[must_use]
pub fn take(stderr: &[u8]) -> (Vec<LogLine>, Vec<u8>) {
    let (mut lines, mut rest) = (Vec::new(), Vec::with_capacity(stderr.len()));
    for line in stderr.split_inclusive(|byte| *byte == b'\n') {
        match read(line).filter(|_| lines.len() < MAX_LINES) {
            Some(read) => lines.push(read),
            None => rest.extend_from_slice(line),
        }
    }
    (lines, rest)
}

fn read(line: &[u8]) -> Option<LogLine> {
    if !line.starts_with(START) {
        return None;
    }
    let line = decode(str::from_utf8(line).ok()?).ok()?;
    let entry: &Dict = line.as_dict().filter(|line| line.len() == 1)?.get("modbox_log")?.as_dict()?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let level = match text("level")? {
        "info" => LogLevel::Info,
        "debug" => LogLevel::Debug,
        _ => return None,
    };
    Some(LogLine { level, message: text("msg")?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_lines_of_a_log_and_leaves_the_others() {
        let stderr = b"before\n{\"modbox_log\": {\"level\": \"info\", \"msg\": \"a\\nb\"}}\n{\"modbox_log\": 1}\n\
            {\"modbox_log\": {\"level\": \"debug\", \"msg\": \"c\"}}\n{\"modbox_log\": {\"level\": \"loud\", \"msg\": \"\"}}\n\xff";
        let (lines, rest) = take(stderr);
        let line = |level, message: &str| LogLine { level, message: message.to_owned() };
        assert_eq!(lines, [line(LogLevel::Info, "a\nb"), line(LogLevel::Debug, "c")]);
        let expect = b"before\n{\"modbox_log\": 1}\n{\"modbox_log\": {\"level\": \"loud\", \"msg\": \"\"}}\n\xff";
        assert_eq!(rest, expect);
    }

    #[test]
    fn lines_beyond_the_maximum_are_not_taken() {
        let one = b"{\"modbox_log\": {\"level\": \"info\", \"msg\": \"\"}}\n";
        let (lines, rest) = take(&one.repeat(MAX_LINES + 3));
        assert_eq!((lines.len(), rest.len()), (MAX_LINES, 3 * one.len()));
    }
}
