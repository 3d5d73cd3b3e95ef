//! What a module does before its author's code runs: it reads the file of its arguments and enters its first directory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longer than most: they are then read at once, where reading without room begins with a few bytes.
const USUAL_BYTES: usize = 8 << 10;

/// Reads at most `limit` bytes of a file.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes the directory that the host names the working directory. A component starts in `/` otherwise, where it can make
/// nothing. Without a directory, or with one that is not there, it stays in `/`.
#[cfg(target_family = "wasm")]
pub(crate) fn enter_initial() {
    if let Some(directory) = wasip2::cli::environment::initial_cwd() {
        let _ = std::env::set_current_dir(directory);
    }
}

/// Does nothing: a process starts in the directory that its parent chose.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn enter_initial() {}
