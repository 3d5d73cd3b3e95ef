//! Owner, mode, times and extended attributes of a file, between the file on the machine and the copy that a module has.
//!
//! The copy cannot hold all of them: the copy of an ordinary user's module belongs to that user, access lists with other
//! users are not valid in it, and set-id bits that no grant allows are left out. So taking a file back applies the module's *changes*, which
//! are the differences between the copy at the beginning and at the end. All other attributes stay as the file has them.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use modbox_policy::{Owners, set_id_grant};
use modbox_vocabulary::time::settable_times;
use rustix::fs::{Gid, Mode, Stat, Timestamps, Uid};
use rustix::io::Errno;

use crate::copies::clock::{self, Moment};
use crate::copies::xattrs::{self, ACCESS_LIST, Xattrs};
use crate::rooms::modes::{MODE, SET_ID};

const ALL_MODE: u32 = MODE | SET_ID;

/// Attributes of a file at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Attributes {
    pub(crate) stat: Stat,
    pub(crate) xattrs: Xattrs,
}

impl Attributes {
    /// Reads the attributes of an open file.
    pub(crate) fn read(file: impl AsFd) -> io::Result<Self> {
        Ok(Self { stat: rustix::fs::fstat(&file)?, xattrs: xattrs::read(file)? })
    }

    fn carried(&self, name: &[u8]) -> Option<&Vec<u8>> {
        self.xattrs.get(name).filter(|_| xattrs::is_carried(name))
    }
}

/// A file on the machine, and the module's copy of it at the beginning.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before<'a> {
    pub(crate) file: &'a Attributes,
    pub(crate) copy: &'a Attributes,
}

/// Attributes that a file gets.
#[derive(Debug)]
pub(crate) struct Target {
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

/// Returns the user and the group of a file after a module has changed its copy to `now`.
fn owner(before: Option<Before<'_>>, now: &Attributes) -> (u32, u32) {
    let changed = |now: u32, before: u32, file: u32| if now == before { file } else { now };
    let (uid, gid) = (now.stat.st_uid, now.stat.st_gid);
    before.map_or((uid, gid), |Before { file, copy }| {
        (changed(uid, copy.stat.st_uid, file.stat.st_uid), changed(gid, copy.stat.st_gid, file.stat.st_gid))
    })
}

/// Returns the attributes for a file after a module has changed its copy to `now`. `begun` is when the module began, and `own`
/// says whose files may have set-id bits.
pub(crate) fn target(
    before: Option<Before<'_>>,
    now: &Attributes,
    is_written: bool,
    begun: Moment,
    own: &Owners,
) -> Target {
    let (uid, gid) = owner(before, now);
    let bits = MODE | own.set_id_bits(uid, gid);
    let written = clock::modified(&now.stat);
    let times = settable_times(&now.stat);
    let are_times_natural = written >= begun && written <= clock::now();
    let Some(Before { file, copy }) = before else {
        let carried: Xattrs = now.xattrs.clone().into_iter().filter(|(name, _)| xattrs::is_carried(name)).collect();
        // A new file has the owner that its directory gives it, unless the module has chosen another.
        let (user, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
        return Target {
            user: (user != rustix::process::geteuid()).then_some(user),
            group: (group != rustix::process::getegid()).then_some(group),
            mode: now.stat.st_mode & bits,
            inherits: !carried.contains_key(ACCESS_LIST),
            carried,
            others: Xattrs::new(),
            times: Some(times),
            are_times_natural,
        };
    };
    // As in the kernel, a new owner and new content take set-id bits away. Those that the module could see and set are its own
    // choice.
    let is_same_program = !is_written && (uid, gid) == (file.stat.st_uid, file.stat.st_gid);
    let mask = if is_same_program { ALL_MODE } else { bits };
    let is_mode_changed = now.stat.st_mode & bits != copy.stat.st_mode & bits;
    let others = file.xattrs.iter().filter(|(name, _)| !xattrs::is_carried(name) && !xattrs::is_of_content(name));
    Target {
        user: Some(Uid::from_raw(uid)),
        group: Some(Gid::from_raw(gid)),
        mode: if is_mode_changed { now.stat.st_mode & bits } else { file.stat.st_mode & mask },
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

/// Refuses changes that the module may not make: set-id bits without a grant, and attributes that are not carried.
///
/// # Errors
///
/// Fails with the name of the change.
pub(crate) fn check(before: Option<Before<'_>>, now: &Attributes, own: &Owners) -> io::Result<()> {
    let (uid, gid) = owner(before, now);
    let refused = now.stat.st_mode & SET_ID & !own.set_id_bits(uid, gid);
    if refused != 0 {
        let grant = set_id_grant(refused, uid, gid);
        return Err(io::Error::other(format!(
            "the module has set a set-id bit, and such bits are not taken over without a grant; allow it with \
             `--allow-own {grant}`"
        )));
    }
    let copy = before.map(|before| before.copy);
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
pub(crate) fn loses_set_id(file: &Attributes, target: &Target) -> bool {
    file.stat.st_mode & SET_ID & !target.mode != 0
}

impl Target {
    /// Returns the target that leaves a file as it was.
    pub(crate) fn unchanged(file: &Attributes) -> Self {
        let before = Before { file, copy: file };
        let own = Owners::Some(Vec::new());
        Self { times: Some(settable_times(&file.stat)), ..target(Some(before), file, false, clock::now(), &own) }
    }

    /// Gives a file these attributes.
    ///
    /// # Errors
    ///
    /// Fails with the first attribute that cannot be set.
    pub(crate) fn apply(&self, file: &File) -> io::Result<()> {
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
    use modbox_policy::OwnerGrant;
    use modbox_vocabulary::GrantSource;

    use super::*;

    fn attributes(user: u32, mode: u32, xattrs: &[(&str, &str)]) -> Attributes {
        let mut read = Attributes::read(tempfile::tempfile().unwrap()).unwrap();
        (read.stat.st_uid, read.stat.st_gid, read.stat.st_mode) = (user, user, 0o100_000 | mode);
        read.xattrs = xattrs.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect();
        read
    }

    fn of(file: &Attributes, copy: &Attributes, now: &Attributes, is_written: bool) -> Target {
        with(file, copy, now, is_written, &Owners::Some(Vec::new()))
    }

    fn with(file: &Attributes, copy: &Attributes, now: &Attributes, is_written: bool, own: &Owners) -> Target {
        target(Some(Before { file, copy }), now, is_written, clock::before_writes(), own)
    }

    #[test]
    fn granted_set_id_bits_are_those_of_the_copy() {
        let grant = |text: &str| OwnerGrant::parse(text, &GrantSource::named("test"), |_| None, |_| None).unwrap();
        let own = Owners::Some(vec![grant("7+setid")]);
        let file = attributes(7, 0o6755, &[]);
        let copy = attributes(7, 0o4755, &[]);
        let mode = |now: u32, is_written| with(&file, &copy, &attributes(7, now, &[]), is_written, &own).mode;
        // A new file that the module has given the mode of the old one, and a write that has taken the bit away.
        assert_eq!([mode(0o4755, true), mode(0o755, true), mode(0o4700, false)], [0o4755, 0o755, 0o4700]);
        assert_eq!(mode(0o4755, false), 0o6755);
        let before = Some(Before { file: &file, copy: &copy });
        assert!(check(before, &attributes(7, 0o4755, &[]), &own).is_ok());
        let refused = check(before, &attributes(7, 0o6755, &[]), &own).unwrap_err().to_string();
        assert!(refused.contains("`--allow-own :7+setid`"), "{refused}");
        assert!(check(None, &attributes(8, 0o4755, &[]), &own).is_err());
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
            check(Some(Before { file: &copy, copy: &copy }), &now, &Owners::Some(Vec::new()))
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
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
