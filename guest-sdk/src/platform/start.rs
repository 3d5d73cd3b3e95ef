//! The steps before the author's code runs: read the arguments file and enter the initial directory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longer than most arguments files: one read is enough. Without capacity, the first read would be of a few bytes.
const USUAL_BYTES: usize = 8 << 10;

/// Reads at most `limit` bytes of a file.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Enters the initial directory that the host names. A component starts in `/` otherwise, where it cannot create files.
/// If there is no directory, or it does not exist, the component stays in `/`.
#[cfg(target_family = "wasm")]
pub(crate) fn enter_initial() {
    if let Some(directory) = wasip2::cli::environment::initial_cwd() {
        let _ = std::env::set_current_dir(directory);
    }
}

/// Does nothing: the parent process chose the directory.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn enter_initial() {}
