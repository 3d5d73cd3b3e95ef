//! Flags that a file system keeps of an entry beside its mode, and that no layer holds: immutable, append-only, verity,
//! encrypted, and folded case.
//!
//! An entry with such a flag refuses what its mode allows. An overlay keeps immutable and append-only entries below its
//! root as they are; a copy keeps none. DAX changes the way to the bytes and not what a module sees, so it does not count.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};
use rustix::io::Errno;

/// Flag of directories in which names that differ by case only are one name: `FS_CASEFOLD_FL`.
const CASE_FOLD: u32 = 0x4000_0000;

/// What folded case says against a layer.
pub(crate) const FOLDED_CASE: &str = "names that differ by case only are one name in it, and would be two in a layer";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryFlags(StatxAttributes);

impl Default for EntryFlags {
    fn default() -> Self {
        Self(StatxAttributes::empty())
    }
}

impl EntryFlags {
    /// Reads the flags of an open entry.
    pub(crate) fn read(opened: impl AsFd) -> rustix::io::Result<Self> {
        let found = rustix::fs::statx(opened, c"", AtFlags::EMPTY_PATH, StatxFlags::empty())?.stx_attributes;
        let counted =
            StatxAttributes::IMMUTABLE | StatxAttributes::APPEND | StatxAttributes::VERITY | StatxAttributes::ENCRYPTED;
        Ok(Self(found & counted))
    }

    /// Returns why a layer over a directory with these flags is not exact.
    pub(crate) fn obstacle(self) -> Option<&'static str> {
        if self.0.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND) {
            Some("it is immutable or append-only, and a layer over it would not be")
        } else if self.0.contains(StatxAttributes::ENCRYPTED) {
            Some("its file system encrypts it, and a layer over it would hold its content unencrypted")
        } else {
            None
        }
    }
}

/// Returns why a layer over a directory is not exact, by its flags.
///
/// # Errors
///
/// The flags cannot be read.
pub(crate) fn obstacle(directory: impl AsFd) -> io::Result<Option<&'static str>> {
    if folds_case(&directory)? {
        return Ok(Some(FOLDED_CASE));
    }
    Ok(EntryFlags::read(directory)?.obstacle())
}

/// Returns whether names that differ by case only are one name in a directory.
///
/// # Errors
///
/// The flags cannot be read.
pub(crate) fn folds_case(directory: impl AsFd) -> io::Result<bool> {
    match rustix::fs::ioctl_getflags(directory) {
        Ok(flags) => Ok(flags.bits() & CASE_FOLD != 0),
        // A file system without flags.
        Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_that_a_layer_does_not_hold_are_obstacles() {
        let cases = [
            (StatxAttributes::empty(), None),
            (StatxAttributes::DAX, None),
            (StatxAttributes::VERITY, None),
            (StatxAttributes::IMMUTABLE, Some("immutable")),
            (StatxAttributes::APPEND, Some("append-only")),
            (StatxAttributes::ENCRYPTED, Some("unencrypted")),
        ];
        for (flags, expected) in cases {
            let obstacle = EntryFlags(flags).obstacle();
            assert_eq!(obstacle.is_some(), expected.is_some(), "{flags:?}");
            assert!(obstacle.unwrap_or_default().contains(expected.unwrap_or_default()), "{flags:?}: {obstacle:?}");
        }
    }

    #[test]
    fn a_plain_directory_has_no_obstacle() {
        let directory = tempfile::tempdir().unwrap();
        let opened = std::fs::File::open(directory.path()).unwrap();
        assert_eq!(obstacle(&opened).unwrap(), None);
        assert_eq!(EntryFlags::read(&opened).unwrap(), EntryFlags(StatxAttributes::empty()));
    }
}
