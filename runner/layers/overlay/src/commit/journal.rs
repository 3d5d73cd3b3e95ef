//! The journal of a transaction: its operations with what each replaces, and how far it has come. Pure.
//!
//! Lines of JSON: a header, one line for each operation, a line with the checksum of all above. Marks follow. Names are
//! bytes; one that is not UTF-8 is written in hexadecimal digits. A journal that does not match its checksum is never
//! acted on. This file does not read or write files.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::attributes::Attributes;
use super::directories::{DirectoryRecord, RootRecord};
use super::inode::Inode;
use super::journal_name::{Name, encode};
use super::origin::Origin;

/// Version of the format.
const VERSION: u32 = 1;

/// Upper bound of the length of a journal.
pub(super) const MAX_LENGTH: usize = 256 << 20;

/// Decided transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// Name of the transaction.
    pub run: String,
    /// When the layer was made, in nanoseconds since the epoch.
    pub since: i128,
    /// Whether the commit keeps replaced entries, so that the transaction can be undone.
    pub keep_undo: bool,
    /// Whether each step is written to the disk.
    pub durable: bool,
    /// Whose it is.
    pub origin: Origin,
    /// Secrets in names, which are not shown where the transaction is listed.
    pub hidden: Vec<String>,
    /// Granted roots.
    pub roots: Vec<RootRecord>,
    /// Directories that hold the names.
    pub directories: Vec<DirectoryRecord>,
    /// Operations, in order.
    pub operations: Vec<Operation>,
}

/// Operation on one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Index of the directory.
    pub directory: usize,
    /// Name in the directory; empty for the attributes of the directory itself.
    pub name: OsString,
    /// Name of the temporary beside it.
    pub temporary: OsString,
    /// What is done to the name.
    pub kind: OperationKind,
}

/// What a commit does to one name of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum OperationKind {
    /// Gives the temporary a free name.
    Create {
        /// The temporary.
        new: Inode,
        /// All below the temporary.
        below: Below,
    },
    /// Exchanges the temporary with what has the name.
    Replace {
        /// What has the name before.
        old: Inode,
        /// The temporary.
        new: Inode,
        /// All below the temporary.
        below: Below,
    },
    /// Renames what has the name to the temporary name.
    Remove {
        /// What has the name before.
        old: Inode,
    },
    /// Sets attributes of a directory.
    Attributes {
        /// Attributes before.
        old: Attributes,
        /// Attributes after.
        new: Attributes,
    },
}

/// Summary of all entries of a tree, which differs when one has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Below {
    /// Number of entries below.
    pub entries: u64,
    /// Newest time of a status change below, in nanoseconds.
    pub newest: i64,
}

/// How far a decided transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// All is published.
    Done,
    /// All is published, and what was replaced is kept.
    Kept,
    /// It is being taken back.
    Back,
    /// All is taken back.
    Undone,
}

/// Reason why a journal is not acted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// It is cut or changed.
    #[error("its checksum does not match")]
    Damaged,
    /// Another version of modbox has written it.
    #[error("its version {0} is unknown")]
    Version(u32),
    /// A line is invalid.
    #[error("line {0} is invalid")]
    Line(usize),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    run: String,
    since: String,
    keep_undo: bool,
    durable: bool,
    /// Text of the origin; absent for that of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<String>,
    roots: Vec<(Name, u64)>,
    directories: Vec<(usize, Name, u64)>,
    count: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    directory: usize,
    name: Name,
    temporary: Name,
    kind: OperationKind,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkLine {
    mark: Mark,
}

impl Journal {
    /// Returns what each operation does, with the path that it changes.
    pub fn changed_paths(&self) -> impl Iterator<Item = (&OperationKind, PathBuf)> {
        self.operations.iter().filter_map(|operation| {
            let directory = self.directories.get(operation.directory)?;
            let inside = self.roots.get(directory.root)?.path.join(&directory.path);
            let path = if operation.name.is_empty() { inside } else { inside.join(&operation.name) };
            Some((&operation.kind, path))
        })
    }

    /// Returns the text of the journal, without marks.
    ///
    /// # Errors
    ///
    /// Fails if a value cannot be written as JSON.
    pub fn write(&self) -> Result<String, serde_json::Error> {
        let name = |path: &PathBuf| Name(path.clone().into_os_string());
        let header = Header {
            version: VERSION,
            run: self.run.clone(),
            since: self.since.to_string(),
            keep_undo: self.keep_undo,
            durable: self.durable,
            origin: (self.origin != Origin::Person).then(|| self.origin.to_string()),
            hidden: self.hidden.clone(),
            roots: self.roots.iter().map(|root| (name(&root.path), root.number)).collect(),
            directories: self.directories.iter().map(|dir| (dir.root, name(&dir.path), dir.number)).collect(),
            count: self.operations.len(),
        };
        let mut text = serde_json::to_string(&header)? + "\n";
        for operation in &self.operations {
            let line = Line {
                directory: operation.directory,
                name: Name(operation.name.clone()),
                temporary: Name(operation.temporary.clone()),
                kind: operation.kind.clone(),
            };
            text += &serde_json::to_string(&line)?;
            text.push('\n');
        }
        let sum = Sum { sha256: checksum(&text) };
        text += &serde_json::to_string(&sum)?;
        text.push('\n');
        Ok(text)
    }

    /// Parses a journal and the newest mark. A mark that is cut has not been made.
    ///
    /// # Errors
    ///
    /// Fails if the journal is cut, changed, or of another version.
    pub fn parse(text: &str) -> Result<(Self, Option<Mark>), JournalError> {
        let mut lines = text.split_inclusive('\n');
        let header = lines.next().ok_or(JournalError::Damaged)?;
        let header: Header = serde_json::from_str(header).map_err(|_| version_of(header))?;
        if header.version != VERSION {
            return Err(JournalError::Version(header.version));
        }
        let count = header.count;
        let body: usize = text.split_inclusive('\n').take(count.saturating_add(1)).map(str::len).sum();
        let sum = text.split_inclusive('\n').nth(count.saturating_add(1)).ok_or(JournalError::Damaged)?;
        let sum: Sum = serde_json::from_str(sum).map_err(|_| JournalError::Damaged)?;
        if !text[..body].ends_with('\n') || checksum(&text[..body]) != sum.sha256 {
            return Err(JournalError::Damaged);
        }
        let operations = lines.by_ref().take(count).enumerate();
        let operations: Result<Vec<_>, _> = operations.map(|(number, line)| operation(line, number + 2)).collect();
        let journal = Self::from_parts(header, operations?)?;
        let marks = lines.skip(1).filter(|line| line.ends_with('\n'));
        let marks = marks.filter_map(|line| serde_json::from_str::<MarkLine>(line).ok());
        Ok((journal, marks.last().map(|line| line.mark)))
    }

    fn from_parts(header: Header, operations: Vec<Operation>) -> Result<Self, JournalError> {
        let roots: Vec<_> =
            header.roots.into_iter().map(|(path, number)| RootRecord { path: path.0.into(), number }).collect();
        let directories = header.directories.into_iter();
        let directories: Vec<_> =
            directories.map(|(root, path, number)| DirectoryRecord { root, path: path.0.into(), number }).collect();
        let is_valid = directories.iter().all(|directory| directory.root < roots.len())
            && operations.iter().all(|operation| operation.directory < directories.len());
        if !is_valid {
            return Err(JournalError::Line(1));
        }
        let since = header.since.parse().map_err(|_| JournalError::Line(1))?;
        let origin = header.origin.map_or(Ok(Origin::Person), |text| text.parse());
        let origin = origin.map_err(|_| JournalError::Line(1))?;
        let Header { run, keep_undo, durable, hidden, .. } = header;
        Ok(Self { run, since, keep_undo, durable, origin, hidden, roots, directories, operations })
    }
}

impl Operation {
    /// Returns the second name that an exchange needs where the file system does not exchange.
    pub(super) fn second_temporary(&self) -> OsString {
        let mut second = self.temporary.clone();
        second.push("-old");
        second
    }

    /// Returns what the name holds before.
    pub(super) fn old_state(&self) -> Option<&Inode> {
        match &self.kind {
            OperationKind::Replace { old, .. } | OperationKind::Remove { old } => Some(old),
            _ => None,
        }
    }

    /// Returns what the name holds after, with the summary of all below.
    pub(super) fn new_state(&self) -> Option<(&Inode, Below)> {
        match &self.kind {
            OperationKind::Create { new, below } | OperationKind::Replace { new, below, .. } => Some((new, *below)),
            _ => None,
        }
    }
}

impl Mark {
    /// Returns the line that makes the mark.
    pub(super) fn line(self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string(&MarkLine { mark: self })? + "\n")
    }
}

/// Lines of a journal without operations: what is prepared.
const PREPARED_LINES: usize = 2;

/// Returns the two parts of a record: what is prepared, and the journal with its marks.
pub(super) fn parts(record: &str) -> (&str, &str) {
    let prepared = record.split_inclusive('\n').take(PREPARED_LINES).map(str::len).sum();
    record.split_at(prepared)
}

/// Returns whether all lines of what is prepared were written.
pub(super) fn is_whole(prepared: &str) -> bool {
    prepared.bytes().filter(|byte| *byte == b'\n').count() == PREPARED_LINES
}

fn version_of(header: &str) -> JournalError {
    let value = serde_json::from_str::<serde_json::Value>(header).ok();
    let version = value.and_then(|value| value.get("version")?.as_u64()).and_then(|v| u32::try_from(v).ok());
    version.filter(|version| *version != VERSION).map_or(JournalError::Damaged, JournalError::Version)
}

fn operation(line: &str, number: usize) -> Result<Operation, JournalError> {
    let line: Line = serde_json::from_str(line).map_err(|_| JournalError::Line(number))?;
    let is_attributes = matches!(line.kind, OperationKind::Attributes { .. });
    let is_valid = line.temporary.is_single() && (line.name.is_single() || is_attributes);
    if !is_valid {
        return Err(JournalError::Line(number));
    }
    Ok(Operation { directory: line.directory, name: line.name.0, temporary: line.temporary.0, kind: line.kind })
}

fn checksum(text: &str) -> String {
    encode(&Sha256::digest(text.as_bytes()))
}
