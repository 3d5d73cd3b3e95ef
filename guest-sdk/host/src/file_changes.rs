//! Looks at files and changes of files, by path, that neither WASI 0.2 nor [`crate::files`] has. See [`crate::files`] for
//! paths.

use std::io;
use std::path::Path;

use wasip2::filesystem::types::PathFlags;

use crate::bindings::modbox::host::file_changes as host;
use crate::directories::{at, at_two};

/// What a replaced file had and the new one does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// The owner or the group.
    pub owner: bool,
    /// The set-user-id and set-group-id bits.
    pub set_id: bool,
    /// The access list or extended attributes of users.
    pub attributes: bool,
}

/// A time of a file: seconds since 1970, negative before, and nanoseconds after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTime {
    /// Whole seconds since 1970-01-01 00:00 UTC, rounded down.
    pub seconds: i64,
    /// Nanoseconds: at most 999,999,999.
    pub nanoseconds: u32,
}

/// The times of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTimes {
    /// Of the last read.
    pub access: FileTime,
    /// Of the last change of the contents.
    pub modification: FileTime,
    /// Of the last change of the contents or the attributes.
    pub change: FileTime,
}

/// A time to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewTime {
    /// The time stays.
    Keep,
    /// The present time.
    Now,
    /// This time.
    At(FileTime),
}

/// Returns the times of a path. With `follow`, those of a link's target.
///
/// # Errors
///
/// The host refused.
pub fn times(path: &Path, follow: bool) -> io::Result<FileTimes> {
    let found = at(path, |base, rest| host::times(base, flags(follow), rest))?;
    let time = |time: host::Time| FileTime { seconds: time.seconds, nanoseconds: time.nanoseconds };
    Ok(FileTimes { access: time(found.access), modification: time(found.modification), change: time(found.change) })
}

/// Sets times of a path. With `follow`, those of a link's target.
///
/// # Errors
///
/// The host refused; the path may not be written.
pub fn set_times(path: &Path, follow: bool, access: NewTime, modification: NewTime) -> io::Result<()> {
    let new = |time: NewTime| match time {
        NewTime::Keep => host::NewTime::Keep,
        NewTime::Now => host::NewTime::Now,
        NewTime::At(FileTime { seconds, nanoseconds }) => host::NewTime::At(host::Time { seconds, nanoseconds }),
    };
    at(path, |base, rest| host::set_times(base, flags(follow), rest, new(access), new(modification)))
}

/// Returns whether the user of the run may use a path so, and grants allow it, as access(2) does.
///
/// # Errors
///
/// The path does not exist, or may not be used so.
pub fn access(path: &Path, read: bool, write: bool, execute: bool) -> io::Result<()> {
    let all =
        [(read, host::Permissions::READ), (write, host::Permissions::WRITE), (execute, host::Permissions::EXECUTE)];
    let wanted = all.into_iter().filter(|(is_wanted, _)| *is_wanted);
    let wanted = wanted.fold(host::Permissions::empty(), |sum, (_, one)| sum | one);
    at(path, |base, rest| host::access(base, rest, wanted))
}

/// Sets the permissions that new files and directories of this module do not get, beside those of the umask: at most
/// 0o777. Returns what was set before.
pub fn restrict_new(mode: u32) -> u32 {
    host::restrict_new(mode)
}

/// Returns the set-id bits that grants allow for files of a user and a group: 0o4000, 0o2000, both or none.
#[must_use]
pub fn set_id_bits(uid: u32, gid: u32) -> u32 {
    host::set_id_bits(uid, gid)
}

/// Sets the permissions of a path, with special bits. Links are followed.
///
/// # Errors
///
/// The host refused; the path may not be written; the mode has set-id bits of a file that [`set_id_bits`] does not return for
/// its owner.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    at(path, |base, rest| host::set_mode(base, flags(true), rest, mode))
}

/// Moves a file to a path. If a file is there, it is replaced at once, and the new one first gets its owner, permissions,
/// those set-id bits that grants allow, access list and extended attributes of users. Returns what could not be kept.
///
/// # Errors
///
/// The host refused; one of the paths may not be written.
pub fn replace(from: &Path, to: &Path) -> io::Result<Lost> {
    let lost = at_two((from, to), |(base, rest), (new_base, new_rest)| host::replace(base, rest, new_base, new_rest))?;
    Ok(Lost {
        owner: lost.contains(host::Lost::OWNER),
        set_id: lost.contains(host::Lost::SET_ID),
        attributes: lost.contains(host::Lost::ATTRIBUTES),
    })
}

fn flags(follow: bool) -> PathFlags {
    if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() }
}
