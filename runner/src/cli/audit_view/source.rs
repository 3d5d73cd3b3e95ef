//! Reads several audit logs as one, in the order of time. Each log keeps its own order.
//!
//! Only one line of each log is held. A line that is not one of an audit log is noted and skipped: a disk that was full
//! or an editor may have damaged it, and the others are still worth reading.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::cli::audit_view::entry::AuditEntry;
use crate::cli::audit_view::lines::{Line, LineReader, MAX_LINE};

/// Broken lines of one log that are named; the rest is counted.
const MAX_NAMED: u64 = 5;

/// Bytes that are read at once.
const BUFFER: usize = 256 << 10;

/// Several audit logs.
#[derive(Debug)]
pub(crate) struct AuditSource {
    logs: Vec<AuditLogFile>,
}

/// An audit log that is read.
struct AuditLogFile {
    name: String,
    lines: LineReader<Box<dyn BufRead>>,
    next: Option<AuditEntry>,
    broken: u64,
    /// Whether a line of an audit log was found.
    has_runs: bool,
}

impl std::fmt::Debug for AuditLogFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditLogFile").field("name", &self.name).field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl AuditSource {
    /// Opens all logs and reads the first line of each. `-` is standard input. `note` gets what to say about broken
    /// lines.
    ///
    /// # Errors
    ///
    /// A file cannot be opened or read, or has lines and none of an audit log.
    pub(crate) fn open(paths: &[PathBuf], note: &mut dyn FnMut(String)) -> anyhow::Result<Self> {
        let mut logs = paths.iter().map(|path| AuditLogFile::open(path)).collect::<anyhow::Result<Vec<_>>>()?;
        for log in &mut logs {
            log.advance(note)?;
        }
        Ok(Self { logs })
    }

    /// Returns the next run of all logs; `None` at the end.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub(crate) fn next_entry(&mut self, note: &mut dyn FnMut(String)) -> anyhow::Result<Option<AuditEntry>> {
        let waiting = self.logs.iter_mut().filter(|log| log.next.is_some());
        let Some(first) = waiting.min_by_key(|log| log.next.as_ref().map(AuditEntry::time)) else { return Ok(None) };
        let entry = first.next.take();
        first.advance(note)?;
        Ok(entry)
    }
}

impl AuditLogFile {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let (name, input): (String, Box<dyn BufRead>) = if path == Path::new("-") {
            ("standard input".to_owned(), Box::new(BufReader::with_capacity(BUFFER, io::stdin())))
        } else {
            let file =
                File::open(path).with_context(|| format!("failed to open the audit log `{}`", path.display()))?;
            (format!("`{}`", path.display()), Box::new(BufReader::with_capacity(BUFFER, file)))
        };
        Ok(Self { name, lines: LineReader::new(input), next: None, broken: 0, has_runs: false })
    }

    /// Reads up to the next line that is one of an audit log.
    fn advance(&mut self, note: &mut dyn FnMut(String)) -> anyhow::Result<()> {
        loop {
            let read = self.lines.next_line().with_context(|| format!("failed to read {}", self.name))?;
            let Some((number, line)) = read else { break };
            let parsed = match line {
                Line::Whole(bytes) if bytes.trim_ascii().is_empty() => continue,
                Line::Whole(bytes) => AuditEntry::parse(bytes),
                Line::TooLong => Err(format!("it is longer than {} MiB", MAX_LINE >> 20)),
            };
            match parsed {
                Ok(entry) => {
                    self.next = Some(entry);
                    self.has_runs = true;
                    return Ok(());
                }
                Err(reason) => {
                    self.broken += 1;
                    if self.broken <= MAX_NAMED {
                        note(format!("line {number} of {} is left out: {reason}", self.name));
                    }
                }
            }
        }
        if self.broken > MAX_NAMED {
            note(format!("{} lines of {} are left out", self.broken, self.name));
        }
        if self.broken > 0 && !self.has_runs {
            bail!("{} is not an audit log: it has no line of one", self.name);
        }
        self.broken = 0;
        Ok(())
    }
}
