//! Starts logging for `--log`. Without `--log` there is no subscriber, and an event costs one comparison.
//!
//! Events contain files, paths and texts that modules chose. Each event is one line, written at once, and cleaned as
//! all terminal output is, so that no text can look like a separate event. Secrets of runs are masked.

use std::fmt::Write as _;
use std::io::{self, Write};

use modbox_run::mask_live_secrets;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry;

use crate::cli::args::{LogArgs, LogFormat, LogLevel};
use crate::cli::printing::output;

/// Starts logging, if the command line asks for it.
pub(crate) fn start(args: &LogArgs) {
    let Some(level) = args.log else { return };
    let events = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Lines(args.log_format));
    let layer = match args.log_format {
        LogFormat::Text => events.boxed(),
        LogFormat::Json => events.json().flatten_event(true).boxed(),
    };
    let subscriber = registry().with(layer.with_filter(targets(level)));
    // Fails only when a subscriber is set already; no other code sets one.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// Returns the filter for a level. Events of other crates appear only at `trace`, for debugging the engine.
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

/// Writer to standard error, one line at a time.
#[derive(Debug, Clone, Copy)]
struct Lines(LogFormat);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for Lines {
    /// Writes one event. The subscriber calls this once for each event.
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
    let text = mask_live_secrets(text.strip_suffix('\n').unwrap_or(&text));
    let cleaned = match format {
        LogFormat::Text => output::clean_line(&text),
        LogFormat::Json => ascii_json(&text),
    };
    cleaned + "\n"
}

/// Escapes characters that JSON allows in strings but terminals interpret.
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
