//! The calls of the process that speaks with registries: memory, connections that are open, and its end.
//!
//! It cannot open files, make connections or start programs. The monitor connects it, and it has no other descriptors
//! than its channel, those connections, and the file of a module that it sends.

use crate::filters::calls::{CallGroup, Condition, calls};

/// `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL`.
const FILE_CONTROLS: [u32; 4] = [1, 2, 3, 4];

pub(crate) const ALLOWED: &[CallGroup] = &[
    CallGroup::always(
        "speaks by its channel and its connections, and receives those",
        calls![close, read, recvfrom, recvmsg, sendmsg, sendto, shutdown, write, writev],
    ),
    CallGroup::always("reads the file of a module that it sends", calls![lseek, pread64, fstat]),
    CallGroup::always("waits for its connections", calls![ppoll]),
    #[cfg(target_arch = "x86_64")]
    CallGroup::always("the older form: waits for its connections", calls![poll]),
    CallGroup::when(
        Condition::OneOf { argument: 1, values: &FILE_CONTROLS },
        "sets flags of descriptors",
        calls![fcntl],
    ),
    CallGroup::always("gives memory back, and moves it", calls![munmap, mremap, madvise, brk]),
    CallGroup::when(
        Condition::NotExecutable { protection: 2 },
        "takes memory, none of it executable",
        calls![mmap, mprotect],
    ),
    CallGroup::always("has locks, and asks for its own number", calls![futex, getpid, gettid, sched_yield]),
    CallGroup::always(
        "handles a stack that overflows, and faults",
        calls![rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack],
    ),
    CallGroup::when(Condition::OwnProcess { pid: 0 }, "aborts, by a signal to itself", calls![tgkill]),
    CallGroup::always(
        "measures time, and waits before it asks a server again",
        calls![clock_gettime, clock_nanosleep, nanosleep, restart_syscall],
    ),
    CallGroup::always("has random numbers, for TLS", calls![getrandom]),
    CallGroup::always("ends a thread or the process", calls![exit, exit_group]),
];
