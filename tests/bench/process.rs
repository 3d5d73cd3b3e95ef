//! `cargo bench`: one module, one process, side by side with other ways to do the same job.
//!
//! Every round starts each peer once, in turn, so that whatever else the machine does falls on all of them.
//! Times depend on the machine; the ratios are what to compare. No test looks at them.
//!
//! The static build takes part when it is there.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::exit, reason = "the benchmark is also one of its peers")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "bare.rs"]
mod bare;
#[path = "builds.rs"]
mod builds;
#[path = "pings.rs"]
mod pings;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use modbox_contract::{Dict, InternalArgs};
use modbox_policy::Policy;
use modbox_run::{Arguments, Module, ModuleFile, RunRequest, Runner, RunnerConfig, Status};
use modbox_vocabulary::Limits;
use support::{TestDir, guest, oracle, repository};

/// Enough for a stable median of things that take milliseconds.
const ROUNDS: usize = 100;

/// Every how many rounds the peer that takes hundreds of milliseconds joins in.
const SLOW_EVERY: usize = 10;

/// How old a file of the cache must be.
const SETTLED: Duration = Duration::from_secs(3);

/// Compiling takes a hundred times as long as running.
const COLD_ROUNDS: usize = 15;

struct Peer {
    name: &'static str,
    command: Command,
    every: usize,
    times: Vec<Duration>,
}

impl Peer {
    fn new(name: &'static str, mut command: Command, every: usize) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { name, command, every, times: Vec::new() }
    }

    fn run(&mut self, expect: &str) {
        let started = Instant::now();
        let output = self.command.output().expect("the peer starts");
        let elapsed = started.elapsed();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(expect), "{} printed {text}{errors}", self.name);
        self.times.push(elapsed);
    }

    fn median(&mut self) -> f64 {
        median(&mut self.times)
    }
}

/// In milliseconds.
fn median(times: &mut [Duration]) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() {
    bare::run_if_asked();
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let builds = builds::builds(&dir);
    warm(&dir, &builds);
    cold(&dir, &builds);
}

/// A program with nothing in its environment but what it needs.
fn command(dir: &TestDir, program: &Path, args: &[&Path]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", dir.path()).env("TMPDIR", dir.path());
    command
}

/// Everything cached, confined as by default.
fn warm(dir: &TestDir, builds: &[(&'static str, PathBuf)]) {
    let folder = dir.mkdir("args");
    let args = dir.write("args/args.json", r#"{"data": "hello"}"#);
    let component = pings::module(dir);
    let python = oracle::python();
    let mut peers: Vec<(Peer, &str)> = Vec::new();
    for (name, program) in builds {
        let mut modbox = command(dir, program, &[Path::new("run"), &component]);
        modbox.arg("data=hello");
        peers.push((Peer::new(name, modbox, 1), "hello"));
    }
    let ping = compile_c(dir, "ping");
    let static_c = command(dir, &ping, &[&args]);
    let run_by_c = command(dir, &compile_c(dir, "run"), &[&ping, Path::new("hello")]);
    let pass = command(dir, &python, &[Path::new("-c"), Path::new("pass")]);
    let ansiballz = command(dir, &python, &[&pings::ansiballz(dir)]);
    let bare = bare::command(&component, &dir.join("ping.cwasm"), &folder);
    peers.push((Peer::new("bare wasmtime host, not confined", bare, 1), "hello"));
    peers.push((Peer::new("static C program", static_c, 1), "hello"));
    peers.push((Peer::new("it, run by a static C runner", run_by_c, 1), "hello"));
    peers.push((Peer::new("python3 -c pass", pass, 1), ""));
    peers.push((Peer::new("AnsiballZ ping, run by python", ansiballz, SLOW_EVERY), "pong"));
    // The first run fills caches. Files that were just written are not trusted by their times alone.
    for pause in [SETTLED, Duration::ZERO] {
        for (peer, expect) in &mut peers {
            peer.run(expect);
            peer.times.clear();
        }
        std::thread::sleep(pause);
    }
    for round in 0..ROUNDS {
        for (peer, expect) in peers.iter_mut().filter(|(peer, _)| round % peer.every == 0) {
            peer.run(expect);
        }
    }
    let medians: Vec<f64> = peers.iter_mut().map(|(peer, _)| peer.median()).collect();
    let (ours, theirs) = medians.split_at(builds.len());
    println!("one process, one run of ping, everything cached (median)");
    println!("{:<32} {:>8}  the time of each build divided by it", "", "ms");
    for (name, median) in builds.iter().map(|(name, _)| name).zip(ours) {
        println!("{name:<32} {median:>8.2}");
    }
    for ((peer, _), median) in peers[builds.len()..].iter().zip(theirs) {
        let ratios: String = ours.iter().map(|ours| format!("{:>10.3}", ours / median)).collect();
        println!("{:<32} {median:>8.2}{ratios}", peer.name);
    }
}

/// Nothing cached: the whole process, with a compiler in a confined process of its own, against the compiler alone.
fn cold(dir: &TestDir, builds: &[(&'static str, PathBuf)]) {
    let component = guest("hello");
    let bytes = std::fs::read(&component).expect("the guest was built");
    let mut compiler = Vec::new();
    let mut ours: Vec<Vec<Duration>> = vec![Vec::new(); builds.len()];
    for _ in 0..COLD_ROUNDS {
        for ((_, program), times) in builds.iter().zip(&mut ours) {
            let mut modbox = command(dir, program, &[Path::new("run"), &component]);
            modbox.arg("name=world");
            let cache = dir.join("cold");
            modbox.env("XDG_CACHE_HOME", &cache);
            let mut peer = Peer::new("cold", modbox, 1);
            peer.run("world");
            times.append(&mut peer.times);
            std::fs::remove_dir_all(cache).expect("modbox made its cache there");
        }
        compiler.push(compile(dir, &bytes));
    }
    let alone = median(&mut compiler);
    println!("\nfirst run of a component of {} kB, nothing cached (median)", bytes.len() / 1000);
    println!("{:<32} {:>8}  divided by the compiler alone", "", "ms");
    println!("{:<32} {alone:>8.1}", "the compiler alone");
    for ((name, _), times) in builds.iter().zip(&mut ours) {
        let median = median(times);
        println!("{name:<32} {median:>8.1}{:>10.2}", median / alone);
    }
}

/// How long this process takes to compile a component, and nothing else.
fn compile(dir: &TestDir, bytes: &[u8]) -> Duration {
    let runner = Runner::new(RunnerConfig::new(dir.path().to_owned()));
    let module = Module::new(ModuleFile { path: "hello.wasm".into(), bytes: bytes.into() }, None);
    let report = runner.run(
        &module,
        &RunRequest::new(
            "hello",
            Arguments::Task {
                args: Dict::from_iter([("name".to_owned(), "world".into())]),
                internal: Box::new(InternalArgs::new("hello")),
            },
            &Policy::default(),
            &Limits::default(),
        ),
    );
    assert!(matches!(report.status, Status::Ok | Status::Changed), "{report:?}");
    Duration::from_micros(report.timing.compile_us)
}

fn compile_c(dir: &TestDir, name: &str) -> PathBuf {
    let output = dir.join(name);
    let source = repository().join("tests/bench").join(name).with_extension("c");
    let status = Command::new("cc").args(["-O2", "-static", "-o"]).arg(&output).arg(source).status();
    assert!(status.expect("cc starts").success());
    output
}
