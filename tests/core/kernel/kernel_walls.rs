//! The kernel's confinement by itself, without the engine: a thread of the test is confined, and then tries what a
//! guest that has escaped the engine would try. For each refused operation, a second test shows that it succeeds inside
//! the grants or without the confinement.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs::{self, OpenOptions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::{io, thread};

use modbox_kernel::{Absent, KernelError, Links, NetPlan, PathRule, Plan, Ports, Rights};
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::{GrantSource, Limits};

use crate::support::TestDir;

/// A directory with something to read, something to write, one name that is granted, and something outside.
pub(crate) struct Walls {
    dir: TestDir,
    pub(crate) plan: Plan,
}

impl Walls {
    pub(crate) fn new() -> Self {
        let dir = TestDir::new();
        for file in [
            "run/tmp/own",
            "readable/file",
            "writable/file",
            "names/granted",
            "single/granted",
            "single/other",
            "outside/file",
        ] {
            dir.write(file, "content");
        }
        let mut policy = Policy::default();
        for (path, shape, access) in [
            ("readable", Shape::Directory, Access::Read),
            ("writable", Shape::Directory, Access::Write),
            ("names/granted", Shape::Name, Access::Write),
            ("single/granted", Shape::Name, Access::Read),
            ("outside/missing", Shape::Name, Access::Read),
        ] {
            let (host, guest, source) = (dir.join(path), format!("/{path}"), GrantSource::named("test"));
            policy.allow_path(PathGrant { host, shape, guest, access, source }).unwrap();
        }
        // Limits would bind the whole process of the tests.
        let plan = Plan { limits: None, ..Plan::for_guest(&policy, &Limits::default(), &dir.join("run"), None) };
        Self { dir, plan }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Runs an action under the confinement.
    pub(crate) fn behind<T: Send>(&self, attempt: impl FnOnce() -> T + Send) -> T {
        confined(&self.plan, attempt)
    }
}

pub(crate) fn confined<T: Send>(plan: &Plan, attempt: impl FnOnce() -> T + Send) -> T {
    free(|| {
        let reached = modbox_kernel::confine_thread(plan).unwrap();
        assert_eq!((reached.level, &*reached.missing), (2, &[][..]), "{reached:?}");
        attempt()
    })
}

/// Does something on a thread of its own.
pub(crate) fn free<T: Send>(attempt: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(attempt).join().unwrap())
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(tried: io::Result<T>, what: &str) {
    match tried {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn assert_errno<T: std::fmt::Debug>(tried: io::Result<T>, errno: i32, what: &str) {
    match tried {
        Err(error) if error.raw_os_error() == Some(errno) => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[expect(unsafe_code, reason = "what is tested are system calls, past every library")]
pub(crate) fn call(number: i64, arguments: [usize; 4]) -> io::Result<i64> {
    let [a, b, c, d] = arguments;
    // SAFETY: the callers pass integers, addresses that are mapped nowhere, and pointers to C strings that live as
    // long as the call; nothing is written through any of them.
    let result = unsafe { libc::syscall(number, a, b, c, d, 0_usize, 0_usize) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

pub(crate) fn c_path(path: &Path) -> std::ffi::CString {
    std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap()
}

#[test]
fn reading_ends_at_the_grants() {
    let walls = Walls::new();
    let link = walls.path("writable/link");
    symlink(walls.path("outside/file"), &link).unwrap();
    walls.behind(|| {
        for readable in ["readable/file", "writable/file", "names/granted", "run/tmp/own"] {
            assert_eq!(fs::read(walls.path(readable)).unwrap(), b"content", "{readable}");
        }
        for secret in ["outside/file", "single/other"] {
            assert_refused(fs::read(walls.path(secret)), secret);
        }
        assert_refused(fs::read(&link), "a link out of a grant");
        assert_refused(fs::read("/etc/passwd"), "/etc/passwd");
        assert_refused(fs::read("/proc/self/environ"), "the process's own environment");
        for listed in ["readable", "writable", "run"] {
            assert!(fs::read_dir(walls.path(listed)).unwrap().count() > 0);
        }
        for secret in ["outside", "single", ""] {
            assert_refused(fs::read_dir(walls.path(secret)).map(drop), secret);
        }
    });
    assert!(fs::read(link).is_ok() && fs::read("/proc/self/environ").is_ok());
}

#[test]
fn writing_ends_at_the_grants() {
    let walls = Walls::new();
    let write = |name: &str| OpenOptions::new().write(true).open(walls.path(name)).map(drop);
    walls.behind(|| {
        for writable in ["writable/file", "names/granted", "run/tmp/own"] {
            write(writable).unwrap();
            fs::write(walls.path(writable), "new").unwrap();
        }
        for other in ["readable/file", "outside/file"] {
            assert_refused(write(other), other);
            let path = c_path(&walls.path(other));
            assert_refused(call(libc::SYS_truncate, [path.as_ptr() as usize, 0, 0, 0]), "truncate");
            let emptied = OpenOptions::new().read(true).custom_flags(libc::O_TRUNC).open(walls.path(other));
            assert_refused(emptied, "truncating while opening for reading");
            assert_refused(fs::remove_file(walls.path(other)), "unlink");
        }
        for (make, inside) in [("writable", true), ("run/tmp", true), ("readable", false), ("outside", false)] {
            let path = |name: &str| walls.path(make).join(name);
            let made: Vec<io::Result<()>> = vec![
                fs::write(path("made"), ""),
                fs::create_dir(path("directory")),
                symlink("nowhere", path("symlink")),
                fs::remove_dir(path("directory")),
            ];
            for made in made {
                assert_eq!(made.is_ok(), inside, "{make}: {made:?}");
            }
        }
    });
    assert_eq!(fs::read(walls.path("readable/file")).unwrap(), b"content");
    assert_eq!(fs::read(walls.path("outside/file")).unwrap(), b"content");
}

#[test]
fn nothing_is_moved_or_linked_out_or_in() {
    let walls = Walls::new();
    let at = |name: &str| walls.path(name);
    walls.behind(|| {
        fs::rename(at("writable/file"), at("run/tmp/moved")).unwrap();
        fs::hard_link(at("run/tmp/moved"), at("writable/file")).unwrap();
        for (from, to) in [
            ("writable/file", "outside/moved"),
            ("writable/file", "readable/moved"),
            ("outside/file", "writable/moved"),
            ("readable/file", "writable/moved"),
        ] {
            assert!(fs::rename(at(from), at(to)).is_err(), "rename {from} {to}");
            assert!(fs::hard_link(at(from), at(to)).is_err(), "link {from} {to}");
            assert!(!at(to).exists());
        }
    });
    fs::rename(at("outside/file"), at("writable/moved")).unwrap();
}

#[test]
fn a_name_can_be_removed_made_and_replaced_and_read_again() {
    let walls = Walls::new();
    let at = |name: &str| walls.path(name);
    walls.behind(|| {
        fs::write(at("names/temporary"), "replaced").unwrap();
        fs::rename(at("names/temporary"), at("names/granted")).unwrap();
        assert_eq!(fs::read(at("names/granted")).unwrap(), b"replaced");
        fs::remove_file(at("names/granted")).unwrap();
        fs::write(at("names/granted"), "again").unwrap();
        assert_refused(symlink("/", at("names/symlink")), "a link");
    });
    assert_eq!(fs::read(at("names/granted")).unwrap(), b"again");
}

#[test]
fn a_name_that_is_only_read_opens_nothing_around_it() {
    let walls = Walls::new();
    walls.behind(|| {
        assert_eq!(fs::read(walls.path("single/granted")).unwrap(), b"content");
        assert_refused(fs::read(walls.path("single/other")), "its neighbour");
        assert_refused(fs::read_dir(walls.path("single")).map(drop), "its directory");
        assert_refused(fs::write(walls.path("single/granted"), ""), "writing it");
        assert_refused(fs::write(walls.path("single/new"), ""), "making another");
    });
}

#[test]
fn there_are_no_sockets_without_a_network() {
    let walls = Walls::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let socket = walls.path("writable/socket");
    let _server = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    walls.behind(|| {
        assert_errno(TcpStream::connect(address), libc::EPERM, "TCP");
        assert_errno(UnixStream::connect(&socket), libc::EPERM, "a socket in a writable grant");
        assert_errno(UnixStream::pair(), libc::EPERM, "a pair");
        assert_errno(std::net::UdpSocket::bind("127.0.0.1:0"), libc::EPERM, "UDP");
    });
    assert!(TcpStream::connect(address).is_ok() && UnixStream::connect(&socket).is_ok());
}

#[test]
fn a_granted_port_is_the_only_one() {
    let walls = Walls::new();
    let [granted, other] = [0; 2].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let connect = Ports::Some(vec![port(&granted)]);
    let plan = Plan { net: NetPlan { connect, ..NetPlan::default() }, ..walls.plan.clone() };
    confined(&plan, || {
        TcpStream::connect(("127.0.0.1", port(&granted))).unwrap();
        assert_errno(TcpStream::connect(("127.0.0.1", port(&other))), libc::EACCES, "another port");
        assert_errno(TcpListener::bind("127.0.0.1:0"), libc::EACCES, "a listener");
        let socket = |family: i32, kind: i32| call(libc::SYS_socket, [family as usize, kind as usize, 0, 0]);
        assert_errno(socket(libc::AF_UNIX, libc::SOCK_STREAM), libc::EPERM, "unix");
        assert_errno(socket(libc::AF_NETLINK, libc::SOCK_DGRAM), libc::EAFNOSUPPORT, "netlink");
        assert_errno(socket(libc::AF_INET, libc::SOCK_RAW | libc::SOCK_CLOEXEC), libc::EPERM, "raw");
        // What the C library reads to look up a name.
        assert!(fs::read("/etc/hosts").is_ok());
        assert_refused(fs::read("/etc/passwd"), "/etc/passwd");
        use std::net::ToSocketAddrs as _;
        assert!(("localhost", 80).to_socket_addrs().unwrap().next().is_some());
    });
    let all = Plan {
        net: NetPlan { connect: Ports::All, bind: Ports::All, udp: true, ..NetPlan::default() },
        ..walls.plan.clone()
    };
    confined(&all, || {
        TcpStream::connect(("127.0.0.1", port(&other))).unwrap();
        TcpListener::bind("127.0.0.1:0").unwrap();
    });
}

#[test]
fn a_path_that_cannot_be_used_is_named() {
    let walls = Walls::new();
    symlink(walls.path("outside"), walls.path("swapped")).unwrap();
    for (name, rights, expect) in [
        ("missing", Rights::ReadDirectory, "No such file or directory"),
        ("swapped", Rights::WriteDirectory, "it is not a directory any more"),
        ("swapped/file", Rights::ReadFile, "symbolic links"),
        ("outside/file", Rights::Names, "it is not a directory any more"),
        ("outside", Rights::WriteFile, "it is not a file any more"),
    ] {
        let rule = PathRule { path: walls.path(name), rights, links: Links::Refuse, absent: Absent::Error };
        let plan = Plan { paths: vec![rule], ..walls.plan.clone() };
        let error = free(|| modbox_kernel::confine_thread(&plan)).unwrap_err();
        let text =
            std::error::Error::source(&error).map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        assert!(text.contains(expect) && text.contains(&*walls.path(name).to_string_lossy()), "{text}");
    }
}

#[test]
fn a_process_with_other_threads_is_not_confined() {
    let walls = Walls::new();
    let error = free(|| modbox_kernel::confine_process(&walls.plan)).unwrap_err();
    assert!(matches!(error, KernelError::Threads { count: 2.. }), "{error}");
    free(|| fs::read(walls.path("outside/file")).unwrap());
}
