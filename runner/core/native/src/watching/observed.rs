//! Starts a module that is observed: without confinement, in the machine's own file system, under a filter that refuses
//! nothing and reports each use of a path or an address.
//!
//! The first process is a fork of the launcher, as that of a room is; see `init`. All that the module starts has the same
//! filter, whose reports the launcher answers, so nothing of the module can outlive the launcher. This file does not judge
//! the uses; see `denied_uses`.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use modbox_channel::{descriptor, turn};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};

use crate::calls::attribute_calls::FileRights;
use crate::calls::observe::Observer;
use crate::calls::reported_calls::ReportScope;
use crate::inside::first_process::end;
use crate::inside::init;
use crate::inside::process_limits::lower_limits;
use crate::link::{Failure, InitMessage, Ready, at};
use crate::processes::module_process;
use crate::processes::namespaces::Namespaces;
use crate::protocol::{MESSAGES, Spec, Start};
use crate::rooms::room::Room;
use crate::step::Step;
use crate::system;
use crate::watching::watch::RoomResources;

/// Starts the module. `room` has what its policy grants.
pub(crate) fn start(spec: &Spec, room: &Room, input: Option<&OwnedFd>) -> Result<(Pid, RoomResources), Failure> {
    let (link, theirs) = UnixStream::pair().map_err(at(Step::Parent))?;
    let Some(first) = Namespaces::NONE.child(None).map_err(at(Step::Parent))? else {
        drop(link);
        main(spec, &theirs, input)
    };
    drop(theirs);
    let begin = || -> Result<Observer, Failure> {
        match MESSAGES.receive_required(&link).map_err(at(Step::Parent))? {
            InitMessage::Ready(_) => {}
            InitMessage::Failed(failure) => return Err(failure),
            InitMessage::Signalled(_) | InitMessage::Over(_) | InitMessage::Left(_) => {
                return Err(at(Step::Parent)(io::Error::from(io::ErrorKind::InvalidData)));
            }
        }
        let listener = descriptor::receive(&link).map_err(at(Step::Parent))?;
        turn::give(&link).map_err(at(Step::Parent))?;
        let uid = spec.user.as_ref().map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid);
        let observer =
            Observer::new(listener, room, Path::new(&spec.directory), ReportScope::OBSERVED, FileRights::Owner);
        Ok(observer.with_commands(matches!(spec.start, Start::Shell(_)), uid))
    };
    match begin() {
        Ok(observer) => Ok((first, RoomResources::of_observed(observer, link))),
        Err(failure) => {
            end(first);
            Err(failure)
        }
    }
}

/// Runs the first process.
fn main(spec: &Spec, link: &UnixStream, input: Option<&OwnedFd>) -> ! {
    let ran = prepare(spec, link).and_then(|null| run(spec, input, null));
    system::exit(ran.unwrap_or_else(|failure| {
        // If the launcher is gone, this process is about to be killed.
        let _ = MESSAGES.send(link, &InitMessage::Failed(failure));
        init::NOT_STARTED
    }))
}

/// Prepares this process, and waits until the launcher receives reports. Returns an open `/dev/null`.
fn prepare(spec: &Spec, link: &UnixStream) -> Result<Option<OwnedFd>, Failure> {
    system::default_child_signal();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(at(Step::Parent))?;
    if let Some(user) = &spec.user {
        modbox_kernel::become_user(user).map_err(at(Step::User))?;
    }
    let directory = Path::new(&spec.directory);
    std::env::set_current_dir(directory).map_err(Failure::with(Step::Directory, directory))?;
    lower_limits(spec).map_err(at(Step::Limits))?;
    // Opened before the filter, so that it is not reported.
    let null = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).ok();
    let listener = modbox_kernel::report_calls(&ReportScope::OBSERVED.reported()).map_err(at(Step::Confine))?;
    MESSAGES.send(link, &InitMessage::Ready(Ready::default())).map_err(at(Step::Parent))?;
    descriptor::send(link, listener.as_fd()).map_err(at(Step::Parent))?;
    drop(listener);
    turn::wait(link).map_err(at(Step::Parent))?;
    Ok(null)
}

/// Starts the module's process and waits for it. Returns its exit status, as a shell would report it.
fn run(spec: &Spec, input: Option<&OwnedFd>, null: Option<OwnedFd>) -> Result<i32, Failure> {
    if let Some(umask) = spec.umask {
        rustix::process::umask(Mode::from_raw_mode(umask & 0o777));
    }
    let variables = spec.environment.iter().map(|(name, value)| (name, value.as_os_str()));
    let module = module_process::start(&spec.start, variables, input).map_err(at(spec.start.step()))?;
    // The host reads the module's output until all copies of the pipes are closed.
    drop(null.map(module_process::detach_output));
    let status = init::wait_for(module).map_err(at(Step::Shell))?;
    let killed = status.terminating_signal().map(|signal| 128 + signal);
    Ok(status.exit_status().or(killed).unwrap_or(init::NOT_STARTED))
}
