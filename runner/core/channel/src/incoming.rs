//! Reassembles frames from a polled stream: the caller adds bytes as they arrive and takes complete frames.

use std::io;

use crate::framing::{Framing, HEADER};

/// A receive buffer. It may end with an incomplete frame.
#[derive(Debug)]
pub struct Incoming {
    framing: Framing,
    bytes: Vec<u8>,
    /// Number of bytes at the front that belong to frames already taken.
    taken: usize,
}

impl Incoming {
    /// Returns an empty buffer for a channel with this framing.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self { framing, bytes: Vec::new(), taken: 0 }
    }

    /// Appends received bytes.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next frame. Returns `None` until the frame is complete.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] for a frame that is too long.
    pub fn take(&mut self) -> io::Result<Option<&[u8]>> {
        let rest = &self.bytes[self.taken..];
        let Some((header, body)) = rest.split_first_chunk::<HEADER>() else { return Ok(None) };
        let length = self.framing.length(*header)?;
        let Some(payload) = body.get(..length) else { return Ok(None) };
        self.taken += HEADER + length;
        Ok(Some(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_reassembled_from_pieces_of_any_size() {
        let framing = Framing::new(100);
        let mut stream = Vec::new();
        for payload in [&b"one"[..], b"", b"three"] {
            framing.push(&mut stream, payload).unwrap();
        }
        for size in 1..=stream.len() {
            let (mut incoming, mut got) = (Incoming::new(framing), Vec::new());
            for piece in stream.chunks(size) {
                incoming.extend(piece);
                while let Some(payload) = incoming.take().unwrap() {
                    got.push(payload.to_vec());
                }
            }
            assert_eq!(got, [&b"one"[..], b"", b"three"], "in pieces of {size}");
        }
    }

    #[test]
    fn a_length_beyond_the_bound_is_an_error() {
        let mut incoming = Incoming::new(Framing::new(100));
        incoming.extend(&101_u32.to_le_bytes());
        assert_eq!(incoming.take().unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
