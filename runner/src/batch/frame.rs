//! What passes between a batch and its workers: frames, each a length and that many bytes.
//!
//! The worker reads and writes them one by one and waits; the batch keeps what is unfinished and never waits for one
//! worker alone.

use std::io::{self, Read, Write};

/// Longest frame. A job carries its arguments, a report what was kept of the output, several times escaped.
pub(super) const MAX_FRAME: usize = 1 << 30;

const HEADER: usize = 4;

/// Bytes of an ordinary frame.
const ORDINARY: usize = 4 << 10;

/// Puts a frame behind what is already there.
pub(super) fn push(buffer: &mut Vec<u8>, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    buffer.extend_from_slice(&length.to_le_bytes());
    buffer.extend_from_slice(payload);
}

/// Reads a frame, or `None` at the end of the stream.
///
/// # Errors
///
/// A stream that breaks, or a frame that is cut or too long.
pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; HEADER];
    match stream.read(&mut header[..1])? {
        0 => return Ok(None),
        _ => stream.read_exact(&mut header[1..])?,
    }
    let length = u32::from_le_bytes(header) as usize;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
    }
    // No more than has arrived, or little: the length is only said.
    let mut payload = Vec::with_capacity(length.min(ORDINARY));
    stream.take(length as u64).read_to_end(&mut payload)?;
    if payload.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(payload))
}

/// Writes a frame at once.
///
/// # Errors
///
/// A stream that is gone.
pub(super) fn write(stream: &mut impl Write, payload: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    push(&mut frame, payload);
    stream.write_all(&frame)?;
    stream.flush()
}

/// Bytes that arrived and are not yet whole frames.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
    taken: usize,
}

impl Incoming {
    /// Adds what arrived.
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next whole frame; an error when it is too long.
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>, ()> {
        let rest = &self.bytes[self.taken..];
        let Some((header, body)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        if length > MAX_FRAME {
            return Err(());
        }
        let Some(payload) = body.get(..length) else { return Ok(None) };
        self.taken += HEADER + length;
        Ok(Some(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_any_cutting() {
        let mut stream = Vec::new();
        for payload in [&b"one"[..], b"", b"three"] {
            push(&mut stream, payload);
        }
        for size in 1..stream.len() {
            let (mut incoming, mut got) = (Incoming::default(), Vec::new());
            for piece in stream.chunks(size) {
                incoming.extend(piece);
                while let Some(payload) = incoming.next().unwrap() {
                    got.push(payload.to_vec());
                }
            }
            assert_eq!(got, [&b"one"[..], b"", b"three"]);
        }
        let mut reader = &stream[..];
        assert_eq!(read(&mut reader).unwrap().unwrap(), b"one");
        assert_eq!(read(&mut reader).unwrap().unwrap(), b"");
        assert_eq!(read(&mut reader).unwrap().unwrap(), b"three");
        assert!(read(&mut reader).unwrap().is_none());
        assert!(read(&mut &stream[..5]).is_err());
    }

    #[test]
    fn a_length_that_nobody_writes_is_an_error() {
        let mut incoming = Incoming::default();
        incoming.extend(&u32::MAX.to_le_bytes());
        assert!(incoming.next().is_err());
        assert!(read(&mut &u32::MAX.to_le_bytes()[..]).is_err());
    }
}
