//! The parts of an allow list of system calls: groups of calls with one condition and one reason.
//!
//! The crate `syscalls` has the numbers for each architecture. The lists are in `guest_calls`, `compiler_calls`,
//! `transfer_calls`, `native_calls`, `namespace_calls` and `on_host_calls`.

use syscalls::Sysno;

/// Set-user-id and set-group-id.
pub(crate) const SET_ID: u32 = 0o6000;

/// Opening flags that create a file, so that the mode counts: `O_CREAT` and the bit of `O_TMPFILE`.
pub(crate) const CREATING: u32 = 0o20_000_100;

/// System calls that are allowed under one condition.
#[derive(Debug, Clone, Copy)]
pub struct CallGroup {
    /// Why a confined process needs the calls.
    pub reason: &'static str,
    /// What must be granted, or be in the arguments, for the calls to be allowed.
    pub condition: Condition,
    /// The system calls, numbered as on this architecture.
    pub calls: &'static [Sysno],
}

/// A condition for a call. The numbers are the indexes of the call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// No condition.
    Always,
    /// A network is granted.
    Network,
    /// The network plan allows the socket. Family, type and protocol are the first three arguments.
    Sockets,
    /// The network plan allows Unix sockets, or the pair of sockets stays connected to each other. Family and type are
    /// the first two arguments.
    SocketPairs,
    /// A control group counts the memory of all processes together.
    CountedMemory,
    /// The same, or the filter reports the call, so that the process that receives its reports counts.
    CountedOrReported,
    /// The arguments have these values, each with its index.
    Values(&'static [(u8, u32)]),
    /// The mode has neither set-user-id nor set-group-id.
    PlainMode {
        /// The mode.
        mode: u8,
        /// The opening flags, if the mode counts only with flags that create a file.
        flags: Option<u8>,
    },
    /// The flags start a thread of the process, not a process.
    Threads {
        /// The flags.
        flags: u8,
    },
    /// The flags create no namespace.
    NoNamespaces {
        /// The flags.
        flags: u8,
    },
    /// The process id is that of the caller.
    OwnProcess {
        /// The process id.
        pid: u8,
    },
    /// The pointer is null, so nothing is set.
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
        /// The allowed values.
        values: &'static [u32],
    },
    /// The value is not one of these.
    NoneOf {
        /// The value.
        argument: u8,
        /// The refused values.
        values: &'static [u32],
    },
}

impl CallGroup {
    /// Returns a group that is always allowed.
    pub(crate) const fn always(reason: &'static str, calls: &'static [Sysno]) -> Self {
        Self::when(Condition::Always, reason, calls)
    }

    /// Returns a group with a condition.
    pub(crate) const fn when(condition: Condition, reason: &'static str, calls: &'static [Sysno]) -> Self {
        Self { reason, condition, calls }
    }
}

/// Lists calls without their type: `calls![read, write]`.
macro_rules! calls {
    ($($name:ident),+ $(,)?) => { &[$(syscalls::Sysno::$name),+] };
}
pub(crate) use calls;
