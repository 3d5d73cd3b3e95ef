//! Compiling is bounded, and happens in a confined process. Whatever a module does to the compiler, modbox ends in time
//! with a well-formed report, and leaves nothing behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::sample::{self, Random};
use crate::support::{Modbox, RunOutput, Running, TestDir, component, core_module, guest, small_module, wait_for};

/// Ends at the limit, plus the start of two processes on a busy machine.
const SLACK: Duration = Duration::from_secs(3);

const PATIENCE: Duration = Duration::from_secs(30);

/// Number of damaged modules: in a sample, and of all.
const MUTATIONS: (usize, usize) = (80, 10_000);

/// One function with many locals and many empty loops, which is valid, small, and takes a compiler time and memory that
/// grow faster than it: with 45000 loops it has 137 kB and takes twenty seconds and a gigabyte.
fn bomb_function(loops: usize) -> String {
    format!("(func $bomb (local {}) {})", "i64 ".repeat(1000), "(loop)".repeat(loops))
}

fn bomb(dir: &TestDir) -> PathBuf {
    core_module(dir, "bomb.wasm", &format!(r#"{} (func (export "_start"))"#, bomb_function(45_000)))
}

#[track_caller]
fn assert_limit(ran: &RunOutput, allowed: u64, unit: &str, switch: &str) {
    let report = ran.json();
    assert_eq!(report["limit"], json!({"kind": "compile", "allowed": allowed, "unit": unit}), "{ran}");
    assert_eq!(report["status"], "limit", "{ran}");
    assert_eq!(report["result"]["failed"], true, "{ran}");
    assert!(report["result"]["msg"].as_str().unwrap().contains(switch), "{ran}");
}

#[test]
fn a_compile_bomb_ends_at_its_time() {
    let dir = TestDir::new();
    let text = format!(
        r#"(component (core module $bomb {})
            (core module $main (func (export "run") (result i32) (i32.const 0)))
            (core instance $main_instance (instantiate $main))
            (type $run_type (func (result (result))))
            (func $run (type $run_type) (canon lift (core func $main_instance "run")))
            (instance $run_interface (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $run_interface)))"#,
        bomb_function(45_000)
    );
    for module in [bomb(&dir), component(&dir, "component.wasm", &text)] {
        let run = Modbox::run_module(&dir, module).own_cache(&dir).args(["--compile-time", "500ms"]).report().run();
        let ran = run.exits_with(5).within(Duration::from_secs(1) + SLACK);
        assert_limit(&ran, 500_000, "us", "--compile-time");
        dir.assert_nothing_left();
    }
}

#[test]
fn a_compile_bomb_ends_at_its_memory() {
    let dir = TestDir::new();
    for memory in [1, 64] {
        let size = format!("{memory}MiB");
        let run = Modbox::run_module(&dir, bomb(&dir)).own_cache(&dir).args(["--compile-memory", &size]).report().run();
        assert_limit(&run.exits_with(5), memory << 20, "bytes", "--compile-memory");
        dir.assert_nothing_left();
    }
}

#[test]
fn the_limits_on_compiling_can_be_set_in_a_policy_file() {
    let dir = TestDir::new();
    dir.write("policy.yaml", "limits: {module: 100KiB, compile-time: 400ms, compile-memory: 1GiB}\n");
    let run =
        |module| Modbox::run_module(&dir, module).own_cache(&dir).args(["--policy", "policy.yaml"]).report().run();
    assert_limit(&run(bomb(&dir)).exits_with(5), 100 << 10, "bytes", "--max-module");
    let smaller = format!(r#"{} (func (export "_start"))"#, bomb_function(30_000));
    let smaller = core_module(&dir, "smaller.wasm", &smaller);
    assert_limit(&run(smaller).exits_with(5), 400_000, "us", "--compile-time");
}

#[test]
fn a_module_that_is_too_large_is_not_even_parsed() {
    let dir = TestDir::new();
    for (layer, version) in [("core", b"\x01\0\0\0"), ("component", b"\x0d\0\x01\0")] {
        // Everything after the header is invalid, but the error must be about something else.
        let module = dir.write(layer, [b"\0asm", version.as_slice(), &[0xff; 2000]].concat());
        let run = |size| Modbox::run_module(&dir, &module).args(["--max-module", size]).report().run();
        assert_limit(&run("2007").exits_with(5), 2007, "bytes", "--max-module");
        let report = run("2008").exits_with(3).json();
        assert_eq!(report["limit"], Value::Null, "{report}");
    }
}

#[test]
fn compiled_code_needs_no_compiler() {
    let dir = TestDir::new();
    let run = || Modbox::run_module(&dir, guest("hello")).own_cache(&dir).arg("name=x");
    run().run().exits_with(0);
    let limits = ["--compile-time", "1ms", "--compile-memory", "1"];
    assert_eq!(run().args(limits).run().exits_with(0).json()["greeting"], "hello x");
}

/// Starts a run that compiles for many seconds, and returns it with the process that compiles.
fn compiling(dir: &TestDir) -> (Running, Pid) {
    let module = bomb(dir);
    let running = Modbox::run_module(dir, module).own_cache(dir).patience(PATIENCE).report().spawn();
    let mut worker = None;
    let found = wait_for(PATIENCE, || {
        worker = worker_of(running.pid());
        // Wait until the process has confined itself, which it does in its first milliseconds.
        worker.is_some_and(|worker| status(worker).get("Seccomp").is_some_and(|mode| mode == "2"))
    });
    assert!(found, "nothing compiles");
    (running, worker.unwrap())
}

fn worker_of(parent: Pid) -> Option<Pid> {
    let path = format!("/proc/{0}/task/{0}/children", parent.as_raw_nonzero());
    let children = fs::read_to_string(path).ok()?;
    children.split_whitespace().find_map(|pid| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let is_worker = command.split(|byte| *byte == 0).any(|word| word == b"__compile-worker");
        is_worker.then(|| Pid::from_raw(pid.parse().ok()?))?
    })
}

/// The lines of `/proc/PID/status`.
fn status(pid: Pid) -> BTreeMap<String, String> {
    let text = fs::read_to_string(proc_file(pid, "status")).unwrap_or_default();
    let pair = |line: &str| line.split_once(":\t").map(|(key, value)| (key.to_owned(), value.to_owned()));
    text.lines().filter_map(pair).collect()
}

fn proc_file(pid: Pid, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{name}", pid.as_raw_nonzero()))
}

#[test]
fn the_process_that_compiles_has_no_authority() {
    let dir = TestDir::new();
    let secret = dir.write("secret", "for modbox's caller only");
    // The process that starts modbox has left a file open.
    let running = Modbox::of(Path::new("sh"), &dir)
        .own_cache(&dir)
        .args(["-c", "exec \"$0\" run \"$1\" 3<\"$2\"", env!("CARGO_BIN_EXE_modbox")])
        .args([bomb(&dir), secret])
        .env("SECRET", "in the environment")
        .spawn();
    let mut worker = None;
    assert!(wait_for(PATIENCE, || {
        worker = worker_of(running.pid());
        worker.is_some_and(|worker| status(worker).get("Seccomp").is_some_and(|mode| mode == "2"))
    }));
    let worker = worker.unwrap();
    let status = status(worker);
    assert_eq!(status["NoNewPrivs"], "1");
    for set in ["CapInh", "CapPrm", "CapEff"] {
        assert_eq!(status[set].trim_start_matches('0'), "", "{set}");
    }
    let descriptors: Vec<_> = fs::read_dir(proc_file(worker, "fd")).unwrap().flatten().collect();
    let mut targets: Vec<String> = descriptors
        .iter()
        .map(|entry| fs::read_link(entry.path()).unwrap().to_string_lossy().into_owned())
        .map(|target| target.split([':', ' ']).next().unwrap().to_owned())
        .collect();
    targets.sort();
    assert_eq!(targets, ["/memfd", "/memfd", "pipe"]);
    let environment = fs::read(proc_file(worker, "environ")).unwrap();
    assert!(environment.starts_with(b"RAYON_NUM_THREADS=") && !environment.contains(&b'/'), "{environment:?}");
    let limits = fs::read_to_string(proc_file(worker, "limits")).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(limit("Max core file size"), ["0", "0"]);
    assert_eq!(limit("Max data size"), [(2_u64 << 30).to_string(), (2_u64 << 30).to_string()]);
    assert_eq!(limit("Max cpu time"), ["61", "61"]);
    running.signal(Signal::TERM);
    running.wait().dies_of(Signal::TERM);
    dir.assert_nothing_left();
}

#[test]
fn a_killed_modbox_leaves_no_compiler_and_no_file() {
    let dir = TestDir::new();
    let (running, worker) = compiling(&dir);
    running.signal(Signal::KILL);
    running.wait().dies_of(Signal::KILL);
    let gone = wait_for(Duration::from_secs(5), || !proc_file(worker, "exe").exists());
    assert!(gone, "the compiler lives on: {:?}", status(worker));
    let left: Vec<_> = fs::read_dir(dir.join("home/.cache/modbox/compiled")).unwrap().flatten().collect();
    // The key of the cache and the name of the module may be there; code is not.
    let is_code = |entry: &&fs::DirEntry| {
        let name = entry.file_name();
        name != "locks" && name != "key" && !name.to_string_lossy().ends_with(".name")
    };
    assert_eq!(left.iter().filter(is_code).map(fs::DirEntry::file_name).collect::<Vec<_>>(), [""; 0]);
    // The lock is not held any more, and the directory of the run is swept.
    Modbox::run_module(&dir, small_module(&dir, "small.wasm")).own_cache(&dir).run().exits_with(0);
    let options = ["--compile-time", "300ms"];
    Modbox::run_module(&dir, dir.join("bomb.wasm")).own_cache(&dir).args(options).run().exits_with(5).within(SLACK * 2);
    dir.assert_nothing_left();
}

#[test]
fn a_killed_compiler_is_a_failure_with_a_report() {
    let dir = TestDir::new();
    for (signal, name) in [(Signal::KILL, "SIGKILL"), (Signal::ABORT, "SIGABRT"), (Signal::SYS, "SIGSYS")] {
        let (running, worker) = compiling(&dir);
        rustix::process::kill_process(worker, signal).unwrap();
        let ran = running.wait().exits_with(3);
        let report = ran.json();
        assert_eq!((&report["status"], &report["limit"]), (&json!("failed"), &Value::Null), "{ran}");
        let message = report["result"]["msg"].as_str().unwrap();
        assert!(message.contains("the compiler crashed") && message.contains(name), "{ran}");
    }
    let list = Modbox::new(&dir).own_cache(&dir).args(["cache", "list"]).run().exits_with(0);
    assert_eq!(list.stdout_text(), "");
    dir.assert_nothing_left();
}

#[test]
fn a_stopped_compiler_ends_with_the_time() {
    let dir = TestDir::new();
    let module = bomb(&dir);
    let running = Modbox::run_module(&dir, module).own_cache(&dir).args(["--compile-time", "2s"]).report().spawn();
    let mut worker = None;
    assert!(wait_for(PATIENCE, || {
        worker = worker_of(running.pid());
        worker.is_some()
    }));
    // The process uses no more processor time, so only the wall-clock limit ends it.
    rustix::process::kill_process(worker.unwrap(), Signal::STOP).unwrap();
    let ran = running.wait().exits_with(5).within(Duration::from_secs(4) + SLACK);
    assert_limit(&ran, 2_000_000, "us", "--compile-time");
    dir.assert_nothing_left();
}

#[test]
fn the_command_of_the_compiler_is_of_no_use_to_users() {
    let dir = TestDir::new();
    for args in [vec![], vec!["core"], vec!["core", "1", "1000000", "100000000", "1000000", "1"]] {
        let ran = Modbox::new(&dir).arg("__compile-worker").args(args).run().exits_with(3);
        assert!(ran.stdout.is_empty() && !ran.stderr.is_empty(), "{ran}");
    }
}

/// Flips, overwrites, cuts, repeats, removes or swaps bytes; mostly few, since small damage gets far into the
/// compiler.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    // After the header, without which a file is not a module.
    let at = 8 + random.below(bytes.len() - 8);
    let length = 1 + random.below(64);
    let end = at + random.below((bytes.len() - at).min(length));
    match random.below(10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        3 => bytes[at..end].fill([0, 0xff, 0x80, 0x7f][random.below(4)]),
        4 => {
            let other = 8 + random.below(bytes.len() - 8);
            bytes.swap(at, other);
        }
        5 => bytes[at] = bytes[at].wrapping_add(1),
        _ => bytes[at] ^= 1 << random.below(8),
    }
    if bytes.len() < 16 {
        bytes.resize(16, 0);
    }
}

#[test]
fn a_damaged_module_gets_a_well_formed_report() {
    let dir = TestDir::new();
    let (seed, mut random) = (sample::seed(), Random::new(1 << 40));
    let originals =
        [small_module(&dir, "small.wasm"), guest("hello"), guest("echo")].map(|path| fs::read(path).unwrap());
    let mut ends = BTreeMap::new();
    for number in 0..sample::cases(MUTATIONS.0, MUTATIONS.1) {
        let mut bytes = originals[[0, 0, 1, 2][random.below(4)]].clone();
        for _ in 0..=random.below(4) {
            damage(&mut random, &mut bytes);
        }
        let module = dir.write("damaged.wasm", &bytes);
        let limits = ["--timeout", "5s", "--compile-time", "10s", "--max-memory", "64MiB"];
        let ran = Modbox::run_module(&dir, module).own_cache(&dir).args(limits).report().run();
        let report = ran.json();
        let code = ran.status.code().unwrap_or_else(|| panic!("seed {seed}, number {number}: {ran}"));
        // A damaged module may work, fail, crash or hit a limit, but never causes an internal error of modbox.
        assert!([0, 1, 3, 5, 6].contains(&code), "seed {seed}, number {number}: {ran}");
        assert!(report["status"].is_string() && report["result"]["failed"].is_boolean(), "seed {seed}: {ran}");
        assert_eq!(code != 0, report["result"]["failed"] == true, "seed {seed}, number {number}: {ran}");
        *ends.entry(code).or_insert(0_u64) += 1;
    }
    // Most are refused; some still run, or this would not be damage of the interesting sort.
    assert!(ends.contains_key(&3) && ends.len() > 1, "seed {seed}: {ends:?}");
    dir.assert_nothing_left();
}
