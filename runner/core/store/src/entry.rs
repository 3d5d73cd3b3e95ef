//! The layout of an authenticated file: first the contents, so that the engine can map machine code directly; then a
//! keyed hash over the entry's identity and the contents; then a magic number for the layout.
//!
//! The identity says what the contents are for. It makes a file worthless under another name.

use std::fs::File;
use std::io::{self, Read, Write};

use crate::key::Key;

/// The last bytes of an entry. The number grows when the layout changes.
const MAGIC: &[u8; 16] = b"modbox stored 01";

const HASH: usize = blake3::OUT_LEN;

const TRAILER: usize = HASH + MAGIC.len();

/// Size of one write: the kernel stores large writes in large pages, which are faster to map.
const CHUNK: u64 = 2 << 20;

/// Initial capacity for a file that is read whole: enough for most, so that one read suffices.
const SMALL: usize = 2 << 10;

/// Writes an entry, and returns its length.
pub(crate) fn write(
    key: &Key,
    identity: &str,
    contents: &mut impl Read,
    length: u64,
    output: &mut impl Write,
) -> io::Result<u64> {
    let mut hasher = hasher(key, identity, length);
    let mut left = length;
    while left > 0 {
        let mut chunk = Vec::new();
        let read = contents.by_ref().take(left.min(CHUNK)).read_to_end(&mut chunk)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hasher.update(&chunk);
        output.write_all(&chunk)?;
        left -= read as u64;
    }
    output.write_all(hasher.finalize().as_bytes())?;
    output.write_all(MAGIC)?;
    Ok(length + TRAILER as u64)
}

/// Returns whether this user's modbox wrote the file under this identity, with contents of at most `max` bytes.
// Not inlined: the reader has a buffer of 64 KiB on the stack. Every start would touch it, but only one an hour needs
// it.
#[inline(never)]
pub(crate) fn is_authentic(key: &Key, identity: &str, file: &File, max: u64) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let Some(payload) = length.checked_sub(TRAILER as u64).filter(|payload| *payload <= max) else {
        return Ok(false);
    };
    let mut hasher = hasher(key, identity, payload);
    let mut reader = file;
    hasher.update_reader(reader.take(payload))?;
    let mut trailer = [0; TRAILER];
    match reader.read_exact(&mut trailer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    Ok(is_trailer(&trailer, &hasher))
}

/// Reads the contents of an entry. Returns `None` if they are longer than `max` bytes, or if this user's modbox did not
/// write them under this identity.
pub(crate) fn read(key: &Key, identity: &str, file: &File, max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(SMALL);
    file.take(max.saturating_add(TRAILER as u64 + 1)).read_to_end(&mut bytes)?;
    let payload = bytes.len().checked_sub(TRAILER).filter(|payload| *payload as u64 <= max);
    let Some(payload) = payload else { return Ok(None) };
    let mut hasher = hasher(key, identity, payload as u64);
    hasher.update(&bytes[..payload]);
    let is_authentic = is_trailer(&bytes[payload..], &hasher);
    bytes.truncate(payload);
    Ok(is_authentic.then_some(bytes))
}

/// Starts the hash of an entry with its identity and its length; its bytes follow.
fn hasher(key: &Key, identity: &str, length: u64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&(identity.len() as u64).to_le_bytes()).update(identity.as_bytes()).update(&length.to_le_bytes());
    hasher
}

/// Returns whether the last bytes of an entry are the hash of what was read, and the magic number.
fn is_trailer(trailer: &[u8], hasher: &blake3::Hasher) -> bool {
    let (hash, magic) = trailer.split_at(HASH);
    // `blake3::Hash` compares in constant time.
    magic == MAGIC && blake3::Hash::from_slice(hash).is_ok_and(|hash| hasher.finalize() == hash)
}
