//! The system calls that the confinement refuses, one by one. For each, a second test shows that it works unconfined.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;

use modbox_kernel::{Absent, Links, PathRule, Plan, Profile, Rights};

use crate::core::kernel::kernel_walls::{Walls, assert_errno, c_path, call, confined};

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

/// Treats ENODATA as success: the call was not refused, and looked up the attribute.
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
fn memory_of_no_process_needs_a_group_that_counts_it() {
    let walls = Walls::new();
    let size = |socket: &UnixStream| rustix::net::sockopt::socket_send_buffer_size(socket).unwrap();
    let usual = size(&UnixStream::pair().unwrap().0);
    for counted_memory in [false, true] {
        let plan = Plan { profile: Profile::Native, counted_memory, ..walls.plan.clone() };
        confined(&plan, || {
            let (socket, _other) = UnixStream::pair().unwrap();
            rustix::net::sockopt::set_socket_send_buffer_size(&socket, usual / 4).unwrap();
            assert_eq!(size(&socket) != usual, counted_memory, "a buffer");
            // Nothing receives reports here, so nothing else counts.
            let name = c"memory".as_ptr() as usize;
            for (what, tried) in [
                ("memfd", call(libc::SYS_memfd_create, [name, 0, 0, 0])),
                ("shared memory", call(libc::SYS_shmget, [0, 0, 0, 0]).or_else(no_such_size)),
            ] {
                match counted_memory {
                    true => drop(tried.unwrap_or_else(|error| panic!("{what}: {error}"))),
                    false => assert_errno(tried, libc::EPERM, what),
                }
            }
        });
    }
}

/// Treats EINVAL as success: the call was not refused, and makes nothing without a size.
fn no_such_size(error: io::Error) -> io::Result<i64> {
    if error.raw_os_error() == Some(libc::EINVAL) { Ok(0) } else { Err(error) }
}
