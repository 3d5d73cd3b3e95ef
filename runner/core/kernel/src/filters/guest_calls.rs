//! The calls of a process that runs a guest: those that the engine, WASI and the end of a run need, with glibc and
//! musl.
//!
//! The guest itself makes no system calls. The list is for the engine below it, and limits a guest that has escaped
//! from the engine.
//!
//! Landlock checks calls that take a path. It does not check owners, modes and attributes, so calls that set those by
//! path are missing. `fchmod` and `fchown` need an open file, which Landlock has checked; `modbox:host/files` and the
//! replacement of a granted file use them. `openat2` has its mode in memory, where a filter cannot read it; the engine
//! opens every file of a guest with it, and passes no mode, since WASI has none. `utimensat` is here because WASI sets
//! times.

use crate::filters::calls::{CallGroup, Condition, calls};

/// `F_DUPFD`, `F_GETFD`, `F_SETFD`, `F_GETFL`, `F_SETFL`, `F_OFD_SETLK`, `F_DUPFD_CLOEXEC`, `F_ADD_SEALS`,
/// `F_GET_SEALS`.
const FILE_CONTROLS: [u32; 9] = [0, 1, 2, 3, 4, 37, 1030, 1033, 1034];

/// `TCGETS`, `TCGETS2` and `TIOCGWINSZ` query a terminal; `FIONREAD`, `FIONBIO` and `FIOCLEX` are for any descriptor;
/// the engine uses `PAGEMAP_SCAN` to find the memory that a guest wrote.
const REQUESTS: [u32; 7] = [0x5401, 0x802c_542a, 0x5413, 0x541b, 0x5421, 0x5451, 0xc060_6610];

/// `PR_SET_NAME` names a thread, `PR_SET_VMA` names memory; `PR_GET_AUXV` returns the kernel's data for the process.
const PROCESS_CONTROLS: [u32; 3] = [15, 0x5356_4d41, 0x4155_5856];

pub(crate) const ALLOWED: &[CallGroup] = &[
    CallGroup::always(
        "takes memory, for itself, the guest and compiled code, and gives it back",
        calls![brk, madvise, membarrier, memfd_create, mmap, mprotect, mremap, munmap],
    ),
    CallGroup::when(Condition::Threads { flags: 0 }, "starts threads and no process", calls![clone]),
    CallGroup::when(
        Condition::OneOf { argument: 0, values: &PROCESS_CONTROLS },
        "names threads and memory, and asks about the processor",
        calls![prctl],
    ),
    CallGroup::always(
        "works with its threads, and asks how many can run",
        calls![futex, getcpu, gettid, rseq, sched_getaffinity, sched_yield, set_robust_list, set_tid_address],
    ),
    CallGroup::always("waits for the process that runs commands to end", calls![wait4, waitid]),
    CallGroup::always("ends a thread or the process", calls![exit, exit_group]),
    CallGroup::always(
        "handles signals, and traps of compiled code",
        calls![restart_syscall, rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack],
    ),
    CallGroup::when(Condition::OwnProcess { pid: 0 }, "ends by a signal to itself", calls![kill, tgkill]),
    CallGroup::always(
        "reads clocks and sleeps",
        calls![clock_getres, clock_gettime, clock_nanosleep, gettimeofday, nanosleep],
    ),
    CallGroup::always("waits for descriptors", calls![epoll_create1, epoll_ctl, epoll_pwait, eventfd2, ppoll]),
    CallGroup::always("has random numbers", calls![getrandom]),
    CallGroup::always(
        "reads and writes what is open",
        calls![
            close, dup, dup3, fadvise64, fdatasync, flock, fsync, ftruncate, getdents64, lseek, pread64, preadv,
            preadv2, pwrite64, pwritev, pwritev2, read, readv, write, writev
        ],
    ),
    CallGroup::when(
        Condition::OneOf { argument: 1, values: &FILE_CONTROLS },
        "copies descriptors, sets their flags, locks parts of a file, and seals memory",
        calls![fcntl],
    ),
    CallGroup::when(
        Condition::OneOf { argument: 1, values: &REQUESTS },
        "asks about a terminal that it prints to, and about the memory of a guest",
        calls![ioctl],
    ),
    CallGroup::always("opens the files of a guest, see above", calls![openat2]),
    CallGroup::when(
        Condition::PlainMode { mode: 3, flags: Some(2) },
        "opens and makes files, none that runs as its owner",
        calls![openat],
    ),
    CallGroup::when(
        Condition::PlainMode { mode: 2, flags: None },
        "makes directories, none with a set-id bit",
        calls![mkdirat],
    ),
    CallGroup::when(
        Condition::PlainMode { mode: 1, flags: None },
        "sets the mode of an open file, without set-id bits",
        calls![fchmod],
    ),
    CallGroup::always("sets the owner of an open file, and times", calls![fchown, utimensat]),
    CallGroup::always(
        "gives a new file the access list and the attributes of the one that it replaces",
        calls![fgetxattr, flistxattr, fsetxattr],
    ),
    CallGroup::always("asks about files", calls![faccessat, faccessat2, fstat, fstatfs, getcwd, readlinkat, statx]),
    #[cfg(target_arch = "x86_64")]
    CallGroup::always("asks about files", calls![newfstatat]),
    #[cfg(target_arch = "aarch64")]
    CallGroup::always("asks about files", calls![fstatat]),
    CallGroup::always("moves, links and removes names", calls![linkat, renameat, renameat2, symlinkat, unlinkat]),
    CallGroup::always(
        "asks for its user, group and working directory",
        calls![getegid, geteuid, getgid, getpid, getrusage, getuid, sysinfo, uname],
    ),
    CallGroup::when(Condition::Null { pointer: 2 }, "asks for limits and raises none", calls![prlimit64]),
    CallGroup::always(
        "speaks by sockets that are open, such as the channel, and sends the listener of its filter",
        calls![getsockopt, recvfrom, recvmsg, sendmsg, sendto, setsockopt, shutdown],
    ),
    CallGroup::when(Condition::Sockets, "makes sockets, as far as a network is granted", calls![socket]),
    CallGroup::when(
        Condition::Network,
        "connects, listens and accepts, as far as a network is granted",
        calls![accept, accept4, bind, connect, getpeername, getsockname, listen, recvmmsg, sendmmsg],
    ),
    #[cfg(target_arch = "x86_64")]
    CallGroup::always(
        "returns from a probe that the administrator of the machine has set; newer kernels do not ask filters",
        calls![uretprobe],
    ),
    #[cfg(target_arch = "x86_64")]
    CallGroup::when(
        Condition::PlainMode { mode: 2, flags: Some(1) },
        "the older form: opens and makes files, none that runs as its owner",
        calls![open],
    ),
    #[cfg(target_arch = "x86_64")]
    CallGroup::when(
        Condition::PlainMode { mode: 1, flags: None },
        "the older form: makes directories, none with a set-id bit",
        calls![mkdir],
    ),
    #[cfg(target_arch = "x86_64")]
    CallGroup::always(
        "older forms of calls that are allowed",
        calls![access, dup2, epoll_wait, getrlimit, link, lstat, poll, readlink, rename, rmdir, stat, symlink, unlink],
    ),
    #[cfg(target_arch = "aarch64")]
    CallGroup::always("asks for limits", calls![getrlimit]),
];
