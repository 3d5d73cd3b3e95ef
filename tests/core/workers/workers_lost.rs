//! Workers that are killed or hang, and monitors that are killed: each run still has a report, with what the module had
//! printed, and nothing goes on running.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::{Modbox, Running, TestDir, children, guest, wait_for};

/// What the guest prints before its worker is disturbed.
const SAID: &str = "half of the work is done";

const PATIENCE: Duration = Duration::from_secs(60);

/// A guest that has printed, and now sleeps.
struct Asleep {
    running: Running,
    worker: Pid,
    started: PathBuf,
}

fn asleep(dir: &TestDir, switches: &[&str]) -> Asleep {
    dir.mkdir("granted");
    let started = dir.join("granted/started");
    let args = json!({"say": SAID, "started": started, "seconds": 3600});
    let run = Modbox::run_module(dir, guest("sleep")).json_args(&args).args(["--allow-write", "granted"]);
    let running = run.args(switches).report().patience(PATIENCE).spawn();
    wait_for_file(&started);
    let [worker] = children(running.pid())[..] else { panic!("a run has one worker") };
    Asleep { running, worker, started }
}

fn wait_for_file(path: &Path) {
    assert!(wait_for(PATIENCE, || path.exists()), "{} did not appear", path.display());
}

fn is_gone(pid: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    // A killed orphan whose new parent has not waited for it yet is a zombie.
    state.is_empty() || state.contains(") Z ")
}

#[track_caller]
fn check(report: &Value, status: &str, message: &str) {
    assert_eq!(report["status"], status, "{report:#}");
    let result = &report["result"];
    assert!(result["msg"].as_str().unwrap().contains(message), "{report:#}");
    assert_eq!(result["module_stderr"], SAID, "{report:#}");
    assert_eq!((&report["usage"]["stderr_bytes"], &report["confinement"]["level"]), (&json!(SAID.len()), &json!(2)));
}

#[test]
fn a_killed_worker_ends_as_a_crash_with_what_was_printed() {
    let dir = TestDir::new();
    for (signal, name) in [(Signal::KILL, "SIGKILL"), (Signal::ABORT, "SIGABRT")] {
        let asleep = asleep(&dir, &[]);
        rustix::process::kill_process(asleep.worker, signal).unwrap();
        check(&asleep.running.wait().exits_with(6).json(), "crashed", name);
        fs::remove_file(&asleep.started).unwrap();
        fs::remove_dir(dir.join("granted")).unwrap();
        dir.assert_nothing_left();
    }
}

#[test]
fn a_worker_that_hangs_is_killed_at_the_limit_with_what_was_printed() {
    let dir = TestDir::new();
    let asleep = asleep(&dir, &["--timeout", "3s"]);
    rustix::process::kill_process(asleep.worker, Signal::STOP).unwrap();
    check(&asleep.running.wait().exits_with(5).json(), "limit", "wall-clock limit");
    assert!(is_gone(asleep.worker));
    dir.assert_nothing_left();
}

#[test]
fn a_worker_ends_with_its_monitor() {
    let dir = TestDir::new();
    let asleep = asleep(&dir, &[]);
    asleep.running.signal(Signal::KILL);
    asleep.running.wait().dies_of(Signal::KILL);
    assert!(wait_for(PATIENCE, || is_gone(asleep.worker)));
    // The next run sweeps the directory that SIGKILL leaves behind.
    Modbox::run_module(&dir, guest("hello")).run().exits_with(0);
    dir.assert_nothing_left();
}

#[test]
fn jobs_of_a_batch_whose_workers_are_disturbed_have_what_was_printed() {
    let dir = TestDir::new();
    dir.mkdir("granted");
    let job = |id: &str, timeout: &str| {
        let args = json!({"say": SAID, "started": dir.join("granted").join(id), "seconds": 3600});
        json!({"id": id, "module": guest("sleep"), "args": args, "limits": {"timeout": timeout}})
    };
    let jobs = [job("killed", "1h"), job("stopped", "4s")].map(|job| format!("{job}\n")).concat();
    let batch = Modbox::new(&dir).args(["batch", "--jobs", "2", "--allow-write", "granted"]).stdin(jobs);
    let running = batch.patience(PATIENCE).spawn();
    ["killed", "stopped"].iter().for_each(|id| wait_for_file(&dir.join("granted").join(id)));
    let workers = children(running.pid());
    assert_eq!(workers.len(), 2);
    // Which of the two is whose is not known. Stopping both ends the second at its limit.
    workers.iter().for_each(|worker| rustix::process::kill_process(*worker, Signal::STOP).unwrap());
    assert!(wait_for(PATIENCE, || workers.iter().any(|worker| is_gone(*worker))));
    let left = workers.iter().find(|worker| !is_gone(**worker)).unwrap();
    rustix::process::kill_process(*left, Signal::KILL).unwrap();
    let ran = running.wait().exits_with(1);
    for report in ran.stdout_text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        match report["id"].as_str() {
            Some("killed") => check(&report, "crashed", "SIGKILL"),
            _ => check(&report, "limit", "wall-clock limit"),
        }
    }
    dir.assert_nothing_left();
}
