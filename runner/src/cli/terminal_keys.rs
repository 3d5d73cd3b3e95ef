//! Single keys of a terminal. Keys without a character, such as arrows, and pasted texts come as several bytes. No byte of these is an
//! answer (ECMA-48, 5.4; xterm, bracketed paste).

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// What such a key begins with.
const ESCAPE: u8 = 0x1b;

/// How long after that byte the others come at the latest. A person does not press two keys in so short a time.
const BURST: Duration = Duration::from_millis(50);

/// What ends a pasted text.
const PASTE_END: &[u8] = b"\x1b[201~";

/// The lack of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyError {
    /// The time is over.
    Timeout,
    /// The terminal is gone.
    Ended,
}

/// Returns the byte of the next key; `None` for a key without a character.
///
/// # Errors
///
/// No key comes in time, or ever.
pub(super) fn next_key(timeout: Option<Duration>) -> Result<Option<u8>, KeyError> {
    read_key(timeout, &mut byte)
}

/// A source of bytes, which waits for a time at most.
type Bytes<'b> = dyn FnMut(Option<Duration>) -> Result<u8, KeyError> + 'b;

/// Reads a key from a source of bytes.
fn read_key(timeout: Option<Duration>, next: &mut Bytes<'_>) -> Result<Option<u8>, KeyError> {
    let first = next(timeout)?;
    if first != ESCAPE {
        return Ok(Some(first));
    }
    match skip_sequence(next) {
        Ok(()) | Err(KeyError::Timeout) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Passes over what follows the byte with which a sequence begins.
fn skip_sequence(source: &mut Bytes<'_>) -> Result<(), KeyError> {
    let mut next = || source(Some(BURST));
    let mut first = next()?;
    // A key together with Alt, or Escape twice.
    while first == ESCAPE {
        first = next()?;
    }
    match first {
        b'[' => {
            let mut parameters = Vec::new();
            loop {
                match next()? {
                    // The function keys of Linux's console: `ESC [ [ A`.
                    b'[' if parameters.is_empty() => return next().map(drop),
                    b'~' if parameters == b"200" => break,
                    0x40..=0x7e => return Ok(()),
                    byte if parameters.len() < 32 => parameters.push(byte),
                    _ => {}
                }
            }
            let mut last = Vec::new();
            while !last.ends_with(PASTE_END) {
                last.push(next()?);
                let first = last.len().saturating_sub(PASTE_END.len());
                last.drain(..first);
            }
            Ok(())
        }
        b'O' => next().map(drop),
        _ => Ok(()),
    }
}

/// Reads one byte of standard input.
fn byte(timeout: Option<Duration>) -> Result<u8, KeyError> {
    let left = timeout.and_then(|left| Timespec::try_from(left).ok());
    let ready = rustix::io::retry_on_intr(|| {
        poll(&mut [PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN)], left.as_ref())
    });
    match ready {
        Ok(0) => return Err(KeyError::Timeout),
        Ok(_) => {}
        Err(_) => return Err(KeyError::Ended),
    }
    let mut key = [0];
    // Not `io::stdin()`, which takes all keys that are there into a buffer, where `poll` does not see them.
    match rustix::io::retry_on_intr(|| rustix::io::read(rustix::stdio::stdin(), &mut key)) {
        Ok(1) => Ok(key[0]),
        _ => Err(KeyError::Ended),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the keys of bytes, each of which comes at once.
    fn keys(bytes: &[u8]) -> Vec<Option<u8>> {
        let mut left = bytes.iter().copied();
        let mut next = |timeout: Option<Duration>| {
            left.next().ok_or(match timeout {
                Some(_) => KeyError::Timeout,
                None => KeyError::Ended,
            })
        };
        std::iter::from_fn(|| read_key(None, &mut next).ok()).collect()
    }

    #[test]
    fn keys_without_a_character_are_not_answers() {
        for sequence in [
            "\x1b[A",
            "\x1b[1;5A",
            "\x1bOA",
            "\x1b[I",
            "\x1b[[A",
            "\x1b[3~",
            "\x1ba",
            "\x1b\x1b[A",
            "\x1b[200~yes\na\x1b[Ao\x1b[201~",
        ] {
            let typed = format!("{sequence}n");
            assert_eq!(keys(typed.as_bytes()), [None, Some(b'n')], "{sequence:?}");
        }
        assert_eq!(keys(b"oa"), [Some(b'o'), Some(b'a')]);
        // A key of its own, and sequences that do not end.
        for sequence in ["\x1b", "\x1b[", "\x1b[200~a", "\x1bO"] {
            assert_eq!(keys(sequence.as_bytes()), [None], "{sequence:?}");
        }
    }
}
