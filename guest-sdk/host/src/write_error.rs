//! The cause of a failed write. A stream of WASI reports why it failed, but the C library drops that and reports an
//! input/output error. A write without a stream reports the cause too, so this module makes one.

use std::io::{self, ErrorKind};
use std::path::Path;

use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

use crate::directories::at;

/// Bytes of one write.
const CHUNK: usize = 64 << 10;

/// The most bytes that are written to find the cause: a nearly full disk takes some.
const MOST: u64 = 1 << 20;

/// Writes at the end of a file until that fails, and returns the error. The file then has its old size. Returns `None`
/// if the writes succeed, or fail for want of something else than space.
#[must_use]
pub fn at_end(path: &Path) -> Option<io::Error> {
    let open = |dir: &Descriptor, rest: &str| {
        let file = dir.open_at(PathFlags::SYMLINK_FOLLOW, rest, OpenFlags::empty(), DescriptorFlags::WRITE)?;
        let size = file.stat()?.size;
        let written = fill(&file, size);
        file.set_size(size)?;
        written
    };
    at(path, open).err().filter(|error| {
        matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
    })
}

fn fill(file: &Descriptor, size: u64) -> Result<(), ErrorCode> {
    let bytes = vec![0; CHUNK];
    let mut end = size;
    while end - size < MOST {
        match file.write(&bytes, end)? {
            0 => return Err(ErrorCode::InsufficientSpace),
            written => end = end.saturating_add(written),
        }
    }
    Ok(())
}
