//! `cargo bench`: Ansible's own ping, run by modbox, as the file that Ansible assembles, and by Ansible.
//!
//! Every round starts each peer once, in turn, so that whatever else the machine does falls on all of them. The ratios are
//! what to compare. The static build of modbox takes part when it is there.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{TestDir, oracle};

const ROUNDS: usize = 40;

/// Every how many rounds the peer that takes seconds joins in.
const ANSIBLE_EVERY: usize = 8;

/// Confined as well as can be, and what that costs and saves.
const WAYS: [&[&str]; 3] = [&["--min-confinement", "3"], &["--allow-all"], &["--allow-all", "--ansiballz", "zip"]];

struct Peer {
    name: String,
    command: Command,
    every: usize,
    times: Vec<Duration>,
}

impl Peer {
    fn new(name: String, mut command: Command, every: usize) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { name, command, every, times: Vec::new() }
    }

    fn run(&mut self, expect: &str) {
        let started = Instant::now();
        let output = self.command.output().expect("the peer starts");
        self.times.push(started.elapsed());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(expect), "{} printed {text}{}", self.name, String::from_utf8_lossy(&output.stderr));
    }

    /// In milliseconds.
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
    let python = oracle::python();
    let mut ansiballz = clean(&dir, &python);
    ansiballz.arg(assembled(&dir));
    let mut bare = clean(&dir, &python);
    bare.args(["-c", "print('pong')"]);
    let mut ansible = oracle::ansible(&dir, "adhoc");
    ansible.args(["localhost", "-m", "ping"]);
    let mut peers = vec![
        Peer::new("python3 -c".to_owned(), bare, 1),
        Peer::new("AnsiballZ, run by python".to_owned(), ansiballz, 1),
        Peer::new("ansible localhost -m ping".to_owned(), ansible, ANSIBLE_EVERY),
    ];
    let others = peers.len();
    for (name, build) in builds::builds(&dir) {
        for switches in WAYS {
            let mut command = clean(&dir, &build);
            command.arg("run").args(switches).arg("--interpreter").arg(&python).arg(ping(&python));
            peers.push(Peer::new(format!("{name} {}", switches.join(" ")), command, 1));
        }
    }
    for peer in &mut peers {
        // The first run fills caches.
        peer.run("pong");
        peer.times.clear();
    }
    for round in 0..ROUNDS {
        for peer in peers.iter_mut().filter(|peer| round % peer.every == 0) {
            peer.run("pong");
        }
    }
    let medians: Vec<f64> = peers.iter_mut().map(Peer::median).collect();
    println!("ansible's ping, everything cached (median)");
    print!("{:<44} {:>8}", "", "ms");
    peers[..others].iter().for_each(|peer| print!("  / {}", peer.name));
    println!();
    for (peer, median) in peers.iter().zip(&medians) {
        print!("{:<44} {median:>8.2}", peer.name);
        for (other, theirs) in peers.iter().zip(&medians).take(others) {
            print!("{:>width$.3}", median / theirs, width = other.name.len() + 4);
        }
        println!();
    }
}

/// A program with nothing in its environment but what it needs.
fn clean(dir: &TestDir, program: &PathBuf) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", dir.path()).env("TMPDIR", dir.path());
    command
}

/// Ansible's own ping.
fn ping(python: &std::path::Path) -> PathBuf {
    let lib = python.ancestors().nth(2).expect("it lies in an environment").join("lib");
    let versions = std::fs::read_dir(lib).expect("the environment has packages").flatten();
    let mut found = versions.map(|version| version.path().join("site-packages/ansible/modules/ping.py"));
    found.find(|path| path.is_file()).expect("ansible-core has a ping")
}

/// Has ansible-core assemble it and leave it.
fn assembled(dir: &TestDir) -> PathBuf {
    let mut ansible = oracle::ansible(dir, "adhoc");
    ansible.args(["localhost", "-m", "ping"]).env("ANSIBLE_KEEP_REMOTE_FILES", "1");
    let output = ansible.output().expect("ansible starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tasks = std::fs::read_dir(dir.join("home/remote-tmp")).expect("ansible keeps its files");
    let mut files = tasks.flatten().map(|task| task.path().join("AnsiballZ_ping.py"));
    files.find(|path| path.is_file()).expect("ansible keeps the assembled module")
}
