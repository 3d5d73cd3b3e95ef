//! The process that is a broker: it is told a policy, and then runs command after command for whoever started it.
//!
//! Whoever asks is not trusted: a request is bounded, and checked against the policy that came first. When whoever asks is gone, even by
//! SIGKILL, what runs is ended and what it left is removed.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::{io, thread};

use modbox_cleanup::Cleanup;
use modbox_vocabulary::{CommandRequest, RunsCommands as _};
use rustix::event::{PollFd, PollFlags, poll};

use crate::app::commands::direct::Direct;
use crate::app::commands::wire::{self, Greeting, MESSAGES, STREAMS};
use crate::app::config::RunnerConfig;

/// Is a broker over a socket, until the other end closes it. In the midst of a command this does not return then, but everything
/// is undone and `end` called, on another thread.
///
/// # Errors
///
/// Something that is no socket, or whoever does not speak as expected.
pub fn serve(socket: OwnedFd, cleanup: Cleanup, end: impl FnOnce() + Send + 'static) -> io::Result<()> {
    // Nothing that is started gets more than its three streams.
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
    let direct = Direct::new(&config, &greeting.policy, &greeting.limits);
    while let Some(request) = MESSAGES.receive::<CommandRequest>(&socket)? {
        let stdin = STREAMS.read_required(&socket)?;
        wire::send_answer(&socket, direct.run(&request, &stdin))?;
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
