//! A signal during a run leaves no temporary file, process or half-written cache entry, and ends modbox as it would end
//! any other program. What SIGKILL leaves behind, the next run sweeps.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::support::{Modbox, Running, TestDir, children, core_module, guest, small_module, stretched, wait_for};

/// Time limit for a start, and for an end.
const PATIENCE: Duration = Duration::from_secs(30);

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// Waits until a file exists, which shows that the program is running.
#[track_caller]
fn wait_for_file(path: &Path) {
    assert!(wait_for(PATIENCE, || path.exists()), "{} did not appear", path.display());
}

/// Starts a guest that sleeps for ever and waits until it does.
fn asleep(dir: &TestDir) -> Running {
    asleep_by(dir, Modbox::new(dir))
}

/// Starts it by a command that the words of `modbox` are added to.
fn asleep_by(dir: &TestDir, modbox: Modbox) -> Running {
    let started = dir.mkdir("granted").join("started");
    let running = modbox
        .arg("run")
        .arg(guest("sleep"))
        .json_args(&json!({"started": started}))
        .args(["--allow-write", "granted"])
        .patience(PATIENCE)
        .spawn();
    wait_for_file(&started);
    fs::remove_file(started).unwrap();
    running
}

/// Starts a native module and a daemon that both ignore signals, and waits until they run.
fn native(dir: &TestDir) -> Running {
    let started = dir.join("started");
    let script = format!(
        "#!/bin/sh\n# WANT_JSON\ntrap '' INT TERM HUP\nsetsid sh -c 'trap \"\" INT TERM HUP; touch {}; sleep 3600' &\n\
         sleep 3600\nsleep 3600\n",
        started.display()
    );
    let module = dir.write("module", script);
    let running = Modbox::run_module(dir, module).arg("--allow-all").patience(PATIENCE).spawn();
    wait_for_file(&started);
    fs::remove_file(started).unwrap();
    running
}

/// A module that compiles for many seconds. Its text takes seconds to read, so it is read once.
static LARGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // A result of each instruction is used by the next, in few but long functions.
    let body = "local.get 0 i64.const 3 i64.mul local.get 1 i64.xor i64.popcnt local.set 1 \
                local.get 1 i64.const 7 i64.rem_s local.get 0 i64.add local.set 0 "
        .repeat(4000);
    let functions: String =
        (0..60).map(|_| format!("(func (param i64 i64) (result i64) {body} local.get 0)")).collect();
    let dir = TestDir::new();
    fs::read(core_module(&dir, "large.wasm", &format!(r#"{functions} (func (export "_start"))"#))).unwrap()
});

/// Starts a run that compiles for many seconds, and waits until it compiles.
fn compiling(dir: &TestDir) -> Running {
    let module = dir.write("large.wasm", &*LARGE);
    let running = Modbox::run_module(dir, module).own_cache(dir).patience(PATIENCE).spawn();
    // Only a compiler uses so much processor time.
    assert!(wait_for(PATIENCE, || children(running.pid()).into_iter().any(|child| processor_ticks(child) > 10)));
    running
}

/// Returns the processor time that a process has used, in ticks of 10 ms (proc_pid_stat(5)).
fn processor_ticks(process: Pid) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    // After the name: state, then ten numbers, then the times.
    let times = stat.rsplit(") ").next().into_iter().flat_map(|rest| rest.split(' ').skip(11).take(2));
    times.filter_map(|time| time.parse::<u64>().ok()).sum()
}

/// Starts the build of a guest crate that does not end, and waits until it runs.
fn building(dir: &TestDir) -> Running {
    let started = dir.join("started");
    let manifest = "[package]\nname = \"slow\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    dir.write("slow/Cargo.toml", manifest);
    dir.write("slow/src/main.rs", "fn main() {}\n");
    let script =
        format!("fn main() {{ std::fs::write({started:?}, \"\").unwrap(); loop {{ std::thread::park(); }} }}\n");
    dir.write("slow/build.rs", script);
    let running = Modbox::new(dir).with_toolchain().args(["build", "slow"]).patience(PATIENCE).spawn();
    wait_for_file(&started);
    fs::remove_file(started).unwrap();
    running
}

/// Sends each signal to the process that `start` returns. Asserts that it ends quickly by the signal and leaves nothing
/// behind.
#[track_caller]
fn check(start: impl Fn(&TestDir) -> Running) {
    for signal in SIGNALS {
        let dir = TestDir::new();
        let running = start(&dir);
        let before = running.elapsed();
        running.signal(signal);
        let ran = running.wait();
        let took = ran.elapsed - before;
        let ran = ran.dies_of(signal);
        assert!(took < stretched(Duration::from_secs(5)), "{took:?} to end: {ran}");
        assert!(ran.stdout.is_empty(), "a run that was interrupted has no result: {ran}");
        let said = ran.stderr_text().lines().any(|line| line == "modbox: interrupted");
        assert_eq!(said, signal == Signal::INT, "{ran}");
        dir.assert_nothing_left();
    }
}

#[test]
fn a_signal_ends_a_guest_and_leaves_nothing() {
    check(asleep);
}

#[test]
fn a_signal_ends_a_native_module_with_its_whole_tree_and_leaves_nothing() {
    check(native);
}

#[test]
fn a_signal_ends_compiling_and_leaves_nothing() {
    check(compiling);
}

#[test]
fn nothing_of_an_interrupted_compilation_is_in_the_cache() {
    let dir = TestDir::new();
    let running = compiling(&dir);
    running.signal(Signal::TERM);
    running.wait().dies_of(Signal::TERM);
    let list = Modbox::new(&dir).own_cache(&dir).args(["cache", "list"]).run().exits_with(0);
    assert_eq!(list.stdout_text(), "");
    dir.assert_nothing_left();
}

#[test]
fn a_signal_ends_a_build_with_cargo_and_all_that_cargo_started() {
    check(building);
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored() {
    let dir = TestDir::new();
    let shell = Modbox::of("/bin/sh".as_ref(), &dir).args(["-c", "trap '' HUP INT; exec \"$@\"", "sh"]);
    let running = asleep_by(&dir, shell.arg(env!("CARGO_BIN_EXE_modbox")));
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    // The first two would have ended it first.
    running.wait().dies_of(Signal::TERM);
    dir.assert_nothing_left();
}

#[test]
fn two_signals_in_a_row_leave_nothing_either() {
    let dir = TestDir::new();
    let running = native(&dir);
    running.signal(Signal::INT);
    running.signal(Signal::TERM);
    let ran = running.wait();
    assert_eq!(ran.status.code(), None, "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn what_a_kill_left_is_swept_by_the_next_run() {
    let dir = TestDir::new();
    let killed = asleep(&dir);
    let alive = asleep(&dir);
    killed.signal(Signal::KILL);
    killed.wait().dies_of(Signal::KILL);
    let count = || fs::read_dir(dir.scratch_root()).unwrap().count();
    assert_eq!(count(), 2, "the killed run's directory and the other's");
    Modbox::run_module(&dir, small_module(&dir, "small.wasm")).run().exits_with(0);
    assert_eq!(count(), 1, "the directory of a run that goes on stays");
    alive.signal(Signal::TERM);
    alive.wait().dies_of(Signal::TERM);
    dir.assert_nothing_left();
}

#[test]
fn a_killed_modbox_takes_its_native_module_with_it() {
    let dir = TestDir::new();
    let running = native(&dir);
    running.signal(Signal::KILL);
    // The output is closed, too, so no process that held it is left.
    running.wait().dies_of(Signal::KILL);
    Modbox::run_module(&dir, small_module(&dir, "small.wasm")).run().exits_with(0);
    dir.assert_nothing_left();
}

#[test]
fn kept_files_are_not_swept() {
    let dir = TestDir::new();
    let keep = || Modbox::run_module(&dir, small_module(&dir, "small.wasm")).arg("--keep-files").run().exits_with(0);
    keep();
    keep();
    assert_eq!(fs::read_dir(dir.scratch_root()).unwrap().count(), 2);
}
