//! The worker's side: its socket, its role, and its end with the monitor.

use std::io;
use std::os::unix::net::UnixStream;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::role::{ASSIGNMENTS, Assignment, MountsOf, Role};
use crate::thread_mounts;

/// Takes the socket from standard input, and leaves this process without a terminal: it has a session of its own, so
/// that the user's Ctrl-C reaches the monitor alone, and its standard streams lead to `/dev/null`.
///
/// # Errors
///
/// Standard input is not a descriptor, or `/dev/null` is missing.
pub fn take_socket() -> io::Result<UnixStream> {
    let socket = rustix::stdio::stdin().try_clone_to_owned()?;
    // For those who list processes: a fork has the command line of the monitor.
    let _ = rustix::thread::set_name(c"modbox-worker");
    // Fails only in a process that leads a group already, as a worker that a user starts by hand.
    let _ = rustix::process::setsid();
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(UnixStream::from(socket))
}

/// Waits for the role of this worker, and returns it with the monitor's process id. Returns `None` if the monitor needs
/// no worker: it has closed its end.
///
/// # Errors
///
/// Standard input is not a socket of a monitor, or this process cannot have the mounts that it is to have.
pub fn receive_role(socket: &UnixStream) -> io::Result<Option<(Role, u32)>> {
    let assignment = ASSIGNMENTS.receive::<Assignment>(socket)?;
    let Some(Assignment { role, monitor, mounts_of }) = assignment else { return Ok(None) };
    match mounts_of {
        Some(MountsOf::Thread(thread)) => thread_mounts::enter(monitor, thread)?,
        Some(MountsOf::Process(process)) => modbox_kernel::join_user_mounts(process)?,
        None => {}
    }
    Ok(Some((role, monitor)))
}

/// Makes the kernel kill this process when the monitor ends for any reason.
///
/// # Errors
///
/// The monitor has ended already.
pub fn die_with_monitor(monitor: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The monitor may have ended before the call above.
    match getppid() {
        Some(pid) if pid.as_raw_nonzero().get().unsigned_abs() == monitor => Ok(()),
        _ => Err(io::Error::other("the monitor has ended")),
    }
}
