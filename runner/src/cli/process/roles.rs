//! The hidden first words of the command line that make modbox a process of its own. Each has one function, which is
//! the `main` of that process.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use modbox_native::stub::{self, StubEnd};
use modbox_worker::Role;

use crate::cli::process::environment;

/// A role: its word, and its main function, which gets the words after it.
type RoleMain = (&'static str, fn(&[OsString]) -> ExitCode);

/// The roles that need nothing of the command line program.
const ROLES: [RoleMain; 2] =
    [(modbox_wasm::COMPILE_WORKER, modbox_wasm::worker_main), (modbox_worker::WORD, |_| worker())];

/// Runs the role that the command line names, if it names one.
pub(crate) fn run(argv: &[OsString]) -> Option<ExitCode> {
    let word = argv.get(1)?;
    if let Some(StubEnd { status, message }) = stub::run(argv, environment::variables()) {
        if let Some(message) = message {
            // Standard error may be closed.
            let _ = writeln!(std::io::stderr(), "{message}");
        }
        return Some(ExitCode::from(status));
    }
    let (_, main) = ROLES.iter().find(|(role, _)| word == role)?;
    Some(main(&argv[2..]))
}

/// Runs a worker: waits for its role over the socket on standard input, and serves it.
pub(crate) fn worker() -> ExitCode {
    let Ok(socket) = modbox_worker::take_socket() else { return ExitCode::FAILURE };
    let served = match modbox_worker::receive_role(&socket) {
        Ok(Some((Role::Guest, monitor))) => {
            modbox_worker::die_with_monitor(monitor).and_then(|()| modbox_wasm::serve(socket))
        }
        Ok(Some((Role::Launcher, _))) => modbox_native::launcher::serve(socket),
        // Not bound to the monitor's life: what it has started goes on without the monitor.
        Ok(Some((Role::Outside, _))) => modbox_native::starter::serve(socket),
        Ok(Some((Role::Mounts, _))) => modbox_overlay::user_mounts::serve(&socket),
        Ok(Some((Role::Transfer, monitor))) => {
            modbox_worker::die_with_monitor(monitor).and_then(|()| modbox_registry::serve(socket))
        }
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
