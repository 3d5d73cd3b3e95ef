//! What a report says of a run on layers: the changes that were observed, the module's claim, and
//! the commit.

use std::fmt;

use modbox_overlay::change_list::Totals;
use modbox_vocabulary::Capability;
use serde::{Serialize, Serializer};

/// Fate of the changes of a run on layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Effect {
    /// They are shown and discarded.
    Preview,
    /// They are committed as a whole if the module succeeds, and discarded otherwise.
    Transaction,
}

/// The part of a report about layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EffectReport {
    /// Whether the changes are shown or committed.
    pub mode: Effect,
    /// Whether more than times was changed.
    pub changed: bool,
    /// Whether the module said that it changed something; `None` if it gave no valid result or failed.
    pub claimed: Option<bool>,
    /// How the claim relates to what was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// What the module's own check mode said and did, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckReport>,
    /// Whether everything could be seen and simulated.
    pub complete: bool,
    /// What could not be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<Remark>,
    /// Numbers of all changes.
    pub totals: Totals,
    /// The changes, in the order of the grants and paths.
    pub changes: Vec<ShownChange>,
    /// Number of changes that are not in the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Sets of paths that are names of one file after the run, if a name of the set is among the changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Vec<String>>,
    /// Granted effects that no layer holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideEffect>,
    /// Whether the changes were made on the machine, and why not.
    pub commit: CommitReport,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How a module's claim relates to what was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Claim {
    /// They are the same.
    Agrees,
    /// The module says that it changed something, and nothing was changed.
    ClaimedNotObserved,
    /// The module says that it changed nothing, and something was changed.
    ObservedNotClaimed,
    /// The module says that it changed something. That can be an effect that no layer holds, or one that could not be seen.
    Unobservable,
}

/// What a module's own check mode said and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Whether check mode said that something would change; `None` if it skipped the module or failed.
    pub claimed: Option<bool>,
    /// Whether the module changed something although it was in check mode.
    pub wrote: bool,
    /// Whether check mode said what the real run did.
    pub agrees: bool,
}

/// A path, and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Path on the machine.
    pub path: String,
    /// What is said.
    pub why: String,
}

/// A change as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownChange {
    /// Path on the machine.
    pub path: String,
    /// What happened.
    pub kind: ShownKind,
    /// The path before, of a renamed entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Number of entries below, of a removed directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// State before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ShownEntry>,
    /// State after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ShownEntry>,
    /// What is shown of the content, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<ShownContent>,
    /// The differing lines, in the unified format without headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Numbers of differing lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
}

/// What happened to an entry: [`ChangeKind`](modbox_overlay::change::ChangeKind) in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ShownKind {
    /// It did not exist before.
    Created,
    /// It exists no more.
    Removed,
    /// Its content or the target of its link is different.
    Modified,
    /// Its type is different.
    Replaced,
    /// It had another name before.
    Renamed,
    /// Its mode, owner, extended attributes or ACL is different.
    Attributes,
    /// Its modification time alone is different.
    Times,
}

/// What is shown of a content that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShownContent {
    /// The differing lines.
    Text,
    /// Numbers of lines: other users may not read the file.
    Secret,
    /// Numbers of lines: a run that hides its result may have written the file.
    NoLog,
    /// Nothing: it is not text.
    Binary,
    /// Nothing: it is too long to compare.
    TooLong,
    /// Nothing: it could not be read.
    Unread,
}

/// Type of an entry in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ShownType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, FIFO or socket.
    Special,
}

/// Numbers of differing lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// Lines that were added.
    pub added: u64,
    /// Lines that were removed.
    pub removed: u64,
}

/// State of an entry as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownEntry {
    /// Whether it is a file, a directory, a link or something special.
    #[serde(rename = "type")]
    pub entry_type: ShownType,
    /// Permission bits, in octal.
    pub mode: String,
    /// Number of the user that owns it.
    pub uid: u32,
    /// Number of the group that owns it.
    pub gid: u32,
    /// Length of a file, in bytes.
    pub size: u64,
    /// Modification time, in nanoseconds since the epoch.
    pub modified_ns: String,
    /// Target of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// SHA-256 of a file's content, in hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Names of the extended attributes and ACLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub xattrs: Vec<String>,
}

/// A granted effect that no layer holds, or a handler of a play that waits for the commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutsideEffect {
    /// The capability that permits it, or that it is a handler.
    pub kind: OutsideKind,
    /// Subject of the grant, or name of the handler.
    pub subject: String,
    /// Whether the run had no such grant, or the handler does not run, so that the effect cannot have happened.
    pub withheld: bool,
}

/// Kind of an effect that no layer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsideKind {
    /// One that a grant permits.
    Granted(Capability),
    /// One of a handler of a play.
    Handler,
}

impl fmt::Display for OutsideKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Granted(capability) => capability.fmt(f),
            Self::Handler => f.write_str("handler"),
        }
    }
}

impl Serialize for OutsideKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Result of the commit, also of one that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CommitReport {
    /// State, in one word.
    pub state: CommitState,
    /// Name of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Whether `modbox undo` can take it back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub undo: bool,
    /// File with the changes, if they were saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Files that other processes have changed meanwhile, or changes that a commit does not make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Remark>,
}

impl CommitReport {
    /// Returns a report without a transaction.
    #[must_use]
    pub fn of(state: CommitState) -> Self {
        Self { state, run: None, undo: false, file: None, reasons: Vec::new() }
    }
}

/// State of a commit, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CommitState {
    /// They were discarded: the run was a preview, or the module did not succeed.
    Discarded,
    /// They were saved, to be applied later.
    Saved,
    /// There was nothing to commit.
    Nothing,
    /// All of them were committed.
    Committed,
    /// Another process has changed the same files. Nothing was committed.
    Conflict,
    /// A commit does not make such changes. Nothing was committed.
    Refused,
    /// A call failed. Nothing was committed.
    Failed,
    /// A part was committed; `modbox recover` goes on or back.
    Unfinished,
}

impl CommitState {
    /// Returns whether changes were not committed, or not saved, although the module had succeeded.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Conflict | Self::Refused | Self::Failed | Self::Unfinished)
    }
}
