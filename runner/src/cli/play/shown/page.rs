//! A play's run as one HTML page: tasks, times, results, differences and denials.
//!
//! Everything on it comes from plays and modules, so it is hostile; see [`html`].

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use modbox_contract::{Dict, Value};
use modbox_run::CENSORED;
use modbox_tasks::report::counters::Counters;
use modbox_tasks::report::events::{Event, Events, TaskInfo};
use modbox_tasks::report::outcome::{Outcome, Status};
use modbox_tasks::report::{callback, diff, json};

use crate::cli::play::shown::page_details::{Details, MAX_DETAIL};
use crate::cli::printing::html::{self, Escaped};

/// Tasks that are listed. Browsers become slow with many more.
const MAX_TASKS: usize = 5000;

/// Bytes of all listed tasks.
const MAX_BYTES: usize = 64 << 20;

/// Characters of a cell.
const MAX_CELL: usize = 200;

/// A page that is put together from events.
pub(crate) struct PlayPage {
    began: Instant,
    task_began: Instant,
    playbooks: Vec<String>,
    plays: Vec<String>,
    rows: Vec<Row>,
    bytes: usize,
    left_out: u64,
    recap: Vec<(&'static str, u64)>,
    messages: Vec<String>,
}

/// A task that ended.
struct Row {
    name: String,
    action: String,
    status: &'static str,
    items: usize,
    began: Duration,
    took: Duration,
    is_denied: bool,
    /// The list of its details, as HTML.
    details: String,
}

impl PlayPage {
    /// Creates an empty page. The run begins now.
    pub(crate) fn new() -> Self {
        let now = Instant::now();
        Self {
            began: now,
            task_began: now,
            playbooks: Vec::new(),
            plays: Vec::new(),
            rows: Vec::new(),
            bytes: 0,
            left_out: 0,
            recap: Vec::new(),
            messages: Vec::new(),
        }
    }

    /// Writes the page.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub(crate) fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        html::begin(&mut out, "modbox play")?;
        out.write_all(self.head().as_bytes())?;
        let whole = self.rows.iter().map(|row| row.began + row.took).max().unwrap_or_default();
        for (number, row) in self.rows.iter().enumerate() {
            out.write_all(row.html(number + 1, whole).as_bytes())?;
        }
        html::end(&mut out)
    }

    fn head(&self) -> String {
        let files = Escaped(&self.playbooks.join(", "), MAX_DETAIL).to_string();
        let took = self.rows.last().map_or(Duration::ZERO, |row| row.began + row.took);
        let mut text = format!(
            "<header>\n<h1>Play</h1>\n<p>{files}: {} in {}</p>\n</header>\n<main>\n\
             <section class=\"cards\" aria-label=\"Recap\">\n",
            counted(self.rows.len() as u64 + self.left_out, "task"),
            duration(took),
        );
        for (label, count) in &self.recap {
            let class = match *label {
                "failed" | "unreachable" if *count > 0 => "bad",
                "changed" if *count > 0 => "warn",
                _ => "",
            };
            let _ = writeln!(text, "<div class=\"card {class}\"><b>{count}</b> {label}</div>");
        }
        let denied = self.rows.iter().filter(|row| row.is_denied).count();
        let class = if denied > 0 { "bad" } else { "" };
        let _ = writeln!(text, "<div class=\"card {class}\"><b>{denied}</b> with denials</div>\n</section>");
        for message in &self.messages {
            let _ = writeln!(text, "<p>{}</p>", Escaped(message, MAX_DETAIL));
        }
        let note = match self.left_out {
            0 => "In the order of the run. Open a task for its result, differences, grants and denials.".to_owned(),
            more => format!("The first {} are listed; {more} more ran.", counted(self.rows.len() as u64, "task")),
        };
        let _ = write!(
            text,
            "<h2>Tasks</h2>\n<p id=\"note\">{note}</p>\n<form id=\"filters\" hidden>\n\
             <input id=\"text\" type=\"search\" placeholder=\"Filter by any text\" aria-label=\"Filter by any text\">\n\
             <select id=\"status\" aria-label=\"Status\"><option value=\"\">all statuses</option></select>\n\
             <label><input id=\"denied\" type=\"checkbox\"> with denials</label>\n\
             <output id=\"count\" aria-live=\"polite\"></output>\n</form>\n<table id=\"runs\" class=\"play\">\n<thead><tr>"
        );
        for (number, column) in ["No.", "Task", "Action", "Status", "Items", "Duration", "Time"].iter().enumerate() {
            let class = if matches!(number, 0 | 4 | 5) { " class=\"number\"" } else { "" };
            let _ = write!(text, "<th scope=\"col\"{class}>{column}</th>");
        }
        text + "</tr></thead>\n"
    }

    fn push(&mut self, task: &TaskInfo, outcome: &Outcome, ignored: bool) {
        let (began, took) = (self.task_began.duration_since(self.began), self.task_began.elapsed());
        if self.rows.len() == MAX_TASKS || self.bytes > MAX_BYTES {
            self.left_out += 1;
            return;
        }
        let found = denials(outcome);
        let is_denied = !found.is_empty();
        let details = details(self.plays.last(), task, outcome, ignored, &found);
        self.bytes += details.len();
        self.rows.push(Row {
            name: task.name.clone(),
            action: if task.is_handler { format!("{}, handler", task.action) } else { task.action.clone() },
            status: status(outcome, is_denied, ignored),
            items: outcome.items.len(),
            began,
            took,
            is_denied,
            details,
        });
    }
}

impl Events for PlayPage {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::PlaybookStart { file } => self.playbooks.push(file.to_owned()),
            Event::PlayStart(play) => self.plays.push(play.name.clone()),
            Event::TaskStart(_) => self.task_began = Instant::now(),
            Event::Result { task, outcome, ignored } => self.push(task, outcome, ignored),
            Event::NoHostsMatched => self.messages.push("A play is for other hosts.".to_owned()),
            Event::Warning(message) => self.messages.push(message.brief()),
            Event::Error(message) => {
                let place = message.place().map_or_else(String::new, |place| format!("{place}: "));
                self.messages.push(place + &message.brief());
            }
            Event::Stats { hosts, .. } => self.recap = sum(hosts),
            _ => {}
        }
    }
}

/// Returns the sums of the counters of all hosts.
fn sum(hosts: &[(String, Counters)]) -> Vec<(&'static str, u64)> {
    let mut sums = Counters::default().named();
    for (_, counters) in hosts {
        sums.iter_mut().zip(counters.named()).for_each(|(sum, (_, count))| sum.1 += count);
    }
    sums.to_vec()
}

impl Row {
    /// Returns the task: a row, and a row with its details, which the style shows if the first is open. `whole` is the time
    /// of the play.
    fn html(&self, number: usize, whole: Duration) -> String {
        let class = if self.is_denied { " class=\"has-denials\"" } else { "" };
        format!(
            "<tbody{class}>\n<tr class=\"run\"><td class=\"number\">{number}</td>\
             <td class=\"name\"><details{}><summary>{}</summary></details></td><td>{}</td>\
             <td><span class=\"status {}\">{}</span></td><td class=\"number\">{}</td>\
             <td class=\"number\" data-key=\"{}\">{}</td><td data-key=\"{}\">{}</td></tr>\n\
             <tr class=\"more\"><td colspan=\"7\"><dl>\n{}</dl></td></tr>\n</tbody>\n",
            // Why a task failed is what a reader looks for.
            if matches!(self.status, "failed" | "denied" | "unreachable") { " open" } else { "" },
            Escaped(&self.name, MAX_CELL),
            Escaped(&self.action, MAX_CELL),
            html::status_class(self.status),
            self.status,
            if self.items == 0 { "–".to_owned() } else { self.items.to_string() },
            self.took.as_micros(),
            duration(self.took),
            self.began.as_micros(),
            bar(self.began, self.took, whole),
            self.details,
        )
    }
}

/// Returns the bar that shows when a task ran, in the time of the play.
fn bar(began: Duration, took: Duration, whole: Duration) -> String {
    let whole = whole.as_micros().max(1);
    // A task of a moment has a width that can be seen.
    let width = took.as_micros().max(whole / 100).max(1);
    format!(
        "<svg class=\"bar\" role=\"img\" aria-label=\"began after {}, took {}\" viewBox=\"0 0 {whole} 1\" \
         preserveAspectRatio=\"none\"><rect class=\"all\" width=\"{whole}\" height=\"1\"/>\
         <rect class=\"time\" x=\"{}\" width=\"{width}\" height=\"1\"/></svg>",
        duration(began),
        duration(took),
        began.as_micros(),
    )
}

fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn duration(time: Duration) -> String {
    match time.as_millis() {
        0 => format!("{} µs", time.as_micros()),
        1..1000 => format!("{:.1} ms", time.as_secs_f64() * 1000.0),
        1000..60_000 => format!("{:.1} s", time.as_secs_f64()),
        _ => format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

fn status(outcome: &Outcome, is_denied: bool, ignored: bool) -> &'static str {
    match outcome.status() {
        Status::Ok => "ok",
        Status::Changed => "changed",
        Status::Skipped => "skipped",
        Status::Failed if is_denied => "denied",
        Status::Failed if ignored => "ignored",
        Status::Failed => "failed",
        Status::Unreachable => "unreachable",
    }
}

/// Returns the reports of the modules of a task and its items.
fn reports(outcome: &Outcome) -> impl Iterator<Item = &Dict> {
    let own = outcome.reports.iter().chain(outcome.items.iter().flat_map(|item| &item.reports));
    own.filter_map(Value::as_dict)
}

/// Returns what was denied, with the switch that allows it.
fn denials(outcome: &Outcome) -> Vec<String> {
    let is_observed = |report: &&Dict| report.get("observed").is_some_and(Value::is_truthy);
    let all = reports(outcome)
        .filter(|report| !is_observed(report))
        .flat_map(|report| report.get("denials").and_then(Value::as_list).unwrap_or_default());
    let mut texts: Vec<String> = all.filter_map(Value::as_dict).map(denial).collect();
    texts.dedup();
    texts
}

fn denial(denial: &Dict) -> String {
    let part = |key: &str| denial.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}: allow it with {}", part("capability"), part("subject"), part("allow"))
}

/// Returns the list of a task's details as HTML. A result under `no_log` is not in it.
fn details(play: Option<&String>, task: &TaskInfo, outcome: &Outcome, ignored: bool, denials: &[String]) -> String {
    let mut details = Details::default();
    details.push("play", play.map_or("", String::as_str));
    details.push("path", &task.position.to_string());
    if ignored {
        details.push("ignored", "the play went on after the failure");
    }
    if outcome.is_hidden() {
        // What was denied may name what is secret.
        details.push("denied", if denials.is_empty() { "" } else { CENSORED });
        details.push("result", CENSORED);
        return details.into_html();
    }
    denials.iter().for_each(|denial| details.push("denied", denial));
    if let Some(error) = &outcome.error {
        details.push("error", &error.brief());
    }
    outcome.warnings.iter().for_each(|warning| details.push("warning", &warning.brief()));
    for shown in std::iter::once(outcome).chain(&outcome.items) {
        if outcome.is_loop && !std::ptr::eq(shown, outcome) {
            let error = shown.error.as_ref().map(|error| format!(": {}", error.brief())).unwrap_or_default();
            details.push("item", &format!("{} {}{error}", shown.status(), callback::label(shown)));
        }
        if let Some(found) = shown.data.get("diff") {
            details.push("diff", &diff::text(found));
        }
    }
    for grant in reports(outcome).flat_map(|report| report.get("grants").and_then(Value::as_list).unwrap_or_default()) {
        let part = |key: &str| grant.as_dict().and_then(|grant| grant.get(key)?.as_str()).unwrap_or_default();
        details.push("granted", &format!("{} {} ({})", part("capability"), part("subject"), part("source")));
    }
    let mut result = outcome.registered();
    leave_out_differences(&mut result);
    details.push("result", &json::dumps(&result, Some(2), false));
    details.into_html()
}

/// Removes the differences from a result and from those of its items, since they are shown as such.
fn leave_out_differences(result: &mut Dict) {
    result.shift_remove("diff");
    if let Some(Value::List(items)) = result.get_mut("results") {
        for item in items {
            if let Value::Dict(item) = item {
                item.shift_remove("diff");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(status: &'static str) -> String {
        let row = Row {
            name: "a".to_owned(),
            action: "debug".to_owned(),
            status,
            items: 0,
            began: Duration::ZERO,
            took: Duration::ZERO,
            is_denied: false,
            details: String::new(),
        };
        row.html(1, Duration::ZERO)
    }

    #[test]
    fn only_failures_are_open() {
        for (status, is_open) in
            [("failed", true), ("denied", true), ("unreachable", true), ("ok", false), ("ignored", false)]
        {
            assert_eq!(row(status).contains("<details open>"), is_open, "{status}");
        }
    }

    #[test]
    fn one_task_is_not_one_tasks() {
        let head = |left_out| PlayPage { left_out, ..PlayPage::new() }.head();
        assert!(head(1).contains(": 1 task in ") && head(0).contains(": 0 tasks in "), "{}", head(1));
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let check = |millis: u64, expect: &str| assert_eq!(duration(Duration::from_millis(millis)), expect);
        assert_eq!(duration(Duration::from_micros(40)), "40 µs");
        check(7, "7.0 ms");
        check(1500, "1.5 s");
        check(125_000, "2 min 5 s");
    }
}
