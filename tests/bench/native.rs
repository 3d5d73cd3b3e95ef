//! `cargo bench`: what confining a native module costs, over starting the same shell without anything.
//!
//! Every round starts each peer once, in turn, so that whatever else the machine does falls on all of them. Times depend
//! on the machine; the differences are what to compare. No test looks at them.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use modbox::sandbox::cleanup::Cleanup;
use modbox::sandbox::invocation::{Exit, Invocation, NativeProgram, Program};
use modbox::sandbox::limits::Limits;
use modbox::sandbox::native::{self, Confine, NativeContext};
use modbox::sandbox::policy::Policy;

/// Enough for a stable median of things that take milliseconds.
const ROUNDS: usize = 200;

/// What a module with nothing to do is, and one that starts an interpreter.
const COMMANDS: [(&str, &str); 2] =
    [("sh -c true", "true"), ("python3 -I -S -c pass", "/usr/bin/python3 -I -S -c pass")];

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let tmp = tempfile::tempdir().expect("there is room");
    for (name, command) in COMMANDS {
        let mut times = [const { Vec::new() }; 3];
        for round in 0..=ROUNDS {
            let taken = [plain(command), run(tmp.path(), command, false), run(tmp.path(), command, true)];
            // The first fills caches.
            if round > 0 {
                times.iter_mut().zip(taken).for_each(|(times, taken)| times.push(taken));
            }
        }
        let [plain, launched, confined] = times.map(summary);
        println!("{name} ({ROUNDS} rounds): median and least, in ms");
        for (what, (median, least)) in [("plain spawn", plain), ("launcher", launched), ("level 3", confined)] {
            let (over, over_least) = (median - plain.0, least - plain.1);
            println!("  {what:<12} {median:>7.2} {least:>7.2}   over a plain spawn {over:>6.2} {over_least:>6.2}");
        }
    }
}

fn plain(command: &str) -> Duration {
    let started = Instant::now();
    let output = Command::new("/bin/sh").arg("-c").arg(command).stdin(Stdio::null()).output().expect("a shell starts");
    assert!(output.status.success());
    started.elapsed()
}

fn run(tmp: &Path, command: &str, confined: bool) -> Duration {
    let limits = Limits::default();
    let confine = Confine { policy: Policy::default(), least: 3, kept: false, readable: Vec::new() };
    let context = NativeContext {
        launcher: env!("CARGO_BIN_EXE_modbox").into(),
        directory: "/tmp".into(),
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cleanup: Cleanup::default(),
        confine: confined.then_some(confine),
    };
    let program = Program::Native(NativeProgram { command: command.to_owned() });
    let invocation = Invocation { program, files: Vec::new(), stdin: Vec::new(), runtime_paths: Vec::new() };
    let started = Instant::now();
    let outcome = native::run(&context, &invocation, tmp, &limits).expect("the module runs");
    let elapsed = started.elapsed();
    assert_eq!(outcome.exit, Exit::Code(0), "{outcome:?}");
    assert_eq!(outcome.confinement.level, if confined { 3 } else { 0 }, "{outcome:?}");
    elapsed
}

/// Median and least, in milliseconds.
fn summary(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    (ms(times[times.len() / 2]), ms(times[0]))
}
