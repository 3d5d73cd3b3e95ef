//! The runs of an audit log as a table: one line each, and with `-v` their details below.
//!
//! The widths of the columns come from the first rows, so that the table is written while the log is read.

use std::fmt::Write as _;
use std::io;

use anstyle::{AnsiColor, Style};

use crate::cli::audit_view::details::course;
use crate::cli::audit_view::entry::{AuditEntry, duration_text};
use crate::cli::printing::clean::clean_line;

/// Rows that decide the widths.
const MEASURED: usize = 200;

/// Characters of a column. A longer text moves the rest of its row.
const MAX_WIDTH: usize = 40;

const COLUMNS: usize = 9;
const STATUS: usize = 3;
const HOST: usize = 8;
const HEAD: [&str; COLUMNS] = ["TIME (UTC)", "MODULE", "KIND", "STATUS", "EXIT", "USER", "DURATION", "DENIALS", "HOST"];
/// Columns with numbers.
const RIGHT: [bool; COLUMNS] = [false, false, false, false, true, false, true, true, false];

/// A row that waits for the widths.
#[derive(Debug)]
struct Row {
    cells: [String; COLUMNS],
    style: Style,
    details: String,
}

/// Writes the table.
#[derive(Debug)]
pub(crate) struct AuditTable<W> {
    out: W,
    coloured: bool,
    verbose: bool,
    waiting: Vec<Row>,
    /// Whether a controller has collected the log from its hosts.
    is_collected: bool,
    /// Widths of columns; a column without a width is left out.
    widths: Option<[usize; COLUMNS]>,
}

impl<W: io::Write> AuditTable<W> {
    /// Starts a table.
    pub(crate) fn new(out: W, coloured: bool, verbose: bool) -> Self {
        Self { out, coloured, verbose, waiting: Vec::new(), is_collected: false, widths: None }
    }

    /// Adds a run.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub(crate) fn push(&mut self, entry: &AuditEntry) -> io::Result<()> {
        let row = self.row(entry);
        let Some(widths) = self.widths else {
            self.is_collected |= entry.field("host").is_some();
            self.waiting.push(row);
            return if self.waiting.len() < MEASURED { Ok(()) } else { self.measure() };
        };
        self.out.write_all(line(&row, &widths).as_bytes())
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.measure()?;
        self.out.flush()
    }

    fn row(&self, entry: &AuditEntry) -> Row {
        let dash = |text: String| if text.is_empty() { "-".to_owned() } else { clean_line(&text) };
        let cells = [
            entry.time_text(),
            dash(entry.module()),
            dash(entry.kind()),
            dash(entry.status().to_owned()),
            entry.exit().map_or_else(|| "-".to_owned(), |exit| exit.to_string()),
            dash(entry.user()),
            duration_text(entry.micros()),
            entry.denials().to_string(),
            dash(entry.host()),
        ];
        let mut details = String::new();
        if self.verbose {
            for detail in course(entry) {
                let _ = writeln!(details, "    {}: {}", detail.label, clean_line(&detail.text));
            }
        }
        Row { cells, style: if self.coloured { style_of(entry.status()) } else { Style::new() }, details }
    }

    /// Decides the widths and writes the rows that waited. Writes nothing if there is none.
    fn measure(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.waiting);
        let head = Row { cells: HEAD.map(str::to_owned), style: Style::new(), details: String::new() };
        let mut widths = [0; COLUMNS];
        for row in rows.iter().chain([&head]) {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(cell.chars().count().min(MAX_WIDTH));
            }
        }
        // The log of one machine says the same in each row.
        if !self.is_collected && rows.iter().all(|row| row.cells[HOST] == rows[0].cells[HOST]) {
            widths[HOST] = 0;
        }
        self.widths = Some(widths);
        let bold = if self.coloured { Style::new().bold() } else { Style::new() };
        let head = line(&head, &widths);
        let mut text = format!("{bold}{}{bold:#}\n", head.trim_end());
        for row in &rows {
            text.push_str(&line(row, &widths));
        }
        self.out.write_all(text.as_bytes())
    }
}

/// Returns a row and its details, with line ends.
fn line(row: &Row, widths: &[usize; COLUMNS]) -> String {
    let mut line = String::new();
    let shown = row.cells.iter().zip(widths).enumerate().filter(|(_, (_, width))| **width > 0);
    for (column, (cell, width)) in shown {
        if column > 0 {
            line.push_str("  ");
        }
        let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
        if RIGHT[column] {
            line.push_str(&fill);
        }
        match column == STATUS {
            true => drop(write!(line, "{}{cell}{:#}", row.style, row.style)),
            false => line.push_str(cell),
        }
        if !RIGHT[column] {
            line.push_str(&fill);
        }
    }
    line + "\n" + &row.details
}

/// Returns the colour of a status, that of the summary of a run.
fn style_of(status: &str) -> Style {
    let color = match status {
        "ok" => AnsiColor::Green,
        "changed" => AnsiColor::Yellow,
        "skipped" => AnsiColor::Cyan,
        _ => AnsiColor::Red,
    };
    Style::new().fg_color(Some(color.into()))
}
