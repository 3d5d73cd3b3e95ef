//! Text that the kernel makes when it is read: files of `/proc`, and of control groups.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};
use rustix::path::Arg;

/// What one call returns at most of most of them. A small buffer would have the kernel begin anew for each piece.
const PAGE: usize = 4 << 10;

/// Reads one, `most` bytes of it. What is not UTF-8 is replaced: a process may call itself anything.
///
/// # Errors
///
/// When it is not there, or not for this user.
pub(super) fn read(directory: impl AsFd, path: impl Arg, most: u64) -> io::Result<String> {
    let file = rustix::fs::openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::with_capacity(PAGE);
    File::from(file).take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
