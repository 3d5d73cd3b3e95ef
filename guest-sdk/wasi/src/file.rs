//! Reading a file whole.

use std::io;
use std::path::Path;

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use crate::preopen::innermost;

/// How much the host is asked for at once: small files come whole, and a host need not hold more than this of others.
const AT_ONCE: u64 = 64 << 10;

/// Reads a file, but no more of it than `limit` bytes.
///
/// # Errors
///
/// A path in none of the directories that the host opened; what the host says.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path.to_str().ok_or(io::ErrorKind::InvalidInput)?)?;
    let mut bytes = Vec::new();
    loop {
        let at = bytes.len() as u64;
        let (more, end) = file.read(AT_ONCE.min(limit.saturating_sub(at)), at).map_err(error)?;
        let nothing = more.is_empty();
        // The first part is taken as it is: most files have no second.
        if bytes.is_empty() {
            bytes = more
        } else {
            bytes.extend_from_slice(&more)
        }
        if end || nothing {
            return Ok(bytes);
        }
    }
}

/// Opens a file from the innermost directory around it.
fn open(path: &str) -> io::Result<Descriptor> {
    let directories = get_directories();
    let (directory, rest) = innermost(&directories, path).ok_or(io::ErrorKind::NotFound)?;
    let (links, flags) = (PathFlags::SYMLINK_FOLLOW, DescriptorFlags::READ);
    directory.open_at(links, rest, OpenFlags::empty(), flags).map_err(error)
}

fn error(code: ErrorCode) -> io::Error {
    io::Error::other(code.message())
}
