//! The calls of the compile worker: allocator, threads, its three descriptors, and its end.
//!
//! It cannot open files, start programs or make memory executable: it returns code and never runs it.

use crate::filters::calls::{CallGroup, Condition, calls};

pub(crate) const ALLOWED: &[CallGroup] = &[
    CallGroup::always(
        "reads the module and writes the code, by descriptors that are open",
        calls![read, write, close, lseek],
    ),
    CallGroup::always("gives memory back, and moves it", calls![munmap, mremap, madvise, brk]),
    CallGroup::when(
        Condition::NotExecutable { protection: 2 },
        "takes memory, none of it executable",
        calls![mmap, mprotect],
    ),
    CallGroup::when(Condition::Threads { flags: 0 }, "compiles functions on threads", calls![clone]),
    CallGroup::always(
        "starts, names and joins its threads",
        calls![
            futex,
            sched_yield,
            sched_getaffinity,
            set_robust_list,
            set_tid_address,
            rseq,
            gettid,
            getpid,
            membarrier
        ],
    ),
    CallGroup::always(
        "handles a stack that overflows, and faults",
        calls![rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack],
    ),
    CallGroup::when(Condition::OwnProcess { pid: 0 }, "aborts, by a signal to itself", calls![tgkill]),
    CallGroup::always(
        "measures time, and waits between two tries for a lock",
        calls![clock_gettime, clock_nanosleep, nanosleep, restart_syscall],
    ),
    CallGroup::always("seeds hash tables", calls![getrandom]),
    CallGroup::always("ends a thread or the process", calls![exit, exit_group]),
];
