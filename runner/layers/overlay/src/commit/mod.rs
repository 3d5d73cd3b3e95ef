//! Commits a list of changes as a whole: all of it is published, or nothing.
//!
//! A commit builds each new entry beside its name. The journal is the decision; then each name changes by one rename or
//! exchange. A process that is killed at any point leaves a record by which [`recover`](fn@recover) goes on or back. A
//! change by another process meanwhile is a conflict and is not overwritten.
//!
//! This module does not make layers and does not judge a run.

mod attributes;
mod conflict;
mod directories;
mod discard;
mod disk_calls;
mod failure;
pub mod fault;
mod finish;
mod inode;
mod journal;
mod journal_name;
mod origin;
mod payload_copy;
mod plan;
mod prepare;
mod publish;
mod recover;
pub mod saved;
mod start;
mod state_dir;
mod transaction;
mod undo;

pub use attributes::Attributes;
pub use directories::{DirectoryRecord, RootRecord};
pub use failure::{CommitError, Conflict, Why};
pub use inode::Inode;
pub use journal::{Below, Journal, JournalError, Mark, Operation, OperationKind};
pub use origin::{Caller, Origin, OriginPattern, UnknownOrigin};
pub use plan::{OwnerRights, Owners, Reason, Refusal, TEMPORARY_PREFIX};
pub use prepare::{Granted, Only};
pub use recover::{Direction, Recovered, Recovery, decide, recover};
pub use start::Start;
pub use state_dir::StateDir;
pub use transaction::{Committed, Settings, Strength, commit};
pub use undo::{Transaction, Undone, list, prune, undo};
