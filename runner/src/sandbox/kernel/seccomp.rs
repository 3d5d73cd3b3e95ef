//! seccomp: the table of refused system calls as a filter of the kernel.
//!
//! Everything else is allowed. A filter that allows by default has to close three ways around it first, which the
//! compiler of filters cannot express, so a few instructions stand before what it makes: calls of another architecture
//! (`int 0x80`), the calls of x86-64's other numbering (x32), and `clone3`, whose flags lie in memory where a filter
//! cannot see them; the C library falls back to `clone`.
//!
//! A refused call fails with `EPERM`; it kills nothing, since programs ask for what they can do without.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use crate::sandbox::kernel::calls::{self, Profile, Refused};
use crate::sandbox::kernel::plan::NetPlan;

/// Set-user-id and set-group-id.
const SET_ID: [u32; 2] = [0o4000, 0o2000];

/// Opening flags that make a file, so that a mode counts: `O_CREAT` and the bit of `O_TMPFILE`.
const CREATING: [u32; 2] = [0o100, 0o20_000_000];

/// The name of this architecture in a filter.
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;

/// From here on, calls are of x32.
const X32: u32 = 0x4000_0000;

/// The bits of a socket's type that are the type.
const SOCKET_TYPE: u64 = 0xf;

/// `SOCK_DGRAM`.
const DATAGRAM: u64 = 2;

/// `SOCK_RAW`.
const RAW: u64 = 3;

/// A rule in the making: every condition must hold.
type Conditions = Vec<(u8, SeccompCmpArgLen, SeccompCmpOp, u64)>;

/// Makes the filter of a profile.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn compile(profile: Profile, net: &NetPlan) -> Result<BpfProgram, String> {
    let mut program = prologue(profile, net);
    program.extend(body(profile, net).map_err(|error| format!("seccomp: {error}"))?);
    Ok(program)
}

/// Makes the filter of a profile.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn compile(_: Profile, _: &NetPlan) -> Result<BpfProgram, String> {
    Err("seccomp: there is no filter for this architecture, only for x86-64 and aarch64".to_owned())
}

/// Installs a filter for the calling thread.
pub(super) fn install(program: &BpfProgram) -> Result<(), String> {
    seccompiler::apply_filter(program).map_err(|error| format!("seccomp: {error}"))
}

/// The instructions before the compiled ones: the ways around a filter, and the calls that are refused whatever their
/// arguments are.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn prologue(profile: Profile, net: &NetPlan) -> BpfProgram {
    let mut program = vec![
        step(LOAD, ARCHITECTURE),
        jump(JUMP_EQUAL, AUDIT_ARCH, 1, 0),
        fail(libc::EPERM),
        step(LOAD, NUMBER),
        jump(JUMP_GREATER_OR_EQUAL, X32, 0, 1),
        fail(libc::EPERM),
    ];
    let mut verdicts = BTreeMap::new();
    for refusal in calls::refusals(profile) {
        let verdict = if is_always(refusal.refused, net) { Verdict::Fail(libc::EPERM) } else { Verdict::Body };
        verdicts.extend(refusal.calls.iter().map(|call| (number(call), verdict)));
    }
    verdicts.extend(calls::unreadable(profile).iter().map(|number| (*number, Verdict::Fail(libc::ENOSYS))));
    program.extend(search(&ranges(&verdicts)));
    program
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn number(call: &calls::Call) -> u32 {
    u32::try_from(call.number()).unwrap_or(X32)
}

fn is_always(refused: Refused, net: &NetPlan) -> bool {
    matches!(refused, Refused::Always) || matches!(refused, Refused::WithoutNetwork) && !net.any()
}

/// What the number of a call alone says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Allow,
    /// With this error.
    Fail(i32),
    /// It depends on the arguments: the rest of the filter says.
    Body,
}

/// Calls from a number up to the next range's.
type Range = (u32, Verdict);

/// Gathers calls whose numbers follow each other. What nobody names is allowed.
fn ranges(verdicts: &BTreeMap<u32, Verdict>) -> Vec<Range> {
    let mut ranges: Vec<Range> = vec![(0, Verdict::Allow)];
    let mut add = |start, verdict| {
        if ranges.last().is_some_and(|(last, _)| *last == start) {
            ranges.pop();
        }
        if ranges.last().is_none_or(|(_, last)| *last != verdict) {
            ranges.push((start, verdict));
        }
    };
    for (number, verdict) in verdicts {
        add(*number, *verdict);
        add(number + 1, Verdict::Allow);
    }
    ranges
}

/// Looks a number up by halves: the kernel goes through the filter for every call there is when it is installed, which
/// takes half a millisecond when they stand in a row.
fn search(ranges: &[Range]) -> BpfProgram {
    let mut program = halves(ranges);
    let length = program.len();
    for (at, step) in program.iter_mut().enumerate().filter(|(_, step)| step.code == JUMP) {
        step.k = u32::try_from(length - at - 1).unwrap_or_default();
    }
    program
}

fn halves(ranges: &[Range]) -> BpfProgram {
    match ranges {
        [] => Vec::new(),
        [(_, Verdict::Allow)] => vec![step(RETURN, libc::SECCOMP_RET_ALLOW)],
        [(_, Verdict::Fail(errno))] => vec![fail(*errno)],
        [(_, Verdict::Body)] => vec![step(JUMP, 0)],
        ranges => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let (below, above) = (halves(low), halves(high));
            // A test of the table holds this: conditional jumps are short.
            let skip = u8::try_from(below.len()).unwrap_or(u8::MAX);
            let mut program = vec![jump(JUMP_GREATER_OR_EQUAL, high[0].0, skip, 0)];
            program.extend(below);
            program.extend(above);
            program
        }
    }
}

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
const RETURN: u16 = 0x06;

/// Where the data of a call has its number and its architecture.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

fn step(code: u16, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn fail(errno: i32) -> sock_filter {
    step(RETURN, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
}

/// The calls that are refused with some arguments.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn body(profile: Profile, net: &NetPlan) -> Result<BpfProgram, BackendError> {
    let pid = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for refusal in calls::refusals(profile).filter(|refusal| !is_always(refusal.refused, net)) {
        let Some(conditions) = conditions(refusal.refused, profile, net, pid) else { continue };
        for call in refusal.calls {
            rules.insert(call.number(), conditions.iter().map(rule).collect::<Result<_, _>>()?);
        }
    }
    let action = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, action, architecture)?.try_into()
}

fn rule(conditions: &Conditions) -> Result<SeccompRule, BackendError> {
    let conditions = conditions
        .iter()
        .cloned()
        .map(|(argument, length, test, value)| SeccompCondition::new(argument, length, test, value));
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// When a call is refused: whenever one of these holds; always, when there are none. `None` is never.
fn conditions(refused: Refused, profile: Profile, net: &NetPlan, pid: u32) -> Option<Vec<Conditions>> {
    // The kernel takes these arguments as 32 bits wide: comparing 64 could be evaded with bits that it does not see.
    let has =
        |argument, bit: u32| (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit.into()), u64::from(bit));
    let lacks = |argument, bit: u32| (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit.into()), 0);
    let is = |argument, value: u32| (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(value));
    let is_not = |argument, value: u32| (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, u64::from(value));
    Some(match refused {
        Refused::Always => Vec::new(),
        Refused::WithoutNetwork => return None,
        Refused::OtherSockets { family, kind } => {
            let mut families = Vec::new();
            if net.any() || net.isolated {
                families.extend([libc::AF_INET, libc::AF_INET6]);
            }
            if net.unix {
                families.push(libc::AF_UNIX);
            }
            let raw = (kind, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(SOCKET_TYPE), RAW);
            let others: Conditions = families.iter().map(|other| is_not(family, other.cast_unsigned())).collect();
            // A rule without conditions would be none.
            if others.is_empty() {
                return Some(Vec::new());
            }
            let mut rules = vec![others, vec![raw]];
            if profile != Profile::Guest && net.any() && !net.udp {
                // No rule of the kernel knows the ports of datagrams, so a grant of TCP is none of them.
                let datagrams = (kind, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(SOCKET_TYPE), DATAGRAM);
                rules.push(vec![is_not(family, libc::AF_UNIX.cast_unsigned()), datagrams]);
            }
            rules
        }
        Refused::SetId { mode, flags: None } => SET_ID.map(|bit| vec![has(mode, bit)]).to_vec(),
        Refused::SetId { mode, flags: Some(flags) } => {
            let pairs = CREATING.into_iter().flat_map(|making| SET_ID.map(|bit| (making, bit)));
            pairs.map(|(making, bit)| vec![has(flags, making), has(mode, bit)]).collect()
        }
        Refused::Processes { flags } => {
            let mut rules = vec![vec![lacks(flags, libc::CLONE_THREAD.cast_unsigned())]];
            rules.extend(calls::NAMESPACES.map(|namespace| vec![has(flags, namespace)]));
            rules
        }
        Refused::Namespaces { flags } => calls::NAMESPACES.map(|namespace| vec![has(flags, namespace)]).to_vec(),
        Refused::OtherProcesses { pid: argument } => vec![vec![is_not(argument, pid)]],
        Refused::Given { argument } => vec![vec![(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)]],
        Refused::Requests { argument, requests } => {
            requests.iter().map(|request| vec![is(argument, *request)]).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::kernel::plan::Ports;

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
    const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    const CLONE3: i64 = libc::SYS_clone3;
    const OPENAT2: i64 = libc::SYS_openat2;
    const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();

    /// Runs a filter as the kernel does, on a call that is not made.
    fn answer(program: &[sock_filter], architecture: u32, number: i64, arguments: [u64; 4]) -> u32 {
        let mut data = vec![u32::try_from(number).unwrap(), architecture, 0, 0];
        for argument in arguments {
            data.extend([argument & 0xffff_ffff, argument >> 32].map(|half| u32::try_from(half).unwrap()));
        }
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let jump = |taken: bool| usize::from(if taken { jt } else { jf });
            at += 1 + match code {
                0x20 => {
                    accumulator = data[k as usize / 4];
                    0
                }
                0x54 => {
                    accumulator &= k;
                    0
                }
                0x05 => k as usize,
                0x15 => jump(accumulator == k),
                0x25 => jump(accumulator > k),
                0x35 => jump(accumulator >= k),
                0x06 => return k,
                other => panic!("instruction {other:#x}"),
            };
        }
    }

    fn filter(profile: Profile, connect: Ports) -> impl Fn(i64, [u64; 4]) -> u32 {
        let (udp, unix) = (connect == Ports::All, profile == Profile::Native);
        let program = compile(profile, &NetPlan { connect, udp, unix, ..NetPlan::default() }).unwrap();
        assert!((200..800).contains(&program.len()), "{} instructions", program.len());
        move |number, arguments| answer(&program, AUDIT_ARCH, number, arguments)
    }

    #[test]
    fn every_call_of_the_table_is_found_and_its_neighbours_are_not() {
        for profile in [Profile::Guest, Profile::Native] {
            let filter = filter(profile, Ports::None);
            let mut always: Vec<i64> = Vec::new();
            let mut sometimes: Vec<i64> = Vec::new();
            for refusal in calls::refusals(profile) {
                let known = is_always(refusal.refused, &NetPlan::default());
                let list = if known { &mut always } else { &mut sometimes };
                list.extend(refusal.calls.iter().map(calls::Call::number));
            }
            let unknown: Vec<i64> = calls::unreadable(profile).iter().map(|number| i64::from(*number)).collect();
            for number in (0..1024).filter(|number| !sometimes.contains(number)) {
                let expect = match (unknown.contains(&number), always.contains(&number)) {
                    (true, _) => UNKNOWN,
                    (false, true) => REFUSED,
                    (false, false) => ALLOWED,
                };
                assert_eq!(filter(number, [0; 4]), expect, "{profile:?} {number}");
            }
        }
    }

    #[test]
    fn no_other_way_to_call_the_kernel_is_open() {
        let program = compile(Profile::Guest, &NetPlan::default()).unwrap();
        let number = libc::SYS_getpid;
        assert_eq!(answer(&program, AUDIT_ARCH, number, [0; 4]), ALLOWED);
        // i386, x32 on its own and with everything else.
        assert_eq!(answer(&program, 0x4000_0003, number, [0; 4]), REFUSED);
        for number in [i64::from(X32), i64::from(X32) + number, 0xffff_ffff] {
            assert_eq!(answer(&program, AUDIT_ARCH, number, [0; 4]), REFUSED);
        }
    }

    #[test]
    fn set_id_bits_are_seen_wherever_a_file_is_made() {
        let (guest, native) = (filter(Profile::Guest, Ports::None), filter(Profile::Native, Ports::None));
        let creating = u64::from(CREATING[0]);
        let temporary = u64::from(CREATING[1]);
        for (mode, answer) in
            [(0o644, ALLOWED), (0o4644, REFUSED), (0o2644, REFUSED), (0o7777, REFUSED), (0o1777, ALLOWED)]
        {
            for filter in [&guest, &native] {
                assert_eq!(filter(libc::SYS_openat, [0, 0, creating, mode]), answer, "{mode:o}");
                assert_eq!(filter(libc::SYS_openat, [0, 0, temporary, mode]), answer, "{mode:o}");
                // Bits that the kernel does not look at hide nothing.
                assert_eq!(filter(libc::SYS_openat, [0, 0, creating, mode | 0xff << 32]), answer, "{mode:o}");
                // Without making a file, there is no mode.
                assert_eq!(filter(libc::SYS_openat, [0, 0, 0, mode]), ALLOWED, "{mode:o}");
                assert_eq!(filter(libc::SYS_mkdirat, [0, 0, mode, 0]), answer, "{mode:o}");
            }
            assert_eq!(guest(libc::SYS_fchmod, [0, mode, 0, 0]), answer, "{mode:o}");
            assert_eq!(native(libc::SYS_fchmod, [0, mode, 0, 0]), answer, "{mode:o}");
            assert_eq!(native(libc::SYS_fchmodat, [0, 0, mode, 0]), answer, "{mode:o}");
            assert_eq!(native(libc::SYS_mknodat, [0, 0, mode, 0]), answer, "{mode:o}");
            assert_eq!(guest(libc::SYS_fchmodat, [0, 0, mode, 0]), REFUSED, "{mode:o}");
        }
    }

    #[test]
    fn threads_are_told_from_processes_and_namespaces() {
        let (guest, native) = (filter(Profile::Guest, Ports::None), filter(Profile::Native, Ports::None));
        let thread =
            (libc::CLONE_THREAD | libc::CLONE_VM | libc::CLONE_SIGHAND | libc::CLONE_FS).cast_unsigned().into();
        let process = libc::SIGCHLD.cast_unsigned().into();
        assert_eq!(
            (guest(libc::SYS_clone, [thread, 0, 0, 0]), native(libc::SYS_clone, [thread, 0, 0, 0])),
            (ALLOWED, ALLOWED)
        );
        assert_eq!(
            (guest(libc::SYS_clone, [process, 0, 0, 0]), native(libc::SYS_clone, [process, 0, 0, 0])),
            (REFUSED, ALLOWED)
        );
        for namespace in calls::NAMESPACES {
            for flags in [thread, process].map(|flags| flags | u64::from(namespace)) {
                for filter in [&guest, &native] {
                    assert_eq!(filter(libc::SYS_clone, [flags, 0, 0, 0]), REFUSED, "{flags:#x}");
                }
            }
        }
        for filter in [&guest, &native] {
            assert_eq!(filter(CLONE3, [0; 4]), UNKNOWN);
        }
        assert_eq!((guest(OPENAT2, [0; 4]), native(OPENAT2, [0; 4])), (ALLOWED, UNKNOWN));
    }

    #[test]
    fn sockets_are_of_the_internet_and_only_where_it_is_granted() {
        let socket = |profile, ports, family: i32, kind: i32| {
            let arguments = [family, kind, 0, 0].map(|argument| u64::from(argument.cast_unsigned()));
            filter(profile, ports)(libc::SYS_socket, arguments)
        };
        for (family, kind, offline, online) in [
            (libc::AF_INET, libc::SOCK_STREAM, REFUSED, ALLOWED),
            (libc::AF_INET6, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, REFUSED, ALLOWED),
            (libc::AF_INET, libc::SOCK_RAW, REFUSED, REFUSED),
            (libc::AF_NETLINK, libc::SOCK_DGRAM, REFUSED, REFUSED),
            (libc::AF_VSOCK, libc::SOCK_STREAM, REFUSED, REFUSED),
            (libc::AF_ALG, libc::SOCK_SEQPACKET, REFUSED, REFUSED),
        ] {
            for profile in [Profile::Guest, Profile::Native] {
                assert_eq!(socket(profile, Ports::None, family, kind), offline, "{profile:?} {family} {kind}");
                assert_eq!(socket(profile, Ports::All, family, kind), online, "{profile:?} {family} {kind}");
            }
        }
        assert_eq!(socket(Profile::Guest, Ports::All, libc::AF_UNIX, libc::SOCK_STREAM), REFUSED);
        assert_eq!(socket(Profile::Native, Ports::None, libc::AF_UNIX, libc::SOCK_STREAM), ALLOWED);
    }

    #[test]
    fn limits_can_be_asked_for_and_signals_sent_to_oneself() {
        let guest = filter(Profile::Guest, Ports::None);
        let pid = u64::from(std::process::id());
        assert_eq!(guest(libc::SYS_prlimit64, [0, 1, 0, 8]), ALLOWED);
        assert_eq!(guest(libc::SYS_prlimit64, [0, 1, 8, 0]), REFUSED);
        assert_eq!(guest(libc::SYS_prlimit64, [0, 1, 8 << 32, 0]), REFUSED);
        assert_eq!(guest(libc::SYS_tgkill, [pid, pid, 6, 0]), ALLOWED);
        for other in [0, 1, pid + 1, u64::from(u32::MAX)] {
            assert_eq!(guest(libc::SYS_kill, [other, 0, 0, 0]), REFUSED, "{other}");
        }
        for (request, answer) in [(0x5412, REFUSED), (0x5413, ALLOWED), (0x1_0000_5412, REFUSED)] {
            assert_eq!(guest(libc::SYS_ioctl, [0, request, 0, 0]), answer, "{request:#x}");
        }
    }
}
