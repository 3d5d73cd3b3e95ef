//! Writes the response's body to a temporary file, then moves it to its place.

use std::fs;
use std::io::Write;
use std::path::Path;

use modbox_sdk::fs::{OutputFile, words};
use modbox_sdk::http::Response;
use modbox_sdk::{Failure, Module};

/// The contents of a file.
pub(crate) enum Content<'a> {
    /// Contents that are still to be received.
    Coming(&'a mut Response),
    /// Contents that were received.
    Bytes(&'a [u8]),
}

/// Writes a file, unless it has these contents already.
pub(crate) fn write(module: &Module, dest: &Path, content: Content<'_>, outcome: &str) -> Result<(), Failure> {
    let failed = |what: String| Failure::new(format!("{what} {outcome}"));
    let no_temporary = |why: String| failed(format!("Failed to create temporary content file: {why}"));
    let (temporary, file) = modbox_sdk::fs::temporary(&module.tmpdir()).map_err(|error| no_temporary(words(&error)))?;
    let moved = fill(file, content).map_err(no_temporary).and_then(|()| replace(module, &temporary, dest, &failed));
    // The file does not exist if it was moved, and is useless if it was not.
    let _ = fs::remove_file(&temporary);
    moved
}

fn fill(mut file: OutputFile, content: Content<'_>) -> Result<(), String> {
    let written = match content {
        Content::Coming(response) => response.copy_to(&mut file).map(drop).map_err(|error| error.to_string()),
        Content::Bytes(bytes) => file.write_all(bytes).map_err(|error| words(&error)),
    };
    written.and_then(|()| file.flush().map_err(|error| words(&error)))
}

fn replace(module: &Module, temporary: &Path, dest: &Path, failed: &dyn Fn(String) -> Failure) -> Result<(), Failure> {
    let sum = |path: &Path| modbox_checksum::of_file(path, "sha1").ok();
    if sum(dest).is_some() && sum(temporary) == sum(dest) {
        return Ok(());
    }
    let moved = module.atomic_move(temporary, dest, false, true);
    moved.map_err(|why| {
        failed(format!("failed to copy {} to {}: {}", temporary.display(), dest.display(), why.message()))
    })
}
