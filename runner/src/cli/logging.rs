//! Starts the logs that `--log` asks for. Without it there is no subscriber, and an event costs a comparison.
//!
//! Events name files, paths and texts that modules chose. Each event is one line, written at once, and cleaned like
//! everything that reaches a terminal; no text can pose as an event of its own.

use std::fmt::Write as _;
use std::io::{self, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry;

use crate::cli::args::{LogArgs, LogFormat, LogLevel};
use crate::cli::output;

/// Starts the logs, if there are to be any.
pub(crate) fn start(args: &LogArgs) {
    let Some(level) = args.log else { return };
    let events = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Lines(args.log_format));
    let layer = match args.log_format {
        LogFormat::Text => events.boxed(),
        LogFormat::Json => events.json().flatten_event(true).boxed(),
    };
    let subscriber = registry().with(layer.with_filter(targets(level)));
    // Fails only when there is one already, and nothing else starts any.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Other crates' events are for those who look into the engine itself.
fn targets(level: LogLevel) -> Targets {
    let (own, others) = match level {
        LogLevel::Error => (LevelFilter::ERROR, LevelFilter::OFF),
        LogLevel::Warn => (LevelFilter::WARN, LevelFilter::OFF),
        LogLevel::Info => (LevelFilter::INFO, LevelFilter::OFF),
        LogLevel::Debug => (LevelFilter::DEBUG, LevelFilter::OFF),
        LogLevel::Trace => (LevelFilter::TRACE, LevelFilter::TRACE),
    };
    Targets::new().with_target(env!("CARGO_CRATE_NAME"), own).with_default(others)
}

/// Standard error, line by line.
#[derive(Debug, Clone, Copy)]
struct Lines(LogFormat);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for Lines {
    /// Is given one event at a time.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(line(self.0, event).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn line(format: LogFormat, event: &[u8]) -> String {
    let text = String::from_utf8_lossy(event);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let cleaned = match format {
        LogFormat::Text => output::clean_line(text),
        LogFormat::Json => ascii_json(text),
    };
    cleaned + "\n"
}

/// Escapes what JSON lets stand in strings and a terminal obeys.
fn ascii_json(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for unit in json.encode_utf16() {
        match u8::try_from(unit).map(char::from) {
            Ok(plain @ ' '..='~') => ascii.push(plain),
            _ => drop(write!(ascii, "\\u{unit:04x}")),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_without_control_characters() {
        let event = "INFO name=\"a\u{1b}[31m\u{9b}\u{202e}\" x\nINFO forged\n".as_bytes();
        assert_eq!(line(LogFormat::Text, event), "INFO name=\"a\\u{1b}[31m\\u{9b}\\u{202e}\" x\\u{a}INFO forged\n");
        let event = "{\"name\":\"\u{9b}\u{7f}\u{1f600}\"}\n".as_bytes();
        assert_eq!(line(LogFormat::Json, event), "{\"name\":\"\\u009b\\u007f\\ud83d\\ude00\"}\n");
    }
}
