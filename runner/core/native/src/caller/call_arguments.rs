//! Reads the arguments of a reported call: paths and addresses from the memory of the caller, who waits.
//!
//! What is read may change before the kernel reads it, so it serves reports alone. Nothing here decides what is denied.

use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use modbox_kernel::ReportedCall;
use modbox_policy::net::Transport;
use modbox_policy::normalize;
use rustix::fs::CWD;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};

use crate::caller::memory;
use crate::kernel_file;

/// Longest path that the kernel accepts.
const MAX_PATH: usize = 4096;

const PAGE: u64 = 4096;

/// Upper bound of the size of a `status` file in `/proc`.
const MAX_STATUS: u64 = 16 << 10;

pub(crate) fn process_of(thread: u32) -> Option<u32> {
    let status = kernel_file::read(CWD, format!("/proc/{thread}/status"), MAX_STATUS).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}

/// Returns the path that a call names, absolute and normalized.
pub(crate) fn path_of(report: &ReportedCall, directory: Option<usize>, path: usize) -> Option<PathBuf> {
    named_path(report, directory, path).map(|path| normalize(&path))
}

/// Returns the path that a call names, absolute, with its links and its `..`.
pub(crate) fn named_path(report: &ReportedCall, directory: Option<usize>, path: usize) -> Option<PathBuf> {
    let path = PathBuf::from(OsString::from_vec(text(report.thread, *report.arguments.get(path)?)?));
    if path.as_os_str().is_empty() {
        return None;
    }
    if path.is_absolute() {
        return Some(path);
    }
    let directory = directory.and_then(|index| report.arguments.get(index)).map(|fd| low(*fd));
    let link = match directory {
        Some(fd) if fd != libc::AT_FDCWD => format!("/proc/{}/fd/{fd}", report.thread),
        _ => format!("/proc/{}/cwd", report.thread),
    };
    let around = std::fs::read_link(link).ok()?;
    around.is_absolute().then(|| around.join(path))
}

/// Returns whether a call that looks at a path, or opens it, follows a link at its end.
pub(crate) fn follows(report: &ReportedCall) -> bool {
    let has = |index: usize, flag: i32| report.arguments.get(index).is_some_and(|flags| low(*flags) & flag != 0);
    match report.number {
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lstat => false,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => !has(1, libc::O_NOFOLLOW),
        libc::SYS_lgetxattr | libc::SYS_llistxattr => false,
        libc::SYS_openat => !has(2, libc::O_NOFOLLOW),
        libc::SYS_newfstatat | libc::SYS_faccessat2 => !has(3, libc::AT_SYMLINK_NOFOLLOW),
        libc::SYS_statx => !has(2, libc::AT_SYMLINK_NOFOLLOW),
        _ => true,
    }
}

/// Returns an argument that the kernel reads as an `int`.
pub(crate) fn low(argument: u64) -> i32 {
    u32::try_from(argument & 0xffff_ffff).unwrap_or_default().cast_signed()
}

/// Reads a C string from a caller's memory, page by page, because the next page may be unmapped. A path need not be UTF-8.
fn text(thread: u32, address: u64) -> Option<Vec<u8>> {
    text_of(thread, address, MAX_PATH)
}

/// Reads a C string of at most `most` bytes, or a little more, as [`named_path`] does. `None` for a longer one.
pub(crate) fn text_of(thread: u32, address: u64, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < most {
        let at = address.checked_add(bytes.len() as u64)?;
        let mut chunk = [0; 256];
        let length = usize::try_from(PAGE - at % PAGE).ok()?.min(chunk.len());
        let read = memory::read(thread, at, &mut chunk[..length]);
        if let Some(end) = chunk[..read].iter().position(|byte| *byte == 0) {
            bytes.extend_from_slice(&chunk[..end]);
            return Some(bytes);
        }
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    None
}

/// Address argument of a socket call.
pub(crate) enum Address {
    Internet(SocketAddr),
    Path(PathBuf),
}

pub(crate) fn address_of(report: &ReportedCall, address: u64, length: u64) -> Option<Address> {
    let mut bytes = [0; 110];
    let length = usize::try_from(length & 0xffff_ffff).ok()?.min(bytes.len());
    let read = memory::read(report.thread, address, &mut bytes[..length]);
    let bytes = &bytes[..read];
    let family = i32::from(u16::from_ne_bytes(*bytes.first_chunk::<2>()?));
    let port = || Some(u16::from_be_bytes(*bytes.get(2..)?.first_chunk::<2>()?));
    match family {
        libc::AF_INET => {
            let ip: Ipv4Addr = (*bytes.get(4..)?.first_chunk::<4>()?).into();
            Some(Address::Internet((ip, port()?).into()))
        }
        libc::AF_INET6 => {
            let ip: Ipv6Addr = (*bytes.get(8..)?.first_chunk::<16>()?).into();
            Some(Address::Internet((ip, port()?).into()))
        }
        libc::AF_UNIX => {
            let path = bytes.get(2..)?.split(|byte| *byte == 0).next()?;
            let path = str::from_utf8(path).ok().filter(|path| path.starts_with('/'))?;
            Some(Address::Path(normalize(Path::new(path))))
        }
        _ => None,
    }
}

/// Returns whether a caller's socket is for connections or for datagrams.
pub(crate) fn transport_of(report: &ReportedCall) -> Transport {
    let kind = || {
        let fd = low(*report.arguments.first()?);
        // No pidfd can be opened for a thread that does not lead its process; the transport then defaults to TCP.
        let process = Pid::from_raw(i32::try_from(report.thread).ok()?)?;
        let pidfd = rustix::process::pidfd_open(process, PidfdFlags::empty()).ok()?;
        let socket = rustix::process::pidfd_getfd(pidfd, fd, PidfdGetfdFlags::empty()).ok()?;
        rustix::net::sockopt::socket_type(socket).ok()
    };
    match kind() {
        Some(rustix::net::SocketType::DGRAM) => Transport::Udp,
        _ => Transport::Tcp,
    }
}
