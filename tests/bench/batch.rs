//! `cargo bench --bench batch`: jobs in, reports out, end to end, all of it on one processor; beside it the same job by
//! Ansible's own module, a process for each.
//!
//! Rates depend on the machine; the ratios are what to compare. No test looks at them.
//!
//! The static build takes part when it is there.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;
#[path = "pings.rs"]
mod pings;

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use support::{TestDir, guest, oracle};

/// Enough that starting up is a small part.
const JOBS: u32 = 20_000;

/// Turns of each; they take turns, so that what else the machine does falls on all.
const TURNS: usize = 5;

/// Runs of the peer in each of its turns.
const PEER: u32 = 5;

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let (builds, ansiballz) = (builds::builds(&dir), pings::ansiballz(&dir));
    let modules = [
        ("a module without the SDK", guest("hello"), "name"),
        ("ping, made with the SDK", pings::module(&dir), "data"),
    ];
    let mut peers = Vec::new();
    for (name, module, key) in &modules {
        let jobs = jobs(&dir, module, key);
        for (build, program) in &builds {
            peers.push((format!("{build}: {name}"), program.clone(), jobs.clone(), Vec::new()));
        }
    }
    let mut theirs = Vec::new();
    for _ in 0..TURNS {
        for (_, program, jobs, rates) in &mut peers {
            rates.push(batch(&dir, program, jobs));
        }
        theirs.push(one_by_one(&ansiballz));
    }
    let theirs = median(&mut theirs);
    println!("{:<52} {:>9} {:>9} {:>10}", "jobs a second on one processor", "median", "best", "to python");
    for (name, _, _, rates) in &mut peers {
        let median = median(rates);
        println!("{name:<52} {median:>9.0} {:>9.0} {:>10.0}", rates[rates.len() - 1], median / theirs);
    }
    println!("{:<52} {theirs:>9.1}", "AnsiballZ ping, run by python");
}

/// Writes a file of jobs for one module.
fn jobs(dir: &TestDir, module: &Path, key: &str) -> std::path::PathBuf {
    let mut lines = String::new();
    for id in 0..JOBS {
        let _ = writeln!(lines, r#"{{"id": {id}, "module": "{}", "args": {{"{key}": "{id}"}}}}"#, module.display());
    }
    dir.write(&format!("{key}.jsonl"), lines)
}

/// Has the kernel run a program on the first processor alone.
fn on_one(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0"]).arg(program).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Returns how many jobs a batch ran a second.
fn batch(dir: &TestDir, program: &Path, jobs: &Path) -> f64 {
    let mut command = on_one(program);
    command.args(["batch", "--jobs", "1"]).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("HOME", dir.path()).env("TMPDIR", dir.path());
    command.stdin(File::open(jobs).expect("it was written"));
    let started = Instant::now();
    let status = command.status().expect("taskset starts");
    assert!(status.success(), "a batch ended with {status}");
    f64::from(JOBS) / started.elapsed().as_secs_f64()
}

/// Returns how many of Ansible's modules ran a second, each in a python of its own.
fn one_by_one(module: &Path) -> f64 {
    let started = Instant::now();
    for _ in 0..PEER {
        let status = on_one(&oracle::python()).arg(module).status().expect("taskset starts");
        assert!(status.success(), "Ansible's module ended with {status}");
    }
    f64::from(PEER) / started.elapsed().as_secs_f64()
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
