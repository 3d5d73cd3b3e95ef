//! The standard input of a native module: bytes in memory that no other process can reach and no process can change.
//!
//! The bytes are the module's arguments, so they must be neither on the disk nor on a command line. They are in a file
//! in memory and not in a pipe, because a pipe would need a writer, and a module that does not read would block it. The
//! file is sent to the launcher over its socket, after the [`Spec`](crate::protocol::Spec) that announces it. A command that
//! talks with the host gets a socket instead.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Stdio;

use modbox_channel::descriptor;
use rustix::fs::{MemfdFlags, SealFlags};

/// What a command reads from its standard input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StdinSource<'a> {
    /// Bytes, and then the end.
    Bytes(&'a [u8]),
    /// A socket, over which the command and the host talk.
    Socket(BorrowedFd<'a>),
}

impl StdinSource<'_> {
    /// Sends it to the launcher: bytes as a file in memory.
    ///
    /// # Errors
    ///
    /// Fails without memory, or when the launcher is gone.
    pub(crate) fn send(self, socket: impl AsFd) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => descriptor::send(socket, sealed(bytes)?),
            Self::Socket(own) => descriptor::send(socket, own),
        }
    }

    /// Returns whether there is nothing to read.
    pub(crate) fn is_empty(self) -> bool {
        matches!(self, Self::Bytes([]))
    }
}

/// Returns the standard input for a process: a copy of `input`, or an empty one.
///
/// # Errors
///
/// Fails with too many open files.
pub(crate) fn of(input: Option<&OwnedFd>) -> io::Result<Stdio> {
    Ok(match input {
        Some(input) => input.try_clone()?.into(),
        None => Stdio::null(),
    })
}

/// Returns a sealed file in memory with these bytes, positioned at its beginning.
///
/// # Errors
///
/// Fails without memory.
pub(crate) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create("modbox-stdin", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_arrives_can_be_read_and_not_changed() {
        let (here, there) = UnixStream::pair().unwrap();
        StdinSource::Bytes(b"{\"a\": 1}").send(&here).unwrap();
        let mut file = File::from(descriptor::receive(&there).unwrap());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"a\": 1}");
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
    }
}
