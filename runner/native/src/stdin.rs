//! The standard input of a native module: bytes in memory that nobody else can reach and nobody can change.
//!
//! They are the module's arguments, so they stand neither on the disk nor on a command line. A file in memory and no pipe,
//! because nobody has to feed it: a module that does not read holds up nothing. It is handed to the launcher over
//! the socket by which that is told everything else, behind the [`Spec`](super::protocol::Spec) that announces it.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use modbox_channel::descriptor;
use rustix::fs::{MemfdFlags, SealFlags};

/// Sends the bytes.
///
/// # Errors
///
/// No memory, or a launcher that is gone.
pub(super) fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    descriptor::send(socket, sealed(bytes)?)
}

/// Returns what a process is given as its standard input: what came, or an empty one.
///
/// # Errors
///
/// Too many open files.
pub(super) fn of(input: Option<&OwnedFd>) -> io::Result<Stdio> {
    Ok(match input {
        Some(input) => input.try_clone()?.into(),
        None => Stdio::null(),
    })
}

/// A file in memory with these bytes, to be read from its beginning.
///
/// # Errors
///
/// No memory.
pub(super) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
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
        send(&here, b"{\"a\": 1}").unwrap();
        let mut file = File::from(descriptor::receive(&there).unwrap());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"a\": 1}");
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
    }
}
