//! How the compiler gives up all authority, step by step, before it has seen anything of a module.
//!
//! 1. close every descriptor but the three that it works with;
//! 2. die with the process that started it;
//! 3. limit its resources;
//! 4. end after its processor time, to the microsecond;
//! 5. drop every capability;
//! 6. Landlock without a single rule: no file, no TCP, no signal to others;
//! 7. seccomp: read, write, memory without execution, threads, and nothing more.
//!
//! 1 to 4 always hold, or nothing is compiled. A kernel may lack what 5 to 7 need; that is told and goes into the
//! report of the run. All of it is done while there is one thread, so that it holds for every later one.

use std::io;

use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetStatus};
use modbox_kernel::Profile;
use modbox_kernel::landlock_rights::{TESTED, file_rights, port_rights, scopes};
use rustix::process::{Resource, Rlimit};

use crate::compile::bounds::Bounds;

/// Descriptors that it may have open: three, and the one that Landlock is set up with.
const MAX_DESCRIPTORS: u64 = 8;

/// A step that has to succeed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {step}")]
pub(super) struct ConfineError {
    step: &'static str,
    source: io::Error,
}

fn at(step: &'static str) -> impl Fn(rustix::io::Errno) -> ConfineError {
    move |errno| ConfineError { step, source: errno.into() }
}

/// Takes all steps and returns what the kernel refused.
///
/// # Errors
///
/// A step without which nothing may be compiled.
pub(super) fn give_up_authority(bounds: &Bounds) -> Result<Vec<String>, ConfineError> {
    // 1. The caller of modbox may have left descriptors open.
    modbox_kernel::close_descriptors_from(3)
        .map_err(|source| ConfineError { step: "close inherited descriptors", source })?;
    // 2. Checked afterwards: it may have ended before this was said.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(at("end with the parent process"))?;
    if rustix::process::getppid().is_none_or(|parent| parent.as_raw_pid().cast_unsigned() != bounds.parent) {
        return Err(at("find the parent process")(rustix::io::Errno::SRCH));
    }
    // 3. The seconds are a second line behind 4.
    limit(Resource::Core, 0)?;
    limit(Resource::Nofile, MAX_DESCRIPTORS)?;
    limit(Resource::Fsize, bounds.max_code)?;
    limit(Resource::Cpu, bounds.cpu_us.div_ceil(1_000_000).saturating_add(1))?;
    limit(Resource::Data, bounds.memory)?;
    // 4. Also counts system calls and all threads.
    end_after(bounds.cpu_us).map_err(|source| ConfineError { step: "limit the processor time", source })?;
    // 5 to 7.
    Ok(confine_thread())
}

/// Takes the steps that hold for this thread and those that it starts.
fn confine_thread() -> Vec<String> {
    let mut refused = Vec::new();
    let none = rustix::thread::CapabilitySet::empty();
    let sets = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    if let Err(error) = rustix::thread::set_capabilities(None, sets) {
        refused.push(format!("failed to drop capabilities ({error})"));
    }
    match landlock() {
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => {}
        Ok(RulesetStatus::NotEnforced) => refused.push("the kernel has no Landlock".to_owned()),
        Err(error) => refused.push(format!("Landlock failed ({error})")),
    }
    if let Err(error) = modbox_kernel::restrict_calls(Profile::Compiler) {
        refused.push(error);
    }
    refused
}

/// Takes away all files, TCP, and signals to others, and the chance to gain rights by executing a program.
fn landlock() -> Result<RulesetStatus, landlock::RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(file_rights(TESTED))?
        .handle_access(port_rights(TESTED))?
        .scope(scopes(TESTED))?
        .create()?;
    Ok(rules.restrict_self()?.ruleset)
}

fn limit(resource: Resource, wanted: u64) -> Result<(), ConfineError> {
    let old = rustix::process::getrlimit(resource);
    let least = Some(old.maximum.map_or(wanted, |old| old.min(wanted)));
    rustix::process::setrlimit(resource, Rlimit { current: least, maximum: least }).map_err(at("limit its resources"))
}

/// Has SIGPROF end this process after that much processor time.
#[expect(unsafe_code, reason = "rustix does not wrap setitimer")]
fn end_after(cpu_us: u64) -> io::Result<()> {
    let part = |number: u64| number.try_into().unwrap_or_else(|_| i32::MAX.into());
    let value = libc::timeval { tv_sec: part(cpu_us / 1_000_000), tv_usec: part((cpu_us % 1_000_000).max(1)) };
    let timer = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: value };
    // SAFETY: setitimer reads one `itimerval` through its second argument, which points to a live local of that type.
    // It writes through its third argument unless that is null, as here.
    let status = unsafe { libc::setitimer(libc::ITIMER_PROF, &raw const timer, std::ptr::null_mut()) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tries what must fail")]
mod tests {
    use std::fs::File;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    use super::*;
    use crate::compile::code::memory_file;
    use crate::compile::translate::machine_code;

    /// Runs something in a thread of its own, which keeps to itself what it gives up.
    #[track_caller]
    fn in_thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
        thread::spawn(body).join().unwrap()
    }

    /// What can be done, by name.
    fn possible() -> Vec<&'static str> {
        let file = File::open("/proc/self/status");
        let attempts = [
            ("read a file", file.is_ok()),
            ("list a directory", std::fs::read_dir("/").is_ok()),
            ("make a file", File::create_new(format!("/tmp/modbox-confine-{}", std::process::id())).is_ok()),
            ("look at a file", std::fs::metadata("/").is_ok()),
            ("listen", TcpListener::bind("127.0.0.1:0").is_ok()),
            ("send", UdpSocket::bind("127.0.0.1:0").is_ok()),
            ("make a socket", UnixStream::pair().is_ok()),
            ("start a program", Command::new("/bin/true").status().is_ok()),
            ("make a file in memory", memory_file().is_ok()),
            ("start a process", fork()),
            ("make code", executable_memory()),
            ("signal others", rustix::process::test_kill_process(rustix::process::Pid::INIT).is_ok()),
            ("raise a limit", limit(Resource::Core, 0).is_ok()),
        ];
        attempts.into_iter().filter(|(_, done)| *done).map(|(what, _)| what).collect()
    }

    #[expect(unsafe_code, reason = "there is no safe way to try to fork")]
    fn fork() -> bool {
        // SAFETY: clone with these arguments is fork(2): the child gets a copy of all memory. The child of a process
        // with several threads may only call async-signal-safe functions, and calls `_exit` alone. waitpid may be given
        // a null pointer.
        unsafe {
            let child = libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0);
            if child == 0 {
                libc::_exit(0);
            }
            child > 0 && libc::waitpid(-1, std::ptr::null_mut(), 0) != 0
        }
    }

    #[expect(unsafe_code, reason = "mapping memory is never safe")]
    fn executable_memory() -> bool {
        let (executable, private) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: mmap without MAP_FIXED chooses an unused address, so it changes no mapping that is in use.
        unsafe { libc::mmap(std::ptr::null_mut(), 4096, executable, private, -1, 0) != libc::MAP_FAILED }
    }

    #[test]
    fn a_confined_thread_can_compile_and_nothing_else() {
        let free = in_thread(possible);
        assert!(free.len() >= 12, "without confinement only these are possible: {free:?}");
        drop(std::fs::remove_file(format!("/tmp/modbox-confine-{}", std::process::id())));
        let wasm = wat::parse_str(r#"(module (memory (export "memory") 1) (func (export "_start")))"#).unwrap();
        let (refused, possible, compiled) = in_thread(move || {
            let refused = confine_thread();
            // With threads, of which the first is started after all has been given up.
            let format = modbox_vocabulary::WasmFormat::Core;
            let compiled = thread::spawn(move || machine_code(&wasm, format, false).is_ok());
            (refused, possible(), compiled.join().unwrap())
        });
        assert_eq!(refused, Vec::<String>::new());
        assert_eq!(possible, Vec::<&str>::new());
        assert!(compiled);
    }

    #[test]
    fn landlock_alone_takes_files_and_tcp() {
        let (status, possible) = in_thread(|| (landlock().unwrap(), possible()));
        assert_ne!(status, RulesetStatus::NotEnforced);
        for taken in ["read a file", "list a directory", "make a file", "listen", "start a program"] {
            assert!(!possible.contains(&taken), "{possible:?}");
        }
    }
}
