//! Opens files without waiting, and reads them up to a limit.
//!
//! What lies at a path may be what another user has put there. Opening a FIFO waits for a writer that may never come, and a
//! device may have no end, so modbox opens with [`AT_ONCE`], looks at the type of what it has opened, and reads a limited
//! number of bytes. This crate does not decide which types and which owners are accepted.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Length of a short file or stream, in bytes.
const SHORT: usize = 4 << 10;

/// The flags of `open` with which it waits for nothing, for what opens files in a folder of its own.
pub const AT_ONCE: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// What an open does with a symbolic link as the last part of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastLink {
    /// Opens what the link leads to.
    Followed,
    /// Fails with `ELOOP`.
    Refused,
}

/// Opens a file for reading without waiting, as opening a FIFO else would for a writer. Follows links. Returns it with its
/// metadata, of which the caller checks the type.
///
/// # Errors
///
/// The file cannot be opened.
pub fn open_at_once(path: &Path) -> io::Result<(File, Metadata)> {
    open(path, LastLink::Followed)
}

/// Does the same as [`open_at_once`], and says what happens to a link in place of the file.
///
/// # Errors
///
/// The file cannot be opened, or is a link that is refused.
pub fn open(path: &Path, last_link: LastLink) -> io::Result<(File, Metadata)> {
    let no_follow = match last_link {
        LastLink::Followed => 0,
        LastLink::Refused => OFlags::NOFOLLOW.bits().cast_signed(),
    };
    let file = File::options().read(true).custom_flags(AT_ONCE | no_follow).open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

/// Opens a regular file for reading without waiting. Follows links.
///
/// # Errors
///
/// The file cannot be opened, or is not a regular one.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let (file, metadata) = open_at_once(path)?;
    match metadata.is_file() {
        true => Ok((file, metadata)),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Reads a whole file of at most `limit` bytes. Waits for the writer of a FIFO, as for one that a shell makes of `<(command)`.
/// On devices that never end, this stops at the limit with an error.
///
/// # Errors
///
/// The file cannot be read, or is longer than the limit.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_stream(File::open(path)?, limit)
}

/// Reads a stream of at most `limit` bytes to its end.
///
/// # Errors
///
/// The stream cannot be read, or is longer than the limit.
pub fn read_stream(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    // Most are short, and then one read has all of it.
    let mut bytes = Vec::with_capacity(SHORT);
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("longer than the limit of {limit} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_fifo_and_a_link_hold_nothing_up() {
        let dir = tempfile::tempdir().unwrap();
        let [fifo, link, file] = ["fifo", "link", "file"].map(|name| dir.path().join(name));
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        std::fs::write(&file, "abc").unwrap();
        symlink(&file, &link).unwrap();
        assert!(!open_at_once(&fifo).unwrap().1.is_file());
        assert_eq!(open_regular(&fifo).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(open_regular(&link).unwrap().1.len(), 3);
        assert_eq!(
            open(&link, LastLink::Refused).unwrap_err().raw_os_error(),
            Some(rustix::io::Errno::LOOP.raw_os_error())
        );
        assert!(open(&file, LastLink::Refused).unwrap().1.is_file());
    }

    #[test]
    fn longer_files_and_streams_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "abc").unwrap();
        assert_eq!(read_file(&file, 3).unwrap(), b"abc");
        for error in [read_file(&file, 2).unwrap_err(), read_file(Path::new("/dev/zero"), 2).unwrap_err()] {
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            assert_eq!(error.to_string(), "longer than the limit of 2 bytes");
        }
        assert_eq!(read_stream(&b"ab"[..], u64::MAX).unwrap(), b"ab");
    }
}
