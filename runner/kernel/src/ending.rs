//! Ending by a signal, behind the filter of system calls.
//!
//! C libraries raise a signal for the calling thread, and musl's does by a call that names a thread and no process
//! (`tkill`). The filter refuses that one, as it reaches the threads of every process, and then nothing is left to the
//! library but a fault: who waits for the process would see SIGSEGV for a SIGTERM. By the number of the process, a
//! signal passes. This does not decide when to end.

/// How long a signal that was sent to the process may take to end it: it may be another thread that it comes to.
static PATIENCE: libc::timespec = libc::timespec { tv_sec: 1, tv_nsec: 0 };

/// Ends the process by a signal, as it would end one that has no handler for it.
///
/// For signals that end a process by default. May be called in a handler.
#[expect(unsafe_code, reason = "no safe wrapper gives up a handler, or may be called in one")]
pub fn end_by(signal: i32) -> ! {
    // SAFETY: all of these calls may be made in a handler. Once the handler is given up, no code of ours runs when the
    // signal comes. The set is made empty before anything reads it, and it and the time outlive the calls.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        // In its handler it is blocked.
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
        libc::nanosleep(&raw const PATIENCE, std::ptr::null_mut());
        libc::abort()
    }
}
