//! The same by the standard library, whose functions make several calls.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::words::{self, Call, word};

/// Performs a call that begins with `std.`; `None` if it is not one.
pub(crate) fn perform(call: &Call) -> Option<io::Result<String>> {
    let path = || path(call.bytes(0));
    let other = || self::path(call.bytes(1));
    let done = |()| "ok".to_owned();
    Some(match call.name.strip_prefix("std.")? {
        "read_dir" => read_dir(&path()),
        "remove_dir_all" => fs::remove_dir_all(path()).map(done),
        "remove_file" => fs::remove_file(path()).map(done),
        "canonicalize" => fs::canonicalize(path()).map(|path| format!("ok path={}", word(&bytes(path)))),
        "copy" => copy(&path(), &other()).map(|length| format!("ok length={length}")),
        "create_dir_all" => fs::create_dir_all(path()).map(done),
        "metadata" => fs::metadata(path()).map(|found| metadata(&found)),
        "symlink_metadata" => fs::symlink_metadata(path()).map(|found| metadata(&found)),
        "rename" => fs::rename(path(), other()).map(done),
        "hard_link" => fs::hard_link(path(), other()).map(done),
        "read" => fs::read(path()).map(|read| format!("ok {}", words::contents(&read))),
        "write" => fs::write(path(), call.bytes(1)).map(done),
        "read_link" => fs::read_link(path()).map(|target| format!("ok target={}", word(&bytes(target)))),
        other => panic!("`std.{other}` is not a call of this program"),
    })
}

pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(os(crate::names::encoded(bytes)))
}

#[cfg(not(target_family = "wasm"))]
fn os(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(target_family = "wasm")]
fn os(bytes: Vec<u8>) -> OsString {
    String::from_utf8(bytes).expect("encoded names are UTF-8").into()
}

fn bytes(name: impl Into<OsString>) -> Vec<u8> {
    crate::names::decoded(name.into().as_encoded_bytes())
}

/// Copies as the standard library of WASI does, which has no modes to copy.
fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    io::copy(&mut File::open(from)?, &mut File::create(to)?)
}

fn read_dir(path: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = kind(entry.file_type()?);
        names.push(format!("{}:{kind}", word(&bytes(entry.file_name()))));
    }
    names.sort();
    Ok(format!("ok names={}", names.join(",")))
}

fn metadata(found: &Metadata) -> String {
    let time = found.modified().map(time);
    let time = time.map_or_else(|error| crate::errors::of(&error), |(seconds, rest)| format!("{seconds}.{rest:09}"));
    let length = if found.is_dir() { String::new() } else { format!(" length={}", found.len()) };
    format!("ok kind={}{length} mtime={time}", kind(found.file_type()))
}

fn kind(found: fs::FileType) -> &'static str {
    match (found.is_file(), found.is_dir(), found.is_symlink()) {
        (true, ..) => "file",
        (_, true, _) => "directory",
        (.., true) => "link",
        _ => "fifo",
    }
}

fn time(time: SystemTime) -> (i128, i128) {
    let nanoseconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i128::try_from(after.as_nanos()),
        Err(before) => i128::try_from(before.duration().as_nanos()).map(|before| -before),
    };
    let nanoseconds = nanoseconds.expect("it is a time");
    (nanoseconds.div_euclid(1_000_000_000), nanoseconds.rem_euclid(1_000_000_000))
}
