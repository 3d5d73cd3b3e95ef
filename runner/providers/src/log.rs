//! The levels of lines on standard error: `debug: `, `info: `, `warn: ` and `error: ` before the text, in any case.
//!
//! libral also takes a level without a colon, and drops one more character: `warning: x` becomes `ng: x`. Here a colon is
//! needed, `warning:` is the same as `warn:`, and no text is dropped. A line without a level is a warning.

/// Lines of one action that have a level; a person reads no more.
pub const MAX_LOG_LINES: usize = 256;

/// Level of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// A detail that helps to find an error.
    Debug,
    /// An action.
    Info,
    /// A doubt.
    Warn,
    /// An error.
    Error,
}

/// Line that a provider wrote to standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The level.
    pub level: LogLevel,
    /// The text without the level.
    pub message: String,
}

/// The words of the levels.
const LEVELS: [(&str, LogLevel); 5] = [
    ("debug", LogLevel::Debug),
    ("info", LogLevel::Info),
    ("warn", LogLevel::Warn),
    ("warning", LogLevel::Warn),
    ("error", LogLevel::Error),
];

/// Splits standard error into lines with levels. Returns the first ones, and the number of all others.
#[must_use]
pub fn log_lines(stderr: &[u8]) -> (Vec<LogLine>, usize) {
    let mut lines = stderr.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let read = lines.by_ref().take(MAX_LOG_LINES).map(LogLine::read).collect();
    (read, lines.count())
}

impl LogLine {
    fn read(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        let level = text.split_once(':').and_then(|(word, rest)| {
            let level = LEVELS.iter().find(|(level, _)| word.eq_ignore_ascii_case(level))?;
            Some((level.1, rest.trim()))
        });
        let (level, message) = level.unwrap_or((LogLevel::Warn, &text));
        Self { level, message: message.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_levels() {
        for (line, level, message) in [
            ("debug: a", LogLevel::Debug, "a"),
            ("  INFO:a: b \r", LogLevel::Info, "a: b"),
            ("warn: a", LogLevel::Warn, "a"),
            ("Warning: a", LogLevel::Warn, "a"),
            ("error: a", LogLevel::Error, "a"),
            ("error:", LogLevel::Error, ""),
            ("error", LogLevel::Warn, "error"),
            ("errors happened", LogLevel::Warn, "errors happened"),
            ("sh: line 1: x: not found", LogLevel::Warn, "sh: line 1: x: not found"),
        ] {
            let (lines, more) = log_lines(format!("\n{line}\n").as_bytes());
            assert_eq!((lines, more), (vec![LogLine { level, message: message.to_owned() }], 0), "{line}");
        }
    }

    #[test]
    fn only_the_first_lines_are_kept() {
        let (lines, more) = log_lines(&b"x\n\xff\n".repeat(MAX_LOG_LINES));
        assert_eq!((lines.len(), more), (MAX_LOG_LINES, MAX_LOG_LINES));
        assert_eq!(lines[1].message, "\u{fffd}");
    }
}
