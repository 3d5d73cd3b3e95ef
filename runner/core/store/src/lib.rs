//! The content store: results that take long to compute, in a folder of one user. Compiled code and assembled Python
//! modules are kept in stores of their own, each with a [`Purpose`].
//!
//! | entry | form on disk | check before use |
//! |---|---|---|
//! | file | contents, keyed hash, magic number; see `entry` | the hash shows that this user's modbox stored it under this key |
//! | note | the same, bound to the fingerprint of another file; see `notes` | the same |
//! | tree | a folder, ready for use by a program; see `tree` | the folder belongs to this user, and no other user can write to it |
//!
//! - **Nothing hostile is used.** The folder is refused if another user owns it or can write to it. An entry that is
//!   damaged, truncated, too large, a link, or planted is the same as a missing one. The owner of a store can write
//!   any tree; its contents are trusted like the user's other files.
//! - **A reader never sees half of an entry.** Files and trees are made under a temporary name, or under none, and then
//!   renamed. A crash at any point leaves the old entry or the new one; see `unfinished`.
//! - **Two processes make an entry once.** [`Store::lock`] has a bounded wait, so that a process that hangs delays
//!   others but does not stop them.
//! - **The store has a maximum size.** The least recently used entries are evicted, and those that were not used for
//!   months. A tree in use stays.
//!
//! A store that cannot be used costs time. It must not fail a run: callers compute the result again.
//!
//! This crate must not know what is stored: no engine, no interpreter, no module.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod additions;
mod contents;
mod entry;
mod error;
mod eviction;
mod folder;
mod key;
mod last_use;
mod lock;
mod notes;
mod private;
mod purpose;
mod seal;
mod stamp;
mod store;
mod tree;
mod unfinished;

pub use self::error::StoreError;
pub use self::lock::StoreLock;
pub use self::purpose::{Kind, Purpose, STAMP};
pub use self::store::{Store, StoredEntry};
pub use self::tree::Tree;
