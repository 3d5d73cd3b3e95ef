//! The byte with which one process tells the other to continue. It has no content and therefore no frame.

use std::io::{self, Read, Write};

const BYTE: u8 = b'g';

/// Tells the other end to continue.
///
/// # Errors
///
/// The peer closed its end.
pub fn give(mut stream: impl Write) -> io::Result<()> {
    stream.write_all(&[BYTE])
}

/// Waits until the other end allows this one to continue.
///
/// # Errors
///
/// The peer closed its end.
pub fn wait(mut stream: impl Read) -> io::Result<()> {
    stream.read_exact(&mut [0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_given_once_and_never_by_a_peer_that_is_gone() {
        let mut wire = Vec::new();
        give(&mut wire).unwrap();
        let mut rest = wire.as_slice();
        wait(&mut rest).unwrap();
        assert_eq!(wait(&mut rest).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
