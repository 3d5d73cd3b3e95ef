//! Prints results and reports as JSON, summaries for people, and errors with their causes. Text from modules is cleaned
//! before it is printed.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use anstream::AutoStream;
use anstream::stream::RawStream;
use anstyle::{AnsiColor, Style};
use anyhow::Context as _;
use modbox_python_json::{Value, encode, str as python_str};
use modbox_run::{ADVICE_PREFIX, CENSORED, Report, Status, mask_live_secrets};
use modbox_vocabulary::{error_text, in_words};
use similar::TextDiff;

use crate::cli::args::OutputFormat;
use crate::cli::printing::clean::is_control;
pub(crate) use crate::cli::printing::clean::{clean, clean_line};
use crate::cli::printing::diff_lines::push_diff_lines;
use crate::cli::printing::effect_output::push_effect;

/// Number of unchanged lines shown around a change.
const DIFF_CONTEXT: usize = 3;

/// Maximum characters of a value in the summary; `--output result` prints whole values.
const MAX_SHOWN: usize = 4096;

/// Prints a report in the given format. With `no_log`, only the status of the result is printed.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn print_report(
    report: &mut Report,
    format: OutputFormat,
    no_log: bool,
    verbosity: u8,
) -> anyhow::Result<()> {
    if no_log {
        report.censor();
    }
    match format {
        OutputFormat::Result => print_line(&report.result.to_json()),
        OutputFormat::Report => print_line(&encode(&report.to_value())),
        OutputFormat::Human => {
            let text = if no_log { headline(report) + CENSORED + "\n" } else { summary(report, verbosity) };
            print_bytes(&coloured(&io::stdout(), &text))
        }
    }
}

/// Prints one line to standard output in one write, so that the lines of runs that share a pipe are not interleaved, as
/// long as they are no longer than a pipe writes atomically.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn print_line(line: &str) -> anyhow::Result<()> {
    print_bytes(&[line.as_bytes(), b"\n"].concat())
}

/// Prints a line that may contain a file name: cleaned on a terminal, unchanged otherwise, so that programs get the
/// exact name.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn print_name(line: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() { print_line(&clean_line(line)) } else { print_line(line) }
}

/// Prints bytes to standard output unchanged.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    written(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// Adds a message to an error of writing to standard output.
pub(crate) fn written(result: io::Result<()>) -> anyhow::Result<()> {
    result.context("failed to write to standard output")
}

/// Prints an error and its causes to standard error.
pub(crate) fn print_error(error: &anyhow::Error) {
    let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
    let mut text =
        format!("{style}error:{style:#} {}\n", indented(&clean(&mask_live_secrets(&error_text(error.as_ref())))));
    for cause in error.chain().skip(1) {
        let _ = writeln!(text, "  caused by: {}", indented(&clean(&mask_live_secrets(&error_text(cause)))));
    }
    print_stderr(&text);
}

/// Prints a note to standard error.
pub(crate) fn print_note(note: &str) {
    print_stderr(&format!("modbox: {}\n", indented(&clean(&mask_live_secrets(&in_words(note))))));
}

/// Prints text of another program's form to standard error.
pub(crate) fn print_raw_error(text: &str) {
    print_stderr(&clean(text));
}

/// Prints clap's error message, which quotes the command line. If the command line has control characters, the message
/// is cleaned, and loses clap's colours, too.
pub(crate) fn print_usage_error(error: &clap::Error, argv: &[OsString]) {
    if argv.iter().all(|word| word.to_string_lossy().chars().all(|c| !is_control(c))) {
        // Nothing can be done about a standard error that is gone.
        drop(error.print());
    } else {
        print_stderr(&clean(&error.render().to_string()));
    }
}

/// Prints text with styles to standard error, without the styles if that shows none. What is foreign in it is cleaned.
pub(crate) fn print_stderr(text: &str) {
    // Nothing can be done about a standard error that is gone.
    drop(io::stderr().lock().write_all(&coloured(&io::stderr(), text)));
}

/// Returns the text's bytes, without colours if the stream shows none. The caller can write them in one call.
pub(crate) fn coloured(stream: &impl RawStream, text: &str) -> Vec<u8> {
    let mut kept = AutoStream::new(Vec::with_capacity(text.len()), AutoStream::choice(stream));
    // Writing to memory does not fail.
    let _ = kept.write_all(text.as_bytes());
    kept.into_inner()
}

fn style_of(status: Status) -> Style {
    let color = match status {
        Status::Ok => AnsiColor::Green,
        Status::Changed => AnsiColor::Yellow,
        Status::Skipped => AnsiColor::Cyan,
        Status::Failed | Status::Denied | Status::Limit | Status::Crashed | Status::Cancelled => AnsiColor::Red,
    };
    Style::new().bold().fg_color(Some(color.into()))
}

fn headline(report: &Report) -> String {
    let style = style_of(report.status);
    // The name says more than the path of an installed or built file.
    let module = &report.module;
    let mut shown = clean_line(module.name.as_ref().unwrap_or(&module.path));
    if let Some(version) = &module.version {
        let _ = write!(shown, " {}", clean_line(version));
    }
    format!("{style}{}{style:#}: {shown}\n", report.status.as_str())
}

fn summary(report: &Report, verbosity: u8) -> String {
    let mut text = headline(report);
    let dict = report.result.as_dict();
    for (key, value) in dict {
        let hidden = matches!(key.as_str(), "changed" | "failed" | "diff" | "warnings" | "deprecations")
            || key.ends_with("_lines")
            || (key == "invocation" && verbosity < 3)
            || (key == "exception" && verbosity < 3)
            || value.as_str() == Some("");
        if !hidden {
            push_value(&mut text, key, value);
        }
    }
    match (&report.effect, dict.get("diff")) {
        (Some(effect), _) => push_effect(&mut text, effect),
        (None, Some(diff)) => push_diffs(&mut text, diff),
        (None, None) => {}
    }
    push_warnings(&mut text, dict.get("warnings"));
    push_advice(&mut text, report);
    push_tips(&mut text, report);
    if let Some(path) = &report.kept_files {
        let _ = writeln!(text, "  files kept in {}", clean_line(path));
    }
    if verbosity > 0 {
        push_details(&mut text, report);
    }
    text
}

fn push_value(text: &mut String, key: &str, value: &Value) {
    let shown = match value {
        Value::List(_) | Value::Dict(_) => encode(value),
        scalar => python_str(scalar),
    };
    let mut shown = clean(&shown);
    if let Some((cut, _)) = shown.char_indices().nth(MAX_SHOWN) {
        shown.truncate(cut);
        shown.push_str("… (cut; see --output result)");
    }
    let _ = writeln!(text, "  {}: {}", clean_line(key), indented(&shown));
}

fn push_warnings(text: &mut String, warnings: Option<&Value>) {
    let style = Style::new().fg_color(Some(AnsiColor::Magenta.into()));
    let is_advice = |warning: &&Value| warning.as_str().is_some_and(|text| text.starts_with(ADVICE_PREFIX));
    for warning in warnings.and_then(Value::as_list).unwrap_or_default().iter().filter(|warning| !is_advice(warning)) {
        let _ = writeln!(text, "  {style}warning:{style:#} {}", indented(&clean(&python_str(warning))));
    }
}

/// Appends what was denied and what allows it.
fn push_advice(text: &mut String, report: &Report) {
    let style = Style::new().fg_color(Some(AnsiColor::Red.into()));
    for line in report.advice() {
        let _ = writeln!(text, "  {style}denied:{style:#} {}", indented(&clean(&line)));
    }
}

/// Appends what a person may have meant.
fn push_tips(text: &mut String, report: &Report) {
    let style = Style::new().fg_color(Some(AnsiColor::Green.into()));
    for line in report.tips() {
        let _ = writeln!(text, "  {style}tip:{style:#} {}", indented(&clean(&line)));
    }
}

/// Indents all lines of a text but the first, so that none of them looks like a line of modbox.
fn indented(text: &str) -> String {
    text.trim_end_matches('\n').replace('\n', "\n    ")
}

/// Appends the differences in a module's `diff`: one dict or a list of dicts, with `before` and `after` or with
/// `prepared` text.
fn push_diffs(text: &mut String, diff: &Value) {
    let one = std::slice::from_ref(diff);
    for diff in diff.as_list().unwrap_or(one).iter().filter_map(Value::as_dict) {
        let part = |key: &str| diff.get(key).map(diff_text);
        if let Some(prepared) = part("prepared") {
            push_diff_lines(text, &prepared);
        }
        if let (Some(before), Some(after)) = (part("before"), part("after")) {
            let header =
                |key: &str, default: &str| part(key).map_or_else(|| default.to_owned(), |header| clean_line(&header));
            let (old, new) = (header("before_header", "before"), header("after_header", "after"));
            // A lone carriage return ends no line: the sign of the next one would be in the middle of a line.
            let [old_lines, new_lines] = [&before, &after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
            let unified = TextDiff::configure()
                .newline_terminated(true)
                .diff_slices(&old_lines, &new_lines)
                .unified_diff()
                .context_radius(DIFF_CONTEXT)
                .header(&old, &new)
                .to_string();
            push_diff_lines(text, &unified);
        }
    }
}

/// Returns a value of a `diff` as Ansible shows it: text unchanged, other values as JSON.
fn diff_text(value: &Value) -> String {
    match value {
        Value::Str(_) | Value::Surrogates(_) => python_str(value),
        Value::Null => String::new(),
        other => encode(other) + "\n",
    }
}

fn push_details(text: &mut String, report: &Report) {
    let module = &report.module;
    let kind = module.kind.map_or("unknown", modbox_kinds::Kind::as_str);
    let _ = writeln!(text, "  kind {kind}: {}", clean_line(&module.reason));
    for grant in &report.grants {
        let _ = writeln!(
            text,
            "  granted: {} {} ({})",
            grant.capability,
            clean_line(&grant.subject),
            clean_line(&grant.source.to_string())
        );
    }
    // A result that could not be parsed contains it, as `module_stderr`.
    if !report.stderr.is_empty() && report.result.parsed() {
        push_value(text, "stderr", &Value::from(report.stderr.as_str()));
    }
    let (usage, timing) = (&report.usage, &report.timing);
    let _ = writeln!(
        text,
        "  used {:.1} ms wall, {:.1} ms cpu, {} KiB memory; compiled in {:.1} ms",
        millis(usage.wall_us),
        millis(usage.cpu_us),
        usage.memory_bytes >> 10,
        millis(timing.compile_us),
    );
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carriage_return_ends_no_line_of_a_difference() {
        let diff = [("before", "a\n"), ("after", "safe\r-real\n")].into();
        let mut text = String::new();
        push_diffs(&mut text, &diff);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "--- before\n+++ after\n@@ -1 +1 @@\n-a\n+safe\\u{d}-real\n");
    }

    #[test]
    fn diffs_are_unified() {
        let diff = [("before", "a\nb\n"), ("after", "a\nc\n")].into();
        let mut text = String::new();
        push_diffs(&mut text, &diff);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "--- before\n+++ after\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }
}
