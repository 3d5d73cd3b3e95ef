//! `cargo bench`: what confining a native module costs, over starting the same shell without anything, and beside
//! bubblewrap, which makes a room of namespaces as well, without rules of the kernel, limits or a report.
//!
//! Every round starts each peer once, in turn, so that whatever else the machine does falls on all of them. Times depend
//! on the machine; the ratios to bubblewrap are what to compare. No test looks at them. The static build takes part when
//! it is there.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::exit, reason = "a fork of a benchmark ends after its job")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_native::{NativeContext, RoomRequest};
use modbox_policy::Policy;
use modbox_vocabulary::{Exit, Invocation, Limits, NativeProgram, Program};
use modbox_worker::{Forked, THIS_PROGRAM, WorkerProcess, Workers};
use support::{TestDir, debian};

/// Enough for a stable median of things that take milliseconds.
const ROUNDS: usize = 200;

/// What a module with nothing to do is, and one that starts an interpreter.
const COMMANDS: [(&str, &str); 2] =
    [("sh -c true", "true"), ("python3 -I -S -c pass", "/usr/bin/python3 -I -S -c pass")];

/// A room as near to ours as its switches make one.
const ROOM: &str = "--unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/bin /bin \
--symlink usr/sbin /sbin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc /etc --proc /proc --dev /dev \
--tmpfs /tmp --chdir /tmp";

/// What a time goes up to.
#[derive(Clone, Copy)]
enum Until {
    /// The command and its processes have ended, and the result is known.
    Result,
    /// Its namespaces and directories are gone too, which the caller need not wait for.
    TakenDown,
}

/// Something that runs a command, by name.
type Peer<'a> = (String, Box<dyn Fn(&str) -> Duration + 'a>);

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let tmp = tempfile::tempdir().expect("there is room");
    let mut peers: Vec<Peer<'_>> = vec![("plain spawn".to_owned(), Box::new(|command| plain(shell(command))))];
    if let Some(bubblewrap) = bubblewrap() {
        peers.push(("bubblewrap".to_owned(), Box::new(move |command| plain(wrapped(&bubblewrap, command)))));
    }
    let started = builds::builds(&dir).into_iter().map(|(name, build)| (name, Some(build)));
    // This process has one thread, as that of `modbox run` has at its start.
    for (name, program) in [("modbox, forked", None)].into_iter().chain(started) {
        for (what, level, until) in [
            ("launcher", 0, Until::Result),
            ("level 3", 3, Until::Result),
            ("level 3, taken down", 3, Until::TakenDown),
        ] {
            let (tmp, program) = (tmp.path(), program.clone());
            peers.push((
                format!("{name}: {what}"),
                Box::new(move |command| run(tmp, program.clone(), command, level, until)),
            ));
        }
    }
    for (name, command) in COMMANDS {
        println!("{name} ({ROUNDS} rounds)");
        compare(&peers, command);
    }
}

/// This machine's, or else one out of its package.
fn bubblewrap() -> Option<PathBuf> {
    let own = PathBuf::from("/usr/bin/bwrap");
    if own.exists() {
        return Some(own);
    }
    let root = debian::unpacked("debian-bubblewrap", &["bubblewrap"])?.expect("a network, the first time");
    Some(root.join("usr/bin/bwrap"))
}

fn compare(peers: &[Peer<'_>], command: &str) {
    let mut times = vec![Vec::new(); peers.len()];
    for round in 0..=ROUNDS {
        for ((_, start), times) in peers.iter().zip(&mut times) {
            let taken = start(command);
            // The first fills caches.
            if round > 0 {
                times.push(taken);
            }
        }
    }
    let summaries: Vec<(&str, (f64, f64))> =
        peers.iter().zip(times).map(|((name, _), times)| (name.as_str(), summary(times))).collect();
    let of = |name: &str| summaries.iter().find(|(peer, _)| *peer == name).map(|(_, summary)| *summary);
    let spawn = of("plain spawn").expect("it is a peer");
    let room = of("bubblewrap").map(|(median, _)| median - spawn.0);
    println!("{:<42}{:>10}{:>10}{:>22}{:>14}", "", "median ms", "least ms", "over a plain spawn", "/ bubblewrap");
    for (name, (median, least)) in summaries {
        let over = median - spawn.0;
        let ratio = room.map_or(String::new(), |room| format!("{:.2}", over / room));
        println!("{name:<42}{median:>10.2}{least:>10.2}{over:>14.2}{:>8.2}{ratio:>14}", least - spawn.1);
    }
}

fn shell(command: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command);
    shell
}

fn wrapped(bubblewrap: &Path, command: &str) -> Command {
    let mut wrapped = Command::new(bubblewrap);
    wrapped.args(ROOM.split(' ')).args(["/bin/sh", "-c", command]);
    wrapped
}

fn plain(mut command: Command) -> Duration {
    let started = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    let elapsed = started.elapsed();
    assert!(output.status.success(), "{output:?}");
    elapsed
}

/// Returns a worker that is a fork of this process.
fn forked() -> Workers {
    let worker = match WorkerProcess::fork().expect("there is room for a process") {
        Forked::Monitor(worker) => worker,
        Forked::Worker(ready) => {
            ready.expect("a worker has its socket");
            let socket = modbox_worker::take_socket().expect("a worker has a socket");
            let role = modbox_worker::receive_role(&socket).expect("the host goes on");
            let served = role.map_or(Ok(()), |_| modbox_native::launcher::serve(socket));
            std::process::exit(i32::from(served.is_err()))
        }
    };
    Workers::new(THIS_PROGRAM.into()).with_early(Some(worker))
}

fn run(tmp: &Path, program: Option<PathBuf>, command: &str, level: u8, until: Until) -> Duration {
    let limits = Limits::default();
    let confine = RoomRequest {
        temporary: None,
        home: None,
        policy: Policy::default(),
        least: level,
        kept: false,
        readable: Vec::new(),
        reports_reads: false,
        observed: false,
        outside: None,
    };
    let context = NativeContext {
        leaves_processes: false,
        workers: program.map_or_else(forked, Workers::new),
        directory: "/tmp".into(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        room_variables: None,
        user: None,
        cleanup: Cleanup::default(),
        confine: (level > 0).then_some(confine),
    };
    let program = Program::Native(NativeProgram { command: command.to_owned() });
    let invocation = Invocation { program, files: Vec::new(), stdin: Vec::new(), runtime_paths: Vec::new() };
    let started = Instant::now();
    let module = modbox_native::start(&context, &invocation, tmp, &limits).expect("the module starts");
    let (outcome, leaving) = module.finish(&limits).expect("the module runs");
    let result = started.elapsed();
    drop(leaving);
    let elapsed = match until {
        Until::Result => result,
        Until::TakenDown => started.elapsed(),
    };
    assert_eq!(outcome.exit, Exit::Code(0), "{outcome:?}");
    assert_eq!(outcome.confinement.level, level, "{outcome:?}");
    elapsed
}

/// Median and least, in milliseconds.
fn summary(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    (ms(times[times.len() / 2]), ms(times[0]))
}
