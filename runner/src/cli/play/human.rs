//! A play's run as ansible-playbook's default callback prints it, in colours on a terminal.
//!
//! With `-v`, a dim line after each result says which module ran and how it was confined.

use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use modbox_contract::Value;
use modbox_tasks::report::callback::{COLUMNS, Callback, Stream, TextOptions};
use modbox_tasks::report::events::{Event, Events};
use modbox_tasks::report::outcome::Outcome;

use crate::cli::clean::{clean, clean_line};

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

/// Returns the writer of events. `verbosity` is the number of `-v`.
pub(crate) fn events(verbosity: u8) -> impl Events {
    let options = TextOptions { verbosity, columns: columns() };
    Human { callback: Callback::new(options, print), verbosity }
}

struct Human<W> {
    callback: Callback<W>,
    verbosity: u8,
}

impl<W: FnMut(Stream, &str)> Events for Human<W> {
    fn event(&mut self, event: Event<'_>) {
        let note = match &event {
            Event::Result { outcome, .. } | Event::Item { outcome, .. } if self.verbosity > 0 => note(outcome),
            _ => None,
        };
        self.callback.event(event);
        if let Some(note) = note {
            print(Stream::Output, &note);
        }
    }
}

/// Returns the line about the modules of a result.
fn note(outcome: &Outcome) -> Option<String> {
    let style = if io::stdout().is_terminal() { Style::new().dimmed() } else { Style::new() };
    let texts: Vec<String> = outcome.reports.iter().filter_map(Value::as_dict).map(module).collect();
    (!texts.is_empty()).then(|| format!("{style}  {}{style:#}\n", texts.join("; ")))
}

fn module(report: &modbox_contract::Dict) -> String {
    let within = |key: &str, inner: &str| report.get(key).and_then(Value::as_dict).and_then(|dict| dict.get(inner));
    let text = |value: Option<&Value>| value.map(modbox_python_json::str).unwrap_or_default();
    let (name, kind) = (text(within("module", "name")), text(within("module", "kind")));
    let level = text(within("confinement", "level"));
    format!("{} ({kind}) at level {level}", clean_line(&name))
}

/// Returns the columns of a banner: those of the terminal, or Ansible's.
fn columns() -> usize {
    if !io::stdout().is_terminal() {
        return COLUMNS;
    }
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    size.map_or(COLUMNS, |size| usize::from(size.ws_col).saturating_sub(1)).max(COLUMNS)
}

/// Prints a text. What modules put into it is cleaned on a terminal.
fn print(stream: Stream, text: &str) {
    // Nothing can be done about a stream that is gone; the play goes on.
    match stream {
        Stream::Output => drop(write(&mut io::stdout().lock(), io::stdout().is_terminal(), text)),
        Stream::Error => drop(write(&mut io::stderr().lock(), io::stderr().is_terminal(), text)),
    }
}

fn write(out: &mut impl Write, is_terminal: bool, text: &str) -> io::Result<()> {
    if is_terminal {
        let mut coloured = AutoStream::new(Vec::new(), AutoStream::choice(&io::stdout()));
        text.split_inclusive('\n').try_for_each(|line| coloured.write_all(colour(line).as_bytes()))?;
        out.write_all(&coloured.into_inner())?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}

/// Returns a line in the colour of its beginning.
fn colour(line: &str) -> String {
    if line.starts_with('\u{1b}') {
        // A line of this program's own.
        return line.to_owned();
    }
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
        let plain = |line: &str| anstream::adapter::strip_str(&colour(line)).to_string();
        assert!(colour("ok: [localhost]\n").contains("\u{1b}[32m"));
        assert_eq!(plain("ok: [localhost]\n"), "ok: [localhost]\n");
        assert_eq!(plain("msg \u{1b}[2J\n"), format!("{}\n", clean("msg \u{1b}[2J")));
    }
}
