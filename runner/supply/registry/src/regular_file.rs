//! Reads regular files up to a size, without waiting for what is not one.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::path::Path;

use modbox_files::LastLink;

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum NotRead {
    /// The kernel's error.
    Io(io::Error),
    /// It is a directory, a FIFO or the like.
    NotRegular,
    /// It is larger than allowed.
    TooLarge,
}

impl From<io::Error> for NotRead {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads a file of at most `max` bytes. Returns `None` if it is missing.
pub(crate) fn read(path: &Path, max: u64, last_link: LastLink) -> Result<Option<(Vec<u8>, Metadata)>, NotRead> {
    let (file, metadata) = match modbox_files::open(path, last_link) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        opened => opened?,
    };
    if !metadata.is_file() {
        return Err(NotRead::NotRegular);
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(NotRead::TooLarge) } else { Ok(Some((bytes, metadata))) }
}
