//! Further calls of a native module in namespaces, which contain their effect: its mounts, its processes, and queues and
//! shared memory of its own.

use crate::filters::calls::{CallGroup, Condition, calls};

pub(crate) const ALLOWED: &[CallGroup] = &[
    CallGroup::when(
        Condition::PlainMode { mode: 1, flags: None },
        "sets modes, none with a set-id bit",
        calls![fchmod],
    ),
    CallGroup::when(
        Condition::PlainMode { mode: 2, flags: None },
        "sets modes, none with a set-id bit",
        calls![fchmodat, fchmodat2],
    ),
    CallGroup::always(
        "sets owners, times and attributes",
        calls![
            fchown,
            fchownat,
            fremovexattr,
            fsetxattr,
            lremovexattr,
            lsetxattr,
            removexattr,
            removexattrat,
            setxattr,
            setxattrat,
            utimensat,
        ],
    ),
    CallGroup::when(
        Condition::CountedOrReported,
        "makes shared memory, semaphores and queues of its IPC namespace",
        calls![msgget, semget, shmget],
    ),
    CallGroup::always(
        "uses them, and queues with names",
        calls![
            mq_getsetattr,
            mq_notify,
            mq_open,
            mq_timedreceive,
            mq_timedsend,
            mq_unlink,
            msgctl,
            msgrcv,
            msgsnd,
            semctl,
            semop,
            semtimedop,
            shmat,
            shmctl,
            shmdt,
        ],
    ),
    CallGroup::always(
        "lowers limits and priorities, of processes of its PID namespace",
        calls![
            ioprio_set,
            prlimit64,
            sched_setaffinity,
            sched_setattr,
            sched_setparam,
            sched_setscheduler,
            setpriority,
        ],
    ),
    CallGroup::always("names itself, and has settings of its own", calls![prctl]),
    CallGroup::always("watches files that its mounts show", calls![inotify_add_watch, inotify_init1, inotify_rm_watch]),
    #[cfg(target_arch = "x86_64")]
    CallGroup::when(
        Condition::PlainMode { mode: 1, flags: None },
        "the older form: sets modes, none with a set-id bit",
        calls![chmod],
    ),
    #[cfg(target_arch = "x86_64")]
    CallGroup::always("older forms: sets owners and times", calls![chown, futimesat, lchown, utime, utimes]),
    #[cfg(target_arch = "x86_64")]
    CallGroup::always("the older form: watches files", calls![inotify_init]),
];
