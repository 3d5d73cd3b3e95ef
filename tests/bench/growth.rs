//! `cargo bench`: how time and memory grow with jobs, modules, grants, arguments and output. Each line says how much a
//! step costs against the one before: near linear is as many times as there is more.
//!
//! `cargo bench -p modbox --bench growth -- million` goes on to a million jobs.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use modbox_test_support as support;
use serde_json::json;
use support::{TestDir, guest};

/// One step of a growth.
struct Step {
    size: u64,
    time: Duration,
    /// Kilobytes of the process and its workers together, at their largest.
    memory: u64,
}

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let million = std::env::args().any(|arg| arg == "million");
    let jobs: &[u64] = if million { &[1_000, 10_000, 100_000, 1_000_000] } else { &[1_000, 10_000, 100_000] };
    show("jobs of one module", jobs, |size| batch(size, 1));
    show("modules, four jobs each", &[1, 10, 100, 1_000], |size| batch(4 * size, size));
    show("grants", &[1, 10, 100, 1_000], grants);
    show("bytes of arguments", &[1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 24], arguments);
    show("bytes of output", &[1 << 10, 1 << 14, 1 << 18, (4 << 20) - 4096], output);
}

fn show(title: &str, sizes: &[u64], measure: impl Fn(u64) -> (Duration, u64)) {
    println!("{title:<28} {:>12} {:>10} {:>10} {:>14}", "ms", "more", "takes", "peak memory kB");
    let mut before: Option<Step> = None;
    for size in sizes {
        // The first round fills caches.
        measure(*size);
        let (time, memory) = measure(*size);
        let times = |now: f64, then: f64| format!("{:.1} ×", now / then);
        let (more, takes) = before.as_ref().map_or((String::new(), String::new()), |before| {
            (times(*size as f64, before.size as f64), times(time.as_secs_f64(), before.time.as_secs_f64()))
        });
        println!("{size:>28} {:>12.1} {more:>10} {takes:>10} {memory:>14}", time.as_secs_f64() * 1e3);
        before = Some(Step { size: *size, time, memory });
    }
    if let Some(step) = before {
        println!("{:>28} at the end {} kB", "", step.memory);
    }
}

fn modbox(dir: &TestDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_modbox"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.env("HOME", dir.path()).env("XDG_CACHE_HOME", cache).env("TMPDIR", dir.join("tmp")).current_dir(dir.path());
    command
}

/// Runs a command to its end and returns how long it took, and the most memory that it and its children had.
fn run(mut command: Command, input: Stdio) -> (Duration, u64) {
    let started = Instant::now();
    let mut child = command.stdin(input).stdout(Stdio::piped()).spawn().expect("modbox starts");
    let mut stdout = child.stdout.take().expect("it is a pipe");
    let reading = std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    let mut peak = 0;
    loop {
        peak = peak.max(memory_of_tree(&child));
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            assert!(status.success(), "{status}");
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let elapsed = started.elapsed();
    reading.join().expect("the thread ends").expect("the pipe can be read");
    (elapsed, peak)
}

/// Kilobytes of a process and its children at their largest, each with what they share.
fn memory_of_tree(child: &Child) -> u64 {
    let pid = rustix::process::Pid::from_child(child);
    let pids = std::iter::once(pid).chain(support::children(pid)).map(|pid| pid.as_raw_nonzero().to_string());
    let resident = |pid: String| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:"))?.split_whitespace().nth(1)?.parse::<u64>();
        line.ok()
    };
    pids.filter_map(resident).sum()
}

fn batch(jobs: u64, modules: u64) -> (Duration, u64) {
    let dir = TestDir::new();
    let hello = guest("hello");
    let small = fs::read(support::small_module(&dir, "small.wasm")).expect("it was just written");
    let mut paths = vec![if modules == 1 { hello } else { dir.join("small.wasm") }];
    for number in 1..modules {
        // Another digest for each: a custom section with a number. Small ones, since each is compiled once.
        let mut bytes = small.clone();
        bytes.extend_from_slice(&[0, 9, 4]);
        bytes.extend_from_slice(b"size");
        bytes.extend_from_slice(&u32::try_from(number).expect("there are few").to_le_bytes());
        paths.push(dir.write(&format!("library/m{number}.wasm"), bytes));
    }
    let mut lines = String::new();
    for job in 0..jobs {
        let module = &paths[usize::try_from(job / 4 % modules).expect("there are few")];
        let _ = writeln!(lines, "{}", json!({"id": job, "module": module, "args": {"name": "x"}}));
    }
    let input = fs::File::open(dir.write("jobs.jsonl", lines)).expect("it was just written");
    let mut command = modbox(&dir);
    command.arg("batch");
    run(command, input.into())
}

fn grants(count: u64) -> (Duration, u64) {
    let dir = TestDir::new();
    let mut policy = "allow:\n  read:\n".to_owned();
    for number in 0..count {
        let _ = writeln!(policy, "    - {}", dir.mkdir(&format!("granted/{number}")).display());
    }
    let policy = dir.write("policy.yaml", policy);
    let mut command = modbox(&dir);
    command.args(["run"]).arg(guest("hello")).arg("name=x").arg("--policy").arg(policy);
    run(command, Stdio::null())
}

fn arguments(bytes: u64) -> (Duration, u64) {
    let dir = TestDir::new();
    let text = "x".repeat(usize::try_from(bytes).expect("it fits into memory"));
    let args = dir.write("args.json", json!({"name": text, "n": 1}).to_string());
    let mut command = modbox(&dir);
    command.arg("run").arg(guest("hello")).arg("--args").arg(format!("@{}", args.display()));
    command.args(["--max-output", "64MiB"]);
    run(command, Stdio::null())
}

fn output(bytes: u64) -> (Duration, u64) {
    let dir = TestDir::new();
    let text = "x".repeat(usize::try_from(bytes).expect("it fits into memory"));
    let args = dir.write("args.json", json!({"text": json!({"changed": false, "x": text}).to_string()}).to_string());
    let mut command = modbox(&dir);
    command.arg("run").arg(guest("end")).arg("--args").arg(format!("@{}", args.display()));
    run(command, Stdio::null())
}
