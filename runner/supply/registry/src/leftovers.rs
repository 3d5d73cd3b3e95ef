//! Files that a killed process left half-written. Such a file has a temporary name, which no reader opens.

use std::fs::{self, Metadata};
use std::path::Path;
use std::time::Duration;

/// Prefix of temporary names.
pub(crate) const PREFIX: &str = ".writing-";

/// The age at which a file that is being written belongs to a killed process.
const ABANDONED_AFTER: Duration = Duration::from_hours(1);

/// Maximum number of names that are looked at.
const MAX_NAMES: usize = 1_000_000;

/// Removes what killed processes left in a folder. What cannot be removed stays, and harms nothing but space.
pub(crate) fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_NAMES);
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        if entry.metadata().is_ok_and(|metadata| is_abandoned(&metadata)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_abandoned(metadata: &Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|written| written.elapsed().ok());
    metadata.is_file() && age.is_some_and(|age| age > ABANDONED_AFTER)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_old_files_with_temporary_names_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_hours(2);
        for (name, written) in [(".writing-a", old), (".writing-b", SystemTime::now()), ("other", old)] {
            File::create(dir.path().join(name)).unwrap().set_modified(written).unwrap();
        }
        fs::create_dir(dir.path().join(".writing-folder")).unwrap();
        sweep(dir.path());
        let mut names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".writing-b", ".writing-folder", "other"]);
        sweep(&dir.path().join("missing"));
    }
}
