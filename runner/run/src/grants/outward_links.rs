//! Links in granted directories that lead out of all grants. A native module that follows one finds nothing in its room, and may call
//! that a success, so the looks of a module with such links are watched.
//!
//! Watching all native modules would cost them more: programs look at hundreds of paths while they load themselves.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use modbox_native::base;
use modbox_policy::{Access, Policy, Shape};
use rustix::fs::{Dir, FileType, Mode, OFlags};

/// Number of entries that are looked at. In larger directories there may be such links: looking for them would take longer than
/// watching the module.
const MAX_ENTRIES: usize = 1024;

/// Returns whether there may be such links.
pub(crate) fn may_exist(policy: &Policy) -> bool {
    let directories = policy.paths().iter().filter(|grant| grant.shape == Shape::Directory);
    let mut waiting: Vec<PathBuf> = directories.map(|grant| grant.host.clone()).collect();
    let mut seen = 0;
    while let Some(directory) = waiting.pop() {
        // What this user cannot list, the module cannot list either.
        for entry in list(&directory).into_iter().flatten().flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            seen += 1;
            let path = directory.join(name);
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    path.symlink_metadata().map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.mode()))
                }
                known => known,
            };
            if seen > MAX_ENTRIES || kind == FileType::Symlink && leads_out(&path, policy) {
                return true;
            }
            if kind == FileType::Directory {
                waiting.push(path);
            }
        }
    }
    false
}

/// Lists a directory without changing its time of access, if this user may do so.
fn list(directory: &Path) -> Option<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |more: OFlags| rustix::fs::open(directory, flags | more, Mode::empty());
    Dir::new(open(OFlags::NOATIME).or_else(|_| open(OFlags::empty())).ok()?).ok()
}

/// Returns whether a link leads to something that neither a grant nor the base of all native modules has.
fn leads_out(link: &Path, policy: &Policy) -> bool {
    let is_shown = |real: &Path| policy.covers(real, Access::Read) || base::paths().any(|base| real.starts_with(base));
    link.canonicalize().is_ok_and(|real| !is_shown(&real))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use modbox_policy::PathGrant;
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn links_count_that_lead_to_what_is_not_granted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let granted = root.join("granted");
        fs::create_dir_all(granted.join("below")).unwrap();
        fs::write(root.join("outside"), "").unwrap();
        fs::write(granted.join("inside"), "").unwrap();
        let (host, guest) = (granted.clone(), granted.display().to_string());
        let mut policy = Policy::default();
        let grant =
            PathGrant { host, shape: Shape::Directory, guest, access: Access::Read, source: GrantSource::named("") };
        policy.allow_path(grant).unwrap();
        for (target, expect) in
            [("../inside", false), ("/usr", false), ("gone", false), ("../../gone", false), ("../../outside", true)]
        {
            let link = granted.join("below/link");
            symlink(target, &link).unwrap();
            assert_eq!(may_exist(&policy), expect, "{target}");
            fs::remove_file(link).unwrap();
        }
        (0..=MAX_ENTRIES).for_each(|number| fs::write(granted.join(number.to_string()), "").unwrap());
        assert!(may_exist(&policy), "no more than {MAX_ENTRIES} entries are looked at");
    }
}
