//! The byte by which one process lets the other go on. It carries nothing, so no frame is around it.

use std::io::{self, Read, Write};

const BYTE: u8 = b'g';

/// Lets the other end go on.
///
/// # Errors
///
/// A peer that is gone.
pub fn give(mut stream: impl Write) -> io::Result<()> {
    stream.write_all(&[BYTE])
}

/// Waits until the other end lets this one go on.
///
/// # Errors
///
/// A peer that is gone.
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
