//! The lines of a unified difference, coloured and cleaned.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use crate::cli::printing::clean::clean;

/// Appends the lines of a unified difference.
pub(crate) fn push_diff_lines(text: &mut String, unified: &str) {
    // `lines()` would hide the carriage return at the end of a line, which may be all that differs.
    for line in unified.split_terminator('\n') {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_ends_of_lines_differ() {
        let mut text = String::new();
        push_diff_lines(&mut text, "-a\r\n+a\n \u{1b}[2J\u{202e}\n");
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "-a\\u{d}\n+a\n \\u{1b}[2J\\u{202e}\n");
    }
}
