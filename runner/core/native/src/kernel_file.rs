//! Reads text that the kernel generates on reading: files of `/proc` and of control groups.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};
use rustix::path::Arg;

/// What one read returns at most for most such files. With a smaller buffer the kernel would generate the text anew for
/// each piece.
const PAGE: usize = 4 << 10;

/// Reads up to `most` bytes of a file. Invalid UTF-8 is replaced, because a process may have any name.
///
/// # Errors
///
/// Fails when the file does not exist or this user may not read it.
pub(super) fn read(directory: impl AsFd, path: impl Arg, most: u64) -> io::Result<String> {
    let file = rustix::fs::openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut bytes = Vec::with_capacity(PAGE);
    File::from(file).take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
