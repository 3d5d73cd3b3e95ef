//! What passes between whoever starts a job, its supervisor and the process that does the run.
//!
//! It goes through pipes: neither arguments nor the command line of a job are in the argv of anything that it starts.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use modbox_contract::Release;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The word that makes modbox the supervisor of a job.
pub const SUPERVISOR_WORD: &str = "__job-supervisor";

/// Bounds a message: several times what a run may keep of its output, or be given as arguments.
const MAX_MESSAGE: u64 = 512 << 20;

/// A job, as it is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// Its name, to which the supervisor's number is added.
    pub name: String,
    /// The folder for its file.
    pub folder: PathBuf,
    /// Whose file format it is to be.
    pub release: Release,
    /// How long to wait for the run before it is taken for one that does not end by itself.
    pub patience: Duration,
    /// The command line that asked for it.
    pub command: Vec<OsString>,
    /// The supervisor's process, once there is one.
    pub supervisor: u32,
    /// The module's arguments, wherever the command line has them from, as JSON.
    pub args: String,
}

/// What became of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Done {
    /// The result that the run has, as JSON.
    pub result: String,
    /// Whether it is the module's own.
    pub parsed: bool,
    /// What the module wrote to standard error.
    pub stderr: String,
    /// The limit that was hit.
    pub limit: Option<String>,
    /// What ran: the module's file.
    pub command: String,
    /// Where the run's files are, when they were kept.
    pub kept_files: Option<String>,
}

/// What a supervisor says when the job runs, or why it does not.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Begun {
    /// The job's id.
    Job(String),
    /// Why there is none.
    Failed(String),
}

/// Writes a message, which is all that is written.
///
/// # Errors
///
/// A stream that is gone.
pub fn send(mut stream: impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&serde_json::to_vec(message)?)?;
    stream.flush()
}

/// Reads a message, to the end of the stream.
///
/// # Errors
///
/// A stream that breaks or is too long, and what is no such message.
pub fn receive<M: DeserializeOwned>(stream: impl Read) -> io::Result<M> {
    let mut bytes = Vec::new();
    stream.take(MAX_MESSAGE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_MESSAGE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message is too long"));
    }
    Ok(serde_json::from_slice(&bytes)?)
}
