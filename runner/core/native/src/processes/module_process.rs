//! Starts the process of a native module: in a room from the room's first process, otherwise from the launcher. Both
//! close their copies of the module's output streams afterwards.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Pid;

use crate::processes::stdin;
use crate::protocol::Start;

/// Starts the module's process with these variables as its whole environment, and a copy of `input` or nothing as its
/// standard input.
///
/// # Errors
///
/// Fails when the shell or the program cannot be started.
pub(crate) fn start<'v>(
    start: &Start,
    variables: impl IntoIterator<Item = (&'v OsString, &'v OsStr)>,
    input: Option<&OwnedFd>,
) -> io::Result<Pid> {
    let child = command(start)
        .env_clear()
        .envs(variables)
        .stdin(stdin::of(input)?)
        // A process group of its own, so that one step kills it without the launcher.
        .process_group(0)
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// Returns the process to start for `start`.
fn command(start: &Start) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one place that names what a native module's process is")]
    match start {
        Start::Shell(text) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(text);
            command
        }
        Start::Program { path, argv } => {
            let mut command = Command::new(path);
            if let [name, arguments @ ..] = argv.as_slice() {
                command.arg0(name).args(arguments);
            }
            command
        }
    }
}

/// Replaces the module's output streams with `null` in this process.
pub(crate) fn detach_output(null: OwnedFd) -> io::Result<()> {
    rustix::stdio::dup2_stdout(&null)?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}
