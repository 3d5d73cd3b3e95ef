//! The key that authenticates cache entries: 32 random bytes in a file that only its user can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CacheError, is_private};

pub(super) const NAME: &str = "key";

const LENGTH: usize = blake3::KEY_LEN;

pub(super) type Key = [u8; LENGTH];

/// Reads the key. Creates one if the file is missing, or if a full disk or a crash left a file of another length, which
/// cannot authenticate anything.
pub(super) fn read_or_create(dir: &Path) -> Result<Key, CacheError> {
    let path = dir.join(NAME);
    let put: fn(&Path, &Path) -> io::Result<()> = match read(&path) {
        Ok(Some(key)) => return Ok(key),
        Ok(None) => link_new,
        Err(CacheError::DamagedKey(_)) => |unfinished, path| fs::rename(unfinished, path),
        Err(error) => return Err(error),
    };
    let mut key = [0; LENGTH];
    let fill = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
    fill.map_err(|errno| CacheError::Io { verb: "make", path: path.clone(), source: errno.into() })?;
    write(dir, &path, &key, put)?;
    // Another process may have created a key first: the one in the file is valid.
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

/// Writes the key atomically: to a temporary file, which `put` then moves to its path.
fn write(
    dir: &Path,
    path: &Path,
    key: &[u8],
    put: impl FnOnce(&Path, &Path) -> io::Result<()>,
) -> Result<(), CacheError> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let io = |source| CacheError::Io { verb: "write", path: path.to_owned(), source };
    // Use a name that no other thread uses: its file may already be linked as the key.
    let (process, number) = (std::process::id(), WRITTEN.fetch_add(1, Ordering::Relaxed));
    let unfinished = dir.join(format!("{}key-{process}-{number}", super::UNFINISHED));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(key)?;
        put(&unfinished, path)
    };
    let written = write();
    drop(fs::remove_file(&unfinished));
    written.map_err(io)
}

/// Links the key to its path, and keeps the key of another process that was faster.
fn link_new(unfinished: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(unfinished, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
