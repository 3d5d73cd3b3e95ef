//! What the host and its launcher say to each other, over the launcher's standard input.
//!
//! The host sends one [`Spec`], and the descriptor that it announces; after them, one more byte or the end of the stream
//! means "kill". The launcher sends one [`Reply`] and exits. There is no version in a message, as both ends are the same
//! binary.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use modbox_channel::Framing;
use modbox_vocabulary::{Denial, LimitKind};
use serde::{Deserialize, Serialize};

use crate::link::Failure;
use crate::room::Room;

/// Messages of native runs. Linux gives a program at most 6 MB of arguments and environment; as JSON numbers they grow to
/// four times that.
pub(super) const MESSAGES: Framing = Framing::new(32 << 20);

/// What the launcher is to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    pub(super) start: Start,
    /// Where it starts. Like the environment it need not be UTF-8.
    pub(super) directory: OsString,
    /// It starts there or not at all; otherwise where there is nothing else to be seen, in the room's own directory.
    pub(super) only_there: bool,
    /// The permissions that its files are not given, when they are others than this process's.
    pub(super) umask: Option<u32>,
    /// Its whole environment.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// Processor time of the whole tree.
    pub(super) cpu_time_us: u64,
    /// Bytes of memory of each process, and of the whole tree.
    pub(super) max_memory: u64,
    /// Processes and threads of the whole tree.
    pub(super) max_processes: u64,
    /// A descriptor follows, to be the command's standard input; otherwise that is empty.
    pub(super) has_stdin: bool,
    /// What it is confined to; without it, to nothing.
    pub(super) room: Option<Room>,
}

#[cfg(test)]
impl Spec {
    /// One with a bit of everything.
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
            has_stdin: false,
            room: None,
        }
    }
}

/// A command in either of its forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Start {
    /// For `/bin/sh -c`.
    Shell(String),
    /// One program, and its arguments as they are, its own name first.
    Program { path: PathBuf, argv: Vec<OsString> },
}

impl Start {
    /// Whether it is told by itself that a signal ended it.
    pub(super) fn tells_signals(&self) -> bool {
        matches!(self, Self::Program { .. })
    }

    /// The step that starts it.
    pub(super) fn step(&self) -> Step {
        match self {
            Self::Shell(_) => Step::Shell,
            Self::Program { .. } => Step::Program,
        }
    }
}

/// What the launcher has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The shell ran, and the whole tree is gone.
    Ended {
        /// Why it ended.
        end: End,
        /// Processor time of the tree.
        cpu_us: u64,
        /// Peak resident set of its largest process.
        memory_bytes: u64,
        /// What it left in files of its own, and wrote to others; unknown when it was not confined.
        disk: Option<DiskUse>,
        /// Processes that were still there after all attempts to kill them: in uninterruptible sleep.
        survivors: u64,
        /// What confined it.
        in_force: InForce,
        /// Single names that could not be taken back to where they belong, and why.
        uncommitted: Vec<(PathBuf, String)>,
        /// What it tried and was refused.
        refused: Vec<Denial>,
    },
    /// The shell was not started.
    Failed(Failure),
    /// It was not started, since the kernel gives less than is accepted.
    Short(InForce),
}

/// What confines a module.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InForce {
    pub(super) level: u8,
    pub(super) layers: Vec<String>,
    pub(super) missing: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// What lies on disks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DiskUse {
    pub(super) bytes: u64,
    /// Those of them in the room's own file system.
    pub(super) private: u64,
    pub(super) files: u64,
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum End {
    /// The shell exited, with this status, or 128 plus the signal that killed it.
    Exited(i32),
    /// A signal ended the program.
    Signalled(i32),
    /// A limit that the launcher watches was passed.
    Limit(LimitKind),
    /// The host asked, or is gone.
    Requested,
    /// The room's first process could not start the shell.
    NotStarted(Failure),
}

/// A step of the launcher, in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Opening `/proc`, without which a tree can be neither watched nor killed.
    Proc,
    /// A session of its own, without a terminal.
    Session,
    /// Becoming the parent of orphaned descendants.
    Subreaper,
    /// Hiding inherited descriptors.
    Descriptors,
    /// Entering the module's working directory.
    Directory,
    /// Taking over the standard input.
    Stdin,
    /// Asking to be told of ended children.
    ChildSignal,
    /// Resource limits.
    Limits,
    /// A process in namespaces of its own.
    Namespaces,
    /// Its users and groups.
    Identities,
    /// Ending with the launcher, and speaking with it.
    Parent,
    /// Mounting at all.
    Mounts,
    /// The room's own `/proc`.
    ProcMount,
    /// The room's own file system.
    Private,
    /// The module's files in it.
    Files,
    /// Showing what was granted.
    Grant,
    /// Making it the root.
    Root,
    /// Landlock, seccomp and limits.
    Confine,
    /// Starting `/bin/sh`.
    Shell,
    /// Starting a program.
    Program,
}

impl Step {
    /// Whether a kernel without namespaces, or one that does not give them to this user, fails here.
    pub(super) fn is_of_namespaces(self) -> bool {
        matches!(
            self,
            Self::Namespaces | Self::Identities | Self::Mounts | Self::ProcMount | Self::Private | Self::Root
        )
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Proc => "open `/proc`",
            Self::Session => "start a session",
            Self::Subreaper => "become a subreaper",
            Self::Descriptors => "hide inherited descriptors",
            Self::Directory => "enter the working directory",
            Self::Stdin => "take over the standard input",
            Self::ChildSignal => "listen for ended children",
            Self::Limits => "set resource limits",
            Self::Namespaces => "make namespaces",
            Self::Identities => "map users and groups",
            Self::Parent => "speak with the launcher",
            Self::Mounts => "mount in a namespace",
            Self::ProcMount => "mount `/proc`",
            Self::Private => "make a file system of its own",
            Self::Files => "lay out the module's files",
            Self::Grant => "show what is granted",
            Self::Root => "change the root",
            Self::Confine => "confine itself",
            Self::Shell => "start `/bin/sh`",
            Self::Program => "start the program",
        })
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
