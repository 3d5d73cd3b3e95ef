//! The broker process: receives a policy, then runs one command after another for the process that started it.
//!
//! The client is not trusted: requests are bounded, and checked against the policy that came first. When the client
//! ends, even by SIGKILL, the broker ends the running command and removes its files.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::{io, thread};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::{CommandRequest, RunsCommands as _};
use rustix::event::{PollFd, PollFlags, poll};

use crate::app::commands::command_runner::CommandRunner;
use crate::app::commands::wire::{self, Greeting, MESSAGES, STREAMS};
use crate::app::config::RunnerConfig;

/// Runs a broker over a socket until the other end closes it. If that happens during a command, another thread cleans
/// up and calls `end`, and this function does not return.
///
/// # Errors
///
/// A descriptor that is not a socket, or a client that breaks the protocol.
pub fn serve(socket: OwnedFd, cleanup: Cleanup, end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // Started processes inherit only their three streams.
    modbox_native::hide_descriptors()?;
    let socket = File::from(socket);
    let Some(greeting) = MESSAGES.receive::<Greeting>(&socket)? else { return Ok(()) };
    let watched = socket.try_clone()?;
    let undone = cleanup.clone();
    thread::Builder::new().name("end".to_owned()).spawn(move || {
        wait_for_end(&watched);
        undone.undo_all();
        end();
    })?;
    let config = RunnerConfig {
        directory: greeting.directory,
        worker: Some(modbox_native::THIS_BINARY.into()),
        cleanup,
        ..RunnerConfig::new(greeting.temp_dir)
    };
    let runner = CommandRunner::new(&config, &greeting.policy, &greeting.limits);
    while let Some(request) = MESSAGES.receive::<CommandRequest>(&socket)? {
        let stdin = STREAMS.read_required(&socket)?;
        wire::send_answer(&socket, runner.run(&request, &stdin))?;
    }
    Ok(())
}

fn wait_for_end(socket: &File) {
    loop {
        let mut descriptors = [PollFd::new(socket, PollFlags::RDHUP)];
        match poll(&mut descriptors, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) if descriptors[0].revents().is_empty() => {}
            _ => return,
        }
    }
}
