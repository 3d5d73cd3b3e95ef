//! How the emitter writes a scalar in each style.

use super::emitter::Emitter;
use super::scalar::{is_break, is_printable};

impl Emitter<'_> {
    /// Writes a plain scalar.
    pub(super) fn plain(&mut self, text: &str) {
        if !self.whitespace && (!text.is_empty() || self.flow_level > 0) {
            self.put(' ');
        }
        let mut spaces = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' {
                let folds = !self.simple_key && !spaces && self.column > self.best_width && chars.peek() != Some(&' ');
                if folds {
                    self.write_indent()
                } else {
                    self.put(c)
                }
                spaces = true;
            } else {
                self.put(c);
                self.indention = false;
                spaces = false;
            }
        }
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a scalar in single quotes.
    pub(super) fn single_quoted(&mut self, text: &str) {
        self.indicator("'", true, false, false);
        let (mut spaces, mut breaks) = (false, false);
        let last = text.chars().count().saturating_sub(1);
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            if c == ' ' {
                let inside = at != 0 && at != last && chars.peek().is_none_or(|(_, next)| *next != ' ');
                let folds = !self.simple_key && !spaces && self.column > self.best_width && inside;
                if folds {
                    self.write_indent()
                } else {
                    self.put(c)
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break();
                }
                self.text_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                if c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
        }
        if breaks {
            self.write_indent();
        }
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes a scalar in double quotes, with escapes.
    pub(super) fn double_quoted(&mut self, text: &str) {
        self.indicator("\"", true, false, false);
        let mut spaces = false;
        let last = text.chars().count().saturating_sub(1);
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            if !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                escape(c).chars().for_each(|c| self.put(c));
                spaces = false;
            } else if c == ' ' {
                let folds = !self.simple_key && !spaces && self.column > self.best_width && at != 0 && at != last;
                if folds {
                    self.write_indent();
                    if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes the indicator of a block scalar, with its hints.
    fn block_start(&mut self, text: &str, indicator: &str) {
        self.indicator(indicator, true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator(&self.best_indent.to_string(), false, false, false);
        }
        let mut ends = text.chars().rev();
        let chomp = match (ends.next(), ends.next()) {
            (Some(last), before) if is_break(last) => {
                if before.is_none_or(is_break) {
                    "+"
                } else {
                    ""
                }
            }
            _ => "-",
        };
        self.indicator(chomp, false, false, false);
        self.open_ended = chomp == "+";
        self.put_break();
        self.indention = true;
        self.whitespace = true;
    }

    /// Writes a block scalar, literal or folded.
    pub(super) fn block(&mut self, text: &str, folded: bool) {
        self.block_start(text, if folded { ">" } else { "|" });
        let (mut breaks, mut leading) = (true, true);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if is_break(c) {
                if folded && !breaks && !leading && c == '\n' {
                    let mut rest = chars.clone().skip_while(|c| is_break(*c));
                    if rest.next().is_some_and(|c| !matches!(c, ' ' | '\t')) {
                        self.put_break();
                    }
                }
                self.text_break(c);
                self.indention = true;
                breaks = true;
                continue;
            }
            if breaks {
                self.write_indent();
                leading = matches!(c, ' ' | '\t');
            }
            let folds = folded && !breaks && c == ' ' && chars.peek().is_none_or(|next| *next != ' ');
            if folds && self.column > self.best_width {
                self.write_indent();
            } else {
                self.put(c);
            }
            self.indention = false;
            breaks = false;
        }
    }
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
