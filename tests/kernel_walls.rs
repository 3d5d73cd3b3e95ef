//! The kernel's walls by themselves, without an engine before them: a thread of the test is confined to a plan and
//! then tries what a guest that had escaped the engine would try. Each refusal has its twin that succeeds: inside the
//! grants, or without the plan.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use modbox::sandbox::kernel::{
    self, Absent, KernelError, Links, NetPlan, OwnPaths, PathRule, Plan, Ports, Profile, Refused, Rights,
};
use modbox::sandbox::limits::Limits;
use modbox::sandbox::policy::{Access, PathGrant, Policy, Shape};

use crate::support::TestDir;

/// A directory with something to read, something to write, one name that is granted, and something outside.
struct Walls {
    dir: TestDir,
    plan: Plan,
}

impl Walls {
    fn new() -> Self {
        let dir = TestDir::new();
        for file in ["run/tmp/own", "readable/file", "writable/file", "names/granted", "names/other", "outside/file"] {
            dir.write(file, "content");
        }
        let mut policy = Policy::default();
        for (path, shape, access) in [
            ("readable", Shape::Directory, Access::Read),
            ("writable", Shape::Directory, Access::Write),
            ("names/granted", Shape::Name, Access::Write),
            ("outside/missing", Shape::Name, Access::Read),
        ] {
            let (host, guest, source) = (dir.join(path), format!("/{path}"), "test".to_owned());
            policy.allow_path(PathGrant { host, shape, guest, access, source }).unwrap();
        }
        let own = OwnPaths { run: dir.join("run"), largest_file: 0 };
        // Limits would bind the whole process of the tests.
        let plan = Plan { limits: None, ..Plan::for_guest(&policy, &Limits::default(), &own) };
        Self { dir, plan }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Does something behind the walls.
    fn behind<T: Send>(&self, attempt: impl FnOnce() -> T + Send) -> T {
        confined(&self.plan, attempt)
    }
}

fn confined<T: Send>(plan: &Plan, attempt: impl FnOnce() -> T + Send) -> T {
    free(|| {
        let reached = kernel::confine_thread(plan).unwrap();
        assert_eq!((reached.level, &*reached.missing), (2, &[][..]), "{reached:?}");
        attempt()
    })
}

/// Does something on a thread of its own.
fn free<T: Send>(attempt: impl FnOnce() -> T + Send) -> T {
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
fn assert_errno<T: std::fmt::Debug>(tried: io::Result<T>, errno: i32, what: &str) {
    match tried {
        Err(error) if error.raw_os_error() == Some(errno) => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[expect(unsafe_code, reason = "what is tested are system calls, past every library")]
fn call(number: i64, arguments: [usize; 4]) -> io::Result<i64> {
    let [a, b, c, d] = arguments;
    // SAFETY: the callers pass integers, addresses that are mapped nowhere, and pointers to C strings that live as
    // long as the call; nothing is written through any of them.
    let result = unsafe { libc::syscall(number, a, b, c, d) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn c_path(path: &Path) -> std::ffi::CString {
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
        for secret in ["outside/file", "names/other"] {
            assert_refused(fs::read(walls.path(secret)), secret);
        }
        assert_refused(fs::read(&link), "a link out of a grant");
        assert_refused(fs::read("/etc/passwd"), "/etc/passwd");
        assert_refused(fs::read("/proc/self/environ"), "the process's own environment");
        for listed in ["readable", "writable", "run"] {
            assert!(fs::read_dir(walls.path(listed)).unwrap().count() > 0);
        }
        for secret in ["outside", "names", ""] {
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
fn a_name_can_be_made_and_replaced_but_its_neighbours_not_read() {
    let walls = Walls::new();
    let at = |name: &str| walls.path(name);
    walls.behind(|| {
        fs::write(at("names/temporary"), "replaced").unwrap();
        assert_refused(fs::read(at("names/temporary")), "what was made anew");
        fs::rename(at("names/temporary"), at("names/granted")).unwrap();
        assert_refused(fs::read(at("names/other")), "another name in the directory");
        assert_refused(symlink("/", at("names/symlink")), "a link");
    });
    assert_eq!(fs::read(at("names/granted")).unwrap(), b"replaced");
}

#[test]
fn no_file_is_made_that_is_more_than_a_file() {
    let walls = Walls::new();
    let here = libc::AT_FDCWD as usize;
    let create = (libc::O_CREAT | libc::O_WRONLY) as usize;
    let make = |(name, number, arguments): &(&str, i64, [usize; 2])| {
        let path = c_path(&walls.path("writable").join(name));
        call(*number, [here, path.as_ptr() as usize, arguments[0], arguments[1]])
    };
    let forbidden = [
        ("fifo", libc::SYS_mknodat, [(libc::S_IFIFO | 0o600) as usize, 0]),
        ("socket", libc::SYS_mknodat, [(libc::S_IFSOCK | 0o600) as usize, 0]),
        ("set-user-id", libc::SYS_openat, [create, 0o4755]),
        ("set-group-id", libc::SYS_openat, [create, 0o2755]),
    ];
    let device = ("device", libc::SYS_mknodat, [(libc::S_IFCHR | 0o600) as usize, 0x103]);
    let ordinary = ("ordinary", libc::SYS_openat, [create, 0o755]);
    walls.behind(|| {
        for file in forbidden.iter().chain([&device]) {
            assert_errno(make(file), libc::EPERM, file.0);
            assert!(!walls.path("writable").join(file.0).exists());
        }
        make(&ordinary).unwrap();
    });
    for file in &forbidden {
        make(file).unwrap_or_else(|error| panic!("{} without the plan: {error}", file.0));
    }
}

#[test]
fn modes_owners_and_attributes_stay_as_they_are() {
    let walls = Walls::new();
    let path = c_path(&walls.path("writable/file"));
    let name = c"user.test";
    let (at, name, here) = (path.as_ptr() as usize, name.as_ptr() as usize, libc::AT_FDCWD as usize);
    let id = rustix::process::getuid().as_raw() as usize;
    let group = rustix::process::getgid().as_raw() as usize;
    let tries = || {
        let file = File::open(walls.path("writable/file")).unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&file) as usize;
        vec![
            ("fchmodat", call(libc::SYS_fchmodat, [here, at, 0o4755, 0])),
            ("fchmodat to a harmless mode", call(libc::SYS_fchmodat, [here, at, 0o644, 0])),
            ("fchmod", call(libc::SYS_fchmod, [fd, 0o2755, 0, 0])),
            ("fchownat", call(libc::SYS_fchownat, [here, at, id, group])),
            ("removexattr", call(libc::SYS_removexattr, [at, name, 0, 0]).or_else(no_such_attribute)),
            #[cfg(target_arch = "x86_64")]
            ("chmod", call(libc::SYS_chmod, [at, 0o4755, 0, 0])),
            #[cfg(target_arch = "x86_64")]
            ("chown", call(libc::SYS_chown, [at, id, group, 0])),
        ]
    };
    for (what, tried) in walls.behind(tries) {
        assert_errno(tried, libc::EPERM, what);
    }
    for (what, tried) in tries() {
        assert!(tried.is_ok(), "{what} without the plan: {tried:?}");
    }
}

/// The call got so far as to look for it.
fn no_such_attribute(error: io::Error) -> io::Result<i64> {
    if error.raw_os_error() == Some(libc::ENODATA) { Ok(0) } else { Err(error) }
}

#[test]
fn a_guest_starts_threads_and_nothing_else() {
    let walls = Walls::new();
    let start = || Command::new("/bin/true").status();
    let execute = || call(libc::SYS_execve, [c"/nonexistent".as_ptr() as usize, 0, 0, 0]);
    walls.behind(|| {
        assert_errno(start(), libc::EPERM, "a process");
        assert_errno(execute(), libc::EPERM, "a program");
        assert_eq!(thread::spawn(|| 1).join().unwrap(), 1);
    });
    assert!(start().unwrap().success());
    assert_errno(execute(), libc::ENOENT, "without the plan");
}

#[test]
fn clone3_is_said_not_to_exist() {
    let clone3 = || call(libc::SYS_clone3, [0, 0, 0, 0]);
    assert_errno(Walls::new().behind(clone3), libc::ENOSYS, "clone3");
    assert_errno(clone3(), libc::EINVAL, "without the plan");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_other_numbering_of_calls_is_closed() {
    let getpid = |base: i64| call(base + libc::SYS_getpid, [0; 4]);
    Walls::new().behind(|| {
        assert_errno(getpid(0x4000_0000), libc::EPERM, "getpid by x32");
        assert_eq!(getpid(0).unwrap(), i64::from(std::process::id()));
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
        assert_errno(socket(libc::AF_NETLINK, libc::SOCK_DGRAM), libc::EPERM, "netlink");
        assert_errno(socket(libc::AF_INET, libc::SOCK_RAW | libc::SOCK_CLOEXEC), libc::EPERM, "raw");
        // What the C library reads to look up a name.
        assert!(fs::read("/etc/hosts").is_ok());
        assert_refused(fs::read("/etc/passwd"), "/etc/passwd");
        use std::net::ToSocketAddrs as _;
        assert!(("localhost", 80).to_socket_addrs().unwrap().next().is_some());
    });
    let all = Plan { net: NetPlan { connect: Ports::All, bind: Ports::All, udp: true }, ..walls.plan.clone() };
    confined(&all, || {
        TcpStream::connect(("127.0.0.1", port(&other))).unwrap();
        TcpListener::bind("127.0.0.1:0").unwrap();
    });
}

#[test]
fn signals_and_limits_stay_in_the_process() {
    let walls = Walls::new();
    let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get() as usize;
    let own = std::process::id() as usize;
    let raise = || {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
        rustix::process::setrlimit(rustix::process::Resource::Core, limit)
    };
    walls.behind(|| {
        call(libc::SYS_kill, [own, 0, 0, 0]).unwrap();
        assert_errno(call(libc::SYS_kill, [parent, 0, 0, 0]), libc::EPERM, "kill");
        assert_errno(call(libc::SYS_kill, [usize::MAX, 0, 0, 0]), libc::EPERM, "kill all");
        assert_errno(raise().map_err(io::Error::from), libc::EPERM, "setting a limit");
    });
    raise().unwrap();
    call(libc::SYS_kill, [parent, 0, 0, 0]).unwrap();
}

#[test]
fn every_call_of_the_table_is_refused() {
    let walls = Walls::new();
    walls.behind(|| {
        assert_errno(call(libc::SYS_personality, [0xffff_ffff, 0, 0, 0]), libc::EPERM, "the filter is in force");
        let mut seen = 0;
        for refusal in kernel::refusals(Profile::Guest).filter(|refusal| refusal.refused == Refused::Always) {
            for refused in refusal.calls.iter().filter(|refused| !["fork", "vfork"].contains(&refused.name())) {
                // Arguments that no call can use, so that one that is not refused does nothing either.
                assert_errno(call(refused.number(), [usize::MAX; 4]), libc::EPERM, refused.name());
                seen += 1;
            }
        }
        assert!(seen > 100, "only {seen}");
        for (name, number) in [("ptrace", libc::SYS_ptrace), ("mount", libc::SYS_mount), ("bpf", libc::SYS_bpf)] {
            assert_errno(call(number, [0; 4]), libc::EPERM, name);
        }
        let request = 0x5412;
        assert_errno(call(libc::SYS_ioctl, [0, request, 0, 0]), libc::EPERM, "TIOCSTI");
    });
    assert!(call(libc::SYS_personality, [0xffff_ffff, 0, 0, 0]).is_ok());
}

#[test]
fn a_native_module_starts_processes_but_plants_no_set_id_file() {
    let walls = Walls::new();
    let system = |path: &str| PathRule {
        path: path.into(),
        rights: Rights::ReadDirectory,
        links: Links::Follow,
        absent: Absent::Error,
    };
    let mut plan = Plan { profile: Profile::Native, ..walls.plan.clone() };
    plan.paths.extend(["/usr", "/etc"].map(system));
    let path = c_path(&walls.path("writable/file"));
    let (at, here) = (path.as_ptr() as usize, libc::AT_FDCWD as usize);
    confined(&plan, || {
        // Executing is never granted, but the process is started.
        assert_errno(Command::new("/bin/true").status(), libc::EACCES, "a program");
        call(libc::SYS_fchmodat, [here, at, 0o755, 0]).unwrap();
        for mode in [0o4755, 0o2755, 0o6000] {
            assert_errno(call(libc::SYS_fchmodat, [here, at, mode, 0]), libc::EPERM, "fchmodat");
        }
        assert_errno(call(libc::SYS_openat2, [0; 4]), libc::ENOSYS, "openat2");
        assert_errno(call(libc::SYS_unshare, [0; 4]), libc::EPERM, "unshare");
        assert_errno(TcpListener::bind("127.0.0.1:0"), libc::EPERM, "TCP");
        UnixStream::pair().unwrap();
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
        let error = free(|| kernel::confine_thread(&plan)).unwrap_err();
        let text = std::error::Error::source(&error).map_or(error.to_string(), |source| format!("{error}: {source}"));
        assert!(text.contains(expect) && text.contains(&*walls.path(name).to_string_lossy()), "{text}");
    }
}

#[test]
fn a_process_with_other_threads_is_not_confined() {
    let walls = Walls::new();
    let error = free(|| kernel::confine_process(&walls.plan)).unwrap_err();
    assert!(matches!(error, KernelError::Threads { count: 2.. }), "{error}");
    free(|| fs::read(walls.path("outside/file")).unwrap());
}
