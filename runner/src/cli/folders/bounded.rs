//! Reads whole files and streams up to a limit.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Length of a short file or stream, in bytes.
const SHORT: usize = 4 << 10;

/// Reads a whole file of at most `limit` bytes. On devices that never end, this stops at the limit with an error.
pub(crate) fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_stream(File::open(path)?, limit)
}

/// Opens a file without waiting, as opening a FIFO else would for a writer. Returns it with its metadata, of which the caller
/// checks the type.
pub(crate) fn open_at_once(path: &Path) -> io::Result<(File, Metadata)> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblock).open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Reads a stream to its end. Fails if it is longer than `limit` bytes.
pub(crate) fn read_stream(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    // Most are short, and then one read has all of it.
    let mut bytes = Vec::with_capacity(SHORT);
    stream.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than the limit of {limit} bytes")));
    }
    Ok(bytes)
}
