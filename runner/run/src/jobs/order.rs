//! The messages between the process that starts a job and the job's monitor.
//!
//! Messages go through pipes, so that the arguments and the command line of a job are in no process's argv.

use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use modbox_contract::Release;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The first command-line word of a job's monitor.
pub const JOB_WORD: &str = "__job";

/// Maximum length of a message: several times the largest kept output and the largest arguments.
const MAX_MESSAGE: u64 = 512 << 20;

/// The request for a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobRequest {
    /// The job's name. Its id is this name, a dot and the monitor's process id.
    pub name: String,
    /// The folder that has a status file for each job.
    pub folder: PathBuf,
    /// The release of Ansible whose file format is used.
    pub release: Release,
    /// The module, as the user named it, for listings.
    pub module: String,
    /// What the job does.
    pub work: JobWork,
    /// Whether the process that starts the job waits for its end, and ends the job when it ends itself.
    pub is_followed: bool,
}

/// What a job does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum JobWork {
    /// `modbox run --async`.
    Command {
        /// The command line.
        command: Vec<OsString>,
        /// The module's arguments as JSON, merged from all their sources.
        args: String,
    },
    /// The run of a module for a task of a play, as JSON.
    Task(String),
    /// `modbox task --async`.
    Sent {
        /// The task as its controller sent it, as JSON.
        task: String,
        /// Time limit of the run.
        limit: Duration,
    },
    /// A job that ansible-core starts by `modbox-python`.
    Packed {
        /// The module with its imports and arguments, as ansible-core packs it.
        program: String,
        /// Time limit of the run.
        limit: Duration,
    },
}

/// Summary of a finished run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunSummary {
    /// The result of the run, as JSON.
    pub result: String,
    /// Whether the module returned this result; otherwise modbox made it.
    pub parsed: bool,
    /// What the module wrote to standard error.
    pub stderr: String,
    /// The kind of the limit that was hit, if any.
    pub limit: Option<String>,
    /// The module's file.
    pub command: String,
    /// The directory with the run's files, if they were kept.
    pub kept_files: Option<String>,
    /// Whether the result is a secret, which other tasks may use and no listing shows.
    pub is_secret: bool,
}

/// Reply of a monitor: the job runs, or could not be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum StartReply {
    /// The job's id.
    Job(String),
    /// The reason why there is no job.
    Failed(String),
}

/// A run that ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// What the job's file says.
    pub summary: RunSummary,
    /// What the process hears that follows the job, as JSON.
    pub end: String,
}

/// Writes one message and a line end, for streams of several messages.
///
/// # Errors
///
/// The stream cannot be written.
pub fn send_line(mut stream: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

/// Reads a message that ends at the end of the line.
///
/// # Errors
///
/// The stream cannot be read or its line is too long, or holds no message of this type.
pub fn receive_line<M: DeserializeOwned>(stream: &mut impl BufRead) -> io::Result<M> {
    let mut line = Vec::new();
    stream.take(MAX_MESSAGE + 1).read_until(b'\n', &mut line)?;
    if line.len() as u64 > MAX_MESSAGE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message is too long"));
    }
    Ok(serde_json::from_slice(&line)?)
}

/// Writes the one message of a stream.
///
/// # Errors
///
/// The stream cannot be written.
pub fn send(mut stream: impl Write, message: &impl Serialize) -> io::Result<()> {
    stream.write_all(&serde_json::to_vec(message)?)?;
    stream.flush()
}

/// Reads a message that extends to the end of the stream.
///
/// # Errors
///
/// The stream cannot be read or is too long, or holds no message of this type.
pub fn receive<M: DeserializeOwned>(stream: impl Read) -> io::Result<M> {
    let mut bytes = Vec::new();
    stream.take(MAX_MESSAGE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_MESSAGE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message is too long"));
    }
    Ok(serde_json::from_slice(&bytes)?)
}
