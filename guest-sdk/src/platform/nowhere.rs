//! Files for a component on any host: WASI 0.2 has no modes and owners.

use std::io;
use std::path::Path;

use crate::platform::attributes::{Attributes, Lost};
pub(crate) use crate::platform::standard_times::{set_times, times};

pub(crate) const AVAILABLE: bool = false;

/// Whether [`replace`] keeps what the replaced file has.
pub(crate) const REPLACES: bool = false;

fn unsupported<T>() -> io::Result<T> {
    let why = "WASI has no modes and owners, and this module was built without the feature `host-files` of modbox-sdk";
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

pub(crate) fn replace(from: &Path, to: &Path) -> io::Result<Lost> {
    std::fs::rename(from, to).map(|()| Lost::default())
}

pub(crate) fn restrict_new(_mode: u32) -> u32 {
    0
}

pub(crate) fn stat(_path: &Path, _follow: bool) -> io::Result<Attributes> {
    unsupported()
}

/// Nothing is known before a change is tried.
#[expect(clippy::unnecessary_wraps, reason = "with `host-files`, there is an answer")]
pub(crate) fn may_change_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// As [`may_change_folder`].
#[expect(clippy::unnecessary_wraps, reason = "with `host-files`, there is an answer")]
pub(crate) fn may_make_beside(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// No host answers.
pub(crate) fn allows(_path: &Path, _read: bool, _write: bool, _execute: bool) -> Option<bool> {
    None
}

/// As [`may_change_folder`].
#[expect(clippy::unnecessary_wraps, reason = "with `host-files`, there is an answer")]
pub(crate) fn may_write(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    unsupported()
}

pub(crate) fn set_owner(_path: &Path, _follow: bool, _uid: Option<u32>, _gid: Option<u32>) -> io::Result<()> {
    unsupported()
}

/// No mode can be set at all.
pub(crate) fn set_id_bits(_uid: u32, _gid: u32) -> u32 {
    0
}

pub(crate) fn user_and_group() -> Option<(u32, u32)> {
    None
}

pub(crate) fn user() -> Option<String> {
    None
}

pub(crate) fn user_number() -> Option<u32> {
    None
}

pub(crate) fn user_id(_name: &str) -> Option<u32> {
    None
}

pub(crate) fn group_id(_name: &str) -> Option<u32> {
    None
}

pub(crate) fn umask() -> u32 {
    0o022
}
