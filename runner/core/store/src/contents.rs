//! What lies in the folder of a store, told by name. Files with other names are not the store's, and never touched.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::purpose::Purpose;
use crate::{key, lock, notes, unfinished};

/// Role of a file or folder in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Entry,
    Note,
    /// Being made, or left by a process that was killed while it made an entry.
    Unfinished,
    /// Of an older release.
    Obsolete,
    /// The key, or the locks.
    Tool,
}

impl Role {
    fn of(name: &str, purpose: &Purpose) -> Option<Self> {
        let has =
            |extension| name.strip_suffix(extension).is_some_and(|rest: &str| rest.len() > 1 && rest.ends_with('.'));
        match name {
            key::NAME | lock::NAME => Some(Self::Tool),
            _ if name.starts_with(unfinished::PREFIX) => Some(Self::Unfinished),
            _ if purpose.obsolete.contains(&name) => Some(Self::Obsolete),
            _ if has(notes::EXTENSION) => Some(Self::Note),
            _ if purpose.kinds.iter().any(|kind| has(kind.extension)) => Some(Self::Entry),
            _ => None,
        }
    }
}

/// File or folder of a store.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) role: Role,
}

/// Lists what the store has in its folder. The list is empty if the folder does not exist.
pub(crate) fn list(dir: &Path, purpose: &Purpose) -> Result<Vec<Found>, StoreError> {
    let read = match fs::read_dir(dir) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", dir)(error)),
    };
    let found = |entry: fs::DirEntry| {
        let role = Role::of(entry.file_name().to_str()?, purpose)?;
        Some(Found { path: entry.path(), role })
    };
    Ok(read.flatten().filter_map(found).collect())
}

/// Returns the bytes of a file, or of all files below a folder.
pub(crate) fn size(path: &Path, metadata: &Metadata) -> u64 {
    if !metadata.is_dir() {
        return metadata.len();
    }
    let (mut bytes, mut pending) = (0, vec![path.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => pending.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purpose::Kind;

    #[test]
    fn only_files_of_the_store_have_a_role() {
        const KINDS: [Kind; 1] = [Kind::files("code", 1)];
        let purpose = Purpose { kinds: &KINDS, max_size: 1, obsolete: &["old"] };
        for (name, role) in [
            ("key", Some(Role::Tool)),
            ("locks", Some(Role::Tool)),
            (".writing-1-2", Some(Role::Unfinished)),
            ("old", Some(Role::Obsolete)),
            ("a-1.known", Some(Role::Note)),
            ("a-1.code", Some(Role::Entry)),
            (".code", None),
            ("code", None),
            ("notes.txt", None),
            ("a-1.codex", None),
        ] {
            assert_eq!(Role::of(name, &purpose), role, "{name}");
        }
    }
}
