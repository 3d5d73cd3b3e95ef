//! The broker: the process that runs a guest's commands for the process that runs the guest. See
//! [`crate::app::commands`].

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

use modbox_cleanup::Cleanup;

use crate::app::commands;

/// Runs the broker until its socket closes.
pub(crate) fn main() -> ExitCode {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let cleanup = Cleanup::default();
    // Cleanup is complete when this is called, and the main thread may still be waiting for a command.
    let end = || std::process::exit(0);
    let served = commands::serve(socket, cleanup.clone(), end);
    while cleanup.is_ending() {
        // The other thread is cleaning up, and ends the process.
        std::thread::park();
    }
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
