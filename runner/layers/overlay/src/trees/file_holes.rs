//! The parts of a file that have blocks, so that a copy keeps the holes between them.

use std::os::fd::AsFd;

use rustix::fs::{SeekFrom, Stat, seek};
use rustix::io::{Errno, Result};

/// Returns whether a file can have holes: it has fewer blocks than bytes.
pub(crate) fn has_holes(stat: &Stat) -> bool {
    stat.st_blocks.saturating_mul(512) < stat.st_size
}

/// Returns the next part of a file that has blocks, from a position to the size that the file is to have; `None` if the
/// rest is a hole. A file system without holes has one part.
///
/// # Errors
///
/// The file cannot be searched.
pub(crate) fn next_data(file: impl AsFd, position: u64, size: u64) -> Result<Option<(u64, u64)>> {
    let start = match seek(&file, SeekFrom::Data(position)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((position, size))),
        Err(errno) => return Err(errno),
    };
    let end = match seek(&file, SeekFrom::Hole(start)) {
        Err(Errno::INVAL | Errno::OPNOTSUPP) => size,
        other => other?,
    };
    Ok((start < size).then(|| (start, end.min(size).max(start + 1))))
}
