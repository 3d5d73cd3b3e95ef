//! Errors that keep a native module from running, or its run from finishing.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use modbox_kernel::KernelConfinement;

use crate::step::Step;

/// Failure before a native module runs, or of the launcher while it runs.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// The invocation is for the engine.
    #[error("failed to run a wasm module natively")]
    NotNative,
    /// The temporary directory cannot be opened.
    #[error("failed to open the temporary directory `{path}`")]
    OpenDirectory {
        /// Its path.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A module kind named a file outside the temporary directory.
    #[error("failed to use `{name}` as the name of a module's file")]
    FileName {
        /// The name.
        name: String,
    },
    /// A file of the module cannot be written.
    #[error("failed to write the module's file `{name}`")]
    WriteFile {
        /// Its name.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The socket or the pipes cannot be created.
    #[error("failed to make a channel to the launcher")]
    Channel(#[source] io::Error),
    /// The launcher does not start.
    #[error("failed to start the launcher `{path}`")]
    StartLauncher {
        /// Path of the binary.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Sending the instructions to the launcher failed.
    #[error("failed to instruct the launcher")]
    Instruct(#[source] io::Error),
    /// A granted path was replaced or removed after it had been granted, so the module did not start.
    #[error(
        "failed to use the grant of `{path}`: another process has replaced or removed it meanwhile; run the module again"
    )]
    GrantChanged {
        /// The path on the machine.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The user whose module it is cannot use the files that the module needs.
    #[error("failed to show `{path}` to the module: the user `{user}` cannot reach it; {remedy}")]
    Unreachable {
        /// The path on the machine.
        path: String,
        /// Name of the user.
        user: String,
        /// What to do.
        remedy: &'static str,
    },
    /// This process cannot act as the user whose module it is.
    #[error("failed to act as the user `{user}`")]
    User {
        /// Name of the user.
        user: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A step of the launcher failed, so the module did not start.
    #[error("failed to {step} for the module{}", named(subject))]
    Launch {
        /// The step that failed.
        step: Step,
        /// Path or name that the step used.
        subject: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Waiting for output or for the launcher failed.
    #[error("failed to wait for the launcher")]
    Wait(#[source] io::Error),
    /// A pipe cannot be read.
    #[error("failed to read the module's output")]
    ReadOutput(#[source] io::Error),
    /// The launcher sent an invalid reply.
    #[error("failed to read the launcher's reply")]
    Reply(#[source] io::Error),
    /// The launcher ended without a reply.
    #[error("failed to get a reply from the launcher: {}", ended(*.status))]
    Vanished {
        /// Exit status of the launcher, if it is known.
        status: Option<ExitStatus>,
    },
    /// Processes of the module sleep in the kernel and do not die.
    #[error("failed to kill {count} of the module's processes")]
    Survivors {
        /// How many.
        count: u64,
    },
    /// The confinement that the kernel gives is below the accepted level, so the module did not start.
    #[error("failed to confine the module enough: it would be level {}", .0.level)]
    Unconfined(KernelConfinement),
    /// The policy grants commands outside, and they cannot run outside of the room, for this reason. The module did not
    /// start.
    #[error("failed to run commands outside of the module's room: {0}")]
    NoOutside(String),
    /// The starter of commands outside does not start.
    #[error("failed to start the process for commands outside")]
    StartOutside(#[source] io::Error),
    /// The run was undone because modbox is about to end.
    #[error("failed to finish the run: modbox was told to end")]
    Undone,
}

fn named(subject: &str) -> String {
    if subject.is_empty() { String::new() } else { format!(", `{subject}`") }
}

fn ended(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "it does not end".to_owned(), |status| status.to_string())
}
