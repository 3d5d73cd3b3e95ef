//! What the launcher and the first process of a room say to each other: where the room stands, with the descriptors that
//! the launcher needs of it, and that the module may begin.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use crate::protocol::Step;
use crate::system::TreeUsage;

/// What the first process says when it has made the room, or could not.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Word {
    /// It waits to begin. The descriptors follow.
    Ready(Ready),
    /// It is about to end.
    Failed(Failure),
    /// It is about to end, since a signal ended the program.
    Signalled(i32),
    /// It is about to end, and is the last in its room: whoever waits for the module need not wait for that.
    Over(Over),
}

/// How a module came to its end, and what it used together with the first process of its room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Over {
    pub(super) code: i32,
    /// The signal that ended the program.
    pub(super) signal: Option<i32>,
    pub(super) usage: TreeUsage,
    /// Bytes written to disks.
    pub(super) written: u64,
}

/// A step that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) step: Step,
    pub(super) errno: i32,
    /// On what, if on something in particular.
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

    /// A failure with something in particular.
    pub(super) fn with(step: Step, subject: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let subject = subject.display().to_string();
        move |error| Self { subject, ..Self::new(step, &error) }
    }
}

/// A room that is ready.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ready {
    /// The level that confining the process came to, without namespaces.
    pub(super) level: u8,
    pub(super) layers: Vec<String>,
    pub(super) missing: Vec<String>,
    /// What the room does not have although it was asked for.
    pub(super) notes: Vec<String>,
    /// The directories that single names are written in, and are taken from at the end; each is a descriptor.
    pub(super) stages: Vec<StageNames>,
    /// A descriptor on which calls are reported comes last.
    pub(super) listens: bool,
    /// How many of the control groups that it was handed it has joined.
    pub(super) joined: usize,
    /// Those of the room's own file system and of its `/proc` come before all others.
    pub(super) own: bool,
}

/// What is granted in one directory by its name alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StageNames {
    /// Where the module sees it.
    pub(super) directory: String,
    /// Whether other names in it are nobody's business.
    pub(super) private: bool,
    /// Each name, and where it belongs.
    pub(super) names: Vec<(String, std::path::PathBuf)>,
}
