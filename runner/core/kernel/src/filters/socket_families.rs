//! Families of sockets that no grant allows: which of them programs do without, the error that they get, and their names.
//!
//! `seccomp` refuses them.

use rustix::io::Errno;
use syscalls::Sysno;

/// Protocols of netlink without which programs go on: the C library asks for addresses before each look-up of a name, and
/// tools for users write to the audit log.
pub(crate) const DONE_WITHOUT: [i32; 2] = [libc::NETLINK_ROUTE, libc::NETLINK_AUDIT];

/// Names of families that programs use.
const FAMILIES: &[(i32, &str)] = &[
    (libc::AF_UNIX, "AF_UNIX"),
    (libc::AF_INET, "AF_INET"),
    (libc::AF_INET6, "AF_INET6"),
    (libc::AF_NETLINK, NETLINK),
    (libc::AF_PACKET, "AF_PACKET"),
    (libc::AF_BLUETOOTH, "AF_BLUETOOTH"),
    (libc::AF_CAN, "AF_CAN"),
    (libc::AF_TIPC, "AF_TIPC"),
    (libc::AF_ALG, "AF_ALG"),
    (libc::AF_VSOCK, "AF_VSOCK"),
    (libc::AF_XDP, "AF_XDP"),
];

const NETLINK: &str = "AF_NETLINK";

/// Names of protocols of netlink.
const PROTOCOLS: &[(i32, &str)] = &[
    (libc::NETLINK_ROUTE, "NETLINK_ROUTE"),
    (libc::NETLINK_SOCK_DIAG, "NETLINK_SOCK_DIAG"),
    (libc::NETLINK_XFRM, "NETLINK_XFRM"),
    (libc::NETLINK_AUDIT, "NETLINK_AUDIT"),
    (libc::NETLINK_NETFILTER, "NETLINK_NETFILTER"),
    (libc::NETLINK_KOBJECT_UEVENT, "NETLINK_KOBJECT_UEVENT"),
    (libc::NETLINK_GENERIC, "NETLINK_GENERIC"),
    (libc::NETLINK_CRYPTO, "NETLINK_CRYPTO"),
];

/// Returns the family and the protocol of a call that makes a socket.
fn socket(number: i64, arguments: &[u64; 6]) -> Option<(i32, i32)> {
    let argument = |index: usize| u32::try_from(arguments[index] & 0xffff_ffff).ok().map(u32::cast_signed);
    (number == i64::from(Sysno::socket.id())).then(|| Some((argument(0)?, argument(2)?)))?
}

/// Returns the call with the names of its family and protocol, if it makes a socket.
pub(crate) fn described(number: i64, arguments: &[u64; 6]) -> Option<String> {
    let (family, protocol) = socket(number, arguments)?;
    let named = |names: &[(i32, &'static str)], number: i32| {
        names
            .iter()
            .find(|(known, _)| *known == number)
            .map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
    };
    Some(match named(FAMILIES, family).as_str() {
        NETLINK => format!("socket({NETLINK}, {})", named(PROTOCOLS, protocol)),
        family => format!("socket({family})"),
    })
}

/// Returns the error of a refused call. A kernel without a family of sockets gives this error, and programs that can do
/// without it go on.
pub(crate) fn error_of(number: i64, arguments: &[u64; 6]) -> Errno {
    match socket(number, arguments) {
        Some((libc::AF_UNIX | libc::AF_INET | libc::AF_INET6, _)) | None => Errno::PERM,
        Some(_) => Errno::AFNOSUPPORT,
    }
}
