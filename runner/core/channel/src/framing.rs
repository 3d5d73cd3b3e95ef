//! Frames and messages over blocking streams.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Size of a frame's length field in bytes.
pub(crate) const HEADER: usize = 4;

/// Buffer size for a frame that has not arrived yet. Longer frames make the buffer grow.
const ORDINARY: usize = 16 << 10;

/// Longest frame that is copied into one buffer with its header, so that one call writes both.
const SMALL: usize = 64 << 10;

/// The framing of a channel. It sets the longest frame that either end accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    max: u32,
}

impl Framing {
    /// Returns the framing with a longest frame of `max` bytes.
    #[must_use]
    pub const fn new(max: u32) -> Self {
        Self { max }
    }

    /// Appends a frame to a buffer.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] for a frame that is too long; the buffer is not changed.
    pub fn push(self, buffer: &mut Vec<u8>, payload: &[u8]) -> io::Result<()> {
        buffer.extend_from_slice(&self.header(payload.len())?);
        buffer.extend_from_slice(payload);
        Ok(())
    }

    /// Writes a frame.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] for a frame that is too long, without writing any of it; otherwise the stream's
    /// error.
    pub fn write(self, mut stream: impl Write, payload: &[u8]) -> io::Result<()> {
        if payload.len() <= SMALL {
            let mut frame = Vec::with_capacity(HEADER + payload.len());
            self.push(&mut frame, payload)?;
            stream.write_all(&frame)?;
        } else {
            stream.write_all(&self.header(payload.len())?)?;
            stream.write_all(payload)?;
        }
        stream.flush()
    }

    /// Reads one frame and no byte after it. Returns `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] for a frame that is too long, [`io::ErrorKind::UnexpectedEof`] for a truncated
    /// one; otherwise the stream's error.
    pub fn read(self, mut stream: impl Read) -> io::Result<Option<Vec<u8>>> {
        let mut header = [0; HEADER];
        let has_frame = loop {
            match stream.read(&mut header[..1]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read? > 0,
            }
        };
        if !has_frame {
            return Ok(None);
        }
        stream.read_exact(&mut header[1..])?;
        let length = self.length(header)?;
        let mut payload = Vec::with_capacity(length.min(ORDINARY));
        stream.take(length as u64).read_to_end(&mut payload)?;
        if payload.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(payload))
    }

    /// Reads a frame; the end of the stream is an error.
    ///
    /// # Errors
    ///
    /// Those of [`Self::read`], and [`io::ErrorKind::UnexpectedEof`] at the end of the stream.
    pub fn read_required(self, stream: impl Read) -> io::Result<Vec<u8>> {
        self.read(stream)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// Those of [`Self::write`], and a message that cannot be encoded as JSON.
    pub fn send(self, mut stream: impl Write, message: &impl Serialize) -> io::Result<()> {
        let mut frame = vec![0; HEADER];
        serde_json::to_writer(&mut frame, message)?;
        let header = self.header(frame.len() - HEADER)?;
        frame[..HEADER].copy_from_slice(&header);
        stream.write_all(&frame)?;
        stream.flush()
    }

    /// Appends a frame with a message and byte strings that belong to it, for [`Parcel`](crate::Parcel) to read.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] for a frame that is too long; the buffer is not changed.
    pub fn push_parcel(self, buffer: &mut Vec<u8>, message: &impl Serialize, attached: &[&[u8]]) -> io::Result<()> {
        let lengths: Vec<usize> = attached.iter().map(|bytes| bytes.len()).collect();
        let start = buffer.len();
        buffer.extend_from_slice(&[0; HEADER]);
        serde_json::to_writer(&mut *buffer, &(message, lengths))?;
        attached.iter().for_each(|bytes| buffer.extend_from_slice(bytes));
        match self.header(buffer.len() - start - HEADER) {
            Ok(header) => {
                buffer[start..start + HEADER].copy_from_slice(&header);
                Ok(())
            }
            Err(error) => {
                buffer.truncate(start);
                Err(error)
            }
        }
    }

    /// Receives a message. Returns `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// Those of [`Self::read`], and [`io::ErrorKind::InvalidData`] for a frame that is not a message of type `M`.
    pub fn receive<M: DeserializeOwned>(self, stream: impl Read) -> io::Result<Option<M>> {
        self.read(stream)?.map(|json| parse(&json)).transpose()
    }

    /// Receives a message; the end of the stream is an error.
    ///
    /// # Errors
    ///
    /// Those of [`Self::receive`], and [`io::ErrorKind::UnexpectedEof`] at the end of the stream.
    pub fn receive_required<M: DeserializeOwned>(self, stream: impl Read) -> io::Result<M> {
        parse(&self.read_required(stream)?)
    }

    fn header(self, length: usize) -> io::Result<[u8; HEADER]> {
        let length = u32::try_from(length).ok().filter(|length| *length <= self.max);
        let too_long =
            || io::Error::new(io::ErrorKind::InvalidInput, format!("the frame is longer than {} bytes", self.max));
        length.map(u32::to_le_bytes).ok_or_else(too_long)
    }

    /// Returns the length that a header states.
    pub(crate) fn length(self, header: [u8; HEADER]) -> io::Result<usize> {
        let length = u32::from_le_bytes(header);
        if length > self.max {
            let claim = format!("the frame has {length} bytes, more than the limit of {}", self.max);
            return Err(io::Error::new(io::ErrorKind::InvalidData, claim));
        }
        Ok(length as usize)
    }
}

/// Decodes a message. JSON that ends too early is invalid data and not the end of the stream, because the frame was
/// complete.
fn parse<M: DeserializeOwned>(json: &[u8]) -> io::Result<M> {
    serde_json::from_slice(json).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    const SHORT: Framing = Framing::new(8);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message {
        number: u32,
        text: String,
    }

    fn message() -> Message {
        Message { number: 7, text: "seven".to_owned() }
    }

    const MESSAGES: Framing = Framing::new(1 << 10);

    #[test]
    fn reading_a_frame_leaves_the_bytes_after_it() {
        let mut wire = Vec::new();
        for payload in [&b"one"[..], b"", b"12345678"] {
            SHORT.write(&mut wire, payload).unwrap();
        }
        wire.push(b'k');
        let mut rest = wire.as_slice();
        for payload in [&b"one"[..], b"", b"12345678"] {
            assert_eq!(SHORT.read(&mut rest).unwrap().unwrap(), payload);
        }
        assert_eq!(rest, b"k");
    }

    #[test]
    fn a_long_frame_is_the_same_as_a_short_one() {
        let long = vec![b'x'; SMALL + 1];
        let mut wire = Vec::new();
        let framing = Framing::new(1 << 20);
        framing.write(&mut wire, &long).unwrap();
        let mut pushed = Vec::new();
        framing.push(&mut pushed, &long).unwrap();
        assert_eq!(wire, pushed);
        assert_eq!(framing.read(wire.as_slice()).unwrap().unwrap(), long);
    }

    #[test]
    fn a_truncated_frame_is_not_the_end_of_the_stream() {
        assert!(SHORT.read(&b""[..]).unwrap().is_none());
        assert_eq!(SHORT.read_required(&b""[..]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        let mut wire = Vec::new();
        MESSAGES.send(&mut wire, &message()).unwrap();
        for length in 1..wire.len() {
            let error = MESSAGES.receive::<Message>(&wire[..length]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "cut at {length}");
        }
        assert_eq!(MESSAGES.receive::<Message>(wire.as_slice()).unwrap(), Some(message()));
        assert_eq!(MESSAGES.receive::<Message>(&b""[..]).unwrap(), None);
        assert_eq!(MESSAGES.receive_required::<Message>(wire.as_slice()).unwrap(), message());
        assert!(MESSAGES.receive_required::<Message>(&b""[..]).is_err());
    }

    #[test]
    fn a_frame_that_is_too_long_is_neither_written_nor_read() {
        let mut wire = Vec::new();
        assert_eq!(SHORT.write(&mut wire, b"123456789").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(SHORT.push(&mut wire, b"123456789").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(SHORT.send(&mut wire, &message()).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(wire, b"");
        for claim in [9, u32::MAX] {
            let error = SHORT.read(claim.to_le_bytes().as_slice()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{claim}");
        }
    }

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let error = Framing::new(u32::MAX).read(u32::MAX.to_le_bytes().as_slice()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn garbage_is_refused() {
        for garbage in [&b""[..], b"{", b"[]", b"{\"number\": -1, \"text\": \"\"}", b"\xff\xfe", b"{\"number\": 1}"] {
            let mut wire = Vec::new();
            MESSAGES.write(&mut wire, garbage).unwrap();
            let error = MESSAGES.receive::<Message>(wire.as_slice()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{garbage:?}");
        }
    }
}
