//! The key that authenticates entries: 32 random bytes in a file that only its user can read.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use modbox_cleanup::Cleanup;

use crate::error::StoreError;
use crate::private::{is_private, open_file};
use crate::unfinished::UnfinishedFile;

/// Name of the key's file.
pub(crate) const NAME: &str = "key";

const LENGTH: usize = blake3::KEY_LEN;

pub(crate) type Key = [u8; LENGTH];

/// Reads the key. Creates one if the file is missing, or if a full disk or a crash left a file of another length, which
/// cannot authenticate anything.
pub(crate) fn read_or_create(dir: &Path) -> Result<Key, StoreError> {
    let path = dir.join(NAME);
    let publish: fn(UnfinishedFile, &Path) -> Result<(), StoreError> = match read(&path) {
        Ok(Some(key)) => return Ok(key),
        Ok(None) => UnfinishedFile::publish_new,
        Err(StoreError::DamagedKey(_)) => UnfinishedFile::publish,
        Err(error) => return Err(error),
    };
    let mut key = [0; LENGTH];
    let filled = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
    filled.map_err(StoreError::io("make", &path))?;
    // A signal in this moment leaves a file without a name, or one that eviction removes.
    let mut unfinished = UnfinishedFile::create(dir, &Cleanup::default())?;
    unfinished.file.write_all(&key).map_err(StoreError::io("write", &path))?;
    publish(unfinished, &path)?;
    // Another process may have created a key first: the one in the file is valid.
    read(&path)?.ok_or(StoreError::DamagedKey(path))
}

fn read(path: &Path) -> Result<Option<Key>, StoreError> {
    let Some(file) = open_file(path)? else { return Ok(None) };
    let metadata = file.metadata().map_err(StoreError::io("read", path))?;
    if !is_private(&metadata) || metadata.mode() & 0o077 != 0 {
        return Err(StoreError::NotPrivate(path.to_owned()));
    }
    let mut bytes = Vec::with_capacity(LENGTH + 1);
    file.take(LENGTH as u64 + 1).read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
    bytes.try_into().map(Some).map_err(|_| StoreError::DamagedKey(path.to_owned()))
}
