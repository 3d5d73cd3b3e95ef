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

/// `SOCK_RAW`.
const RAW: u64 = 3;

/// A rule in the making: every condition must hold.
type Conditions = Vec<(u8, SeccompCmpArgLen, SeccompCmpOp, u64)>;

/// Makes the filter of a profile.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn compile(profile: Profile, net: &NetPlan) -> Result<BpfProgram, String> {
    let mut program = prologue(profile);
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

/// The instructions before the compiled ones.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn prologue(profile: Profile) -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const NUMBER: u32 = 0;
    const ARCHITECTURE: u32 = 4;
    let step = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let jump = |code, k, jt, jf| sock_filter { code, jt, jf, k };
    let fail = |errno: i32| step(RETURN, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned());
    let mut program = vec![
        step(LOAD, ARCHITECTURE),
        jump(JUMP_EQUAL, AUDIT_ARCH, 1, 0),
        fail(libc::EPERM),
        step(LOAD, NUMBER),
        jump(JUMP_GREATER_OR_EQUAL, X32, 0, 1),
        fail(libc::EPERM),
    ];
    for number in calls::unreadable(profile) {
        program.extend([jump(JUMP_EQUAL, *number, 0, 1), fail(libc::ENOSYS)]);
    }
    program
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn body(profile: Profile, net: &NetPlan) -> Result<BpfProgram, BackendError> {
    let pid = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for refusal in calls::refusals(profile) {
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
        Refused::WithoutNetwork if net.any() => return None,
        Refused::WithoutNetwork => Vec::new(),
        Refused::OtherSockets { family, kind } => {
            let mut families = Vec::new();
            if net.any() {
                families.extend([libc::AF_INET, libc::AF_INET6]);
            }
            if profile == Profile::Native {
                families.push(libc::AF_UNIX);
            }
            let raw = (kind, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(SOCKET_TYPE), RAW);
            let others: Conditions = families.iter().map(|other| is_not(family, other.cast_unsigned())).collect();
            // A rule without conditions would be none.
            if others.is_empty() { Vec::new() } else { vec![others, vec![raw]] }
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

    #[test]
    fn filters_are_made_and_short_enough_for_the_kernel() {
        for profile in [Profile::Guest, Profile::Native] {
            let program = compile(profile, &NetPlan::default()).unwrap();
            assert!((100..4096).contains(&program.len()), "{} instructions", program.len());
        }
    }
}
