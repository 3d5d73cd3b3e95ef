//! The plan store: a folder of saved previews, each under a name of its own, for a person who decides about them later.
//!
//! It is bounded, since programs fill it. What is in it belongs to this user alone. This file applies and lists nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use modbox_overlay::commit::{CommitError, StateDir};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

/// Maximum number of saved previews.
const MAX_PLANS: usize = 64;

/// Bytes from which on no other one is saved.
const MAX_BYTES: u64 = 256 << 20;

/// End of the name of a saved preview.
const ENDING: &str = "changes";

/// Reason why the plan store takes no other preview.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanStoreError {
    /// It is not safe, or cannot be made.
    #[error(transparent)]
    Folder(#[from] CommitError),
    /// A call fails.
    #[error("failed to use the plan store: {0}")]
    Call(#[from] io::Error),
    /// It is full.
    #[error(
        "the plan store has {plans} saved previews with {bytes} bytes; apply or remove some, which `modbox apply --list` names"
    )]
    Full {
        /// How many it has.
        plans: usize,
        /// How long they are together.
        bytes: u64,
    },
}

/// Returns the path of a new file in the store. Makes the store if it does not exist.
///
/// # Errors
///
/// The store is full, another user has access to it, or it cannot be made.
pub(crate) fn new_file(folder: &Path) -> Result<PathBuf, PlanStoreError> {
    // The same rules as for transactions: a folder of this user, mode 0700.
    StateDir::open(folder)?;
    let (mut plans, mut bytes) = (0, 0_u64);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|ending| ending == ENDING) {
            plans += 1;
            bytes = bytes.saturating_add(entry.metadata().map_or(0, |found| found.len()));
        }
    }
    if plans >= MAX_PLANS || bytes >= MAX_BYTES {
        return Err(PlanStoreError::Full { plans, bytes });
    }
    Ok(folder.join(format!("{}.{ENDING}", name().map_err(io::Error::from)?)))
}

/// Returns a name of 128 random bits, which is not guessed and not met twice.
fn name() -> Result<String, Errno> {
    let mut random = [0_u8; 16];
    rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
    Ok(format!("{:032x}", u128::from_le_bytes(random)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_full_store_takes_no_other_preview() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("plans");
        for _ in 0..MAX_PLANS {
            fs::write(new_file(&folder).unwrap(), "").unwrap();
        }
        fs::write(folder.join("other"), "").unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let full = new_file(&folder).unwrap_err().to_string();
        assert!(full.contains("64 saved previews") && full.contains("--list"), "{full}");
        let first = fs::read_dir(&folder)
            .unwrap()
            .find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.extension().is_some()));
        fs::remove_file(first.unwrap()).unwrap();
        let long = new_file(&folder).unwrap();
        fs::File::create(&long).unwrap().set_len(MAX_BYTES).unwrap();
        assert!(matches!(new_file(&folder), Err(PlanStoreError::Full { bytes: MAX_BYTES, .. })));
    }

    #[test]
    fn a_folder_that_others_use_is_not_a_store() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), PermissionsExt::from_mode(0o755)).unwrap();
        assert!(matches!(new_file(base.path()), Err(PlanStoreError::Folder(_))));
    }
}
