//! The runs of an audit log as one HTML page that needs nothing else: no file, no network, and a script only for sorting
//! and filtering.
//!
//! The log is hostile; see [`html`]. The page lists the newest runs that fit into it, and counts all.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::time::UNIX_EPOCH;

use crate::cli::audit_view::details::{circumstances, course};
use crate::cli::audit_view::entry::{AuditEntry, duration_text, time_text};
use crate::cli::audit_view::summary::{AuditSummary, RunCounts};
use crate::cli::printing::html::{self, Escaped};

/// Runs that are listed. Browsers become slow with many more.
const MAX_RUNS: usize = 5000;

/// Bytes of all listed runs.
const MAX_BYTES: usize = 64 << 20;

/// Characters of a cell, and of a detail.
const MAX_CELL: usize = 200;
const MAX_DETAIL: usize = 8 << 10;

/// Details of a run. The log has fewer.
const MAX_DETAILS: usize = 400;

/// Modules, and hosts, in the summary.
const MAX_NAMES: usize = 200;

/// A page that is put together.
#[derive(Debug, Default)]
pub(crate) struct AuditPage {
    summary: AuditSummary,
    runs: VecDeque<String>,
    bytes: usize,
}

impl AuditPage {
    /// Adds a run; an older one makes room for it.
    pub(crate) fn push(&mut self, entry: &AuditEntry) {
        self.summary.add(entry);
        let run = run(entry);
        self.bytes += run.len();
        self.runs.push_back(run);
        while self.runs.len() > MAX_RUNS || (self.bytes > MAX_BYTES && self.runs.len() > 1) {
            self.bytes -= self.runs.pop_front().map_or(0, |run| run.len());
        }
    }

    /// Writes the page. The newest run is the first: the page has the summary above it.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub(crate) fn write(&self, mut out: impl io::Write) -> io::Result<()> {
        html::begin(&mut out, "modbox audit")?;
        out.write_all(self.head().as_bytes())?;
        for run in self.runs.iter().rev() {
            out.write_all(run.as_bytes())?;
        }
        html::end(&mut out)
    }

    /// Returns the page above the first run.
    fn head(&self) -> String {
        let all = self.summary.all;
        let span = self.summary.span.map_or_else(
            || "No runs.".to_owned(),
            |(first, last)| format!("{} to {} UTC", time_text(first), time_text(last)),
        );
        let mut text = format!(
            "<header>\n<h1>Audit log</h1>\n<p>{span}</p>\n</header>\n<main>\n<section class=\"cards\" aria-label=\"Summary\">\n"
        );
        let (modules, hosts) = (self.summary.by_module(), self.summary.by_host());
        let cards = [
            (all.runs, "runs", ""),
            (all.failed, "failed", if all.failed > 0 { "bad" } else { "" }),
            (all.denied, "with denials", if all.denied > 0 { "warn" } else { "" }),
            (modules.len() as u64, "modules", ""),
        ];
        // The log of one machine has nothing to compare.
        let has_hosts = hosts.len() > 1;
        let of_hosts = has_hosts.then_some((hosts.len() as u64, "hosts", ""));
        for (count, label, class) in cards.into_iter().chain(of_hosts) {
            let _ = writeln!(text, "<div class=\"card {class}\"><b>{count}</b> {label}</div>");
        }
        text.push_str("</section>\n");
        push_counts(&mut text, "Module", &modules);
        if has_hosts {
            push_counts(&mut text, "Host", &hosts);
        }
        let listed = self.runs.len() as u64;
        let note = match all.runs > listed {
            true => {
                format!("The newest {listed} of {} runs are listed; filters of modbox audit show others.", all.runs)
            }
            false => "Newest first. Open a run for its grants, denials and notes.".to_owned(),
        };
        let _ = write!(
            text,
            "<h2>Runs</h2>\n<p id=\"note\">{note}</p>\n<form id=\"filters\" hidden>\n\
             <input id=\"text\" type=\"search\" placeholder=\"Filter by any text\" aria-label=\"Filter by any text\">\n\
             <select id=\"status\" aria-label=\"Status\"><option value=\"\">all statuses</option></select>\n\
             <label><input id=\"denied\" type=\"checkbox\"> with denials</label>\n\
             <output id=\"count\" aria-live=\"polite\"></output>\n</form>\n\
             <table id=\"runs\">\n<thead><tr>"
        );
        let columns = ["Time (UTC)", "Module", "Kind", "Status", "Exit", "User", "Duration", "Denials", "Host"];
        for (number, column) in columns.iter().enumerate() {
            let class = if matches!(number, 4 | 6 | 7) { " class=\"number\"" } else { "" };
            let _ = write!(text, "<th scope=\"col\"{class}>{column}</th>");
        }
        text + "</tr></thead>\n"
    }
}

/// Appends the table of what has a name, such as modules.
fn push_counts(text: &mut String, what: &str, named: &[(&str, RunCounts)]) {
    if named.is_empty() {
        return;
    }
    let open = if named.len() <= 12 { " open" } else { "" };
    let _ = write!(
        text,
        "<details class=\"modules\"{open}><summary><h2>{what}s</h2></summary>\n<table>\n<thead><tr>\
         <th scope=\"col\">{what}</th><th scope=\"col\" class=\"number\">Runs</th>\
         <th scope=\"col\" class=\"number\">Failed</th><th scope=\"col\" class=\"number\">With denials</th>\
         <th scope=\"col\" class=\"number\">Denials</th><th scope=\"col\">Share failed</th></tr></thead>\n<tbody>\n"
    );
    for (name, counts) in named.iter().take(MAX_NAMES) {
        let RunCounts { runs, failed, denied, denials } = counts;
        let _ = writeln!(
            text,
            "<tr><th scope=\"row\" class=\"name\">{}</th><td class=\"number\">{runs}</td><td class=\"number\">{failed}</td>\
             <td class=\"number\">{denied}</td><td class=\"number\">{denials}</td>\
             <td><svg class=\"bar\" role=\"img\" aria-label=\"{failed} of {runs} failed\" viewBox=\"0 0 {runs} 1\" \
             preserveAspectRatio=\"none\"><rect class=\"all\" width=\"{runs}\" height=\"1\"/>\
             <rect class=\"part\" width=\"{failed}\" height=\"1\"/></svg></td></tr>",
            Escaped(name, MAX_CELL)
        );
    }
    text.push_str("</tbody>\n</table>\n");
    if let Some(more) = named.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
        let _ = writeln!(text, "<p>and {more} more</p>");
    }
    text.push_str("</details>\n");
}

/// Returns a run: a row, and a row with its details, which the style shows if the first is open.
fn run(entry: &AuditEntry) -> String {
    let dash = |text: String| if text.is_empty() { "–".to_owned() } else { text };
    let status = entry.status();
    let class = html::status_class(status);
    let exit = entry.exit().map_or_else(|| "–".to_owned(), |exit| exit.to_string());
    let denials = entry.denials();
    let micros = entry.time().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
    let cell = |text: String| Escaped(&dash(text), MAX_CELL).to_string();
    let mut text = format!(
        "<tbody{}>\n<tr class=\"run\"><td data-key=\"{micros}\">{}</td>\
         <td class=\"name\"><details><summary>{}</summary></details></td><td>{}</td>\
         <td><span class=\"status {class}\">{}</span></td><td class=\"number\">{exit}</td><td>{}</td>\
         <td class=\"number\" data-key=\"{}\">{}</td><td class=\"number\">{denials}</td><td>{}</td></tr>\n\
         <tr class=\"more\"><td colspan=\"9\"><dl>\n",
        if entry.is_denied() { " class=\"has-denials\"" } else { "" },
        entry.time_text(),
        cell(entry.module()),
        cell(entry.kind()),
        cell(status.to_owned()),
        cell(entry.user()),
        entry.micros(),
        duration_text(entry.micros()),
        cell(entry.host()),
    );
    for detail in course(entry).into_iter().chain(circumstances(entry)).take(MAX_DETAILS) {
        let detail_text = Escaped(&detail.text, MAX_DETAIL);
        let _ = writeln!(text, "<dt class=\"{0}\">{0}</dt><dd>{detail_text}</dd>", detail.label);
    }
    text + "</dl></td></tr>\n</tbody>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_runs_are_listed_and_all_are_counted() {
        let mut page = AuditPage::default();
        for number in 0..MAX_RUNS + 2 {
            let line =
                format!(r#"{{"time": "2026-01-02T03:04:05Z", "status": "ok", "module": {{"name": "m{number:05}"}}}}"#);
            page.push(&AuditEntry::parse(line.into_bytes()).unwrap());
        }
        let mut html = Vec::new();
        page.write(&mut html).unwrap();
        let html = String::from_utf8(html).unwrap();
        assert!(html.contains("The newest 5000 of 5002 runs are listed"));
        assert_eq!(html.matches("<tr class=\"run\">").count(), MAX_RUNS);
        let listed = |name: &str| html.contains(&format!("<summary>{name}</summary>"));
        assert!(!listed("m00001") && listed("m00002") && listed("m05001"));
    }
}
