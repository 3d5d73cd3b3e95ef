//! Where changes of single files go: a native module changes copies, which the launcher takes back.

use std::path::{Path, PathBuf};

use modbox_vocabulary::native_path;
use serde::{Deserialize, Serialize};

/// Destination of the changes of single files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SingleFiles {
    /// They are taken back to the machine.
    #[default]
    TakenBack,
    /// They are dropped.
    Dropped,
    /// They are taken back to other files, and the machine's files are not written.
    StandIns(Vec<StandIn>),
}

/// A file that stands in for one of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandIn {
    /// The granted file.
    #[serde(with = "native_path")]
    pub host: PathBuf,
    /// The other one.
    #[serde(with = "native_path")]
    pub place: PathBuf,
}

impl SingleFiles {
    /// Returns the file that a module's copy is made from and taken back to, for a granted one.
    #[must_use]
    pub fn place<'a>(&'a self, host: &'a Path) -> &'a Path {
        match self {
            Self::TakenBack | Self::Dropped => host,
            Self::StandIns(list) => list.iter().find(|one| one.host == host).map_or(host, |one| one.place.as_path()),
        }
    }

    /// Returns whether a file that cannot be copied, or its stand-in, is written in its place.
    #[must_use]
    pub fn may_be_written_in_place(&self) -> bool {
        *self != Self::Dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_named_files_have_stand_ins() {
        let one = StandIn { host: "/etc/motd".into(), place: "/scratch/motd".into() };
        let files = SingleFiles::StandIns(vec![one]);
        assert_eq!(files.place(Path::new("/etc/motd")), Path::new("/scratch/motd"));
        assert_eq!(files.place(Path::new("/etc/hosts")), Path::new("/etc/hosts"));
        assert!(files.may_be_written_in_place() && !SingleFiles::Dropped.may_be_written_in_place());
    }
}
