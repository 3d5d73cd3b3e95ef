//! `cargo bench`: Ansible's own modules in the interpreter of the sandbox, and natively in the kernel's confinement.
//!
//! It measures processor time, of `modbox run`, of the assembled file run by plain Python, and of further jobs of a batch, all in
//! turn. The ratios are what to compare. Last comes the memory that an idle worker has for itself.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{TestDir, oracle};

const ROUNDS: usize = 10;

/// Jobs that a batch runs after its first one, in each round.
const JOBS: usize = 10;

const PLACES: [&str; 2] = ["native", "wasm"];

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    for (name, build) in builds::builds(&dir) {
        let bench = Bench::new(&dir, build);
        println!("{name}: processor time in the sandbox, natively confined as 1");
        println!("{:<12} {:>14} {:>24} {:>14}", "", "modbox run", "run / assembled file", "a further job");
        for (module, args) in [
            ("ping", json!({})),
            ("stat", json!({"path": "data/file", "get_mime": false, "get_attributes": false})),
            ("lineinfile", json!({"path": "data/file", "line": "one"})),
            ("slurp", json!({"src": "data/file"})),
            ("copy", json!({"src": "data/file", "dest": "data/copy", "remote_src": true})),
        ] {
            bench.measure(module, &args);
        }
        println!("an idle worker has {} KiB of memory for itself", bench.idle_worker());
    }
}

struct Bench<'a> {
    dir: &'a TestDir,
    modbox: PathBuf,
    python: PathBuf,
}

impl<'a> Bench<'a> {
    /// Builds the interpreter of the sandbox.
    fn new(dir: &'a TestDir, modbox: PathBuf) -> Self {
        dir.write("data/file", "one\n");
        let bench = Self { dir, modbox, python: oracle::python() };
        let mut install = bench.modbox(&["python", "install", "--with-pip", "--interpreter"]);
        install.arg(&bench.python);
        finish(install, "");
        bench
    }

    fn clean(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.dir.path()).env("TMPDIR", self.dir.path());
        command.current_dir(self.dir.path());
        command
    }

    fn modbox(&self, words: &[&str]) -> Command {
        let mut command = self.clean(&self.modbox);
        command.args(words);
        command
    }

    fn module(&self, name: &str) -> PathBuf {
        let lib = self.python.ancestors().nth(2).expect("it lies in an environment").join("lib");
        let versions = std::fs::read_dir(lib).expect("the environment has packages").flatten();
        let path = format!("site-packages/ansible/modules/{name}.py");
        let mut found = versions.map(|version| version.path().join(&path));
        found.find(|path| path.is_file()).expect("ansible-core has the module")
    }

    fn measure(&self, name: &str, args: &Value) {
        let (module, text) = (self.module(name), args.to_string());
        let assembled = self.dir.join(&format!("{name}-assembled"));
        let mut assemble = self.modbox(&["assemble", "--interpreter"]);
        assemble.arg(&self.python).arg(&module).arg("-o").arg(&assembled);
        finish(assemble, "");
        let (mut run, mut batch, mut plain) = ([0.0; 2], [0.0; 2], 0.0);
        // The first round fills caches.
        for round in 0..=ROUNDS {
            let (mut now, mut jobs) = ([0.0; 2], [0.0; 2]);
            for (at, place) in PLACES.into_iter().enumerate() {
                let mut command = self.modbox(&["run", "--python", place, "--interpreter"]);
                command.arg(&self.python).arg(&module).args(["--args", &text]);
                now[at] = cpu_of(|| finish(command, ""));
                jobs[at] = self.batch(place, 1 + JOBS, &module, args) - self.batch(place, 1, &module, args);
            }
            let mut command = self.clean(&self.python);
            command.arg(&assembled);
            let alone = cpu_of(|| finish(command, &text));
            if round > 0 {
                (0..2).for_each(|at| (run[at], batch[at]) = (run[at] + now[at], batch[at] + jobs[at]));
                plain += alone;
            }
        }
        println!("{name:<12} {:>14.3} {:>24.3} {:>14.3}", run[1] / run[0], run[1] / plain, batch[1] / batch[0]);
    }

    /// Returns the processor time of a batch of equal jobs.
    fn batch(&self, place: &str, count: usize, module: &Path, args: &Value) -> f64 {
        let mut command = self.modbox(&["batch", "-j", "1", "--python", place, "--interpreter"]);
        command.arg(&self.python);
        let lines: String = (0..count).map(|id| format!("{}\n", job(id, module, args))).collect();
        cpu_of(|| finish(command, &lines))
    }

    /// Returns the memory in KiB that a worker of a batch has written and shares with no process, after a job.
    fn idle_worker(&self) -> u64 {
        let mut command = self.modbox(&["batch", "-j", "1", "--python", "wasm", "--interpreter"]);
        command.arg(&self.python).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut batch = command.spawn().expect("modbox starts");
        let mut input = batch.stdin.take().expect("a pipe");
        writeln!(input, "{}", job(0, &self.module("ping"), &json!({}))).expect("modbox reads");
        let mut answer = String::new();
        BufReader::new(batch.stdout.take().expect("a pipe")).read_line(&mut answer).expect("modbox answers");
        assert!(answer.contains("pong"), "{answer}");
        let threads = std::fs::read_dir(format!("/proc/{}/task", batch.id())).expect("modbox waits").flatten();
        let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        let workers: Vec<String> =
            children.flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
        let dirty = |pid: &String| {
            let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("the worker waits");
            let line =
                rollup.lines().find(|line| line.starts_with("Private_Dirty:")).expect("Linux says it").to_owned();
            line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number")
        };
        let most = workers.iter().map(dirty).max().expect("a worker");
        drop(input);
        batch.wait().expect("modbox ends");
        most
    }
}

fn job(id: usize, module: &Path, args: &Value) -> Value {
    json!({"id": id, "module": module, "args": args})
}

/// Runs a command to its end.
fn finish(mut command: Command, input: &str) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let text = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    // A program that reads no input ends before it is written.
    drop(writer.join().expect("the thread ends"));
    let told = String::from_utf8_lossy(&output.stdout);
    let failed = !output.status.success() || told.contains("\"status\": \"failed\"");
    assert!(!failed, "{command:?}: {told}{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the processor time in seconds of the processes that an action starts and waits for.
fn cpu_of(action: impl FnOnce()) -> f64 {
    let before = children_cpu();
    action();
    children_cpu() - before
}

/// Reads the processor time of all processes that this one has waited for. The kernel counts it in ticks, so only sums over
/// many rounds are exact.
fn children_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux says what a process used");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // The fields 16 and 17 of proc_pid_stat(5); the first two are before the parenthesis.
    let ticks = |at: usize| fields.get(at - 3).and_then(|field| field.parse::<f64>().ok()).expect("a number");
    (ticks(16) + ticks(17)) / rustix::param::clock_ticks_per_second() as f64
}
