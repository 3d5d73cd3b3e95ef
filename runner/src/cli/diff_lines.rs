//! The lines of a unified difference, coloured and cleaned.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::cli::clean::clean;

/// Appends the lines of a unified difference.
pub(crate) fn push_diff_lines(text: &mut String, unified: &str) {
    for line in unified.lines() {
        let color = match line.as_bytes().first() {
            Some(b'+') => Some(AnsiColor::Green.into()),
            Some(b'-') => Some(AnsiColor::Red.into()),
            Some(b'@') => Some(AnsiColor::Cyan.into()),
            _ => None,
        };
        let style = Style::new().fg_color(color);
        let _ = writeln!(text, "{style}{}{style:#}", clean(line));
    }
}
