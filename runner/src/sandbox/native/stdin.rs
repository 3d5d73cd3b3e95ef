//! The standard input of a native module: bytes in memory that nobody else can reach and nobody can change.
//!
//! They are the module's arguments, so they stand neither on the disk nor on a command line. A file in memory and no pipe,
//! because nobody has to feed it: a module that does not read holds up nothing. It is handed to the launcher over
//! the socket by which that is told everything else, behind the [`Spec`](super::protocol::Spec) that announces it.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

/// A descriptor travels with some byte; this one says nothing.
const BYTE: u8 = b'i';

/// Sends the bytes.
///
/// # Errors
///
/// No memory, or a launcher that is gone.
pub(super) fn send(socket: impl AsFd, bytes: &[u8]) -> io::Result<()> {
    let file = sealed(bytes)?;
    let descriptors = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(socket, &[IoSlice::new(&[BYTE])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives what [`send`] sent.
///
/// # Errors
///
/// A host that is gone; [`io::ErrorKind::InvalidData`] when no descriptor came.
pub(super) fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    rustix::net::recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let rights = |message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    };
    control.drain().find_map(rights).ok_or_else(|| io::ErrorKind::InvalidData.into())
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
        let mut file = File::from(receive(&there).unwrap());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"a\": 1}");
        assert!(file.write_all(b"x").is_err());
        assert!(file.set_len(0).is_err());
    }

    #[test]
    fn a_byte_without_a_descriptor_is_an_error() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"i").unwrap();
        assert_eq!(receive(&there).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(here);
        assert!(receive(&there).is_err());
    }
}
