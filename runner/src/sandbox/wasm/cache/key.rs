//! The key that authenticates entries: 32 random bytes in a file of the cache that only its user can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::{CacheError, is_private};

pub(super) const NAME: &str = "key";

const LENGTH: usize = blake3::KEY_LEN;

pub(super) type Key = [u8; LENGTH];

/// Reads the key, and makes it when it is missing.
pub(super) fn read_or_make(dir: &Path) -> Result<Key, CacheError> {
    let path = dir.join(NAME);
    if let Some(key) = read(&path)? {
        return Ok(key);
    }
    let mut key = [0; LENGTH];
    let fill = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
    fill.map_err(|errno| CacheError::Io { verb: "make", path: path.clone(), source: errno.into() })?;
    write(dir, &path, &key)?;
    // Another process may have been first: its key is the one that counts.
    read(&path)?.ok_or(CacheError::DamagedKey(path))
}

fn read(path: &Path) -> Result<Option<Key>, CacheError> {
    let io = |source| CacheError::Io { verb: "read", path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(io(source)),
    };
    let metadata = file.metadata().map_err(io)?;
    if !is_private(&metadata) || metadata.mode() & 0o077 != 0 {
        return Err(CacheError::NotPrivate(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(LENGTH as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    bytes.try_into().map(Some).map_err(|_| CacheError::DamagedKey(path.to_owned()))
}

/// Writes the key whole or not at all: a linked file is never seen half-written, and a link fails when
/// another process was first.
fn write(dir: &Path, path: &Path, key: &[u8]) -> Result<(), CacheError> {
    let io = |source| CacheError::Io { verb: "write", path: path.to_owned(), source };
    let unfinished = dir.join(format!("{}key-{}", super::UNFINISHED, std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(key)?;
        match fs::hard_link(&unfinished, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    let written = write();
    drop(fs::remove_file(&unfinished));
    written.map_err(io)
}
