//! Events of a play as JSON lines, with the whole report of each run.

use std::io::Write;

use modbox_contract::{Dict, Value, encode};
use modbox_run::CENSORED;
use modbox_tasks::report::counters::Counters;
use modbox_tasks::report::events::{Event, Events, PlayInfo, TaskInfo};
use modbox_tasks::report::outcome::Outcome;

use crate::cli::play::python_plugins::PluginListing;

/// Writer of events as JSON lines.
pub(crate) struct JsonLines<W> {
    out: W,
    error: Option<std::io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Creates a writer.
    pub(crate) fn new(out: W) -> Self {
        Self { out, error: None }
    }

    /// Returns the first error of writing.
    pub(crate) fn finish(self) -> std::io::Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    /// Writes the event `plugins`: the Python plugins of the play, if there are any.
    pub(crate) fn plugins(&mut self, plugins: &[PluginListing]) {
        if !plugins.is_empty() {
            self.line("plugins", vec![("plugins", Value::List(plugins.iter().map(PluginListing::json).collect()))]);
        }
    }

    fn line(&mut self, event: &str, fields: Vec<(&str, Value)>) {
        let mut line = Dict::new();
        line.insert("event".to_owned(), event.into());
        line.extend(fields.into_iter().map(|(key, value)| (key.to_owned(), value)));
        let text = encode(&Value::Dict(line)) + "\n";
        if self.error.is_none()
            && let Err(error) = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush())
        {
            self.error = Some(error);
        }
    }
}

impl<W: Write> Events for JsonLines<W> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::PlaybookStart { file } => self.line("playbook_start", vec![("file", file.into())]),
            Event::PlayStart(play) => self.line("play_start", play_fields(play)),
            Event::NoHostsMatched => self.line("no_hosts_matched", Vec::new()),
            Event::NoHostsRemaining => self.line("no_hosts_remaining", Vec::new()),
            Event::TaskStart(task) => self.line("task_start", task_fields(task)),
            Event::Item { task, outcome } => self.line("item", outcome_fields(task, outcome)),
            Event::Retry { task, outcome } => self.line("retry", outcome_fields(task, outcome)),
            Event::Result { task, outcome, ignored } => {
                let mut fields = outcome_fields(task, outcome);
                fields.push(("ignored", ignored.into()));
                self.line("result", fields);
            }
            Event::Included { task, name, label } => {
                let mut fields = task_fields(task);
                fields.push(("included", name.into()));
                fields.push(("label", label.map_or(Value::Null, Value::from)));
                self.line("included", fields);
            }
            Event::AsyncPoll { id, .. } => self.line("async_poll", vec![("job", id.into())]),
            Event::AsyncEnd { id, failed } => {
                self.line("async_end", vec![("job", id.into()), ("failed", failed.into())]);
            }
            Event::Notified { handler } => self.line("handler", vec![("handler", handler.into())]),
            Event::Meta { text } | Event::Display { text } => self.line("message", vec![("text", text.into())]),
            Event::Verbose { level, text } => {
                self.line("verbose", vec![("level", u64::from(level).into()), ("text", text.into())]);
            }
            Event::Warning(message) => self.line("warning", vec![("text", message.brief().into())]),
            Event::Error(message) => {
                let mut fields = vec![("text", message.brief().into())];
                fields.extend(message.place().map(|place| ("position", place.into())));
                self.line("error", fields);
            }
            Event::Stats { hosts, .. } => {
                for (host, counters) in hosts {
                    let fields = vec![("host", host.as_str().into()), ("stats", Value::Dict(counts(counters)))];
                    self.line("stats", fields);
                }
            }
        }
    }
}

fn play_fields(play: &PlayInfo) -> Vec<(&'static str, Value)> {
    vec![
        ("play", play.name.as_str().into()),
        ("path", play.position.to_string().into()),
        ("check_mode", play.check_mode.into()),
    ]
}

fn task_fields(task: &TaskInfo) -> Vec<(&'static str, Value)> {
    vec![
        ("id", task.id.into()),
        ("task", task.name.as_str().into()),
        ("action", task.action.as_str().into()),
        ("path", task.position.to_string().into()),
        ("host", task.host.as_str().into()),
        ("is_handler", task.is_handler.into()),
        ("check_mode", task.check_mode.into()),
    ]
}

fn outcome_fields(task: &TaskInfo, outcome: &Outcome) -> Vec<(&'static str, Value)> {
    let mut fields = task_fields(task);
    fields.push(("status", outcome.status().to_string().into()));
    if outcome.is_hidden() {
        let mut censored = Dict::new();
        censored.insert("censored".to_owned(), CENSORED.into());
        censored.insert("changed".to_owned(), outcome.is_changed().into());
        fields.push(("result", Value::Dict(censored)));
        return fields;
    }
    fields.push(("result", Value::Dict(outcome.registered())));
    fields.push(("reports", Value::List(outcome.reports.clone())));
    fields
}

/// Returns the counters of a recap.
pub(crate) fn counts(counters: &Counters) -> Dict {
    counters.named().into_iter().map(|(name, count)| (name.to_owned(), Value::from(count))).collect()
}
