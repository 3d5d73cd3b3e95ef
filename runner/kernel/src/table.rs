//! Which system calls are refused, and why: a table that people read, too.
//!
//! Calls that take a path are Landlock's business and are not here, but for what Landlock does not know: owners, modes,
//! attributes. `openat2` has its mode in memory, where a filter cannot see it. The engine opens every file of a guest
//! with it, so guests keep it: WASI has no modes, and the engine asks for none. `utimensat` stays, too: WASI sets
//! times. `fchmod` and `fchown` stay for what replaces a granted file, which keeps its mode and owner, and for
//! `modbox:host/files`: they need an open
//! file, and what may be opened Landlock does know.
//!
//! Guests are refused what their process has no use for, too, but for newer forms of calls that it has: a C library may
//! try those and takes an older one only where they are said not to exist.

use crate::calls::{Call, Profile, Refusal, Refused, Whom};

/// `TIOCSTI` types into a terminal, `TIOCLINUX` works a console, `FS_IOC_SETFLAGS` (twice) and `FS_IOC_FSSETXATTR` make
/// files unchangeable.
const REQUESTS: [u32; 5] = [0x5412, 0x541c, 0x4008_6602, 0x4004_6602, 0x401c_5820];

macro_rules! calls {
    ($($name:ident),+ $(,)?) => { &[$(Call { name: stringify!($name), number: libc::$name }),+] };
}

const fn both(reason: &'static str, refused: Refused, calls: &'static [Call]) -> Refusal {
    Refusal { reason, refused, calls, whom: Whom::All }
}

const fn guest(reason: &'static str, refused: Refused, calls: &'static [Call]) -> Refusal {
    Refusal { reason, refused, calls, whom: Whom::Guests }
}

const fn native(reason: &'static str, refused: Refused, calls: &'static [Call]) -> Refusal {
    Refusal { reason, refused, calls, whom: Whom::Natives }
}

const fn native_in_its_room(reason: &'static str, refused: Refused, calls: &'static [Call]) -> Refusal {
    Refusal { reason, refused, calls, whom: Whom::Only(Profile::Native) }
}

const fn native_on_host(reason: &'static str, refused: Refused, calls: &'static [Call]) -> Refusal {
    Refusal { reason, refused, calls, whom: Whom::Only(Profile::NativeOnHost) }
}

/// A call that the C library does not name everywhere. From 424 on numbers are the same on all architectures.
const fn new(name: &'static str, number: i64) -> Call {
    Call { name, number }
}

pub(super) const COMMON: &[Refusal] = &[
    guest("a guest starts no program", Refused::Always, calls![SYS_execve, SYS_execveat]),
    guest("a guest starts no process", Refused::Processes { flags: 0 }, calls![SYS_clone]),
    both(
        "looks into other processes, or changes them",
        Refused::Always,
        calls![SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd, SYS_process_madvise],
    ),
    guest("signals go to the process itself only", Refused::OtherProcesses { pid: 0 }, calls![SYS_kill, SYS_tgkill]),
    guest(
        "reaches other processes",
        Refused::Always,
        calls![
            SYS_tkill,
            SYS_rt_sigqueueinfo,
            SYS_rt_tgsigqueueinfo,
            SYS_pidfd_open,
            SYS_pidfd_send_signal,
            SYS_process_mrelease,
            SYS_migrate_pages,
            SYS_move_pages
        ],
    ),
    both(
        "changes what is mounted where",
        Refused::Always,
        calls![
            SYS_mount,
            SYS_umount2,
            SYS_pivot_root,
            SYS_chroot,
            SYS_move_mount,
            SYS_open_tree,
            SYS_fsopen,
            SYS_fsconfig,
            SYS_fsmount,
            SYS_fspick,
            SYS_mount_setattr,
            SYS_swapon,
            SYS_swapoff,
            SYS_quotactl,
            SYS_quotactl_fd,
        ],
    ),
    both("changes what is mounted where", Refused::Always, &[new("open_tree_attr", 467)]),
    guest("tells what is mounted where", Refused::Always, &[new("statmount", 457), new("listmount", 458)]),
    both("changes the namespaces that the process is in", Refused::Always, calls![SYS_setns, SYS_unshare]),
    both("runs code in the kernel", Refused::Always, calls![SYS_bpf]),
    both(
        "loads code into the kernel",
        Refused::Always,
        calls![SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load],
    ),
    both("large, and of use to attacks on the kernel", Refused::Always, calls![SYS_perf_event_open, SYS_userfaultfd]),
    both(
        "does what a filter of calls cannot see",
        Refused::Always,
        calls![SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register],
    ),
    both("keys are not kept apart by process", Refused::Always, calls![SYS_add_key, SYS_request_key, SYS_keyctl]),
    both(
        "opens files by number, past every directory",
        Refused::Always,
        calls![SYS_open_by_handle_at, SYS_name_to_handle_at],
    ),
    both(
        "sets the clocks of the machine",
        Refused::Always,
        calls![SYS_clock_settime, SYS_settimeofday, SYS_adjtimex, SYS_clock_adjtime],
    ),
    both(
        "changes or watches the whole machine",
        Refused::Always,
        calls![
            SYS_reboot,
            SYS_syslog,
            SYS_acct,
            SYS_sethostname,
            SYS_setdomainname,
            SYS_vhangup,
            SYS_fanotify_init,
            SYS_fanotify_mark,
        ],
    ),
    both("makes the kernel act as another one", Refused::Always, calls![SYS_personality]),
    both(
        "types into a terminal, or changes flags of files",
        Refused::Requests { argument: 1, requests: &REQUESTS },
        calls![SYS_ioctl],
    ),
    guest(
        "a guest reaches the network as far as granted",
        Refused::OtherSockets { family: 0, kind: 1 },
        calls![SYS_socket],
    ),
    guest(
        "a guest reaches the network as far as granted",
        Refused::WithoutNetwork,
        calls![
            SYS_connect,
            SYS_bind,
            SYS_listen,
            SYS_accept,
            SYS_accept4,
            SYS_getsockname,
            SYS_getpeername,
            SYS_sendmmsg,
            SYS_recvmmsg,
        ],
    ),
    guest(
        "a guest talks to no other process",
        Refused::Always,
        calls![
            SYS_socketpair,
            SYS_shmget,
            SYS_shmat,
            SYS_shmctl,
            SYS_shmdt,
            SYS_msgget,
            SYS_msgsnd,
            SYS_msgrcv,
            SYS_msgctl,
            SYS_semget,
            SYS_semop,
            SYS_semtimedop,
            SYS_semctl,
            SYS_mq_open,
            SYS_mq_unlink,
            SYS_mq_timedsend,
            SYS_mq_timedreceive,
            SYS_mq_notify,
            SYS_mq_getsetattr,
        ],
    ),
    guest("Landlock does not know modes of files that are not open", Refused::Always, calls![SYS_fchmodat]),
    guest("Landlock does not know modes of files that are not open", Refused::Always, &[new("fchmodat2", 452)]),
    guest("Landlock does not know owners of files that are not open", Refused::Always, calls![SYS_fchownat]),
    guest(
        "Landlock does not know attributes, and WASI does not have them",
        Refused::Always,
        calls![
            SYS_setxattr,
            SYS_lsetxattr,
            SYS_fsetxattr,
            SYS_getxattr,
            SYS_lgetxattr,
            SYS_fgetxattr,
            SYS_listxattr,
            SYS_llistxattr,
            SYS_flistxattr,
            SYS_removexattr,
            SYS_lremovexattr,
            SYS_fremovexattr,
        ],
    ),
    guest(
        "Landlock does not know attributes, and WASI does not have them",
        Refused::Always,
        &[
            new("setxattrat", 463),
            new("getxattrat", 464),
            new("listxattrat", 465),
            new("removexattrat", 466),
            new("file_getattr", 468),
            new("file_setattr", 469),
        ],
    ),
    guest(
        "Landlock does not know it, and it tells who does what with any file",
        Refused::Always,
        calls![SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch],
    ),
    guest("makes devices, sockets and FIFOs", Refused::Always, calls![SYS_mknodat]),
    guest("a file that runs as its owner", Refused::SetId { mode: 1, flags: None }, calls![SYS_fchmod]),
    both("a file that runs as its owner", Refused::SetId { mode: 2, flags: None }, calls![SYS_mkdirat]),
    both("a file that runs as its owner", Refused::SetId { mode: 3, flags: Some(2) }, calls![SYS_openat]),
    guest(
        "changes who the process is",
        Refused::Always,
        calls![
            SYS_setuid,
            SYS_setgid,
            SYS_setreuid,
            SYS_setregid,
            SYS_setresuid,
            SYS_setresgid,
            SYS_setfsuid,
            SYS_setfsgid,
            SYS_setgroups,
            SYS_capset,
            SYS_setpgid,
            SYS_setsid,
        ],
    ),
    guest(
        "asks who processes are, which is known by then",
        Refused::Always,
        calls![SYS_getgroups, SYS_getresuid, SYS_getresgid, SYS_getpgid, SYS_getsid, SYS_capget],
    ),
    guest("would raise a limit again, as root may", Refused::Given { argument: 2 }, calls![SYS_prlimit64]),
    guest(
        "takes processor time from others",
        Refused::Always,
        calls![SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr, SYS_ioprio_set],
    ),
    guest(
        "takes memory from others",
        Refused::Always,
        calls![SYS_mlock, SYS_mlockall, SYS_mbind, SYS_set_mempolicy, SYS_sync, SYS_syncfs],
    ),
    guest(
        "takes memory from others",
        Refused::Always,
        &[new("memfd_secret", 447), new("set_mempolicy_home_node", 450)],
    ),
    guest(
        "moves pages between files and pipes, where the kernel was wrong before",
        Refused::Always,
        calls![SYS_splice, SYS_tee, SYS_vmsplice, SYS_sync_file_range],
    ),
    guest(
        "of no use here, and a way into the kernel like any other",
        Refused::Always,
        calls![
            SYS_getpriority,
            SYS_sched_getparam,
            SYS_sched_getscheduler,
            SYS_sched_get_priority_max,
            SYS_sched_get_priority_min,
            SYS_sched_rr_get_interval,
            SYS_sched_getattr,
            SYS_munlock,
            SYS_munlockall,
            SYS_get_mempolicy,
            SYS_ioprio_get,
            SYS_rt_sigpending,
            SYS_rt_sigtimedwait,
        ],
    ),
    guest(
        "of no use here, and a way into the kernel like any other",
        Refused::Always,
        &[
            new("cachestat", 451),
            new("lsm_get_self_attr", 459),
            new("lsm_set_self_attr", 460),
            new("lsm_list_modules", 461),
        ],
    ),
    // Natives may change modes and start processes, so that the bits and flags are what counts.
    native("a file that runs as its owner", Refused::SetId { mode: 2, flags: None }, calls![SYS_mknodat]),
    native_in_its_room("a file that runs as its owner", Refused::SetId { mode: 1, flags: None }, calls![SYS_fchmod]),
    native_in_its_room("a file that runs as its owner", Refused::SetId { mode: 2, flags: None }, calls![SYS_fchmodat]),
    native_in_its_room(
        "a file that runs as its owner",
        Refused::SetId { mode: 2, flags: None },
        &[new("fchmodat2", 452)],
    ),
    // Landlock asks about none of these, and what is granted for reading can be opened.
    native_on_host(
        "Landlock does not know modes, owners, times and attributes",
        Refused::Always,
        calls![
            SYS_fchmod,
            SYS_fchmodat,
            SYS_fchown,
            SYS_fchownat,
            SYS_utimensat,
            SYS_setxattr,
            SYS_lsetxattr,
            SYS_fsetxattr,
            SYS_removexattr,
            SYS_lremovexattr,
            SYS_fremovexattr,
        ],
    ),
    native_on_host(
        "Landlock does not know modes, owners, times and attributes",
        Refused::Always,
        &[new("fchmodat2", 452), new("setxattrat", 463), new("removexattrat", 466), new("file_setattr", 469)],
    ),
    native("changes the namespaces that the process is in", Refused::Namespaces { flags: 0 }, calls![SYS_clone]),
    native("reaches the network as far as granted", Refused::OtherSockets { family: 0, kind: 1 }, calls![SYS_socket]),
];

/// The calls that only x86-64 has, most of them older forms of others.
#[cfg(target_arch = "x86_64")]
pub(super) const OLD: &[Refusal] = &[
    guest("a guest starts no process", Refused::Always, calls![SYS_fork, SYS_vfork]),
    guest("Landlock does not know modes of files that are not open", Refused::Always, calls![SYS_chmod]),
    guest("Landlock does not know owners of files that are not open", Refused::Always, calls![SYS_chown, SYS_lchown]),
    guest("makes devices, sockets and FIFOs", Refused::Always, calls![SYS_mknod]),
    guest(
        "Landlock does not know it, and it tells who does what with any file",
        Refused::Always,
        calls![SYS_inotify_init],
    ),
    native("a file that runs as its owner", Refused::SetId { mode: 1, flags: None }, calls![SYS_mknod]),
    native_in_its_room("a file that runs as its owner", Refused::SetId { mode: 1, flags: None }, calls![SYS_chmod]),
    native_on_host(
        "Landlock does not know modes, owners, times and attributes",
        Refused::Always,
        calls![SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat],
    ),
    both("a file that runs as its owner", Refused::SetId { mode: 1, flags: None }, calls![SYS_mkdir, SYS_creat]),
    both("a file that runs as its owner", Refused::SetId { mode: 2, flags: Some(1) }, calls![SYS_open]),
    guest("would raise a limit again, as root may", Refused::Always, calls![SYS_setrlimit]),
    guest(
        "of no use here, and a way into the kernel like any other",
        Refused::Always,
        calls![SYS_nfsservctl, SYS_getpmsg, SYS_putpmsg, SYS_afs_syscall, SYS_tuxcall, SYS_security],
    ),
    guest(
        "of no use here, and a way into the kernel like any other",
        Refused::Always,
        &[new("create_module", 174), new("get_kernel_syms", 177), new("query_module", 178)],
    ),
    both("works the ports and tables of the processor", Refused::Always, calls![SYS_iopl, SYS_ioperm, SYS_modify_ldt]),
    both("loads code into the kernel", Refused::Always, calls![SYS_kexec_file_load]),
    both("old, and of no use", Refused::Always, calls![SYS_uselib, SYS__sysctl, SYS_sysfs, SYS_ustat]),
];

/// The calls whose numbers are this architecture's own.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const OLD: &[Refusal] = &[
    both("loads code into the kernel", Refused::Always, &[new("kexec_file_load", 294)]),
    guest("would raise a limit again, as root may", Refused::Always, &[new("setrlimit", 164)]),
];
