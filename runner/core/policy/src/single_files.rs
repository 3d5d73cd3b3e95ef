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

/// A file that stands in for one of the machine, or a directory, which the grants name instead of the machine's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandIn {
    /// The granted path.
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

    /// Returns the machine's path that a path stands for: the path itself, unless it leads into a stand-in.
    #[must_use]
    pub fn stands_for(&self, path: PathBuf) -> PathBuf {
        let Self::StandIns(list) = self else { return path };
        let innermost =
            list.iter().filter(|one| path.starts_with(&one.place)).max_by_key(|one| one.place.as_os_str().len());
        match innermost.map(|one| (one, path.strip_prefix(&one.place))) {
            Some((one, Ok(rest))) if rest.as_os_str().is_empty() => one.host.clone(),
            Some((one, Ok(rest))) => one.host.join(rest),
            _ => path,
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
        assert_eq!(files.stands_for("/scratch/motd".into()), Path::new("/etc/motd"));
        assert_eq!(files.stands_for("/scratch/motd2".into()), Path::new("/scratch/motd2"));
        assert!(files.may_be_written_in_place() && !SingleFiles::Dropped.may_be_written_in_place());
    }

    #[test]
    fn a_path_in_a_directory_stands_for_one_of_the_machine() {
        let one = |host: &str, place: &str| StandIn { host: host.into(), place: place.into() };
        let files = SingleFiles::StandIns(vec![one("/srv", "/run/0"), one("/srv/a", "/run/0/deep")]);
        for (path, expect) in
            [("/run/0", "/srv"), ("/run/0/x/y", "/srv/x/y"), ("/run/0/deep/z", "/srv/a/z"), ("/run/1", "/run/1")]
        {
            assert_eq!(files.stands_for(path.into()), Path::new(expect));
        }
    }
}
