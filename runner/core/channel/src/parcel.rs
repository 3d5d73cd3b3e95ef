//! A message with byte strings that belong to it, in one frame: a JSON array of the message and the strings' lengths,
//! then the strings. Bytes in JSON would be several times as long.

use std::io;

use serde::de::DeserializeOwned;

/// A received message and its byte strings.
#[derive(Debug, PartialEq, Eq)]
pub struct Parcel<M> {
    /// What was sent as JSON.
    pub message: M,
    /// The byte strings, in the sender's order.
    pub attached: Vec<Vec<u8>>,
}

impl<M: DeserializeOwned> Parcel<M> {
    /// Decodes a frame that [`Framing::push_parcel`](crate::Framing::push_parcel) made.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] for a frame that is not a message of type `M`, or whose lengths are wrong.
    pub fn decode(frame: &[u8]) -> io::Result<Self> {
        let invalid = |error: serde_json::Error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut values = serde_json::Deserializer::from_slice(frame).into_iter::<(M, Vec<usize>)>();
        let (message, lengths) = values.next().ok_or(io::ErrorKind::InvalidData)?.map_err(invalid)?;
        let mut rest = &frame[values.byte_offset()..];
        let mut attached = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (bytes, others) = rest.split_at_checked(length).ok_or(io::ErrorKind::InvalidData)?;
            attached.push(bytes.to_vec());
            rest = others;
        }
        if rest.is_empty() { Ok(Self { message, attached }) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    /// Returns the message with its only byte string.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] for more or fewer byte strings.
    pub fn with_one(self) -> io::Result<(M, Vec<u8>)> {
        match <[Vec<u8>; 1]>::try_from(self.attached) {
            Ok([bytes]) => Ok((self.message, bytes)),
            Err(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Framing;

    fn frame(attached: &[&[u8]]) -> Vec<u8> {
        let mut buffer = b"before".to_vec();
        Framing::new(1 << 10).push_parcel(&mut buffer, &"a message", attached).unwrap();
        buffer.split_off(b"before".len() + 4)
    }

    #[test]
    fn byte_strings_arrive_as_they_were_sent() {
        let cases: [&[&[u8]]; 3] = [&[], &[b""], &[b"\xff[1]", b"", b"two"]];
        for attached in cases {
            let parcel = Parcel::<String>::decode(&frame(attached)).unwrap();
            assert_eq!(
                (parcel.message.as_str(), parcel.attached),
                ("a message", attached.iter().map(|bytes| bytes.to_vec()).collect())
            );
        }
    }

    #[test]
    fn wrong_lengths_and_garbage_are_errors() {
        let whole = frame(&[b"12345"]);
        for frame in [&whole[..whole.len() - 1], &[&whole[..], b"6"].concat(), b"", b"[\"a\", [9]]", b"[1, []]", b"{"] {
            assert_eq!(Parcel::<String>::decode(frame).unwrap_err().kind(), io::ErrorKind::InvalidData, "{frame:?}");
        }
        assert!(Parcel::<String>::decode(&frame(&[b"1", b"2"])).unwrap().with_one().is_err());
    }

    #[test]
    fn a_parcel_that_is_too_long_leaves_the_buffer_as_it_was() {
        let mut buffer = b"kept".to_vec();
        assert!(Framing::new(10).push_parcel(&mut buffer, &"a message", &[]).is_err());
        assert_eq!(buffer, b"kept");
    }
}
