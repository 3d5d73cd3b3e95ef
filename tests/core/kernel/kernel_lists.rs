//! The allow lists of system calls, asked of the kernel: every number by every entry, and the conditions on arguments.
//!
//! No call is made. A filter that is installed before the walls answers each call that carries [`MARK`] with an error of
//! its own, and of two errors the kernel takes that of the newer filter: a refused call fails with the error of the
//! walls, an allowed one with that of the mark.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::collections::BTreeMap;
use std::io;

use modbox_kernel::{Condition, NetPlan, Plan, Ports, Profile, allowed_calls, hidden_calls, unsupported_calls};
use seccompiler::sock_filter;
use syscalls::Sysno;

use crate::core::kernel::kernel_walls::{confined, free};

/// The sixth argument of a call that is not to be made.
const MARK: usize = 0x6d6f_6462;

/// The error of a call that would have been made; no kernel has it.
const ALLOWED: i32 = 3999;

const REFUSED: i32 = libc::EPERM;
const HIDDEN: i32 = libc::ENOSYS;
const UNSUPPORTED: i32 = libc::EOPNOTSUPP;

/// No call has a number this high, but for those of x32.
const NUMBERS: i64 = 1024;

const PROFILES: [Profile; 5] =
    [Profile::Guest, Profile::Native, Profile::NativeOnHost, Profile::Compiler, Profile::Transfer];

/// Does something behind the walls of a profile, on a thread where marked calls are not made.
fn behind<T: Send>(profile: Profile, net: NetPlan, attempt: impl FnOnce() -> T + Send) -> T {
    let plan = Plan { profile, net, paths: Vec::new(), counted_memory: true, limits: None };
    free(|| {
        answer_marked_calls();
        confined(&plan, attempt)
    })
}

fn answer_marked_calls() {
    let (load, jump_equal, answer) = (0x20, 0x15, 0x06);
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let sixth_argument = 16 + 5 * 8;
    let program = [
        step(load, 0, sixth_argument),
        step(jump_equal, 1, u32::try_from(MARK).unwrap()),
        step(answer, 0, libc::SECCOMP_RET_ERRNO | ALLOWED.cast_unsigned()),
        step(answer, 0, libc::SECCOMP_RET_ALLOW),
    ];
    seccompiler::apply_filter(&program).unwrap();
}

/// Asks for a call that is not made, and returns its error.
#[expect(unsafe_code, reason = "what is tested are system calls, past every library")]
fn ask(number: i64, arguments: [usize; 4]) -> i32 {
    let [a, b, c, d] = arguments;
    // SAFETY: a filter answers calls with this mark, so that none is made, whatever its other arguments are.
    let result = unsafe { libc::syscall(number, a, b, c, d, 0_usize, MARK) };
    assert_eq!(result, -1, "call {number} was made");
    io::Error::last_os_error().raw_os_error().unwrap()
}

fn all_ports() -> NetPlan {
    NetPlan { connect: Ports::All, bind: Ports::All, udp: true, ..NetPlan::default() }
}

#[test]
fn every_number_is_answered_as_the_list_says() {
    for (profile, online) in PROFILES.into_iter().flat_map(|profile| [(profile, false), (profile, true)]) {
        let conditions: BTreeMap<i64, Condition> = allowed_calls(profile)
            .flat_map(|group| group.calls.iter().map(|call| (i64::from(call.id()), group.condition)))
            .collect();
        let has = |calls: &[Sysno], number| calls.iter().any(|call| i64::from(call.id()) == number);
        let hidden = |number| has(hidden_calls(profile), number);
        let net = if online { all_ports() } else { NetPlan::default() };
        let numbers = || (0..NUMBERS).filter(|number| !is_a_probe(*number));
        let answers = behind(profile, net, || numbers().map(|number| ask(number, [0; 4])).collect::<Vec<_>>());
        for (number, answer) in numbers().zip(answers) {
            let expect = match conditions.get(&number) {
                // `behind` says that memory is counted.
                Some(Condition::Always | Condition::CountedMemory | Condition::CountedOrReported) => ALLOWED,
                Some(Condition::Network) => {
                    if online {
                        ALLOWED
                    } else {
                        REFUSED
                    }
                }
                // The other tests of this file give them arguments.
                Some(_) if [ALLOWED, REFUSED, libc::EAFNOSUPPORT].contains(&answer) => continue,
                _ if has(unsupported_calls(profile), number) => UNSUPPORTED,
                _ if hidden(number) || number > i64::from(Sysno::last().id()) => HIDDEN,
                _ => REFUSED,
            };
            assert_eq!(answer, expect, "{profile:?}, online {online}: call {number}");
        }
    }
}

/// Returns whether the kernel makes this call past every filter, and ends a process that is not being probed.
fn is_a_probe(number: i64) -> bool {
    cfg!(target_arch = "x86_64") && [335, 336].contains(&number)
}

#[test]
fn without_walls_a_marked_call_is_not_made_either() {
    let asked = free(|| {
        answer_marked_calls();
        ask(libc::SYS_exit_group, [0; 4])
    });
    assert_eq!(asked, ALLOWED);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_numbers_of_x32_are_refused() {
    let x32 = 0x4000_0000_i64;
    for profile in PROFILES {
        let numbers = (x32..x32 + NUMBERS).chain([0xffff_ffff]);
        let answers = behind(profile, all_ports(), || numbers.map(|number| ask(number, [0; 4])).collect::<Vec<_>>());
        assert!(answers.iter().all(|answer| *answer == REFUSED), "{profile:?}: {answers:?}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_32_bit_entry_is_refused() {
    const GETPID: i32 = 20;
    let Some(own) = in_a_child_that_may_die(|| call_32_bit(GETPID) > 0) else {
        // A kernel without that entry has nothing to refuse.
        return;
    };
    assert!(own, "without walls the entry is open");
    for profile in PROFILES {
        assert_eq!(behind(profile, all_ports(), || call_32_bit(GETPID)), -REFUSED, "{profile:?}");
    }
}

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "no library makes calls by the entry for 32-bit programs")]
fn call_32_bit(number: i32) -> i32 {
    let result;
    // SAFETY: the number is that of a call without arguments, which reads and writes no memory.
    unsafe {
        std::arch::asm!(
            "int 0x80", inlateout("eax") number => result, out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    result
}

/// Returns what a process of its own finds, or `None` if that is killed.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "no library forks without a program")]
fn in_a_child_that_may_die(attempt: impl FnOnce() -> bool) -> Option<bool> {
    // SAFETY: the child makes one call that allocates nothing and takes no lock, and ends without any code of a library.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = i32::from(!attempt());
        // SAFETY: this ends the process.
        unsafe { libc::_exit(code) };
    }
    let pid = rustix::process::Pid::from_raw(child)?;
    let (_, status) = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()).unwrap()?;
    status.exit_status().map(|code| code == 0)
}

#[test]
fn set_id_bits_are_seen_wherever_a_file_is_made() {
    let [creating, temporary] = [0o100, 0o20_000_000];
    let answers = |profile| {
        behind(profile, NetPlan::default(), || {
            for (mode, expect) in
                [(0o644, ALLOWED), (0o4644, REFUSED), (0o2644, REFUSED), (0o7777, REFUSED), (0o1777, ALLOWED)]
            {
                for flags in [creating, temporary] {
                    assert_eq!(ask(libc::SYS_openat, [0, 0, flags, mode]), expect, "{mode:o}");
                    // Bits that the kernel does not look at hide nothing.
                    assert_eq!(ask(libc::SYS_openat, [0, 0, flags, mode | 0xff << 32]), expect, "{mode:o}");
                }
                // Without making a file, there is no mode.
                assert_eq!(ask(libc::SYS_openat, [0, 0, 0, mode]), ALLOWED, "{mode:o}");
                assert_eq!(ask(libc::SYS_mkdirat, [0, 0, mode, 0]), expect, "{mode:o}");
                let fchmod = if profile == Profile::NativeOnHost { REFUSED } else { expect };
                assert_eq!(ask(libc::SYS_fchmod, [0, mode, 0, 0]), fchmod, "{mode:o}");
                let native = |answer| if profile == Profile::Guest { REFUSED } else { answer };
                assert_eq!(ask(libc::SYS_mknodat, [0, 0, mode, 0]), native(expect), "{mode:o}");
                let by_path = if profile == Profile::Native { expect } else { REFUSED };
                assert_eq!(ask(libc::SYS_fchmodat, [0, 0, mode, 0]), by_path, "{mode:o}");
                assert_eq!(ask(i64::from(Sysno::fchmodat2.id()), [0, 0, mode, 0]), by_path, "{mode:o}");
                #[cfg(target_arch = "x86_64")]
                for (call, expect, arguments) in [
                    (libc::SYS_open, expect, [0, creating, mode, 0]),
                    (libc::SYS_open, ALLOWED, [0, 0, mode, 0]),
                    (libc::SYS_mkdir, expect, [0, mode, 0, 0]),
                    (libc::SYS_creat, native(expect), [0, mode, 0, 0]),
                    (libc::SYS_mknod, native(expect), [0, mode, 0, 0]),
                    (libc::SYS_chmod, by_path, [0, mode, 0, 0]),
                ] {
                    assert_eq!(ask(call, arguments), expect, "{call} {mode:o}");
                }
            }
        });
    };
    [Profile::Guest, Profile::Native, Profile::NativeOnHost].into_iter().for_each(answers);
}

#[test]
fn threads_are_told_from_processes_and_namespaces() {
    let thread = (libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_FS) as usize;
    let process = libc::SIGCHLD as usize;
    for profile in PROFILES {
        let is_native = matches!(profile, Profile::Native | Profile::NativeOnHost);
        behind(profile, NetPlan::default(), || {
            let clone = |flags: usize| ask(libc::SYS_clone, [flags, 0, 0, 0]);
            let threads = if profile == Profile::Transfer { REFUSED } else { ALLOWED };
            assert_eq!(clone(thread), threads, "{profile:?}");
            assert_eq!(clone(process), if is_native { ALLOWED } else { REFUSED }, "{profile:?}");
            for namespace in [
                libc::CLONE_NEWNS,
                libc::CLONE_NEWCGROUP,
                libc::CLONE_NEWUTS,
                libc::CLONE_NEWIPC,
                libc::CLONE_NEWUSER,
                libc::CLONE_NEWPID,
                libc::CLONE_NEWNET,
            ] {
                for flags in [thread, process].map(|flags| flags | namespace as usize) {
                    assert_eq!(clone(flags), REFUSED, "{profile:?} {flags:#x}");
                }
            }
        });
    }
}

#[test]
fn sockets_are_of_the_families_and_types_that_are_granted() {
    let tcp = || NetPlan { connect: Ports::Some(vec![80]), ..NetPlan::default() };
    let isolated = || NetPlan { isolated: true, unix: true, ..NetPlan::default() };
    let unknown = libc::EAFNOSUPPORT;
    for (family, kind, protocol, expect) in [
        (libc::AF_INET, libc::SOCK_STREAM, 0, [REFUSED, ALLOWED, ALLOWED, ALLOWED]),
        (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP, [REFUSED, ALLOWED, ALLOWED, ALLOWED]),
        // Landlock knows the ports of TCP only.
        (libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_MPTCP, [REFUSED; 4]),
        (libc::AF_INET, libc::SOCK_SEQPACKET, libc::IPPROTO_SCTP, [REFUSED; 4]),
        (libc::AF_INET6, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0, [REFUSED, REFUSED, ALLOWED, ALLOWED]),
        (libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_UDP, [REFUSED, REFUSED, ALLOWED, ALLOWED]),
        (libc::AF_INET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_ICMP, [REFUSED; 4]),
        (libc::AF_UNIX, libc::SOCK_STREAM, 0, [REFUSED, REFUSED, REFUSED, ALLOWED]),
        (libc::AF_NETLINK, libc::SOCK_DGRAM, 0, [REFUSED, unknown, unknown, unknown]),
        (libc::AF_VSOCK, libc::SOCK_STREAM, 0, [REFUSED, unknown, unknown, unknown]),
        (libc::AF_ALG, libc::SOCK_SEQPACKET, 0, [REFUSED, unknown, unknown, unknown]),
    ] {
        for (net, expect) in [NetPlan::default(), tcp(), all_ports(), isolated()].into_iter().zip(expect) {
            for profile in [Profile::Guest, Profile::Native, Profile::NativeOnHost] {
                let what = format!("{profile:?} {net:?} {family} {kind} {protocol}");
                let arguments = [family as usize, kind as usize, protocol as usize, 0];
                let answer = behind(profile, net.clone(), || ask(libc::SYS_socket, arguments));
                assert_eq!(answer, expect, "{what}");
            }
        }
    }
}

#[test]
fn a_guest_asks_for_limits_and_signals_itself_alone() {
    let own = std::process::id() as usize;
    behind(Profile::Guest, NetPlan::default(), || {
        assert_eq!(ask(libc::SYS_prlimit64, [0, 1, 0, 8]), ALLOWED);
        for new in [8, 8 << 32] {
            assert_eq!(ask(libc::SYS_prlimit64, [0, 1, new, 0]), REFUSED);
        }
        for call in [libc::SYS_kill, libc::SYS_tgkill] {
            assert_eq!(ask(call, [own, own, 6, 0]), ALLOWED);
            for other in [0, 1, own + 1, u32::MAX as usize, usize::MAX] {
                assert_eq!(ask(call, [other, 0, 0, 0]), REFUSED, "{other}");
            }
        }
    });
}

#[test]
fn requests_and_controls_are_judged_one_by_one() {
    let [type_in, type_in_with_more_bits, window_size, make_immutable] = [0x5412, 0x1_0000_5412, 0x5413, 0x4008_6602];
    let [set_owner, set_name, set_seccomp] = [libc::F_SETOWN, libc::PR_SET_NAME, libc::PR_SET_SECCOMP];
    for (profile, others) in [(Profile::Guest, REFUSED), (Profile::Native, ALLOWED)] {
        behind(profile, NetPlan::default(), || {
            let ioctl = |request: usize| ask(libc::SYS_ioctl, [0, request, 0, 0]);
            for request in [type_in, type_in_with_more_bits, make_immutable] {
                assert_eq!(ioctl(request), REFUSED, "{request:#x}");
            }
            assert_eq!((ioctl(window_size), ioctl(0x1234)), (ALLOWED, others));
            let fcntl = |control: i32| ask(libc::SYS_fcntl, [0, control as usize, 0, 0]);
            assert_eq!((fcntl(libc::F_SETFD), fcntl(set_owner)), (ALLOWED, others));
            let prctl = |control: i32| ask(libc::SYS_prctl, [control as usize, 0, 0, 0]);
            assert_eq!((prctl(set_name), prctl(set_seccomp)), (ALLOWED, others));
        });
    }
}

#[test]
fn the_compiler_makes_no_executable_memory() {
    behind(Profile::Compiler, NetPlan::default(), || {
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            let [data, code] = [libc::PROT_READ | libc::PROT_WRITE, libc::PROT_READ | libc::PROT_EXEC];
            assert_eq!(ask(call, [0, 4096, data as usize, 0]), ALLOWED);
            assert_eq!(ask(call, [0, 4096, code as usize, 0]), REFUSED);
        }
    });
}
