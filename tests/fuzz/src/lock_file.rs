//! Lock files of modules from registries.

use modbox_registry::lock_file::LockFile;

/// A lock file is written and read again as the same one.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    let Ok(lock) = LockFile::parse(text) else { return false };
    let written = lock.to_string();
    assert_eq!(LockFile::parse(&written).as_ref(), Ok(&lock), "{written}");
    for (reference, _) in lock.iter() {
        assert!(reference.tag.is_some() && reference.digest.is_none());
    }
    true
}
