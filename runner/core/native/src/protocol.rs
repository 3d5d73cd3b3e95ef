//! Messages between the host and its launcher, over the launcher's standard input.
//!
//! The host sends one [`Spec`], and the descriptors that it announces: the input, and the channel to the starter of commands
//! outside; after them, one more byte or the end of the
//! stream means "kill". The launcher sends one [`Reply`] and exits. Messages have no version, because both ends are the
//! same binary.

use std::ffi::OsString;
use std::path::PathBuf;

use modbox_channel::Framing;
use modbox_kernel::KernelConfinement;
use modbox_vocabulary::{ConfinementLayer, Denial, LimitKind, LostChange, Observation, User};
use serde::{Deserialize, Serialize};

use crate::link::Failure;
use crate::rooms::room::Room;
use crate::step::Step;

/// Framing of the messages of native runs. Linux accepts at most 6 MB of arguments and environment; encoded as JSON
/// numbers they grow to four times that.
pub(super) const MESSAGES: Framing = Framing::new(32 << 20);

/// Instructions for the launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    pub(super) start: Start,
    /// Working directory. Like the environment, it need not be UTF-8.
    pub(super) directory: OsString,
    /// Start in `directory` or fail. Otherwise a module that cannot see `directory` starts in the room's `/tmp`, or in
    /// its temporary directory if it has no namespaces.
    pub(super) only_there: bool,
    /// Umask of the module, if it differs from this process's.
    pub(super) umask: Option<u32>,
    /// Whole environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Limit of the whole tree's processor time.
    pub(super) cpu_time_us: u64,
    /// Limit of memory in bytes, of each process and of the whole tree.
    pub(super) max_memory: u64,
    /// Limit of processes and threads of the whole tree.
    pub(super) max_processes: u64,
    /// Processes that a module without a room leaves running when it ends by itself stay, without limits that are only usual.
    pub(super) leaves_processes: bool,
    /// A descriptor follows that becomes the command's standard input. Otherwise the standard input is empty.
    pub(super) has_stdin: bool,
    /// Confinement; `None` for a module that is trusted with everything.
    pub(super) room: Option<Room>,
    /// User whose module it is; `None` for the user of the launcher.
    pub(super) user: Option<User>,
}

impl Spec {
    /// Returns whether the module is root's. Called in the launcher, or in its child before that becomes another user.
    pub(super) fn is_of_root(&self) -> bool {
        self.user.as_ref().map_or_else(|| rustix::process::geteuid().is_root(), |user| user.uid == 0)
    }
}

#[cfg(test)]
impl Spec {
    /// Returns a spec with at least one value of each sort.
    pub(super) fn for_tests() -> Self {
        use std::os::unix::ffi::OsStringExt as _;
        Self {
            start: Start::Shell("true".to_owned()),
            directory: OsString::from_vec(b"/srv/\xff".to_vec()),
            only_there: false,
            umask: None,
            environment: vec![("A".into(), OsString::from_vec(b"\xfe".to_vec()))],
            cpu_time_us: 1,
            max_memory: 2,
            max_processes: 3,
            leaves_processes: true,
            has_stdin: false,
            room: None,
            user: None,
        }
    }
}

/// Command to start, in one of two forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Start {
    /// Text for `/bin/sh -c`.
    Shell(String),
    /// One program, and its arguments verbatim, its own name first.
    Program { path: PathBuf, argv: Vec<OsString> },
}

impl Start {
    /// Returns whether the end by a signal is reported as a signal, and not as an exit status.
    pub(super) fn tells_signals(&self) -> bool {
        matches!(self, Self::Program { .. })
    }

    /// Returns the step that starts this command.
    pub(super) fn step(&self) -> Step {
        match self {
            Self::Shell(_) => Step::Shell,
            Self::Program { .. } => Step::Program,
        }
    }
}

/// Message of the launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LauncherMessage {
    /// The shell runs with this confinement. It is told at once, so that the host knows it of a launcher that it has to
    /// kill.
    Began(InForce),
    /// The run is over.
    Over(Reply),
}

/// Last message of the launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The shell ran, and the whole tree is gone.
    Ended(Box<Ended>),
    /// The shell was not started.
    Failed(Failure),
    /// The shell was not started, because the kernel gives less confinement than is accepted.
    Short(InForce),
    /// The shell was not started, because commands cannot run outside of the room, for this reason.
    NoOutside(String),
}

/// Run of a shell that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    /// Reason of the end.
    pub(super) end: End,
    /// Processor time of the tree.
    pub(super) cpu_us: u64,
    /// Peak resident set of its largest process.
    pub(super) memory_bytes: u64,
    /// Bytes and files left in the room's file system, and bytes written to disks; unknown for an unconfined
    /// module.
    pub(super) disk: Option<DiskUse>,
    /// Number of processes that survived all attempts to kill them, because they are in uninterruptible sleep.
    pub(super) survivors: u64,
    /// Notes on the changes that were taken back from the module.
    pub(super) notes: Vec<String>,
    /// Changes that were not taken back from the module.
    pub(super) lost: Vec<LostChange>,
    /// What the module left in its own `/tmp`.
    pub(super) left_in_tmp: Vec<String>,
    /// Names of processes that the module left running in its room.
    pub(super) left: Vec<String>,
    /// Denials that were observed.
    pub(super) refused: Vec<Denial>,
    /// Whether there may be more denials.
    pub(super) refused_more: bool,
    /// What else is known of an observed module.
    pub(super) observation: Box<Observation>,
    /// Whether the module may have renamed a directory of an overlay, which need not do it.
    pub(super) refused_renames: bool,
}

/// Confinement in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InForce {
    pub(super) level: u8,
    pub(super) layers: Vec<ConfinementLayer>,
    pub(super) missing: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl From<InForce> for KernelConfinement {
    fn from(in_force: InForce) -> Self {
        Self { level: in_force.level, layers: in_force.layers, missing: in_force.missing, ..Self::default() }
    }
}

/// Use of disk space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DiskUse {
    pub(super) bytes: u64,
    /// The part of `bytes` in the room's own file system.
    pub(super) private: u64,
    pub(super) files: u64,
}

/// Reason why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    /// The shell exited, with this status or with 128 plus the signal that killed it.
    Exited(i32),
    /// A signal ended the program.
    Signalled(i32),
    /// A limit that the launcher watches was exceeded.
    Limit(LimitKind),
    /// The host asked for it, or is gone.
    Requested,
    /// The room's first process could not start the shell.
    ProgramFailure(Failure),
}

impl End {
    /// Returns the signal that ended the program.
    pub(super) fn signal(&self) -> Option<i32> {
        match self {
            Self::Signalled(signal) => Some(*signal),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_arrives_as_it_was_sent_and_leaves_what_follows() {
        let mut wire = Vec::new();
        MESSAGES.send(&mut wire, &Spec::for_tests()).unwrap();
        wire.push(b'k');
        let mut rest = wire.as_slice();
        assert_eq!(MESSAGES.receive_required::<Spec>(&mut rest).unwrap(), Spec::for_tests());
        assert_eq!(rest, b"k");
    }
}
