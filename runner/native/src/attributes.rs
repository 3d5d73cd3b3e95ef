//! Owner, mode, times and extended attributes of a file, between the file on the machine and the copy that a module has.
//!
//! The copy cannot hold all of them: the copy of an ordinary user's module belongs to that user, access lists with other
//! users are not valid in it, and set-id bits are left out. So taking a file back applies the module's *changes*, which
//! are the differences between the copy at the beginning and at the end. All other attributes stay as the file has them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{Gid, Mode, Stat, Timestamps, Uid};
use rustix::io::Errno;

use crate::clock::{self, Moment};
use crate::xattrs::{self, ACCESS_LIST, Xattrs};

/// Mode bits that a module can set; set-id bits are left out.
pub(super) const MODE: u32 = 0o1777;

/// Bits of the mode that make a program run as its owner or group.
const SET_ID: u32 = 0o6000;

const ALL_MODE: u32 = MODE | SET_ID;

/// Attributes of a file at one moment.
#[derive(Debug, Clone)]
pub(super) struct Attributes {
    pub(super) stat: Stat,
    pub(super) xattrs: Xattrs,
}

impl Attributes {
    /// Reads the attributes of an open file.
    pub(super) fn read(file: impl AsFd) -> io::Result<Self> {
        Ok(Self { stat: rustix::fs::fstat(&file)?, xattrs: xattrs::read(file)? })
    }

    fn carried(&self, name: &[u8]) -> Option<&Vec<u8>> {
        self.xattrs.get(name).filter(|_| xattrs::is_carried(name))
    }
}

/// A file on the machine, and the module's copy of it at the beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) file: &'a Attributes,
    pub(super) copy: &'a Attributes,
}

/// Attributes that a file gets.
#[derive(Debug)]
pub(super) struct Target {
    /// `None` leaves the owner as it is.
    user: Option<Uid>,
    group: Option<Gid>,
    mode: u32,
    /// All attributes that are carried.
    carried: Xattrs,
    /// Whether an access list that the new file got from its directory stays.
    inherits: bool,
    /// Further attributes, which only a file in place of an old one lacks.
    others: Xattrs,
    times: Option<Timestamps>,
    /// Whether the module has written the file without setting its times.
    are_times_natural: bool,
}

/// Returns the attributes for a file after a module has changed its copy to `now`. `begun` is when the module began.
pub(super) fn target(before: Option<Before<'_>>, now: &Attributes, is_written: bool, begun: Moment) -> Target {
    let written = clock::modified(&now.stat);
    let times = clock::times(&now.stat);
    let are_times_natural = written >= begun && written <= clock::now();
    let Some(Before { file, copy }) = before else {
        let carried: Xattrs = now.xattrs.clone().into_iter().filter(|(name, _)| xattrs::is_carried(name)).collect();
        // A new file has the owner that its directory gives it, unless the module has chosen another.
        let user = Uid::from_raw(now.stat.st_uid);
        let group = Gid::from_raw(now.stat.st_gid);
        return Target {
            user: (user != rustix::process::geteuid()).then_some(user),
            group: (group != rustix::process::getegid()).then_some(group),
            mode: now.stat.st_mode & MODE,
            inherits: !carried.contains_key(ACCESS_LIST),
            carried,
            others: Xattrs::new(),
            times: Some(times),
            are_times_natural,
        };
    };
    let changed = |now: u32, before: u32, file: u32| if now == before { file } else { now };
    let user = changed(now.stat.st_uid, copy.stat.st_uid, file.stat.st_uid);
    let group = changed(now.stat.st_gid, copy.stat.st_gid, file.stat.st_gid);
    // As in the kernel, a new owner and new content take set-id bits away.
    let is_same_program = !is_written && (user, group) == (file.stat.st_uid, file.stat.st_gid);
    let mask = if is_same_program { ALL_MODE } else { MODE };
    let others = file.xattrs.iter().filter(|(name, _)| !xattrs::is_carried(name) && !xattrs::is_of_content(name));
    Target {
        user: Some(Uid::from_raw(user)),
        group: Some(Gid::from_raw(group)),
        mode: changed(now.stat.st_mode & MODE, copy.stat.st_mode & MODE, file.stat.st_mode & mask),
        carried: merged(file, copy, now),
        inherits: false,
        others: others.map(|(name, value)| (name.clone(), value.clone())).collect(),
        times: (is_written || written != clock::modified(&copy.stat)).then_some(times),
        are_times_natural,
    }
}

/// Returns the carried attributes of a file with a module's changes. A module that replaces the file has removed none:
/// Ansible's modules replace files by new ones without attributes, and keep those of the old one where they can.
fn merged(file: &Attributes, copy: &Attributes, now: &Attributes) -> Xattrs {
    let is_new = now.stat.st_ino != copy.stat.st_ino;
    let names = file.xattrs.keys().chain(now.xattrs.keys()).filter(|name| xattrs::is_carried(name));
    let value = |name: &Vec<u8>| {
        let is_kept = now.carried(name) == copy.carried(name) || is_new && now.carried(name).is_none();
        let source = if is_kept { file } else { now };
        Some((name.clone(), source.carried(name)?.clone()))
    };
    names.filter_map(value).collect()
}

/// Refuses changes that no module may make: set-id bits, and attributes that are not carried.
///
/// # Errors
///
/// Fails with the name of the change.
pub(super) fn check(copy: Option<&Attributes>, now: &Attributes) -> io::Result<()> {
    if now.stat.st_mode & SET_ID != 0 {
        return Err(io::Error::other("the module has set a set-id bit, and such bits are not taken over"));
    }
    let none = Xattrs::new();
    let before = copy.map_or(&none, |copy| &copy.xattrs);
    let is_new = copy.is_none_or(|copy| copy.stat.st_ino != now.stat.st_ino);
    let names = before.keys().chain(now.xattrs.keys()).filter(|name| !xattrs::is_carried(name));
    let allowed = |name: &Vec<u8>| is_new && (xattrs::is_label(name) || !now.xattrs.contains_key(name));
    let changed = |name: &&Vec<u8>| before.get(*name) != now.xattrs.get(*name) && !allowed(name);
    match { names }.find(changed) {
        None => Ok(()),
        Some(name) => {
            let name = xattrs::described(name);
            Err(io::Error::other(format!("the module has changed the {name}, which is not taken over")))
        }
    }
}

/// Returns whether a target takes set-id bits from a file.
pub(super) fn loses_set_id(file: &Attributes, target: &Target) -> bool {
    file.stat.st_mode & SET_ID & !target.mode != 0
}

impl Target {
    /// Returns the target that leaves a file as it was.
    pub(super) fn unchanged(file: &Attributes) -> Self {
        let before = Before { file, copy: file };
        Self { times: Some(clock::times(&file.stat)), ..target(Some(before), file, false, clock::now()) }
    }

    /// Gives a file these attributes.
    ///
    /// # Errors
    ///
    /// Fails with the first attribute that cannot be set.
    pub(super) fn apply(&self, file: &File) -> io::Result<()> {
        let current = Attributes::read(file)?;
        self.set_owner(file, &current.stat)?;
        self.set_xattrs(file, &current)?;
        if rustix::fs::fstat(file)?.st_mode & ALL_MODE != self.mode {
            rustix::fs::fchmod(file, Mode::from_raw_mode(self.mode)).map_err(failed("set its mode"))?;
        }
        match self.times.as_ref().map(|times| rustix::fs::futimens(file, times)) {
            // Only the owner may set times. Writing has set them for all others.
            Some(Err(Errno::PERM | Errno::ACCESS)) if self.are_times_natural => Ok(()),
            Some(set) => set.map_err(failed("set its times")),
            None => Ok(()),
        }
    }

    fn set_owner(&self, file: &File, current: &Stat) -> io::Result<()> {
        let user = self.user.filter(|user| user.as_raw() != current.st_uid);
        let group = self.group.filter(|group| group.as_raw() != current.st_gid);
        if user.is_none() && group.is_none() {
            return Ok(());
        }
        rustix::fs::fchown(file, user, group).map_err(failed("set its owner"))
    }

    fn set_xattrs(&self, file: &File, current: &Attributes) -> io::Result<()> {
        let obsolete = |name: &&Vec<u8>| {
            xattrs::is_carried(name)
                && !self.carried.contains_key(*name)
                && !(self.inherits && name.as_slice() == ACCESS_LIST)
        };
        let obsolete: Vec<&Vec<u8>> = current.xattrs.keys().filter(obsolete).collect();
        let differs = |(name, value): &(&Vec<u8>, &Vec<u8>)| current.xattrs.get(*name) != Some(*value);
        let wanted: Vec<(&Vec<u8>, &Vec<u8>)> = self.carried.iter().chain(&self.others).filter(differs).collect();
        let needs_writing = obsolete.iter().chain(wanted.iter().map(|(name, _)| name)).any(|name| *name != ACCESS_LIST);
        let mode = rustix::fs::fstat(file)?.st_mode & ALL_MODE;
        if needs_writing && mode & 0o200 == 0 {
            // Attributes of users can be set only while the file may be written. The mode is set afterwards.
            rustix::fs::fchmod(file, Mode::from_raw_mode(mode | 0o200)).map_err(failed("set its mode"))?;
        }
        for name in obsolete {
            xattrs::remove(file, name)?;
        }
        for (name, value) in wanted {
            xattrs::set(file, name, value)?;
        }
        Ok(())
    }
}

fn failed(action: &'static str) -> impl FnOnce(Errno) -> io::Error {
    move |errno| {
        let error = io::Error::from(errno);
        io::Error::new(error.kind(), format!("failed to {action}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(user: u32, mode: u32, xattrs: &[(&str, &str)]) -> Attributes {
        let mut read = Attributes::read(tempfile::tempfile().unwrap()).unwrap();
        (read.stat.st_uid, read.stat.st_gid, read.stat.st_mode) = (user, user, 0o100_000 | mode);
        read.xattrs = xattrs.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect();
        read
    }

    fn of(file: &Attributes, copy: &Attributes, now: &Attributes, is_written: bool) -> Target {
        target(Some(Before { file, copy }), now, is_written, clock::before_writes())
    }

    #[test]
    fn only_what_the_module_has_changed_changes() {
        let file = attributes(7, 0o4750, &[("user.a", "1"), ("user.b", "1"), ("trusted.c", "1")]);
        let copy = attributes(9, 0o750, &[("user.a", "1")]);
        let same = of(&file, &copy, &copy, false);
        assert_eq!((same.user.map(Uid::as_raw), same.mode, same.times.is_some()), (Some(7), 0o4750, false));
        assert_eq!(same.carried.len(), 2);
        let mut replaced = attributes(9, 0o750, &[("user.b", "2")]);
        // The files of these attributes are gone, so their inode numbers may be equal.
        replaced.stat.st_ino = copy.stat.st_ino + 1;
        assert_eq!(of(&file, &copy, &replaced, true).carried.values().collect::<Vec<_>>(), [b"1", b"2"]);
        replaced.stat.st_ino = copy.stat.st_ino;
        assert_eq!(of(&file, &copy, &replaced, true).carried.values().collect::<Vec<_>>(), [b"2"]);
        assert_eq!(same.others.into_keys().collect::<Vec<_>>(), [b"trusted.c"]);
        let mut now = attributes(8, 0o700, &[("user.d", "2")]);
        now.stat.st_ino = copy.stat.st_ino;
        let changed = of(&file, &copy, &now, false);
        assert_eq!((changed.user.map(Uid::as_raw), changed.mode), (Some(8), 0o700));
        assert_eq!(changed.carried.into_keys().collect::<Vec<_>>(), [b"user.b", b"user.d"]);
    }

    #[test]
    fn new_content_and_new_owners_take_set_id_bits_and_attributes_of_the_old_content() {
        let file = attributes(7, 0o6755, &[("security.capability", "1"), ("security.selinux", "1")]);
        let copy = attributes(7, 0o755, &[]);
        let written = of(&file, &copy, &copy, true);
        assert_eq!((written.mode, loses_set_id(&file, &written)), (0o755, true));
        assert_eq!(written.others.into_keys().collect::<Vec<_>>(), [b"security.selinux"]);
        let given = of(&file, &copy, &attributes(8, 0o755, &[]), false);
        assert_eq!((given.mode, loses_set_id(&file, &given)), (0o755, true));
        assert!(!loses_set_id(&file, &of(&file, &copy, &copy, false)));
    }

    #[test]
    fn changes_that_no_module_may_make_are_named() {
        let copy = attributes(7, 0o755, &[("security.selinux", "1")]);
        let error = |mut now: Attributes, is_new: bool| {
            now.stat.st_ino = if is_new { copy.stat.st_ino + 1 } else { copy.stat.st_ino };
            check(Some(&copy), &now).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(error(copy.clone(), false), "");
        assert!(error(attributes(7, 0o4755, &[("security.selinux", "1")]), false).contains("set-id bit"));
        for is_new in [false, true] {
            let capability = attributes(7, 0o755, &[("security.selinux", "1"), ("security.capability", "1")]);
            assert!(error(capability, is_new).contains("`security.capability`"));
            // The machine gives a label to each new file.
            let label = error(attributes(7, 0o755, &[("security.selinux", "2")]), is_new);
            assert_eq!(label.contains("`security.selinux`"), !is_new, "{label}");
        }
        assert_eq!(error(attributes(7, 0o755, &[]), true), "");
    }
}
