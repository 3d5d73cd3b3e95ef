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
    send_with(socket, &[BYTE], descriptor)
}

/// Sends bytes such as a frame, and a copy of a descriptor with the first of them. The socket must wait.
///
/// # Errors
///
/// The peer closed its end, or the socket is not a Unix socket.
pub fn send_with(socket: impl AsFd, bytes: &[u8], descriptor: impl AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("the control message has no space for a descriptor"));
    }
    let flags = SendFlags::NOSIGNAL;
    let mut send = || rustix::net::sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, flags);
    let mut sent = rustix::io::retry_on_intr(&mut send)?;
    while sent < bytes.len() {
        sent += rustix::io::retry_on_intr(|| rustix::net::send(&socket, &bytes[sent..], flags))?;
    }
    Ok(())
}

/// Receives a descriptor and sets close-on-exec on it.
///
/// # Errors
///
/// [`io::ErrorKind::UnexpectedEof`] at the end of the stream, [`io::ErrorKind::InvalidData`] for a byte without a
/// descriptor.
pub fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    match read_with(socket, &mut [0])? {
        (0, _) => Err(io::ErrorKind::UnexpectedEof.into()),
        (_, descriptor) => descriptor.ok_or_else(|| io::ErrorKind::InvalidData.into()),
    }
}

/// Reads once into a buffer. Returns the number of bytes, and the descriptor that came with them, with close-on-exec
/// set. Closes further descriptors.
///
/// # Errors
///
/// The socket cannot be read, or nothing has arrived on one that does not wait.
pub fn read_with(socket: impl AsFd, buffer: &mut [u8]) -> rustix::io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let mut read = || rustix::net::recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut control, flags);
    let read = rustix::io::retry_on_intr(&mut read)?;
    let rights = |message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    };
    let descriptor = control.drain().find_map(rights);
    Ok((read.bytes, descriptor))
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
    fn a_descriptor_arrives_with_the_bytes_that_it_was_sent_with() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        here.write_all(b"before").unwrap();
        send_with(&here, b"with it", &reader).unwrap();
        here.write_all(b"after").unwrap();
        let (mut bytes, mut received) = (Vec::new(), None);
        while bytes.len() < b"beforewith itafter".len() {
            let mut buffer = [0; 64];
            let (count, descriptor) = read_with(&there, &mut buffer).unwrap();
            bytes.extend_from_slice(&buffer[..count]);
            if let Some(descriptor) = descriptor {
                assert!(received.is_none() && bytes.ends_with(b"with it"), "{bytes:?}");
                received = Some(File::from(descriptor));
            }
        }
        assert_eq!(bytes, b"beforewith itafter");
        writer.write_all(b"x").unwrap();
        assert_eq!(received.unwrap().read(&mut [0; 2]).unwrap(), 1);
    }

    #[test]
    fn further_descriptors_are_closed() {
        let (here, there) = UnixStream::pair().unwrap();
        let (first, _one) = io::pipe().unwrap();
        let (second, mut other) = io::pipe().unwrap();
        let descriptors = [first.as_fd(), second.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
        rustix::net::sendmsg(&here, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
        drop(second);
        let (count, received) = read_with(&there, &mut [0; 8]).unwrap();
        assert!(count == 1 && received.is_some());
        assert_eq!(other.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_plain_read_closes_descriptors() {
        let (here, mut there) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        send_with(&here, b"frame", &reader).unwrap();
        drop(reader);
        assert_eq!(there.read(&mut [0; 8]).unwrap(), 5);
        assert_eq!(writer.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
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
