//! `modbox.lock`: which module a tag stood for, so that the same module runs until it is updated on purpose.
//!
//! A file of a project, which people read, merge and commit. It says what was pulled, not where it is kept, and it is
//! not trusted more than a command line: content and signatures are checked anew.
//!
//! | module | content |
//! |---|---|
//! | `format` | the text |
//! | `access` | the file: reading it, and changing it while others do |

mod access;
mod format;

pub use access::LockFileAccessError;
pub use format::{LockFile, LockFileError, LockedModule, LockedReferenceError};
