//! The text of Ansible's default callback: banners, a line for each result, and the recap.
//!
//! A pure writer over events: it keeps the text, and the caller prints it. Colour is the caller's business, too.

use std::collections::HashSet;

use modbox_python_json::{Dict, Value};
use modbox_yaml::Position;

use crate::model::task::is_builtin;
use crate::report::counters::Counters;
use crate::report::diff;
use crate::report::events::{Event, Events, TaskInfo};
use crate::report::json::dumps;
use crate::report::message::{Excerpt, Message};
use crate::report::outcome::{Outcome, Status, strip_internal};

/// The columns of a banner where the output is not a terminal.
pub const COLUMNS: usize = 79;

/// What is shown instead of a secret result.
const CENSORED: &str = "the output has been hidden due to the fact that 'no_log: true' was specified for this result";

/// Keys that `debug: var=…` does not show.
const HIDDEN_IN_DEBUG: [&str; 8] = [
    "changed",
    "failed",
    "skipped",
    "invocation",
    "skip_reason",
    "ansible_loop_var",
    "ansible_index_var",
    "ansible_loop",
];

/// How the text is written.
#[derive(Debug, Clone, Copy)]
pub struct TextOptions {
    /// The number of `-v`.
    pub verbosity: u8,
    /// The columns of a banner.
    pub columns: usize,
    /// Whether skipped tasks and items are shown.
    pub shows_skipped: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { verbosity: 0, columns: COLUMNS, shows_skipped: true }
    }
}

/// Text that is ready to be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// The writer.
#[derive(Debug)]
pub struct Callback<W> {
    options: TextOptions,
    write: W,
    banner: Option<u64>,
    warnings: HashSet<String>,
    errors: HashSet<String>,
}

impl<W: FnMut(Stream, &str)> Callback<W> {
    /// Returns a writer that hands each text to a function.
    pub fn new(options: TextOptions, write: W) -> Self {
        Self { options, write, banner: None, warnings: HashSet::new(), errors: HashSet::new() }
    }

    fn line(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n");
        if text.ends_with('\n') { (self.write)(Stream::Output, &text) } else { self.raw(&format!("{text}\n")) }
    }

    fn raw(&mut self, text: &str) {
        (self.write)(Stream::Output, text);
    }

    fn heading(&mut self, text: &str) {
        let text = text.trim();
        let stars = self.options.columns.saturating_sub(width(text)).max(3);
        self.raw(&format!("\n{text} {}\n", "*".repeat(stars)));
    }

    fn task_banner(&mut self, task: &TaskInfo) {
        if self.banner == Some(task.id) {
            return;
        }
        let prefix = if task.is_handler { "RUNNING HANDLER" } else { "TASK" };
        self.heading(&format!("{prefix} [{}]", task.name.trim()));
        if self.options.verbosity >= 2 {
            self.path(&task.position);
        }
        self.banner = Some(task.id);
    }

    fn path(&mut self, position: &Position) {
        self.line(&format!("task path: {}:{}", position.file, position.line));
    }

    fn warning(&mut self, message: &Message, kind: &str) {
        let text = format!("[{kind}]: {}", message.verbose());
        if self.warnings.insert(text.clone()) {
            (self.write)(Stream::Error, &text);
        }
    }

    fn error(&mut self, message: &Message, stream: Stream) {
        let text = format!("[ERROR]: {}", message.verbose());
        if self.errors.insert(text.clone()) {
            (self.write)(stream, &text);
        }
    }

    fn messages(&mut self, outcome: &Outcome) {
        if outcome.is_hidden() {
            return self.hidden_error(outcome);
        }
        for warning in &outcome.warnings {
            self.warning(warning, "WARNING");
        }
        for deprecation in &outcome.deprecations {
            self.warning(deprecation, "DEPRECATION WARNING");
        }
        if let Some(error) = &outcome.error {
            self.error(error, Stream::Output);
        }
    }

    /// Writes that a task failed, and where it is written, without what it says: texts of a secret result may have been
    /// made from its arguments, and the lines of the play may hold them.
    fn hidden_error(&mut self, outcome: &Outcome) {
        let Some(error) = &outcome.error else { return };
        let place = error.excerpt.as_ref().map(|excerpt| Excerpt::without_lines(&excerpt.position));
        self.error(&Message::new(format!("Task failed: {CENSORED}.")).at(place), Stream::Output);
    }

    /// Says whether a result is shown in full.
    fn is_verbose(&self, outcome: &Outcome, above: u8) -> bool {
        let flag = |key: &str| outcome.data.get(key) == Some(&Value::Bool(true));
        (self.options.verbosity > above || is_always_verbose(outcome)) && !flag("_ansible_verbose_override")
    }

    /// Writes a result as JSON.
    fn dump(&self, task: &TaskInfo, outcome: &Outcome) -> String {
        self.dump_data(shown(task, outcome, self.options.verbosity), outcome)
    }

    fn dump_data(&self, mut data: Dict, outcome: &Outcome) -> String {
        let always = is_always_verbose(outcome);
        for key in ["exception", "warnings", "deprecations"] {
            data.shift_remove(key);
        }
        let indent = (always || self.options.verbosity > 2).then_some(4);
        dumps(&data, indent, false)
    }

    fn item(&mut self, task: &TaskInfo, outcome: &Outcome) {
        let status = outcome.status();
        if task.is_include && matches!(status, Status::Ok | Status::Changed) {
            return;
        }
        if task.diff && matches!(status, Status::Ok | Status::Changed) {
            self.diff(task, outcome);
        }
        if status == Status::Skipped && !self.options.shows_skipped {
            return;
        }
        self.task_banner(task);
        self.messages(outcome);
        let label = label(outcome);
        match status {
            Status::Failed | Status::Unreachable => {
                let text = self.dump(task, outcome);
                self.line(&format!("failed: [{}] (item={label}) => {text}", task.host_label));
            }
            Status::Skipped => {
                let text = self.in_full(task, outcome);
                self.line(&format!("skipping: [{}] => (item={label}) {text}", task.host));
            }
            Status::Ok | Status::Changed => {
                let text = self.in_full(task, outcome);
                self.line(&format!("{status}: [{}] => (item={label}){text}", task.host_label));
            }
        }
    }

    /// Returns the result as a line ends with it, if it is shown.
    fn in_full(&self, task: &TaskInfo, outcome: &Outcome) -> String {
        if self.is_verbose(outcome, 0) { format!(" => {}", self.dump(task, outcome)) } else { String::new() }
    }

    fn result(&mut self, task: &TaskInfo, outcome: &Outcome, ignored: bool) {
        match outcome.status() {
            Status::Failed => self.failed(task, outcome),
            Status::Unreachable => {
                self.task_banner(task);
                self.messages(outcome);
                let text = self.dump(task, outcome);
                self.line(&format!("fatal: [{}]: UNREACHABLE! => {text}", task.host_label));
            }
            Status::Skipped if !self.options.shows_skipped => {}
            Status::Skipped => {
                self.task_banner(task);
                self.messages(outcome);
                let text = self.in_full(task, outcome);
                self.line(&format!("skipping: [{}]{text}", task.host));
            }
            Status::Ok | Status::Changed => self.succeeded(task, outcome),
        }
        if ignored {
            self.line("...ignoring");
        }
    }

    fn failed(&mut self, task: &TaskInfo, outcome: &Outcome) {
        self.task_banner(task);
        self.messages(outcome);
        // Ansible shows a loop of `debug` as a whole once more, since it forgets the items of the result before it asks
        // for them.
        if outcome.is_loop && !outcome.items.is_empty() && !is_builtin(&task.action, "debug") {
            return;
        }
        let text = self.dump(task, outcome);
        self.line(&format!("fatal: [{}]: FAILED! => {text}", task.host_label));
    }

    fn succeeded(&mut self, task: &TaskInfo, outcome: &Outcome) {
        if outcome.data.contains_key("diff") && task.diff && !outcome.is_loop {
            self.diff(task, outcome);
        }
        self.task_banner(task);
        if task.is_include {
            return;
        }
        self.messages(outcome);
        if outcome.is_loop {
            return;
        }
        let text = self.in_full(task, outcome);
        self.line(&format!("{}: [{}]{text}", outcome.status(), task.host_label));
    }

    fn diff(&mut self, task: &TaskInfo, outcome: &Outcome) {
        let Some(diff) = outcome.data.get("diff").filter(|diff| diff.is_truthy() && outcome.is_changed()) else {
            return;
        };
        if outcome.is_hidden() {
            return;
        }
        let text = diff::text(diff);
        if !text.is_empty() {
            self.task_banner(task);
            self.line(&text);
        }
    }

    fn retry(&mut self, task: &TaskInfo, outcome: &Outcome) {
        let number = |key: &str| outcome.data.get(key).and_then(Value::as_int).unwrap_or_default();
        let left = number("retries") - number("attempts");
        let mut text = format!("FAILED - RETRYING: [{}]: {} ({left} retries left).", task.host_label, task.short_name);
        if self.is_verbose(outcome, 2) {
            // The whole result, also of `debug` (ansible-core 2.21, `v2_runner_retry`).
            let data = shown_of_any(outcome, self.options.verbosity, |_| {});
            text.push_str(&format!("Result was: {}", self.dump_data(data, outcome)));
        }
        self.line(&text);
    }

    fn stats(&mut self, hosts: &[(String, Counters)]) {
        self.heading("PLAY RECAP");
        for (host, counters) in hosts {
            let columns: Vec<String> =
                counters.named().iter().map(|(name, count)| format!("{name}={count:<4}")).collect();
            self.line(&format!("{host:<26} : {}", columns.join(" ")));
        }
        self.raw("\n");
    }
}

impl<W: FnMut(Stream, &str)> Events for Callback<W> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::PlaybookStart { file } if self.options.verbosity > 1 => {
                self.heading(&format!("PLAYBOOK: {}", file.rsplit('/').next().unwrap_or(file)));
            }
            Event::PlayStart(play) if play.name.trim().is_empty() => self.heading("PLAY"),
            Event::PlayStart(play) => self.heading(&format!("PLAY [{}]", play.name.trim())),
            Event::NoHostsMatched => self.line("skipping: no hosts matched"),
            Event::NoHostsRemaining => self.heading("NO MORE HOSTS LEFT"),
            // Where skipped tasks are not shown, the first result begins a task.
            Event::TaskStart(task) if self.options.shows_skipped => self.task_banner(task),
            Event::Item { task, outcome } => self.item(task, outcome),
            Event::Retry { task, outcome } => self.retry(task, outcome),
            Event::Result { task, outcome, ignored } => self.result(task, outcome, ignored),
            Event::Included { task, name, label } => {
                let label = label.map_or_else(String::new, |label| format!(" => (item={label})"));
                self.line(&format!("included: {name} for {}{label}", task.host));
            }
            Event::AsyncPoll { id, started, finished } => {
                self.line(&format!("ASYNC POLL on localhost: jid={id} started={started} finished={finished}"));
            }
            Event::AsyncEnd { id, failed } => {
                let word = if failed { "FAILED" } else { "OK" };
                self.line(&format!("ASYNC {word} on localhost: jid={id}"));
            }
            Event::Notified { handler } if self.options.verbosity > 1 => {
                self.line(&format!("NOTIFIED HANDLER {handler} for localhost"));
            }
            Event::Meta { text } if self.options.verbosity > 1 => self.line(&format!("META: {text}")),
            Event::Display { text } => self.line(text),
            Event::Verbose { level, text } if self.options.verbosity >= level => self.line(text),
            Event::Warning(message) => self.warning(message, "WARNING"),
            Event::Error(message) => self.error(message, Stream::Error),
            Event::Stats { hosts, .. } => self.stats(hosts),
            _ => {}
        }
    }
}

/// Says whether an action wants its result shown in full. What is hidden has lost that.
fn is_always_verbose(outcome: &Outcome) -> bool {
    outcome.data.get("_ansible_verbose_always").is_some_and(Value::is_truthy) && !outcome.is_hidden()
}

/// Returns what is shown of a result: without statuses, internal keys and what a verbosity hides.
fn shown(task: &TaskInfo, outcome: &Outcome, verbosity: u8) -> Dict {
    shown_of_any(outcome, verbosity, |data| {
        if is_builtin(&task.action, "debug") {
            data.shift_remove("invocation");
            if data.contains_key("msg") {
                data.retain(|key, _| key == "msg" || key.starts_with('_'));
            } else {
                HIDDEN_IN_DEBUG.iter().for_each(|key| drop(data.shift_remove(*key)));
            }
        }
    })
}

/// Returns the same of a result of any action. `hide` takes away what an action does not show.
fn shown_of_any(outcome: &Outcome, verbosity: u8, hide: impl FnOnce(&mut Dict)) -> Dict {
    let mut data = if outcome.is_hidden() { censored(outcome) } else { outcome.data.clone() };
    data.shift_remove("failed");
    data.shift_remove("skipped");
    hide(&mut data);
    strip_internal(&mut data);
    if verbosity < 3 {
        data.shift_remove("invocation");
        data.shift_remove("diff");
    }
    data
}

/// Returns what is shown of a result that must not be shown.
fn censored(outcome: &Outcome) -> Dict {
    const KEPT: [&str; 3] = ["attempts", "changed", "retries"];
    let kept = |key: &&str| outcome.data.get(*key).map(|value| ((*key).to_owned(), value.clone()));
    let mut data: Dict = KEPT.iter().filter_map(kept).collect();
    data.insert("censored".to_owned(), Value::from(CENSORED));
    data
}

/// Returns the label of a loop's item.
#[must_use]
pub fn label(outcome: &Outcome) -> String {
    if outcome.is_hidden() {
        return "(censored due to no_log)".to_owned();
    }
    let label = outcome.data.get("_ansible_item_label").or_else(|| outcome.data.get("item"));
    label.map_or_else(|| "None".to_owned(), modbox_python_json::str)
}

/// Returns how many columns a text takes: two for wide characters, and none for those that combine.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
            0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
            0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f900..=0x1f9ff | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}
