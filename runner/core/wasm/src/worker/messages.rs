//! Messages between the monitor and a guest worker. Byte strings travel raw, with the message that they belong to.

use std::path::PathBuf;

use modbox_channel::Framing;
use modbox_kernel::KernelConfinement;
use modbox_policy::Policy;
use modbox_scratch::DirPurpose;
use modbox_vocabulary::{
    CommandOutput, CommandRefusal, CommandRequest, HttpStub, InputFile, Limits, Outcome, Timing, WasmProgram,
};
use serde::{Deserialize, Serialize};

use crate::engine::Instances;
use crate::worker::failure::StartFailure;

/// Framing of the messages to a worker. The bound is large: a run carries its arguments, and an answer the output of a
/// command.
pub(super) const REQUESTS: Framing = Framing::new(1 << 30);

/// Framing of the messages of a worker. The longest is a message of plugins of 32 MiB, which travels raw. A request for a command of at
/// most 2 MiB, each byte of which takes at most six in JSON, is shorter.
pub(super) const REPLIES: Framing = Framing::new(33 << 20);

/// Message to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Load compiled code. The descriptor of the code follows the frame. This is the first message.
    Load(Instances),
    /// Confine yourself. This is the second message.
    SetUp(Box<GuestSetup>),
    /// Run a guest. Attached: its standard input, then the content of each file.
    Run(Box<GuestOrder>),
    /// The answer to [`Reply::Command`]. Attached, if the command ran: its standard output and standard error.
    Answer(Box<Result<CommandOutput, CommandRefusal>>),
    /// A message for a worker of plugins. Attached: the message.
    Plugins,
}

/// Settings of all runs of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GuestSetup {
    /// The grants.
    pub policy: Policy,
    /// The limits of each run.
    pub limits: Limits,
    /// Answers for HTTP requests in place of the network's.
    pub http: Option<HttpStub>,
    /// Whether the guest is a worker of Python plugins, which has a channel to the monitor.
    pub has_plugins: bool,
    /// The confinement of the worker; `None` for guests that are trusted with everything.
    pub confinement: Option<ConfinementOrder>,
}

/// Confinement that the monitor asks of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfinementOrder {
    /// The worker's own directory: that of the run, or the one in which all runs make theirs.
    pub directory: PathBuf,
    /// Directory with a place for each layer, if the layers of each run are attached later.
    pub hub: Option<PathBuf>,
    /// Whether the worker is for one run. The kernel then counts its processor time; over several runs only the
    /// engine's meter can.
    pub is_single: bool,
    /// Lowest level with which a guest may start.
    pub least: u8,
}

/// One run of a guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestOrder {
    /// The format of the code, and `argv` of the guest.
    pub program: WasmProgram,
    /// Its files in `/args`.
    pub files: Vec<InputFile>,
    /// Its standard input.
    #[serde(skip)]
    pub stdin: Vec<u8>,
    /// Its directory.
    pub directory: RunDirectory,
    /// Its grants, if they are not those of the worker. They have the same walls: the kernel confines a worker only once.
    pub policy: Option<Box<Policy>>,
}

/// The directory for the private files of a run, and which process makes and removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunDirectory {
    /// The monitor made it, and removes it.
    Made(PathBuf, DirPurpose),
    /// The worker makes it in its own directory, and removes it.
    ToMake(DirPurpose),
}

/// Message from a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The code is loaded.
    Loaded(Timing),
    /// The code cannot be loaded; the worker ends.
    NotLoaded(StartFailure),
    /// The worker is confined. It ends if the level is too low. The listener of its filter is sent with the frame, if
    /// there is one.
    Confined(KernelConfinement),
    /// The worker cannot be confined; it ends.
    NotConfined(String),
    /// The guest printed. Attached: the bytes.
    Printed(OutputStream),
    /// The guest wants to run a command, and waits. Attached: the command's standard input.
    Command(CommandRequest),
    /// A worker of plugins sends a message. Attached: the message.
    Plugins,
    /// The run has ended. The bytes of its output were sent before.
    Ended(Box<Outcome>),
    /// The guest could not be started.
    NotStarted(StartFailure),
}

/// Output stream of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}
