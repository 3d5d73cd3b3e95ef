//! Which files and folders the paths of a policy lead to. A worker opens its grants once, so that a later job may not use it after
//! another program has replaced what is granted: it would see the old file, or nothing.

use std::path::Path;

use modbox_policy::{PathGrant, Policy, Shape};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// What is at each granted path, in the order of the grants.
#[derive(Debug, PartialEq, Eq)]
pub struct GrantedPlaces(Vec<Place>);

#[derive(Debug, PartialEq, Eq)]
struct Place {
    found: Option<Identity>,
    /// Of a granted name, the folder that has it: the worker has that open, too.
    parent: Option<Identity>,
}

/// A file or a folder. A file system uses an inode again, so the time at which it was made counts, too.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    device: (u32, u32),
    inode: u64,
    birth: Option<(i64, u32)>,
}

impl GrantedPlaces {
    /// Looks at what is granted. What is missing is nothing.
    pub fn of(policy: &Policy) -> Self {
        Self(policy.paths().iter().map(Place::of).collect())
    }
}

impl Place {
    fn of(grant: &PathGrant) -> Self {
        let parent = grant.host.parent().filter(|_| grant.shape == Shape::Name);
        Self { found: Identity::at(&grant.host), parent: parent.and_then(Identity::at) }
    }
}

impl Identity {
    fn at(path: &Path) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        Some(Self {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            birth: has_birth.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec)),
        })
    }
}
