//! The details of a task on the page of a play: labels, and texts that keep their lines.
//!
//! Texts come from plays and modules. They are hostile, may be long, and are never markup.

use std::fmt::Write as _;

use crate::cli::printing::html::Escaped;

/// Characters of a line.
pub(crate) const MAX_DETAIL: usize = 8 << 10;

/// Bytes of all lines of a detail, unless its first line has more.
const MAX_BYTES: usize = 64 << 10;

/// Lines of a detail.
const MAX_LINES: usize = 500;

/// Details of a task.
const MAX_DETAILS: usize = 200;

/// A list of details that is put together.
#[derive(Default)]
pub(crate) struct Details {
    html: String,
    count: usize,
    left_out: usize,
}

impl Details {
    /// Adds a detail, each line of it below the other. Empty ones are left out.
    pub(crate) fn push(&mut self, label: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.count == MAX_DETAILS {
            self.left_out += 1;
            return;
        }
        self.count += 1;
        let _ = write!(self.html, "<dt class=\"{label}\">{label}</dt><dd>");
        let (start, mut lines) = (self.html.len(), text.split_terminator('\n').enumerate());
        for (number, line) in lines.by_ref() {
            if number == MAX_LINES || self.html.len() - start > MAX_BYTES {
                let _ = write!(self.html, "<br><i>… and {} more lines</i>", 1 + lines.count());
                break;
            }
            let line_break = if number == 0 { "" } else { "<br>" };
            let shown = Escaped(line, MAX_DETAIL);
            let _ = match kind_of_line(label, line) {
                Some(kind) => write!(self.html, "{line_break}<span class=\"{kind}\">{shown}</span>"),
                None => write!(self.html, "{line_break}{shown}"),
            };
        }
        self.html.push_str("</dd>\n");
    }

    /// Returns the list as HTML.
    pub(crate) fn into_html(mut self) -> String {
        if self.left_out > 0 {
            let _ = writeln!(self.html, "<dt>more</dt><dd>{} details are left out</dd>", self.left_out);
        }
        self.html
    }
}

/// Returns what a line of a difference tells: something that was added or removed, or a place.
fn kind_of_line(label: &str, line: &str) -> Option<&'static str> {
    match line.as_bytes().first() {
        _ if label != "diff" => None,
        Some(b'+') => Some("added"),
        Some(b'-') => Some("removed"),
        Some(b'@') => Some("place"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(label: &str, text: &str) -> String {
        let mut details = Details::default();
        details.push(label, text);
        details.into_html()
    }

    #[test]
    fn details_are_never_markup_and_keep_their_lines() {
        let expect = "<dt class=\"diff\">diff</dt><dd>&lt;b&gt;<br><span class=\"added\">+x</span></dd>\n";
        assert_eq!(html("diff", "<b>\n+x"), expect);
        assert_eq!(html("error", "+x"), "<dt class=\"error\">error</dt><dd>+x</dd>\n");
        assert_eq!(html("empty", ""), "");
        let shown = html("result", "a\r\n\u{1b}[31mred\u{202e}\u{9b}\n");
        assert_eq!(shown, "<dt class=\"result\">result</dt><dd>a\\u{d}<br>\\u{1b}[31mred\\u{202e}\\u{9b}</dd>\n");
    }

    #[test]
    fn long_details_are_cut_and_say_so() {
        let lines = html("result", &"x\n".repeat(MAX_LINES + 3));
        assert!(lines.ends_with("<br><i>… and 3 more lines</i></dd>\n"), "{lines}");
        assert!(html("result", &"x".repeat(10 << 20)).len() < 2 * MAX_DETAIL);
        assert!(html("diff", &format!("{}\n", "y".repeat(9000)).repeat(400)).len() < 2 * MAX_BYTES);
        let mut details = Details::default();
        (0..MAX_DETAILS + 2).for_each(|_| details.push("item", "x"));
        assert!(details.into_html().ends_with("<dt>more</dt><dd>2 details are left out</dd>\n"));
    }
}
