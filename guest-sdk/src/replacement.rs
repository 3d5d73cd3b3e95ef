//! Replaces files by new ones that keep what belongs to the place: owner, mode, access list, attributes. What cannot be kept
//! is a warning of the result.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use crate::platform::{self, Lost};

/// The permissions of a file that is being written, as with Python's `tempfile.mkstemp`: none for other users.
const PRIVATE: u32 = 0o077;

thread_local! {
    /// Warnings of replacements, until the result takes them.
    static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Makes new files that no other user can read. Without `host-files`, they have the mode of any new file.
pub(crate) fn privately<T>(make: impl FnOnce() -> T) -> T {
    let before = platform::restrict_new(PRIVATE);
    let made = make();
    platform::restrict_new(before);
    made
}

/// Moves a file to a path, where it keeps what a file there has.
///
/// # Errors
///
/// The file system refused.
pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<()> {
    warn_of_lost(platform::replace(from, to)?, to);
    Ok(())
}

/// Adds a warning of what a file that was replaced has lost, once.
pub(crate) fn warn_of_lost(lost: Lost, path: &Path) {
    for what in words(lost) {
        let warning = format!("{} of `{}` could not be kept when its contents were replaced", what, path.display());
        WARNINGS.with_borrow_mut(|warnings| {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        });
    }
}

/// Returns the warnings so far, and forgets them.
pub(crate) fn take_warnings() -> Vec<String> {
    WARNINGS.take()
}

fn words(lost: Lost) -> impl Iterator<Item = &'static str> {
    let all = [
        (lost.owner, "the owner"),
        (lost.set_id, "the set-user-id and set-group-id bits"),
        (lost.attributes, "the access list and the extended attributes"),
    ];
    all.into_iter().filter_map(|(is_lost, what)| is_lost.then_some(what))
}
