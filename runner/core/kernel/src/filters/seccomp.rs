//! seccomp: a filter that enforces an allow list of system calls.
//!
//! A filter has two parts. seccompiler writes the larger one: the calls of the list with their conditions, and `EPERM`
//! for all others. No call kills the process, since programs try calls that they can do without.
//!
//! The [`preamble`] before it has what seccompiler cannot express, as in the filters of container engines: errors other than
//! `EPERM` that programs expect, ranges of numbers, and an error instead of death for calls of another architecture (`int 0x80`
//! on x86-64). A C library uses an older call only if the newer one fails with `ENOSYS`, so this is the error of calls that are
//! newer than the lists, and of [hidden](profiles::hidden_calls) calls. Numbers of x32 are on no list, and do not count as newer.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};
use syscalls::Sysno;

use crate::filters::calls::{CREATING, CallGroup, Condition, SET_ID};
use crate::filters::reported::ReportedCalls;
use crate::filters::{profiles, socket_families};
use crate::plan::{NetPlan, Plan, Ports};
use crate::profile::Profile;
use crate::system;

/// The number of this architecture in the data of a call.
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;
/// Other architectures: seccompiler has no filters for them, or they are untested.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const AUDIT_ARCH: u32 = 0;

/// The first number of x32.
const X32: u32 = 0x4000_0000;

/// The flags of `clone` that create a namespace: mount, control group, host name, IPC, user, process, network.
const NAMESPACES: u32 = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;

/// The bits of a socket's type without its flags.
const SOCKET_TYPE: u32 = 0xf;

/// The part of a plan that a filter enforces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterPlan<'a> {
    /// The lists of calls.
    pub(crate) profile: Profile,
    /// The reachable network.
    pub(crate) net: &'a NetPlan,
    /// Whether a control group counts the memory of all processes together.
    pub(crate) counted_memory: bool,
    /// Whether the filter reports calls.
    pub(crate) reports: bool,
}

impl<'a> From<&'a Plan> for FilterPlan<'a> {
    fn from(plan: &'a Plan) -> Self {
        Self { profile: plan.profile, net: &plan.net, counted_memory: plan.counted_memory, reports: false }
    }
}

pub(crate) fn compile(plan: FilterPlan<'_>) -> Result<BpfProgram, String> {
    if AUDIT_ARCH == 0 {
        return Err("seccomp: this architecture is not supported, only x86-64 and aarch64".to_owned());
    }
    let mut program = preamble(plan);
    program.extend(allow_list(plan).map_err(|error| format!("seccomp: {error}"))?);
    Ok(program)
}

/// Makes the filter of a plan that also reports calls: those that `reported` chooses among the allowed ones, and those
/// that are refused. Its process must have a listener; see [`install_reporting`].
///
/// A refused call with the number of one that `reported` may choose fails with `EPERM` without a report: the listener
/// could not tell it from an allowed one, which it lets go on. Calls that are refused for a set-id bit alone it tells by
/// [`sets_id`](crate::sets_id).
pub(crate) fn compile_reporting(plan: FilterPlan<'_>, reported: &ReportedCalls) -> Result<BpfProgram, String> {
    let plan = FilterPlan { reports: true, ..plan };
    let mut program = compile(plan)?;
    let (list, refusals) = (preamble(plan).len(), program.len());
    program.push(load(NUMBER));
    let is_told = |number: &&u32| !is_refused_for_a_mode(plan.profile, **number);
    for number in reported.numbers.iter().filter(is_told) {
        program.extend([jump(JUMP_EQUAL, *number, 0, 1), fail(libc::EPERM)]);
    }
    program.push(REPORT);
    let choices = (!reported.choice.is_empty()).then_some(program.len());
    program.extend_from_slice(&reported.choice);
    lead_on(&mut program, list..refusals, choices, refusals)?;
    Ok(program)
}

/// Returns whether a call of a profile is refused for nothing but a set-id bit in its mode.
fn is_refused_for_a_mode(profile: Profile, number: u32) -> bool {
    let has_it = |group: &&CallGroup| group.calls.iter().any(|call| call.id().cast_unsigned() == number);
    let group = profiles::allowed_calls(profile).find(has_it);
    group.is_some_and(|group| matches!(group.condition, Condition::PlainMode { .. }))
}

/// Makes the end of each call in an allow list, which is the given part of a program, a jump: of allowed calls to `choices`,
/// if there are any, and of refused ones to `refusals`.
fn lead_on(
    program: &mut BpfProgram,
    list: Range<usize>,
    choices: Option<usize>,
    refusals: usize,
) -> Result<(), String> {
    let refusal = fail(libc::EPERM).k;
    for (at, instruction) in program.iter_mut().enumerate().take(list.end).skip(list.start) {
        let target = match instruction {
            sock_filter { code: RETURN, k: libc::SECCOMP_RET_ALLOW, .. } => choices,
            sock_filter { code: RETURN, k, .. } if *k == refusal => Some(refusals),
            _ => None,
        };
        let Some(target) = target else { continue };
        let distance = u32::try_from(target - at - 1).map_err(|error| format!("seccomp: {error}"))?;
        *instruction = sock_filter { code: JUMP, jt: 0, jf: 0, k: distance };
    }
    Ok(())
}

/// Makes a filter that refuses nothing. It reports the calls that `reported` chooses, and those that a module in namespaces
/// is refused whatever its policy grants. Calls that such a module does without, and those of another architecture, are
/// not reported.
pub(crate) fn compile_observing(reported: &ReportedCalls) -> Result<BpfProgram, String> {
    if AUDIT_ARCH == 0 {
        return Err("seccomp: this architecture is not supported, only x86-64 and aarch64".to_owned());
    }
    let net = NetPlan { connect: Ports::All, bind: Ports::All, udp: true, unix: true, isolated: false };
    let plan = FilterPlan { profile: Profile::Native, net: &net, counted_memory: true, reports: true };
    let mut program = vec![
        load(ARCHITECTURE),
        jump(JUMP_EQUAL, AUDIT_ARCH, 1, 0),
        ALLOW,
        load(NUMBER),
        jump(JUMP_AT_LEAST, Sysno::last().id().cast_unsigned() + 1, 0, 1),
        ALLOW,
    ];
    for call in [profiles::hidden_calls(plan.profile), profiles::unsupported_calls(plan.profile)].concat() {
        program.extend([jump(JUMP_EQUAL, call.id().cast_unsigned(), 0, 1), ALLOW]);
    }
    let list = program.len();
    program.extend(allow_list(plan).map_err(|error| format!("seccomp: {error}"))?);
    let refusals = program.len();
    program.push(REPORT);
    let choices = (!reported.choice.is_empty()).then_some(program.len());
    program.extend_from_slice(&reported.choice);
    lead_on(&mut program, list..refusals, choices, refusals)?;
    Ok(program)
}

/// Installs a filter that reports. Returns the listener, and whether only fatal signals interrupt a caller who waits for it.
pub(crate) fn install_reporting(program: &BpfProgram) -> io::Result<(OwnedFd, bool)> {
    system::install_listener(program)
}

/// Installs a filter for the calling thread.
pub(crate) fn install(program: &BpfProgram) -> Result<(), String> {
    seccompiler::apply_filter(program).map_err(|error| format!("seccomp: {error}"))
}

/// Returns the part that seccompiler writes.
fn allow_list(plan: FilterPlan<'_>) -> Result<BpfProgram, BackendError> {
    let mut allowed = BTreeMap::new();
    for group in profiles::allowed_calls(plan.profile) {
        if let Some(rules) = rules(group.condition, plan)? {
            allowed.extend(group.calls.iter().map(|call| (i64::from(call.id()), rules.clone())));
        }
    }
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    SeccompFilter::new(allowed, refused, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// Returns the part before it, whose last instruction continues there.
fn preamble(plan: FilterPlan<'_>) -> BpfProgram {
    let FilterPlan { profile, net, counted_memory, .. } = plan;
    let number = |call: Sysno| call.id().cast_unsigned();
    let mut program = vec![
        load(ARCHITECTURE),
        jump(JUMP_EQUAL, AUDIT_ARCH, 1, 0),
        fail(libc::EPERM),
        load(NUMBER),
        jump(JUMP_AT_LEAST, X32, 2, 0),
        jump(JUMP_AT_LEAST, number(Sysno::last()) + 1, 0, 1),
        fail(libc::ENOSYS),
    ];
    for call in profiles::hidden_calls(profile) {
        program.extend([jump(JUMP_EQUAL, number(*call), 0, 1), fail(libc::ENOSYS)]);
    }
    for call in profiles::unsupported_calls(profile) {
        program.extend([jump(JUMP_EQUAL, number(*call), 0, 1), fail(libc::EOPNOTSUPP)]);
    }
    let has_sockets = profiles::allowed_calls(profile).any(|group| group.condition == Condition::Sockets);
    if has_sockets && !families(net).is_empty() {
        // A kernel without the socket family returns this error too. Programs that can do without it, such as those
        // that write to the audit log, then continue.
        let [inet, inet6, unix] = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX].map(i32::cast_unsigned);
        // Where Unix sockets are refused, their calls are not reported: before each look-up of a name, the C library
        // looks for a daemon that caches names.
        let others = other_families(plan);
        let skipped = u8::try_from(others.len()).unwrap_or(u8::MAX);
        let allowed = if families(net).contains(&libc::AF_UNIX) { 1 + skipped } else { 0 };
        program.extend([
            jump(JUMP_EQUAL, number(Sysno::socket), 0, 5 + skipped),
            load(FIRST_ARGUMENT),
            jump(JUMP_EQUAL, inet, 3 + skipped, 0),
            jump(JUMP_EQUAL, inet6, 2 + skipped, 0),
            jump(JUMP_EQUAL, unix, allowed, 1),
            fail(libc::EPERM),
        ]);
        program.extend(others);
    }
    if matches!(profile, Profile::Native | Profile::NativeOnHost) && !counted_memory {
        // What waits in a socket belongs to no process, so its size stays that of the system. To the program the call
        // succeeds: the kernel, too, treats the size as advice.
        program.extend([
            load(NUMBER),
            jump(JUMP_EQUAL, number(Sysno::setsockopt), 0, 6),
            load(SECOND_ARGUMENT),
            jump(JUMP_EQUAL, libc::SOL_SOCKET.cast_unsigned(), 0, 4),
            load(THIRD_ARGUMENT),
            jump(JUMP_EQUAL, libc::SO_SNDBUF.cast_unsigned(), 1, 0),
            jump(JUMP_EQUAL, libc::SO_RCVBUF.cast_unsigned(), 0, 1),
            fail(0),
        ]);
    }
    program
}

/// Returns the part for a socket of a family that no grant allows. A filter that reports reports it, except for those
/// that programs do without; the process that receives the report gives the same error.
fn other_families(FilterPlan { profile, reports, .. }: FilterPlan<'_>) -> BpfProgram {
    if !reports || !matches!(profile, Profile::Native | Profile::NativeOnHost) {
        return vec![fail(libc::EAFNOSUPPORT)];
    }
    let mut part = vec![jump(JUMP_EQUAL, libc::AF_NETLINK.cast_unsigned(), 1, 0), REPORT, load(THIRD_ARGUMENT)];
    for protocol in socket_families::DONE_WITHOUT {
        part.extend([jump(JUMP_EQUAL, protocol.cast_unsigned(), 0, 1), fail(libc::EAFNOSUPPORT)]);
    }
    part.push(REPORT);
    part
}

/// Returns rules of which one must match, or `None` if the call is not allowed. An empty list allows it always.
///
/// The kernel reads all arguments except pointers as 32 bits: comparing 64 bits could be evaded with bits that it
/// ignores.
fn rules(condition: Condition, plan: FilterPlan<'_>) -> Result<Option<Vec<SeccompRule>>, BackendError> {
    let net = plan.net;
    let rules = match condition {
        Condition::Always => return Ok(Some(Vec::new())),
        Condition::Network => return Ok(net.any().then(Vec::new)),
        Condition::Sockets => {
            let rules = sockets(net)?;
            return Ok((!rules.is_empty()).then_some(rules));
        }
        Condition::SocketPairs => {
            // A pair of datagram sockets can be connected to other sockets, by name.
            let lasting = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
            let kinds = if net.unix { [lasting.as_slice(), &[libc::SOCK_DGRAM]].concat() } else { lasting.to_vec() };
            let family = is(0, libc::AF_UNIX.cast_unsigned())?;
            let pair = |kind: i32| rule([family.clone(), masked(1, SOCKET_TYPE, kind.cast_unsigned())?]);
            kinds.into_iter().map(pair).collect::<Result<_, _>>()?
        }
        Condition::CountedMemory => return Ok(plan.counted_memory.then(Vec::new)),
        Condition::CountedOrReported => return Ok((plan.counted_memory || plan.reports).then(Vec::new)),
        Condition::Values(values) => {
            let all: Result<_, _> = values.iter().map(|(argument, value)| is(*argument, *value)).collect();
            vec![SeccompRule::new(all?)?]
        }
        Condition::PlainMode { mode, flags: None } => vec![rule([without(mode, SET_ID)?])?],
        Condition::PlainMode { mode, flags: Some(flags) } => {
            vec![rule([without(flags, CREATING)?])?, rule([without(mode, SET_ID)?])?]
        }
        Condition::Threads { flags } => {
            let thread = libc::CLONE_THREAD.cast_unsigned();
            vec![rule([masked(flags, NAMESPACES | thread, thread)?])?]
        }
        Condition::NoNamespaces { flags } => vec![rule([without(flags, NAMESPACES)?])?],
        Condition::OwnProcess { pid } => {
            let own = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
            vec![rule([is(pid, own)?])?]
        }
        Condition::Null { pointer } => {
            vec![rule([SeccompCondition::new(pointer, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?])?]
        }
        Condition::NotExecutable { protection } => {
            vec![rule([without(protection, libc::PROT_EXEC.cast_unsigned())?])?]
        }
        Condition::OneOf { argument, values } => {
            values.iter().map(|value| rule([is(argument, *value)?])).collect::<Result<_, _>>()?
        }
        Condition::NoneOf { argument, values } => {
            let none: Result<_, _> = values.iter().map(|value| test(argument, SeccompCmpOp::Ne, *value)).collect();
            vec![SeccompRule::new(none?)?]
        }
    };
    Ok(Some(rules))
}

/// Returns the allowed socket families.
fn families(net: &NetPlan) -> Vec<i32> {
    let mut families = Vec::new();
    if net.any() || net.isolated {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if net.unix {
        families.push(libc::AF_UNIX);
    }
    families
}

/// Returns a rule for each allowed type of socket.
///
/// Landlock does not restrict the ports of datagrams, so a grant of TCP does not allow datagrams. It does not restrict
/// other stream protocols such as MPTCP either, so those are never allowed.
fn sockets(net: &NetPlan) -> Result<Vec<SeccompRule>, BackendError> {
    let streams = (libc::SOCK_STREAM, [libc::IPPROTO_IP, libc::IPPROTO_TCP].as_slice());
    let datagrams =
        (libc::SOCK_DGRAM, [libc::IPPROTO_IP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6].as_slice());
    let internet = if net.udp || !net.any() { vec![streams, datagrams] } else { vec![streams] };
    let kind_is = |kind: i32| masked(1, SOCKET_TYPE, kind.cast_unsigned());
    let mut rules = Vec::new();
    for family in families(net) {
        let family_is = is(0, family.cast_unsigned())?;
        if family == libc::AF_UNIX {
            for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM, libc::SOCK_SEQPACKET] {
                rules.push(rule([family_is.clone(), kind_is(kind)?])?);
            }
            continue;
        }
        for (kind, protocols) in &internet {
            for protocol in *protocols {
                rules.push(rule([family_is.clone(), kind_is(*kind)?, is(2, protocol.cast_unsigned())?])?);
            }
        }
    }
    Ok(rules)
}

/// Matches if all conditions do.
fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

/// Matches if the argument has this value.
fn is(argument: u8, value: u32) -> Result<SeccompCondition, BackendError> {
    test(argument, SeccompCmpOp::Eq, value)
}

/// Matches if these bits of the argument have this value.
fn masked(argument: u8, bits: u32, value: u32) -> Result<SeccompCondition, BackendError> {
    test(argument, SeccompCmpOp::MaskedEq(bits.into()), value)
}

/// Matches if the argument has none of these bits.
fn without(argument: u8, bits: u32) -> Result<SeccompCondition, BackendError> {
    masked(argument, bits, 0)
}

fn test(argument: u8, operation: SeccompCmpOp, value: u32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value.into())
}

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;
const JUMP: u16 = 0x05;

/// The offsets of number, architecture and first arguments in the data of a call. The low half of an argument is first.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;
const THIRD_ARGUMENT: u32 = 32;

/// Allows the call.
const ALLOW: sock_filter = sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };

/// Reports the call.
const REPORT: sock_filter = sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_USER_NOTIF };

fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

/// Skips `yes` instructions if the comparison holds, else `no`.
fn jump(code: u16, value: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter { code, jt: yes, jf: no, k: value }
}

fn fail(errno: i32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | errno.cast_unsigned() }
}
