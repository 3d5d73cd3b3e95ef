//! `cargo bench`: one module, one process, side by side with other ways to do the same job.
//!
//! Every round starts each peer once, in turn, so that whatever else the machine does falls on all of them.
//! Times depend on the machine; the ratios are what to compare. No test looks at them.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the harness of the tests, of which a benchmark needs little")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Modbox, TestDir, oracle, repository};

/// Enough for a stable median of things that take milliseconds.
const ROUNDS: usize = 100;

/// Every how many rounds the peer that takes hundreds of milliseconds joins in.
const SLOW_EVERY: usize = 10;

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
        self.times.sort();
        self.times[self.times.len() / 2].as_secs_f64() * 1e3
    }
}

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let args = dir.write("args.json", r#"{"data": "hello"}"#);
    let static_c = compile_c(&dir);
    let component = build_ping(&dir);
    let ansiballz = ansiballz_ping(&dir);
    let command = |program: &Path, args: &[&Path]| {
        let mut command = Command::new(program);
        command.args(args).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", dir.path());
        command
    };
    let python = oracle::python();
    let mut modbox = command(Path::new(env!("CARGO_BIN_EXE_modbox")), &[Path::new("run"), &component]);
    modbox.arg("data=hello").env("TMPDIR", dir.path());
    let pass = command(&python, &[Path::new("-c"), Path::new("pass")]);
    let mut peers = [
        (Peer::new("modbox run ping, warm cache", modbox, 1), "hello"),
        (Peer::new("static C program", command(&static_c, &[&args]), 1), "hello"),
        (Peer::new("python3 -c pass", pass, 1), ""),
        (Peer::new("AnsiballZ ping, run by python", command(&python, &[&ansiballz]), SLOW_EVERY), "pong"),
    ];
    for (peer, expect) in &mut peers {
        // The first run fills caches.
        peer.run(expect);
        peer.times.clear();
    }
    for round in 0..ROUNDS {
        for (peer, expect) in peers.iter_mut().filter(|(peer, _)| round % peer.every == 0) {
            peer.run(expect);
        }
    }
    let ours = peers[0].0.median();
    println!("{:<32} {:>10} {:>18}", "one process, one run (median)", "ms", "modbox takes");
    for (peer, _) in &mut peers {
        let median = peer.median();
        println!("{:<32} {median:>10.2} {:>12.2} times", peer.name, ours / median);
    }
}

fn compile_c(dir: &TestDir) -> PathBuf {
    let output = dir.join("ping");
    let source = repository().join("tests/bench/ping.c");
    let status = Command::new("cc").args(["-O2", "-static", "-o"]).arg(&output).arg(source).status();
    assert!(status.expect("cc starts").success());
    output
}

fn build_ping(dir: &TestDir) -> PathBuf {
    let built = Modbox::new(dir)
        .with_toolchain()
        .args(["build".as_ref(), repository().join("modules/ping").as_os_str()])
        .patience(Duration::from_secs(600))
        .run()
        .exits_with(0);
    PathBuf::from(built.stdout_text().trim())
}

/// Has ansible-core assemble its own ping and leave it.
fn ansiballz_ping(dir: &TestDir) -> PathBuf {
    let mut ansible = oracle::ansible(dir, "adhoc");
    ansible.args(["localhost", "-m", "ping"]).env("ANSIBLE_KEEP_REMOTE_FILES", "1");
    let output = ansible.output().expect("ansible starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = dir.join("home/remote-tmp");
    let tasks = std::fs::read_dir(kept).expect("ansible keeps its files");
    tasks
        .flatten()
        .map(|task| task.path().join("AnsiballZ_ping.py"))
        .find(|path| path.is_file())
        .expect("ansible keeps the assembled module")
}
