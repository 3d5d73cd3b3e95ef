//! Reads files up to a limit: what tools and authors write is not trusted to be short.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Maximum size of a list of inputs.
const MAX_DEP_INFO: u64 = 4 << 20;

/// Reads a text file that a tool wrote, up to a limit far above its usual size.
pub(crate) fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_DEP_INFO).read_to_string(&mut text)?;
    Ok(text)
}

/// Reads a whole file of at most `limit` bytes.
pub(crate) fn read_all(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > limit) {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than {limit} bytes")));
    }
    Ok(bytes)
}
