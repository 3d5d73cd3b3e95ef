//! seccomp: the table of refused system calls as a filter of the kernel.
//!
//! Everything else is allowed. A filter that allows by default has to close three ways around it first: calls of another
//! architecture (`int 0x80`), the calls of x86-64's other numbering (x32), and `clone3`, whose flags lie in memory where
//! a filter cannot see them; the C library falls back to `clone`. What the instructions look like is for `filter`.
//!
//! A refused call fails, with `EPERM` mostly; it kills nothing, since programs ask for what they can do without.

use seccompiler::BpfProgram;

use crate::calls::{self, Profile, Refused};
use crate::filter::{self, Condition, Rule, Test, Verdict, Verdicts};
use crate::plan::NetPlan;

/// Set-user-id and set-group-id.
const SET_ID: u32 = 0o6000;

/// Opening flags that make a file, so that a mode counts: `O_CREAT` and the bit of `O_TMPFILE`.
const CREATING: u32 = 0o20_000_100;

/// The bits of a socket's type that are the type.
const SOCKET_TYPE: u32 = 0xf;

/// `SOCK_DGRAM`.
const DATAGRAM: u32 = 2;

/// `SOCK_RAW`.
const RAW: u32 = 3;

/// Makes the filter of a profile.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn compile(profile: Profile, net: &NetPlan) -> Result<BpfProgram, String> {
    let pid = rustix::process::getpid().as_raw_nonzero().get().cast_unsigned();
    let (mut verdicts, mut rules) = (Verdicts::new(), Vec::new());
    for refusal in calls::refusals(profile) {
        let verdict = match conditions(refusal.refused, profile, net, pid) {
            Some(conditions) if conditions.is_empty() => Verdict::Fail(libc::EPERM),
            Some(conditions) => {
                rules.push(conditions);
                Verdict::When(rules.len() - 1)
            }
            None => continue,
        };
        for call in refusal.calls {
            verdicts.set(call.number(), verdict)?;
        }
    }
    for number in calls::unreadable(profile) {
        verdicts.set(*number, Verdict::Fail(libc::ENOSYS))?;
    }
    Ok(filter::program(&verdicts, &rules))
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

/// When a call is refused: whenever one of these holds; always, when there are none. `None` is never.
fn conditions(refused: Refused, profile: Profile, net: &NetPlan, pid: u32) -> Option<Vec<Rule>> {
    let namespaces = calls::NAMESPACES.iter().fold(0, |all, namespace| all | namespace);
    Some(match refused {
        Refused::Always => Vec::new(),
        Refused::WithoutNetwork if net.any() => return None,
        Refused::WithoutNetwork => Vec::new(),
        Refused::OtherSockets { family, kind } => sockets(family, kind, profile, net),
        Refused::SetId { mode, flags: None } => vec![refuse([(mode, Test::HasAny(SET_ID))])],
        Refused::SetId { mode, flags: Some(flags) } => {
            vec![refuse([(flags, Test::HasAny(CREATING)), (mode, Test::HasAny(SET_ID))])]
        }
        Refused::Processes { flags } => {
            let thread = libc::CLONE_THREAD.cast_unsigned();
            vec![refuse([(flags, Test::HasNone(thread))]), refuse([(flags, Test::HasAny(namespaces))])]
        }
        Refused::Namespaces { flags } => vec![refuse([(flags, Test::HasAny(namespaces))])],
        Refused::OtherProcesses { pid: argument } => vec![refuse([(argument, Test::IsNot(pid))])],
        Refused::Given { argument } => vec![refuse([(argument, Test::NotNull)])],
        Refused::Requests { argument, requests } => {
            requests.iter().map(|request| refuse([(argument, Test::Is(*request))])).collect()
        }
    })
}

/// When making a socket is refused.
fn sockets(family: u8, kind: u8, profile: Profile, net: &NetPlan) -> Vec<Rule> {
    let mut families = Vec::new();
    if net.any() || net.isolated {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if net.unix {
        families.push(libc::AF_UNIX);
    }
    // A rule without conditions would hold, too; but no rules say that it is always refused.
    if families.is_empty() {
        return Vec::new();
    }
    let none_of =
        |families: &[i32]| families.iter().map(|other| (family, Test::IsNot(other.cast_unsigned()))).collect();
    // What a kernel says that does not have them: programs that can do without, such as those that would tell the audit
    // log what they do, then go on.
    let unknown =
        Rule { conditions: none_of(&[libc::AF_INET, libc::AF_INET6, libc::AF_UNIX]), errno: libc::EAFNOSUPPORT };
    let others = Rule { conditions: none_of(&families), errno: libc::EPERM };
    let mut rules = vec![unknown, others, refuse([(kind, Test::Masked(SOCKET_TYPE, RAW))])];
    if profile != Profile::Guest && net.any() && !net.udp {
        // No rule of the kernel knows the ports of datagrams, so a grant of TCP is none of them.
        let elsewhere = (family, Test::IsNot(libc::AF_UNIX.cast_unsigned()));
        rules.push(refuse([elsewhere, (kind, Test::Masked(SOCKET_TYPE, DATAGRAM))]));
    }
    rules
}

fn refuse<const N: usize>(conditions: [Condition; N]) -> Rule {
    Rule { conditions: conditions.to_vec(), errno: libc::EPERM }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::tests::answer;
    use crate::filter::{AUDIT_ARCH, X32};
    use crate::plan::Ports;

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
    const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    const CLONE3: i64 = libc::SYS_clone3;
    const OPENAT2: i64 = libc::SYS_openat2;
    const NO_SUCH_FAMILY: u32 = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT.cast_unsigned();
    const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();

    fn filter(profile: Profile, connect: Ports) -> impl Fn(i64, [u64; 4]) -> u32 {
        let (udp, unix) = (connect == Ports::All, profile == Profile::Native);
        let program = compile(profile, &NetPlan { connect, udp, unix, ..NetPlan::default() }).unwrap();
        assert!((100..400).contains(&program.len()), "{} instructions", program.len());
        move |number, arguments| answer(&program, AUDIT_ARCH, number, arguments)
    }

    #[test]
    fn every_call_of_the_table_is_found_and_its_neighbours_are_not() {
        for profile in [Profile::Guest, Profile::Native] {
            let filter = filter(profile, Ports::None);
            let mut always: Vec<i64> = Vec::new();
            let mut sometimes: Vec<i64> = Vec::new();
            for refusal in calls::refusals(profile) {
                let known = matches!(refusal.refused, Refused::Always | Refused::WithoutNetwork);
                let list = if known { &mut always } else { &mut sometimes };
                list.extend(refusal.calls.iter().map(calls::Call::number));
            }
            let unknown: Vec<i64> = calls::unreadable(profile).to_vec();
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
        let [creating, temporary] = [0o100, 0o20_000_000];
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
            (libc::AF_NETLINK, libc::SOCK_DGRAM, REFUSED, NO_SUCH_FAMILY),
            (libc::AF_VSOCK, libc::SOCK_STREAM, REFUSED, NO_SUCH_FAMILY),
            (libc::AF_ALG, libc::SOCK_SEQPACKET, REFUSED, NO_SUCH_FAMILY),
        ] {
            for profile in [Profile::Guest, Profile::Native] {
                // A guest without a network has no sockets at all.
                let has_none = profile == Profile::Guest || online != NO_SUCH_FAMILY;
                let offline = if has_none { offline } else { online };
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
