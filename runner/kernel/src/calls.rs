//! What an allow list of system calls consists of: groups of calls that share a condition and a reason.
//!
//! The numbers come from the crate `syscalls`, which has them for each architecture. The lists are in `guest_calls`,
//! `native_calls` and `compiler_calls`.

use syscalls::Sysno;

/// System calls that are allowed for one reason.
#[derive(Debug, Clone, Copy)]
pub struct CallGroup {
    /// Why.
    pub reason: &'static str,
    /// When.
    pub condition: Condition,
    /// Which.
    pub calls: &'static [Sysno],
}

/// A condition under which a call is allowed. Numbers are those of the call's arguments, from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Whatever the arguments are.
    Always,
    /// A network is granted.
    Network,
    /// The socket is one that the network plan has: family, type and protocol are the first three arguments.
    Sockets,
    /// The mode has neither set-user-id nor set-group-id.
    PlainMode {
        /// The mode.
        mode: u8,
        /// The flags for opening, where the mode counts only if they make a file.
        flags: Option<u8>,
    },
    /// The flags start a thread of the process, and no process.
    Threads {
        /// The flags.
        flags: u8,
    },
    /// The flags make no namespace.
    NoNamespaces {
        /// The flags.
        flags: u8,
    },
    /// The process is the caller itself.
    OwnProcess {
        /// The process's number.
        pid: u8,
    },
    /// The pointer is null, so that nothing is set.
    Null {
        /// The pointer.
        pointer: u8,
    },
    /// The memory is not executable.
    NotExecutable {
        /// The protection.
        protection: u8,
    },
    /// The value, such as the request of an `ioctl`, is one of these.
    OneOf {
        /// The value.
        argument: u8,
        /// Which.
        values: &'static [u32],
    },
    /// The value is none of these.
    NoneOf {
        /// The value.
        argument: u8,
        /// Which.
        values: &'static [u32],
    },
}

impl CallGroup {
    /// Makes a group that is always allowed.
    pub(super) const fn always(reason: &'static str, calls: &'static [Sysno]) -> Self {
        Self::when(Condition::Always, reason, calls)
    }

    /// Makes a group that is allowed under a condition.
    pub(super) const fn when(condition: Condition, reason: &'static str, calls: &'static [Sysno]) -> Self {
        Self { reason, condition, calls }
    }
}

/// Names calls without their type: `calls![read, write]`.
macro_rules! calls {
    ($($name:ident),+ $(,)?) => { &[$(syscalls::Sysno::$name),+] };
}
pub(super) use calls;
