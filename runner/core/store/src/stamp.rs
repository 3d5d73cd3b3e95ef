//! Stamps: what a tree is as it was made. A program reads its files by itself, later, so their contents are not hashed each time. But a file
//! cannot be changed without a later time of change, which no process sets.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How deep folders nest in a tree.
const MAX_DEPTH: usize = 64;

/// Returns the stamp of a tree: a hash of the names and states of all that is in it.
///
/// # Errors
///
/// The tree cannot be read, or nests too deep.
pub(crate) fn of(tree: &Path) -> io::Result<Vec<u8>> {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, tree, 0)?;
    Ok(hasher.finalize().as_bytes().to_vec())
}

fn add(hasher: &mut blake3::Hasher, folder: &Path, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("folders nest too deep"));
    }
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // Not that of a link's target.
        let state = entry.metadata()?;
        let name = entry.file_name();
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        for number in [state.ino(), state.size(), u64::from(state.mode()), u64::from(state.uid())] {
            hasher.update(&number.to_le_bytes());
        }
        for number in [state.mtime(), state.mtime_nsec(), state.ctime(), state.ctime_nsec()] {
            hasher.update(&number.to_le_bytes());
        }
        if state.is_dir() {
            add(hasher, &entry.path(), depth + 1)?;
            hasher.update(b"/");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn each_change_makes_another_stamp() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        fs::create_dir_all(at("a/b")).unwrap();
        fs::write(at("a/b/c.py"), "one").unwrap();
        fs::write(at("d.py"), "two").unwrap();
        let made = of(dir.path()).unwrap();
        assert_eq!(of(dir.path()).unwrap(), made);
        let times = fs::metadata(at("d.py")).unwrap();
        let changes: [&dyn Fn(); 6] = [
            // The same length and time of modification.
            &|| {
                fs::write(at("d.py"), "owt").unwrap();
                File::options().write(true).open(at("d.py")).unwrap().set_modified(times.modified().unwrap()).unwrap();
            },
            &|| fs::write(at("a/b/new.pyc"), "").unwrap(),
            &|| fs::rename(at("a/b/new.pyc"), at("a/b/other.pyc")).unwrap(),
            &|| fs::remove_file(at("a/b/other.pyc")).unwrap(),
            &|| std::os::unix::fs::symlink("c.py", at("a/b/link")).unwrap(),
            &|| File::options().write(true).open(at("a/b/c.py")).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap(),
        ];
        let mut last = made;
        for (number, change) in changes.iter().enumerate() {
            change();
            let stamp = of(dir.path()).unwrap();
            assert_ne!(stamp, last, "{number}");
            last = stamp;
        }
    }
}
