//! A play's run as ansible-playbook's default callback prints it, in colours on a terminal.
//!
//! With `-v`, a dim line after each result says which module ran, how it was confined and what it was denied. The output
//! ends with the switches that failed tasks lacked.

use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use modbox_contract::{Dict, Value};
use modbox_tasks::report::callback::{COLUMNS, Callback, Stream, TextOptions};
use modbox_tasks::report::events::{Event, Events};
use modbox_tasks::report::outcome::{Outcome, Status};

use crate::cli::play::needs::Need;
use crate::cli::printing::clean::{clean, clean_line};
use crate::cli::printing::output::coloured;

/// Maximum number of switches at the end.
const MAX_LACKED: usize = 200;

/// Text and colour of the beginning of a line.
const COLOURS: [(&str, AnsiColor); 12] = [
    ("ok:", AnsiColor::Green),
    ("changed:", AnsiColor::Yellow),
    ("skipping:", AnsiColor::Cyan),
    ("included:", AnsiColor::Cyan),
    ("fatal:", AnsiColor::Red),
    ("failed:", AnsiColor::Red),
    ("[ERROR]:", AnsiColor::Red),
    ("[WARNING]:", AnsiColor::Magenta),
    ("[DEPRECATION WARNING]:", AnsiColor::Magenta),
    ("FAILED - RETRYING:", AnsiColor::Magenta),
    ("...ignoring", AnsiColor::Cyan),
    ("@@", AnsiColor::Cyan),
];

/// Writer of events.
pub(crate) struct Human {
    callback: Callback<fn(Stream, &str)>,
    verbosity: u8,
    /// Switches that failed tasks lacked, with what each allows.
    lacked: Vec<(String, String)>,
    has_failed: bool,
}

impl Human {
    /// Creates a writer. `verbosity` is the number of `-v`; `shows_skipped` says whether skipped tasks are shown.
    pub(crate) fn new(verbosity: u8, shows_skipped: bool) -> Self {
        let options = TextOptions { verbosity, columns: columns(), shows_skipped };
        Self { callback: Callback::new(options, print), verbosity, lacked: Vec::new(), has_failed: false }
    }

    /// Writes the switches that were lacking. `needs` are those of lookups and of the play's files.
    pub(crate) fn finish(mut self, needs: &[Need]) {
        if self.has_failed {
            needs.iter().for_each(|need| self.lack(&need.switch, &need.action));
        }
        for (switch, action) in &self.lacked {
            print_note(&format!("needs {switch} to {action}"));
        }
    }

    fn lack(&mut self, switch: &str, action: &str) {
        if !switch.is_empty() && self.lacked.len() < MAX_LACKED && self.lacked.iter().all(|(known, _)| known != switch)
        {
            self.lacked.push((switch.to_owned(), action.to_owned()));
        }
    }

    fn note_lacks(&mut self, outcome: &Outcome) {
        if outcome.status() != Status::Failed {
            return;
        }
        self.has_failed = true;
        for denial in outcome.reports.iter().filter_map(Value::as_dict).flat_map(denials) {
            let text = |key: &str| denial.get(key).and_then(Value::as_str).unwrap_or_default();
            let verb = match text("capability") {
                "net" => "connect to",
                "listen" => "listen at",
                "own" => "make an owner:",
                other => other,
            };
            self.lack(text("allow"), &format!("{verb} {}", text("subject")));
        }
    }
}

impl Events for Human {
    fn event(&mut self, event: Event<'_>) {
        let mut lines = Vec::new();
        if let Event::Result { outcome, .. } | Event::Item { outcome, .. } = &event
            && !outcome.is_hidden()
        {
            self.note_lacks(outcome);
            if self.verbosity > 0 {
                lines = notes(outcome);
            }
        }
        self.callback.event(event);
        lines.iter().for_each(|line| print_note(line));
    }
}

/// Returns the lines about the modules of a result.
fn notes(outcome: &Outcome) -> Vec<String> {
    let reports = || outcome.reports.iter().filter_map(Value::as_dict);
    let modules: Vec<String> = reports().map(module).collect();
    if modules.is_empty() {
        return Vec::new();
    }
    [modules.join("; ")]
        .into_iter()
        .chain(reports().flat_map(denials).map(denied))
        .map(|line| format!("  {line}"))
        .collect()
}

fn module(report: &Dict) -> String {
    let within = |key: &str, inner: &str| report.get(key).and_then(Value::as_dict).and_then(|dict| dict.get(inner));
    let text = |value: Option<&Value>| value.map(modbox_python_json::str).unwrap_or_default();
    let (name, kind) = (text(within("module", "name")), text(within("module", "kind")));
    match within("confinement", "level") {
        Some(level) => format!("{name} ({kind}) at level {}", modbox_python_json::str(level)),
        // A run that did not start was not confined.
        None => format!("{name} ({kind}), not started"),
    }
}

/// Returns the denials of a report. Nothing was denied to a run that was observed.
fn denials(report: &Dict) -> impl Iterator<Item = &Dict> {
    let is_observed = report.get("observed").is_some_and(Value::is_truthy);
    let denials = report.get("denials").filter(|_| !is_observed);
    denials.and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_dict)
}

fn denied(denial: &Dict) -> String {
    let text = |key: &str| denial.get(key).and_then(Value::as_str).unwrap_or_default();
    let allow = text("allow");
    let remedy = if allow.is_empty() { String::new() } else { format!("; {allow} allows it") };
    format!("denied: {} {}{remedy}", text("capability"), text("subject"))
}

/// Returns the columns of a banner: those of the terminal, or Ansible's.
fn columns() -> usize {
    if !io::stdout().is_terminal() {
        return COLUMNS;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    size.map_or(COLUMNS, |size| usize::from(size.ws_col).saturating_sub(1)).max(COLUMNS)
}

/// Prints text of the callback. Its names, messages and differences are foreign, so that all of it is cleaned.
fn print(stream: Stream, text: &str) {
    let styled: String = text.split_inclusive('\n').map(styled).collect();
    // Nothing can be done about a stream that is gone; the play goes on.
    match stream {
        Stream::Output => drop(write(&mut io::stdout().lock(), &coloured(&io::stdout(), &styled))),
        Stream::Error => drop(write(&mut io::stderr().lock(), &coloured(&io::stderr(), &styled))),
    }
}

/// Prints a line that Ansible does not have, dim.
fn print_note(line: &str) {
    let dim = Style::new().dimmed();
    let styled = format!("{dim}{}{dim:#}\n", clean_line(line));
    drop(write(&mut io::stdout().lock(), &coloured(&io::stdout(), &styled)));
}

fn write(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// Returns a line without control characters, in the colour of its beginning.
fn styled(line: &str) -> String {
    let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
    let text = clean(text);
    let found = COLOURS.iter().find(|(start, _)| text.starts_with(start)).map(|(_, colour)| *colour);
    let found = found.or(match text.as_bytes() {
        [b'+', ..] => Some(AnsiColor::Green),
        [b'-', ..] => Some(AnsiColor::Red),
        _ => None,
    });
    match found {
        Some(colour) => {
            let style = Style::new().fg_color(Some(colour.into()));
            format!("{style}{text}{style:#}{end}")
        }
        None => format!("{text}{end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_colour_of_their_beginning_and_no_controls() {
        let plain = |line: &str| anstream::adapter::strip_str(&styled(line)).to_string();
        assert!(styled("ok: [localhost]\n").contains("\u{1b}[32m"));
        assert_eq!(plain("ok: [localhost]\n"), "ok: [localhost]\n");
        assert_eq!(plain("msg \u{1b}[2J\r\n"), "msg \\u{1b}[2J\\u{d}\n");
        // Foreign text has no styles, wherever its escapes are.
        assert_eq!(styled("\u{1b}[2Jforeign\u{202e}\n"), "\\u{1b}[2Jforeign\\u{202e}\n");
    }
}
