//! Calls that a filter reports to a listener, and the denial of a refused one.

use modbox_vocabulary::{Capability, Denial, Operation};
use seccompiler::sock_filter;
use syscalls::Sysno;

use crate::filters::calls::{CREATING, Condition, SET_ID};
use crate::filters::listener::ReportedCall;
use crate::filters::profiles;
use crate::filters::socket_families;
use crate::profile::Profile;

/// The choice of allowed calls that are reported, in addition to the refused ones. The default is none.
#[derive(Debug, Clone, Default)]
pub struct ReportedCalls {
    /// Numbers of the calls that may be chosen.
    pub numbers: Vec<u32>,
    /// Part of a filter that looks at an allowed call, and either allows it or reports it. If it is empty, all allowed
    /// calls are allowed without a report.
    pub choice: Vec<sock_filter>,
}

/// Returns the denial of a system call that a filter refuses. No grant allows it.
#[must_use]
pub fn refused_call(number: i64) -> Denial {
    denial(name(number))
}

/// Returns the denial of a refused call, as [`refused_call`] does. Its subject also names the refused
/// argument: the family of a socket, or a set-id bit.
#[must_use]
pub fn refused_use(call: &ReportedCall) -> Denial {
    let name = || name(call.number);
    let with_bit = || sets_id(call).then(|| format!("{} with a set-id bit", name()));
    denial(socket_families::described(call.number, &call.arguments).or_else(with_bit).unwrap_or_else(name))
}

/// Returns whether a call sets set-user-id or set-group-id in a mode, which native modules are refused.
#[must_use]
pub fn sets_id(call: &ReportedCall) -> bool {
    let argument = |index: u8| call.arguments[usize::from(index)] & 0xffff_ffff;
    let is_it = |known: &Sysno| i64::from(known.id()) == call.number;
    let group = profiles::allowed_calls(Profile::Native).find(|group| group.calls.iter().any(is_it));
    let Some(Condition::PlainMode { mode, flags }) = group.map(|group| group.condition) else { return false };
    let counts = flags.is_none_or(|flags| argument(flags) & u64::from(CREATING) != 0);
    counts && argument(mode) & u64::from(SET_ID) != 0
}

fn denial(subject: String) -> Denial {
    let (capability, operation) = (Capability::Confinement, Operation::Call);
    Denial { capability, subject, operation, allow: "--allow-all".to_owned() }
}

/// Returns the name of a system call, or its number in words if this build does not know it.
fn name(number: i64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("call {number:#x}"), |call| call.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_name_is_shown_by_its_number() {
        assert_eq!(refused_call(libc::SYS_io_uring_setup).subject, "io_uring_setup");
        assert_eq!(refused_call(0x4000_0001).subject, "call 0x40000001");
        assert_eq!(refused_call(-1).subject, "call 0xffffffffffffffff");
    }
}
