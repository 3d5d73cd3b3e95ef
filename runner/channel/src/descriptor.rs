//! Passes file descriptors over a Unix socket. One byte without meaning accompanies each descriptor.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

const BYTE: u8 = b'd';

/// Sends a copy of a descriptor.
///
/// # Errors
///
/// The peer closed its end, or the socket is not a Unix socket.
pub fn send(socket: impl AsFd, descriptor: impl AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("the control message has no space for a descriptor"));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(&[BYTE])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a descriptor and sets close-on-exec on it.
///
/// # Errors
///
/// [`io::ErrorKind::UnexpectedEof`] at the end of the stream, [`io::ErrorKind::InvalidData`] for a byte without a
/// descriptor.
pub fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let mut receive = || rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags);
    let received = rustix::io::retry_on_intr(&mut receive)?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let rights = |message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    };
    control.drain().find_map(rights).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_descriptor_arrives_between_frames() {
        let framing = crate::Framing::new(100);
        let (here, there) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        framing.send(&here, &1).unwrap();
        send(&here, &reader).unwrap();
        framing.send(&here, &2).unwrap();
        assert_eq!(framing.receive_required::<u32>(&there).unwrap(), 1);
        let mut received = File::from(receive(&there).unwrap());
        assert_eq!(framing.receive_required::<u32>(&there).unwrap(), 2);
        drop(reader);
        writer.write_all(b"through it").unwrap();
        drop(writer);
        let mut text = String::new();
        received.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through it");
        assert!(rustix::io::fcntl_getfd(&received).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    }

    #[test]
    fn a_byte_without_a_descriptor_and_the_end_are_errors() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"x").unwrap();
        assert_eq!(receive(&there).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(here);
        assert_eq!(receive(&there).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
