//! A launcher that is a fork of this process, because starting the program again takes longer than many a module runs.
//!
//! It needs a process with one thread, because a fork lacks the other threads that may hold locks. It also needs a
//! small process, because memory is copied when it is written, and counts against the module's limit. Otherwise the
//! program is started again.
//!
//! A forked launcher is only a launcher: it keeps no descriptors and no signal handlers, shows no command line and no
//! environment, and never returns into its parent's work. It does keep the parent's memory, with data that the module
//! was not granted. So the kernel refuses the module access to the memory of the room's first process, which is a fork
//! again: see [`kernel::confine_thread`](modbox_kernel::confine_thread) and the steps of `init`.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tracing::subscriber::NoSubscriber;

use crate::protocol::Spec;
use crate::tree::Proc;
use crate::{launcher, stdin, system};

/// Maximum of writable memory of a process to fork, in bytes: a quarter of the minimum that a module may have.
const MAX_DATA: u64 = 8 << 20;

/// How long to wait for a joined thread, which the kernel still counts for a moment. It needs microseconds; starting
/// the program again takes some three milliseconds.
const PATIENCE: Duration = Duration::from_millis(1);

/// Standard input, output and error output.
pub(super) type Streams = [OwnedFd; 3];

/// Forks a launcher, which has `spec` from this process. Returns `None` if this process cannot be forked; starting the
/// program may still work then.
pub(super) fn launcher(streams: &Streams, spec: &Spec, stdin: &[u8]) -> Option<Pid> {
    let info = ProcessInfo::wait_for_single_thread().filter(|info| info.data <= MAX_DATA)?;
    match system::fork_without_handlers() {
        Ok(Some(child)) => Some(child),
        Ok(None) => run_launcher(streams, info, spec, stdin),
        Err(error) => {
            tracing::debug!(%error, "the launcher is no copy");
            None
        }
    }
}

/// Runs the launcher; never returns.
fn run_launcher([input, output, errors]: &Streams, info: ProcessInfo, spec: &Spec, bytes: &[u8]) -> ! {
    let turn = || -> io::Result<File> {
        rustix::stdio::dup2_stdin(input)?;
        rustix::stdio::dup2_stdout(output)?;
        rustix::stdio::dup2_stderr(errors)?;
        system::close_from(3)?;
        system::overwrite_command_line(info.arguments, info.environment, launcher::TITLE);
        launcher::control()
    };
    // The launcher writes no log of the parent's and runs no destructors of the parent's.
    let launched = catch_unwind(AssertUnwindSafe(|| {
        let be = |control| launcher::serve(&control, spec, || stdin::sealed(bytes));
        turn().map(|control| tracing::subscriber::with_default(NoSubscriber::new(), || be(control)))
    }));
    system::exit(match launched {
        Ok(Ok(ExitCode::SUCCESS)) => 0,
        _ => 1,
    })
}

/// Data about this process from `/proc`.
#[derive(Debug)]
struct ProcessInfo {
    threads: u64,
    /// Bytes of writable memory, reserved or used.
    data: u64,
    /// Address range of the command line.
    arguments: Range<usize>,
    environment: Range<usize>,
}

impl ProcessInfo {
    /// Waits until there is one thread. Returns `None` when other threads stay.
    fn wait_for_single_thread() -> Option<Self> {
        let started = Instant::now();
        loop {
            let info = Self::read()?;
            if info.threads == 1 {
                return Some(info);
            }
            if started.elapsed() > PATIENCE {
                return None;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    fn read() -> Option<Self> {
        let proc = Proc::open().ok()?;
        Self::parse(&proc.read("self/stat").ok()?, &proc.read("self/statm").ok()?)
    }

    /// Parses the formats of proc_pid_stat(5) and proc_pid_statm(5).
    fn parse(stat: &str, statm: &str) -> Option<Self> {
        // The name in parentheses may itself contain spaces and parentheses.
        let fields: Vec<&str> = stat.get(stat.rfind(')')? + 2..)?.split_ascii_whitespace().collect();
        // The first field behind the name is the third.
        let field = |number: usize| fields.get(number - 3)?.parse::<usize>().ok();
        let range = |start: usize, end: usize| Some(field(start)?..field(end)?).filter(|range| !range.is_empty());
        let pages: u64 = statm.split_ascii_whitespace().nth(5)?.parse().ok()?;
        Some(Self {
            threads: field(20)?.try_into().ok()?,
            data: pages.saturating_mul(rustix::param::page_size() as u64),
            arguments: range(48, 49)?,
            environment: field(50)?..field(51)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `look` while there is another thread, also where the test harness has none.
    fn beside_a_thread<T>(look: impl FnOnce() -> T) -> T {
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv().is_err());
        let seen = look();
        drop(go);
        other.join().unwrap();
        seen
    }

    #[test]
    fn this_process_is_seen_as_it_is() {
        let info = beside_a_thread(|| ProcessInfo::read().unwrap());
        assert!(info.threads >= 2, "{info:?}");
        assert!(info.data > 1 << 20, "with the stack of a thread: {info:?}");
        let shown = Proc::open().unwrap().read("self/cmdline").unwrap();
        assert_eq!(info.arguments.len(), shown.len());
        assert!(info.environment.start >= info.arguments.end);
    }

    #[test]
    fn a_process_with_threads_is_not_copied() {
        let null = || OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let spec = Spec::for_tests();
        assert_eq!(beside_a_thread(|| launcher(&[null(), null(), null()], &spec, b"")), None);
    }

    #[test]
    fn malformed_files_are_refused() {
        let stat = "7 (a) b) S 1 7 7 0 -1 1 2 3 4 5 1 2 3 4 20 0 1 0 9 5 6 7 8 9 1 1 1 1 1 1 1 1 0 0 17 0 0 0 0 0 0 1 2 3 100 120 120 150 0";
        let info = ProcessInfo::parse(stat, "9 8 7 6 0 2 0").unwrap();
        assert_eq!((info.threads, info.arguments, info.environment), (1, 100..120, 120..150));
        assert!(ProcessInfo::parse(stat, "").is_none());
        for text in ["", "7 (a)", "7 (a) S 1", &stat.replace(" 100 ", " 120 ")] {
            assert!(ProcessInfo::parse(text, "9 8 7 6 0 2 0").is_none(), "{text}");
        }
    }
}
