//! Messages between the launcher and the first process of a room: the state of the room, with the descriptors that the
//! launcher needs, and the permission to begin.

use std::path::PathBuf;
use std::{fmt, io};

use modbox_vocabulary::{ConfinementLayer, FileFingerprint, native_path};
use serde::{Deserialize, Serialize};

use crate::step::Step;
use crate::system::TreeUsage;

/// Message of the first process when it has made the room, could not make it, or is about to end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum InitMessage {
    /// It waits for permission to begin. The descriptors follow.
    Ready(Ready),
    /// It is about to end.
    Failed(Failure),
    /// It is about to end, because a signal ended the program.
    Signalled(i32),
    /// It is about to end and is the last process in its room, so the host need not wait for its exit.
    Over(ModuleEnd),
    /// It is about to end, and with it processes that the module left running.
    Left(LeftBehind),
}

impl InitMessage {
    /// Returns the signal that ended the program.
    pub(super) fn signal(&self) -> Option<i32> {
        match self {
            Self::Signalled(signal) => Some(*signal),
            Self::Over(ModuleEnd { signal, .. }) | Self::Left(LeftBehind { signal, .. }) => *signal,
            Self::Ready(_) | Self::Failed(_) => None,
        }
    }
}

/// End of a module, and the resources that it and the first process of its room used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ModuleEnd {
    pub(super) code: i32,
    /// The signal that ended the program.
    pub(super) signal: Option<i32>,
    pub(super) usage: TreeUsage,
    /// Bytes written to disks.
    pub(super) written: u64,
}

/// Processes that a module left running in a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeftBehind {
    /// The signal that ended the program.
    pub(super) signal: Option<i32>,
    /// Names of the processes.
    pub(super) names: Vec<String>,
}

/// Failed step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) step: Step,
    pub(super) errno: i32,
    /// Path or name that the step used, or empty.
    pub(super) subject: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.step)?;
        if !self.subject.is_empty() {
            write!(f, ", `{}`", self.subject)?;
        }
        match self.errno {
            0 => Ok(()),
            errno => write!(f, ": {}", io::Error::from_raw_os_error(errno)),
        }
    }
}

impl Failure {
    pub(super) fn new(step: Step, error: &io::Error) -> Self {
        Self { step, errno: error.raw_os_error().unwrap_or(0), subject: String::new() }
    }

    /// Returns a function that makes a failure with a subject.
    pub(super) fn with(step: Step, subject: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let subject = subject.display().to_string();
        move |error| Self { subject, ..Self::new(step, &error) }
    }
}

/// Returns a function that makes the failure of a step.
pub(super) fn at<E: Into<io::Error>>(step: Step) -> impl FnOnce(E) -> Failure {
    move |error| Failure::new(step, &error.into())
}

/// State of a room that is ready.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ready {
    /// Level of confinement that the process reached, not counting namespaces.
    pub(super) level: u8,
    pub(super) layers: Vec<ConfinementLayer>,
    pub(super) missing: Vec<String>,
    /// Notes on requested features that the room lacks.
    pub(super) notes: Vec<String>,
    /// Directories of single-name write grants, from which files are copied back at the end. A descriptor of each is
    /// sent.
    pub(super) stages: Vec<StageNames>,
    /// Single names, as the module sees them, that it may write and that cannot be made on the machine.
    pub(super) unmade: Vec<PathBuf>,
    /// Whether the listener for reports is sent, as the last descriptor.
    pub(super) listens: bool,
    /// Whether any signal interrupts a call whose report was received.
    pub(super) interruptible: bool,
    /// How many of the control groups it has joined.
    pub(super) joined: usize,
    /// Whether one of them counts memory.
    pub(super) counts_memory: bool,
    /// Whether descriptors of the room's own file system and its `/proc` are sent, before all others.
    pub(super) own: bool,
}

/// Single-name write grants in one directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StageNames {
    /// Path of the directory in the room.
    pub(super) directory: String,
    /// Whether other names in it are the module's own.
    pub(super) private: bool,
    /// Whether it shows the other entries of the machine's directory, which the module only reads.
    pub(super) shows_machine: bool,
    pub(super) names: Vec<StagedName>,
}

/// File that a module may write, in a directory of the room's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StagedName {
    pub(super) name: String,
    /// Path on the machine.
    #[serde(with = "native_path")]
    pub(super) host: PathBuf,
    /// The file that was copied, if there was one.
    pub(super) was: Option<FileFingerprint>,
}
