//! Attributes of a directory that a commit sets in place: mode, owner, extended attributes with ACLs.
//!
//! A directory that exists cannot be exchanged for a new one, so each attribute is old or new after a crash, and both
//! are in the journal. This file does not set attributes of files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::AsFd;

use rustix::io::Result;
use serde::{Deserialize, Serialize};

use crate::changes::change::Entry;

use super::disk_calls::DiskCalls;
use super::inode;
use super::plan::is_kept;

/// Mode, owner and extended attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attributes {
    /// Permission bits.
    pub mode: u32,
    /// Number of the user that owns it.
    pub uid: u32,
    /// Number of the group that owns it.
    pub gid: u32,
    /// Extended attributes that a commit sets.
    pub xattrs: BTreeMap<String, Vec<u8>>,
}

impl Attributes {
    pub(super) fn of(entry: &Entry) -> Self {
        let xattrs = entry.xattrs.iter().filter(|(name, _)| is_kept(name));
        let xattrs = xattrs.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { mode: entry.mode & 0o7777, uid: entry.uid, gid: entry.gid, xattrs }
    }

    /// Reads the attributes of an opened file.
    pub(super) fn read(file: impl AsFd) -> Result<Self> {
        let stat = rustix::fs::fstat(&file)?;
        let mut xattrs = inode::xattrs(file)?;
        xattrs.retain(|name, _| is_kept(name));
        Ok(Self { mode: stat.st_mode & 0o7777, uid: stat.st_uid, gid: stat.st_gid, xattrs })
    }

    /// Returns whether each attribute is that of one of two others: a change from one to the other was interrupted.
    pub(super) fn is_between(&self, old: &Self, new: &Self) -> bool {
        let is_one = |get: fn(&Self) -> u32| get(self) == get(old) || get(self) == get(new);
        let has_acl = |one: &Self| one.xattrs.keys().any(|name| name.starts_with("system."));
        let mut names = old.xattrs.keys().chain(new.xattrs.keys()).chain(self.xattrs.keys());
        let is_either = |name: &String| {
            let value = self.xattrs.get(name);
            value == old.xattrs.get(name) || value == new.xattrs.get(name)
        };
        // An ACL sets bits of the group, too.
        is_one(|one| one.uid)
            && is_one(|one| one.gid)
            && (is_one(|one| one.mode) || has_acl(old) || has_acl(new))
            && names.all(is_either)
    }

    /// Sets these attributes, in the order in which none undoes another: a new owner clears set-id bits, and an ACL sets
    /// bits of the mode.
    pub(super) fn set(&self, calls: DiskCalls<'_>, file: impl AsFd) -> Result<()> {
        let now = Self::read(&file)?;
        let is_same_but_mode = Self { mode: self.mode, ..now.clone() } == *self;
        if (now.uid, now.gid) != (self.uid, self.gid) {
            calls.set_owner(&file, OsStr::new(""), self.uid, self.gid)?;
        }
        for name in now.xattrs.keys().filter(|name| !self.xattrs.contains_key(*name)) {
            calls.remove_xattr(&file, name)?;
        }
        for (name, value) in self.xattrs.iter().filter(|(name, value)| now.xattrs.get(*name) != Some(value)) {
            calls.set_xattr(&file, name, value)?;
        }
        if is_same_but_mode && now.mode == self.mode { Ok(()) } else { calls.set_mode(file, self.mode) }
    }
}
