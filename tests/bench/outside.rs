//! `cargo bench`: what a call of a program costs a native module: without a room, in its room, and outside of it by a rule.
//!
//! Each peer runs the same module, which starts the same small program many times. Every round starts each peer once, in turn. A call is
//! the time of a run beyond that of a run without calls, by their number. Times depend on the machine; the ratios are what to compare.
//! No test looks at them.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use support::TestDir;

const ROUNDS: usize = 15;

/// Calls of the program in a run.
const CALLS: u32 = 100;

/// The program, and the switch that lets it run outside.
const PROGRAM: &str = "/usr/bin/true";
const RULE: &str = "/usr/bin/true <n>";

/// A peer: its name, and the switches of its runs.
const PEERS: [(&str, &[&str]); 4] = [
    ("without a room", &["--allow-all"]),
    ("in the room, no rule for any program", &[]),
    ("in the room, beside a rule for another program", &["--allow-outside", "/usr/bin/env <n>"]),
    ("outside", &["--allow-outside", RULE]),
];

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    for (build, program) in builds::builds(&dir) {
        println!("{build}, {CALLS} calls in a run, {ROUNDS} rounds");
        measure(&dir, &program);
    }
}

fn measure(dir: &TestDir, program: &Path) {
    let modules = [0, CALLS].map(|calls| module(dir, calls));
    let mut times = vec![[Vec::new(), Vec::new()]; PEERS.len()];
    for round in 0..=ROUNDS {
        for ((_, switches), times) in PEERS.iter().zip(&mut times) {
            for (module, times) in modules.iter().zip(times) {
                let taken = run(dir, program, module, switches);
                // The first fills caches.
                if round > 0 {
                    times.push(taken);
                }
            }
        }
    }
    let per_call = |[none, all]: &mut [Vec<Duration>; 2]| (median(all) - median(none)) / f64::from(CALLS);
    let calls: Vec<f64> = times.iter_mut().map(per_call).collect();
    println!("{:<50}{:>12}{:>20}", "", "ms a call", "/ without a room");
    for ((name, _), call) in PEERS.iter().zip(&calls) {
        println!("{name:<50}{call:>12.2}{:>20.2}", call / calls[0]);
    }
}

/// Writes a module that starts the program so many times.
fn module(dir: &TestDir, calls: u32) -> PathBuf {
    let repeated = format!("i=0; while [ $i -lt {calls} ]; do {PROGRAM} 1; i=$((i + 1)); done");
    dir.write_executable(
        &format!("calls{calls}"),
        format!("#!/bin/sh\n# WANT_JSON\n{repeated}\necho '{{\"changed\": false}}'\n"),
    )
}

fn run(dir: &TestDir, program: &Path, module: &Path, switches: &[&str]) -> Duration {
    let mut command = Command::new(program);
    command.arg("run").args(switches).arg(module).current_dir(dir.path());
    let started = Instant::now();
    let output = command.output().expect("modbox starts");
    let taken = started.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    taken
}

/// In milliseconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}
