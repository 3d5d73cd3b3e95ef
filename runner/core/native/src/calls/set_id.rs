//! Set-id bits: the launcher sets them in the place of a module where its policy allows that, and records the others by the
//! files that they are for.
//!
//! Those of directories need the grant to write, as any other bit of a mode. Files run as their owner, so theirs need a grant of
//! that owner with `+setid`. A filter does not see which of both a call names, so it reports all of them. The launcher opens the
//! file and changes what it has opened: the module cannot exchange it meanwhile.
//!
//! Ansible's modules give a new file the mode of the one that it replaces, ignore `EPERM` (ansible-core 2.19,
//! `AnsibleModule.atomic_move`), and then rename it. So a refused bit is a success with another mode, which the result has to
//! say, with the name that the file has in the end.

use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use modbox_kernel::{Caller, ReportedCall};
use modbox_policy::set_id_grant;
use modbox_vocabulary::{Capability, Denial, Operation};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::caller::call_arguments::path_of;
use crate::calls::attribute_calls::{self, AttributeCall};
use crate::calls::owners;
use crate::calls::reported_calls::CallEffect;
use crate::rooms::modes::refused;
use crate::rooms::room::Room;

/// Maximum number of files; more are not useful in a report.
const MAX_FILES: usize = 64;

/// Makes a call that sets a mode with set-id bits, of a module in namespaces: the file is looked for in its own file system, in
/// which what it may only read is mounted so. `None` for other calls.
pub(crate) fn make(report: &ReportedCall, room: &Room) -> Option<AttributeCall> {
    let call = attribute_calls::mode_call(report)?;
    let set = || -> Result<AttributeCall, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = match call.descriptor {
            Some(descriptor) => {
                let link = format!("/proc/{}/fd/{descriptor}", report.thread);
                rustix::fs::open(link, flags, Mode::empty()).map_err(|_| Errno::BADF)?
            }
            None => {
                let root = owners::module_root(report).ok_or(Errno::PERM)?;
                owners::open_in(&root, &call.path, call.follow).ok_or(Errno::NOENT)?
            }
        };
        let stat = rustix::fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(Errno::OPNOTSUPP);
        }
        let caller = Caller::of(report.thread).ok_or(Errno::SRCH)?;
        if !caller.may_set_mode(stat.st_uid) {
            return Err(Errno::PERM);
        }
        if refused(room, &stat, call.mode) != 0 {
            return Ok(AttributeCall::Refused);
        }
        let mode = Mode::from_raw_mode(caller.mode_in(stat.st_gid, call.mode));
        rustix::fs::chmodat(CWD, format!("/proc/self/fd/{}", file.as_raw_fd()), mode, AtFlags::empty())?;
        Ok(AttributeCall::Done)
    };
    Some(set().unwrap_or_else(AttributeCall::Failed))
}

/// The files whose set-id bits were refused.
#[derive(Debug, Default)]
pub(crate) struct RefusedBits {
    /// The files where they are now, each with the grant that would allow the bits.
    files: BTreeMap<PathBuf, String>,
}

impl RefusedBits {
    /// Records a call that is refused in a room, as far as its bits are. Returns `false` if the file cannot be named.
    pub(crate) fn record(&mut self, report: &ReportedCall, effect: Option<CallEffect>, room: &Room) -> bool {
        if let Some(call) = attribute_calls::mode_call(report) {
            let root = owners::module_root(report);
            let stat = root.and_then(|root| owners::open_in(&root, &call.path, call.follow));
            let stat = stat.and_then(|file| rustix::fs::fstat(file).ok());
            return stat.is_some_and(|stat| match refused(room, &stat, call.mode) {
                0 => true,
                bits => {
                    self.add(&call.path, bits, stat.st_uid, stat.st_gid);
                    true
                }
            });
        }
        // A file that is made with such a bit, whatever is granted: programs make it first and then set its mode.
        let made = match effect {
            Some(
                CallEffect::Open { directory, path, .. }
                | CallEffect::Make { directory, path }
                | CallEffect::MakeLink { directory, path }
                | CallEffect::MakeDirectory { directory, path },
            ) => path_of(report, directory, path),
            _ => None,
        };
        made.inspect(|path| self.add_unconfined(path)).is_some()
    }

    /// Adds a file that has such bits only where the module is not confined.
    pub(crate) fn add_unconfined(&mut self, path: &Path) {
        self.insert(path, "--allow-all".to_owned());
    }

    /// Adds a file of a user and a group that may not have the set-id bits of a mode.
    pub(crate) fn add(&mut self, path: &Path, mode: u32, uid: u32, gid: u32) {
        self.insert(path, format!("--allow-own {}", set_id_grant(mode, uid, gid)));
    }

    fn insert(&mut self, path: &Path, allow: String) {
        if self.files.len() < MAX_FILES {
            self.files.insert(path.to_owned(), allow);
        }
    }

    /// Follows a file to the name that a module gives it. Whether it gets that name is not known yet: where it does not, Ansible's
    /// modules copy the file there.
    pub(crate) fn rename(&mut self, from: &Path, to: PathBuf) {
        if let Some(allow) = self.files.remove(from) {
            self.files.insert(to, allow);
        }
    }

    /// Returns whether nothing was refused.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn into_denials(self) -> impl Iterator<Item = Denial> {
        self.files.into_iter().map(|(path, allow)| Denial {
            capability: Capability::Own,
            subject: path.to_string_lossy().into_owned(),
            operation: Operation::SetId,
            allow,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_it_is_in_the_end() {
        let mut refused = RefusedBits::default();
        refused.add(Path::new("/tmp/new"), 0o4755, 7, 8);
        refused.rename(Path::new("/tmp/other"), "/srv/other".into());
        refused.rename(Path::new("/tmp/new"), "/srv/file".into());
        let denials: Vec<Denial> = refused.into_denials().collect();
        assert_eq!(denials.iter().map(|denial| denial.subject.as_str()).collect::<Vec<_>>(), ["/srv/file"]);
        assert_eq!(
            denials[0].message(),
            "setting a set-id bit of `/srv/file` was denied; allow it with `--allow-own 7+setid`"
        );
    }
}
