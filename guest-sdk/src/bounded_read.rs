//! Reads a whole file, up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a whole file of at most `limit` bytes.
///
/// # Errors
///
/// The file system refused, or the file is longer ([`io::ErrorKind::FileTooLarge`]).
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {limit} bytes")));
    }
    Ok(bytes)
}
