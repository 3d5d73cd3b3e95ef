//! Further calls of a native module without namespaces.
//!
//! Only Landlock and this list stand between the module and the machine. Landlock does not check owners, modes, times
//! and attributes, nor the watches of inotify. So calls that change those or watch are missing; the process
//! that receives the reports makes some in the module's place, after a look of its own. Nothing separates the
//! module from other processes of its user, so System V shared memory, semaphores and queues and POSIX queues are
//! missing too, and limits and priorities are those of the caller.
//!
//! Zero means the calling thread or its process. The C library also names them by number. A filter does not know that
//! number, so it refuses the call, and the process that receives its reports looks: see [`named_process`].

use syscalls::Sysno;

use crate::filters::calls::{CallGroup, Condition, calls};
use crate::filters::listener::ReportedCall;

/// `PRIO_PROCESS`: the priority of one process.
const PRIORITY_OF_PROCESS: u32 = 0;

/// `IOPRIO_WHO_PROCESS`: the same for input and output.
const IO_PRIORITY_OF_PROCESS: u32 = 1;

/// `PR_SET_DUMPABLE` hides what a process has written from its own user, who counts it.
const HIDING: [u32; 1] = [4];

pub(crate) const ALLOWED: &[CallGroup] = &[
    CallGroup::when(
        Condition::Values(&[(0, 0)]),
        "lowers limits and priorities of its own",
        calls![prlimit64, sched_setaffinity, sched_setattr, sched_setparam, sched_setscheduler],
    ),
    CallGroup::when(
        Condition::Values(&[(0, PRIORITY_OF_PROCESS), (1, 0)]),
        "lowers priorities of its own, not those of a group or user",
        calls![setpriority],
    ),
    CallGroup::when(
        Condition::Values(&[(0, IO_PRIORITY_OF_PROCESS), (1, 0)]),
        "lowers priorities of its own, not those of a group or user",
        calls![ioprio_set],
    ),
    CallGroup::when(
        Condition::NoneOf { argument: 0, values: &HIDING },
        "names itself, and has settings of its own, but does not hide from its user",
        calls![prctl],
    ),
];

/// Returns the process or thread that a refused call names, if it is allowed on the caller itself: the calling thread,
/// or the first thread of its process. Both numbers stay theirs as long as the call waits.
#[must_use]
pub fn named_process(call: &ReportedCall) -> Option<u32> {
    let number = usize::try_from(call.number).ok().and_then(Sysno::new)?;
    // The kernel reads these arguments as 32 bits.
    let argument = |index: usize| u32::try_from(call.arguments[index] & 0xffff_ffff).ok();
    match number {
        Sysno::prlimit64
        | Sysno::sched_setaffinity
        | Sysno::sched_setattr
        | Sysno::sched_setparam
        | Sysno::sched_setscheduler => argument(0),
        Sysno::setpriority if argument(0) == Some(PRIORITY_OF_PROCESS) => argument(1),
        Sysno::ioprio_set if argument(0) == Some(IO_PRIORITY_OF_PROCESS) => argument(1),
        _ => None,
    }
}
