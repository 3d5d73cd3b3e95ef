//! The observations of a sandbox during one run.

use serde::{Deserialize, Serialize};

use crate::confinement_layer::ConfinementLayer;
use crate::denial::DenialLog;
use crate::http_stub::StubbedRequest;
use crate::limits::LimitHit;
use crate::lost::LostChange;
use crate::observation::Observation;
use crate::outside::OutsideRun;

/// The observations of a sandbox during one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the program ended.
    pub exit: Exit,
    /// The standard output, limited in size.
    pub stdout: CapturedOutput,
    /// The standard error, limited in size.
    pub stderr: CapturedOutput,
    /// The limit that ended or cut the run; the first one if there were several.
    pub limit: Option<LimitHit>,
    /// The resources that the run used.
    pub usage: Usage,
    /// The duration of each step.
    pub timing: Timing,
    /// The operations that were denied.
    pub denials: DenialLog,
    /// What is known of an observed module beside its denials. A worker of guests does not send it.
    #[serde(skip)]
    pub observation: Observation,
    /// Changes of granted paths that did not reach the machine.
    pub lost: Vec<LostChange>,
    /// What the module left in its own `/tmp`, which is gone with it.
    pub left_in_tmp: Vec<String>,
    /// Names of processes that the module left running, and that ended with its room.
    pub survivors: Vec<String>,
    /// The commands that ran outside of the module's sandbox, in the order of their ends. A worker of guests does not send them:
    /// it starts none.
    #[serde(skip)]
    pub outside: Vec<OutsideRun>,
    /// The HTTP requests of a guest with a stub for them, in their order.
    pub requests: Vec<StubbedRequest>,
    /// Whether the file system may have refused to rename a directory, with `EXDEV`. Overlays of ordinary users do.
    pub refused_renames: bool,
    /// The confinement of the run. A worker does not send it: the monitor knows it since the worker was confined.
    #[serde(skip)]
    pub confinement: Confinement,
    /// Messages for the operator that are not failures.
    pub notes: Vec<String>,
}

/// The confinement of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The level of the kernel's confinement; 0 is none.
    pub level: u8,
    /// The active layers, strongest first.
    pub layers: Vec<ConfinementLayer>,
    /// What the kernel does not support, each with its cause. Reports have it among their notes.
    #[serde(skip)]
    pub missing: Vec<String>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// It exited by itself. A shell reports a signal as 128 plus the signal's number.
    Code(i32),
    /// A guest trapped.
    Trap {
        /// The reason.
        reason: String,
        /// The guest's stack frames, innermost first.
        backtrace: String,
    },
    /// A limit ended it, see [`Outcome::limit`].
    Killed,
}

/// The beginning of an output stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedOutput {
    /// The bytes that were kept. They are not serialised: a channel sends them raw, after the message.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// Number of bytes written in all.
    pub total: u64,
}

impl CapturedOutput {
    /// Returns whether bytes were dropped.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.total > self.bytes.len() as u64
    }
}

/// The resources that a run used. Zero where the sandbox cannot measure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Wall-clock time in microseconds.
    pub wall_us: u64,
    /// Processor time in microseconds.
    pub cpu_us: u64,
    /// Peak memory in bytes: linear memories and tables of a guest, the largest process of a native run.
    pub memory_bytes: u64,
    /// Bytes written to standard output, kept or not.
    pub stdout_bytes: u64,
    /// Bytes written to standard error, kept or not.
    pub stderr_bytes: u64,
    /// Bytes written to files.
    pub disk_bytes: u64,
    /// Bytes written to files in `/tmp`, which `disk_bytes` includes.
    pub tmp_bytes: u64,
    /// Number of files, directories and links created.
    pub files: u64,
    /// Highest number of files, directories and sockets open at a time.
    pub descriptors: u64,
}

/// The duration of each step in microseconds. Zero for steps that a sandbox does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Reading compiled code from the cache.
    pub load_us: u64,
    /// Time to compile the module; zero if the code was in the cache.
    pub compile_us: u64,
    /// Linking and instantiating.
    pub instantiate_us: u64,
    /// Running.
    pub run_us: u64,
}

impl Timing {
    /// Adds the durations of another part of the same run.
    pub fn add(&mut self, other: Self) {
        self.load_us += other.load_us;
        self.compile_us += other.compile_us;
        self.instantiate_us += other.instantiate_us;
        self.run_us += other.run_us;
    }
}
