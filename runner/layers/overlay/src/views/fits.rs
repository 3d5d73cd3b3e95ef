//! Decides which view of a granted directory is exact: an overlay, a copy, or none.
//!
//! The decision is pure. `tree_facts` collects what it is made of. A directory for which neither is exact is refused: a
//! weaker preview would be wrong without a notice.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::LayerError;
use crate::quota::Quota;
use crate::trees::tree_survey::TreeSurvey;

/// Way in which a module sees a granted directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// An overlay over the directory.
    Overlay,
    /// A copy of the directory.
    Copy,
    /// A copy of one name.
    Stage,
}

/// Sort of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSystem {
    /// A local one with owners and modes.
    Plain,
    /// One in which files are the kernel's or a program's state.
    Kernel,
    /// One that other machines change, or a program.
    Remote,
    /// One without owners and modes.
    WithoutOwners,
}

impl FileSystem {
    /// Returns the sort of a file system of Linux by its magic number.
    pub(crate) fn of(magic: u64) -> Self {
        match magic {
            // proc, sysfs, devpts, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf, configfs, efivarfs, pstore,
            // mqueue, autofs, binfmt_misc, selinuxfs, nsfs, hugetlbfs, smackfs
            0x9fa0 | 0x6265_6572 | 0x1cd1 | 0x0027_e0eb | 0x6367_7270 | 0x6462_6720 | 0x7472_6163 | 0x7363_6673
            | 0xcafe_4a11 | 0x6265_6570 | 0xde5e_81e4 | 0x6165_676c | 0x1980_0202 | 0x0187 | 0x4249_4e4d
            | 0xf97c_ff8c | 0x6e73_6673 | 0x9584_58f6 | 0x4341_5d53 => Self::Kernel,
            // nfs, smb, cifs, smb2, ceph, afs (two), 9p, coda, fuse, gfs2, ocfs2, lustre, orangefs
            0x6969 | 0x517b | 0xff53_4d42 | 0xfe53_4d42 | 0x00c3_6400 | 0x5346_414f | 0x6b41_4653 | 0x0102_1997
            | 0x7375_7245 | 0x6573_5546 | 0x0116_1970 | 0x7461_636f | 0x0bd0_0bd0 | 0x2003_0528 => Self::Remote,
            // msdos, exfat, ntfs, ntfs3, isofs, hfs, hfs+, udf
            0x4d44 | 0x2011_bab0 | 0x5346_544e | 0x7366_746e | 0x9660 | 0x4244 | 0x482b | 0x1501_3346 => {
                Self::WithoutOwners
            }
            _ => Self::Plain,
        }
    }
}

/// What is known of a granted directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeFacts {
    /// The path without links.
    pub(crate) path: PathBuf,
    pub(crate) file_system: FileSystem,
    /// Whether it is mounted read-only.
    pub(crate) is_read_only: bool,
    pub(crate) mount_below: Option<PathBuf>,
    /// What its flags say against a layer.
    pub(crate) obstacle: Option<&'static str>,
    /// A place of modbox's own in it or around it.
    pub(crate) own_place: Option<PathBuf>,
    /// Whether this process can make an exact overlay.
    pub(crate) can_overlay: bool,
}

/// Returns the view of a directory that is exact, if the kernel can make it.
///
/// # Errors
///
/// None is, with the reason and what to do.
pub(crate) fn view_of(facts: &TreeFacts) -> Result<View, LayerError> {
    if facts.path == Path::new("/") {
        return refused(&facts.path, "it is the root of the machine", "grant the directories that the module needs");
    }
    let devices = facts.path.starts_with("/dev") && !facts.path.starts_with("/dev/shm");
    match facts.file_system {
        FileSystem::Kernel => return kernel_files(&facts.path),
        FileSystem::Plain if devices => return kernel_files(&facts.path),
        FileSystem::Remote => {
            let reason = "its file system is on a network or belongs to a program, so others change it at any time";
            return refused(&facts.path, reason, "run the module on the machine that has the files");
        }
        FileSystem::WithoutOwners => {
            let reason = "its file system has no owners and modes";
            return refused(&facts.path, reason, "run it without a preview or a transaction");
        }
        FileSystem::Plain => {}
    }
    if facts.is_read_only {
        return refused(&facts.path, "it is mounted read-only", "grant it for reading only, or mount it writable");
    }
    if let Some(own) = &facts.own_place {
        let reason = format!("modbox keeps its own files in `{}`", own.display());
        return refused(&facts.path, &reason, "grant a directory without them, or move them by their options");
    }
    if let Some(reason) = facts.obstacle {
        return refused(&facts.path, reason, "clear the flag, or run it without a preview or a transaction");
    }
    if let Some(below) = &facts.mount_below {
        let reason = "another file system is mounted in the granted directory";
        return refused(below, reason, "grant the directories beside it, and not the one around it");
    }
    Ok(if facts.can_overlay { View::Overlay } else { View::Copy })
}

/// Upper bound of the entries of a tree that is copied in a moment.
const QUICK_ENTRIES: u64 = 256;

/// Upper bound of the bytes of a tree that is copied in a moment.
const QUICK_BYTES: u64 = 4 << 20;

/// Returns the view of a directory for an ordinary user.
///
/// A copy is exact for every tree, and takes time and space for all of it. A user's overlay takes none, and is exact if
/// each entry is the user's own with one name, but for renames: the kernel refuses to rename the directories below, or
/// from one overlay to another, with `EXDEV`. No trace of that stays in the overlay. So a tree with directories, or beside
/// another one, has an overlay only if the run can be repeated on copies. A copy is also made of a tree that is copied in a
/// moment or that has something an overlay does not hold. What is neither fit for an overlay nor within the quota of a
/// copy is refused when it is copied.
pub(crate) fn view_of_user(survey: TreeSurvey, quota: Quota, can_refuse_renames: bool) -> View {
    let is_within = survey.entries <= quota.files && survey.bytes <= quota.bytes;
    let is_quick = is_within && survey.entries <= QUICK_ENTRIES && survey.bytes <= QUICK_BYTES;
    let is_exact = survey.is_exact && (can_refuse_renames || !survey.has_directories);
    if is_exact && !is_quick { View::Overlay } else { View::Copy }
}

fn kernel_files(path: &Path) -> Result<View, LayerError> {
    let reason = "its files are the state of the kernel or of devices";
    refused(path, reason, "run it without a preview or a transaction")
}

fn refused(path: &Path, reason: &str, remedy: &'static str) -> Result<View, LayerError> {
    Err(LayerError::Unfit { path: path.to_owned(), reason: reason.to_owned(), remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> TreeFacts {
        TreeFacts {
            path: "/srv".into(),
            file_system: FileSystem::Plain,
            is_read_only: false,
            mount_below: None,
            obstacle: None,
            own_place: None,
            can_overlay: true,
        }
    }

    #[test]
    fn plain_directories_have_a_view() {
        assert_eq!(view_of(&facts()).unwrap(), View::Overlay);
        assert_eq!(view_of(&TreeFacts { can_overlay: false, ..facts() }).unwrap(), View::Copy);
        assert_eq!(view_of(&TreeFacts { path: "/dev/shm/x".into(), ..facts() }).unwrap(), View::Overlay);
    }

    #[test]
    fn other_directories_are_refused_with_the_path_and_a_remedy() {
        let cases = [
            (TreeFacts { path: "/".into(), ..facts() }, "`/`: it is the root"),
            (TreeFacts { path: "/dev".into(), ..facts() }, "`/dev`: its files are the state"),
            (TreeFacts { file_system: FileSystem::Kernel, ..facts() }, "`/srv`: its files are the state"),
            (TreeFacts { file_system: FileSystem::Remote, ..facts() }, "on the machine that has the files"),
            (TreeFacts { file_system: FileSystem::WithoutOwners, ..facts() }, "no owners"),
            (TreeFacts { is_read_only: true, ..facts() }, "read-only"),
            (TreeFacts { obstacle: Some("it is immutable"), ..facts() }, "`/srv`: it is immutable; clear the flag"),
            (TreeFacts { own_place: Some("/srv/state".into()), ..facts() }, "its own files in `/srv/state`"),
            (TreeFacts { mount_below: Some("/srv/x".into()), ..facts() }, "`/srv/x`: another file system"),
        ];
        for (facts, expected) in cases {
            let error = view_of(&facts).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_user_has_an_overlay_where_a_copy_is_slow_or_too_large() {
        let small = TreeSurvey { is_exact: true, has_directories: false, entries: 200, bytes: 1 << 20 };
        let quota = Quota { bytes: 64 << 20, files: 1000 };
        let cases = [
            (small, quota, View::Copy),
            (TreeSurvey { entries: 300, ..small }, quota, View::Overlay),
            (TreeSurvey { bytes: 8 << 20, ..small }, quota, View::Overlay),
            (small, Quota { files: 100, ..quota }, View::Overlay),
            (small, Quota { bytes: 1000, ..quota }, View::Overlay),
            (TreeSurvey { is_exact: false, entries: 300, ..small }, quota, View::Copy),
            (TreeSurvey { is_exact: false, ..small }, Quota { files: 100, ..quota }, View::Copy),
        ];
        for (survey, quota, expected) in cases {
            assert_eq!(view_of_user(survey, quota, false), expected, "{survey:?} {quota:?}");
            let deep = TreeSurvey { has_directories: true, ..survey };
            assert_eq!(view_of_user(deep, quota, true), expected, "{deep:?} {quota:?}");
            assert_eq!(view_of_user(deep, quota, false), View::Copy, "{deep:?} {quota:?}");
        }
    }

    #[test]
    fn file_systems_are_known_by_their_numbers() {
        let cases = [
            (0xef53, FileSystem::Plain),
            (0x0102_1994, FileSystem::Plain),
            (0x9fa0, FileSystem::Kernel),
            (0x6969, FileSystem::Remote),
            (0x4d44, FileSystem::WithoutOwners),
        ];
        for (magic, expected) in cases {
            assert_eq!(FileSystem::of(magic), expected, "{magic:x}");
        }
    }
}
