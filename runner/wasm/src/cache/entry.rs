//! The layout of a cache file: first the contents, so that the engine can map machine code directly; then a keyed hash
//! over the entry's name and the contents; then a magic number for the layout.

use std::fs::File;
use std::io::{self, Read, Write};

use super::key::Key;

/// The last bytes of an entry. The number grows when the layout changes.
const MAGIC: &[u8; 16] = b"modbox compiled2";

const HASH: usize = blake3::OUT_LEN;

const TRAILER: usize = HASH + MAGIC.len();

/// Length of the longest entry: the largest code, and the trailer.
const MAX_LENGTH: u64 = crate::compile::MAX_CODE + TRAILER as u64;

/// Size of one write: the kernel stores large writes in large pages, which are faster to map.
const CHUNK: u64 = 2 << 20;

/// Initial capacity for a file that is read whole: enough for most, so that one read suffices.
const SMALL: usize = 2 << 10;

/// Writes an entry, and returns its length.
pub(super) fn write(
    key: &Key,
    name: &str,
    code: &mut impl Read,
    length: u64,
    output: &mut impl Write,
) -> io::Result<u64> {
    let mut hasher = hasher(key, name, length);
    let mut left = length;
    while left > 0 {
        let mut chunk = Vec::new();
        let read = code.by_ref().take(left.min(CHUNK)).read_to_end(&mut chunk)?;
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

/// Returns whether this user's modbox wrote the file under this name.
// Not inlined: the reader has a buffer of 64 KiB on the stack. Every start would touch it, but only one an hour needs
// it.
#[inline(never)]
pub(super) fn is_authentic(key: &Key, name: &str, file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let Some(payload) = length.checked_sub(TRAILER as u64).filter(|_| length <= MAX_LENGTH) else {
        return Ok(false);
    };
    let mut hasher = hasher(key, name, payload);
    let mut reader = file;
    hasher.update_reader(reader.take(payload))?;
    let mut trailer = [0; TRAILER];
    match reader.read_exact(&mut trailer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let (hash, magic) = trailer.split_at(HASH);
    // `blake3::Hash` compares in constant time.
    Ok(magic == MAGIC && blake3::Hash::from_slice(hash).is_ok_and(|hash| hasher.finalize() == hash))
}

/// Reads the payload of an entry. Returns `None` if it is longer than `max` bytes, or if this user's modbox did not
/// write it under this name.
pub(super) fn read(key: &Key, name: &str, file: &File, max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(SMALL);
    file.take((max + TRAILER + 1) as u64).read_to_end(&mut bytes)?;
    let Some(payload) = bytes.len().checked_sub(TRAILER).filter(|payload| *payload <= max) else { return Ok(None) };
    let (hash, magic) = bytes[payload..].split_at(HASH);
    let expect = hasher(key, name, payload as u64).update(&bytes[..payload]).finalize();
    let authentic = magic == MAGIC && blake3::Hash::from_slice(hash).is_ok_and(|hash| expect == hash);
    bytes.truncate(payload);
    Ok(authentic.then_some(bytes))
}

/// Starts the hash of an entry with its name and its length; its bytes follow.
fn hasher(key: &Key, name: &str, length: u64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes()).update(&length.to_le_bytes());
    hasher
}
