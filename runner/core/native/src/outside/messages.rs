//! Messages of the starter: from the host its instructions, from the launcher what the module asks for, and the answers to both.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use modbox_channel::Framing;
use modbox_policy::PathGrant;
use modbox_policy::outside::OutsideGrant;
use modbox_vocabulary::{Denial, OutsideRun, User, native_path};
use serde::{Deserialize, Serialize};

use crate::outside::answer::Answer;
use crate::outside::operand_files::OperandFiles;

/// Framing of the messages. A policy may have thousands of rules; an ask has at most [`MAX_WORDS`] bytes of words, each of which
/// takes four bytes in a message.
pub(crate) const OUTSIDE_MESSAGES: Framing = Framing::new(32 << 20);

/// Maximum length of the words of a command and of the path of its program, with the byte that ends each. No rule covers a longer
/// one.
pub(crate) const MAX_WORDS: u64 = 136 << 10;

/// Maximum length of the variables that come with a command.
pub(crate) const MAX_VARIABLES: u64 = 8 << 10;

/// Instructions for the starter. The socket of the launcher follows, or, for a guest, that of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutsideSpec {
    /// The rules.
    pub(crate) grants: Vec<OutsideGrant>,
    /// The paths that the module may change.
    pub(crate) written: Vec<PathGrant>,
    /// User whose commands they are; `None` for the user of the starter.
    pub(crate) user: Option<User>,
    pub(crate) user_name: String,
    /// The variables that are the same for all commands.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Limit of each command's time.
    pub(crate) limit: Duration,
    /// Directory for copies of files, which no other user can enter.
    #[serde(with = "native_path")]
    pub(crate) inputs: PathBuf,
    /// Where operands that are files of the module are.
    pub(crate) files: OperandFiles,
}

/// A command that a process of the room asks for, or a guest. These descriptors follow: one that is readable when the process that
/// asks is gone; the directory of [`OperandFiles`]; and the standard streams, as far as they are open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask {
    /// Number of the report, or of the guest's command.
    pub(crate) id: u64,
    /// Path of the program, and its arguments.
    pub(crate) words: Vec<Vec<u8>>,
    /// Variables, as `NAME=VALUE`.
    pub(crate) variables: Vec<Vec<u8>>,
    /// Umask of the process.
    pub(crate) umask: u32,
    /// Which standard streams follow.
    pub(crate) streams: [bool; 3],
}

/// The answer to an [`Ask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answered {
    /// Number of the report.
    pub(crate) id: u64,
    pub(crate) answer: Answer,
}

/// What the starter tells the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OutsideEvent {
    /// A command has begun.
    Began,
    /// A command is over.
    Ended(OutsideRun),
    /// No rule covers a command.
    Denied(Denial),
    /// Something that the operator should know.
    Note(String),
}
