//! Errors of a guest's files in the host's words.
//!
//! A guest's C library has error numbers of its own: `os error 2` is "Permission denied" there, and "No such file or
//! directory" on Linux. A full disk reaches a guest that writes a stream as an error without a cause. modbox's SDK
//! translates both; other guests do not. So a failed result gets tips that say what a number means, and what keeps this
//! user from writing a granted path. The module's message stays as it is. The causes are looked up after the run, on
//! the paths that were granted for writing.

use std::path::Path;

use modbox_policy::granted_host;
use modbox_vocabulary::{Capability, Grant};

/// Text before a number in messages of Rust's standard library.
const NUMBER: &str = "(os error ";

/// Maximum number of tips about paths.
const MAX_PATHS: usize = 4;

const ACCESS: u32 = 2;
const IO: u32 = 29;
const NO_SPACE: u32 = 51;
const NOT_PERMITTED: u32 = 63;

/// The numbers of WASI's C library that files lead to, and their meanings.
const MEANINGS: [(u32, &str); 20] = [
    (ACCESS, "Permission denied"),
    (10, "Device or resource busy"),
    (19, "Disk quota exceeded"),
    (20, "File exists"),
    (22, "File too large"),
    (28, "Invalid argument"),
    (IO, "Input/output error"),
    (31, "Is a directory"),
    (32, "Too many levels of symbolic links"),
    (33, "Too many open files"),
    (37, "File name too long"),
    (44, "No such file or directory"),
    (NO_SPACE, "No space left on device"),
    (54, "Not a directory"),
    (55, "Directory not empty"),
    (58, "Operation not supported"),
    (NOT_PERMITTED, "Operation not permitted"),
    (69, "Read-only file system"),
    (74, "Text file busy"),
    (75, "Invalid cross-device link"),
];

/// Returns tips for the message of a failed guest.
pub(crate) fn tips(message: &str, grants: &[Grant]) -> Vec<String> {
    let numbered = meaning(message);
    let Some((number, _)) = numbered.or_else(|| worded(message)) else { return Vec::new() };
    let explain = |(number, meaning)| format!("`os error {number}` is a number of WASI, not of Linux: {meaning}");
    let mut tips: Vec<String> = numbered.into_iter().map(explain).collect();
    let writable = grants.iter().filter(|grant| grant.capability == Capability::Write);
    let paths = writable.map(|grant| granted_host(&grant.subject));
    let obstacles = paths.filter_map(|path| Some(format!("`{path}`: {}", obstacle(number, Path::new(path))?)));
    tips.extend(obstacles.take(MAX_PATHS));
    tips
}

/// Returns the last number in a message, if it is one that files lead to.
fn meaning(message: &str) -> Option<(u32, &'static str)> {
    let (_, rest) = message.rsplit_once(NUMBER)?;
    let number: u32 = rest.split_once(')')?.0.parse().ok()?;
    MEANINGS.into_iter().find(|(other, _)| *other == number)
}

/// Returns an error that keeps a user from writing, if a message describes one in the host's words.
fn worded(message: &str) -> Option<(u32, &'static str)> {
    let keeps_from_writing = |number| matches!(number, ACCESS | IO | NO_SPACE | NOT_PERMITTED);
    MEANINGS.into_iter().find(|(number, words)| keeps_from_writing(*number) && message.contains(words))
}

/// Returns what may have led to the error for a path that was granted for writing.
fn obstacle(number: u32, path: &Path) -> Option<String> {
    match number {
        ACCESS | NOT_PERMITTED => modbox_native::write_obstacle(path),
        IO | NO_SPACE => is_full(path).then(|| "No space left on device".to_owned()),
        _ => None,
    }
}

/// Returns whether the file system of a path, or of the directory of a missing one, is full for this user.
fn is_full(path: &Path) -> bool {
    let state = rustix::fs::statvfs(path).or_else(|_| rustix::fs::statvfs(path.parent().unwrap_or(path)));
    state.is_ok_and(|state| state.f_blocks > 0 && state.f_bavail == 0)
}

#[cfg(test)]
mod tests {
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn numbers_of_wasi_are_said_in_words() {
        for (message, expect) in [
            ("failed to write `/x`: Permission denied (os error 2)", "not of Linux: Permission denied"),
            ("I/O error (os error 29)", "Input/output error"),
            ("a (os error 2): b (os error 51)", "No space left on device"),
        ] {
            let tips = tips(message, &[]);
            assert!(tips.len() == 1 && tips[0].ends_with(expect), "{message}: {tips:?}");
        }
        for message in ["", "(os error ", "(os error x)", "(os error 9999)", "(os error 99999999999999999999)"] {
            assert!(tips(message, &[]).is_empty(), "{message}");
        }
    }

    #[test]
    fn a_granted_path_that_cannot_be_written_is_named() {
        let grant = |capability| Grant {
            capability,
            // A link cannot be replaced by any user.
            subject: "/proc/self::/data/self".to_owned(),
            source: GrantSource::named("command line"),
        };
        let message = "Permission denied (os error 2)";
        let written = tips(message, &[grant(Capability::Write)]);
        assert!(written.len() == 2 && written[1].starts_with("`/proc/self`: "), "{written:?}");
        assert_eq!(tips(message, &[grant(Capability::Read)]).len(), 1);
        let worded = tips("failed to write `/x`: Permission denied", &[grant(Capability::Write)]);
        assert_eq!(worded, written[1..]);
    }
}
