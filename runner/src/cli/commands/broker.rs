//! The process that runs the commands of a guest, for the one that runs the guest. See [`crate::app::commands`].

use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;

use modbox_cleanup::Cleanup;

use crate::app::commands;

/// Is a broker.
pub(crate) fn main() -> ExitCode {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let cleanup = Cleanup::default();
    // Everything is undone then, and the main thread may be waiting for a command.
    let end = || std::process::exit(0);
    let served = commands::serve(socket, cleanup.clone(), end);
    while cleanup.is_ending() {
        // The other thread is at it, and ends the process.
        std::thread::park();
    }
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
