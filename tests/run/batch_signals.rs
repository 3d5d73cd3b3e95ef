//! `modbox batch` and signals: running jobs finish, others are cancelled, and nothing is left.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::run::batch::{PATIENCE, batch, hello, reports, sleeper, wait_for_file};
use crate::support::{Modbox, TestDir, children, guest, wait_for};

/// Prepares a batch of one worker that writes its reports to the file `out`.
fn into_file(dir: &TestDir, jobs: &[Value]) -> Modbox {
    let lines: String = jobs.iter().map(|job| format!("{job}\n")).collect();
    let script = "exec \"$0\" batch --jobs 1 --allow-write granted > out";
    let shell = Modbox::of(Path::new("/bin/sh"), dir).args(["-c", script, env!("CARGO_BIN_EXE_modbox")]);
    shell.stdin(lines).patience(PATIENCE)
}

/// Waits until a signal has cancelled jobs that wait.
#[track_caller]
fn wait_for_cancelled(dir: &TestDir) {
    let is_cancelled = || fs::read_to_string(dir.join("out")).unwrap_or_default().contains("\"cancelled\"");
    assert!(wait_for(PATIENCE, is_cancelled), "the signal cancels nothing");
}

#[test]
fn a_signal_lets_running_jobs_finish_and_says_what_did_not() {
    for signal in [Signal::TERM, Signal::INT] {
        let dir = TestDir::new();
        dir.mkdir("granted");
        let go = dir.join("granted/go");
        let wait = json!([["wait", go]]);
        let mut jobs = vec![json!({
            "id": "runs", "module": guest("drive"), "args": {"started": dir.join("granted/runs"), "ops": wait}
        })];
        jobs.extend((0..50).map(hello));
        let running = into_file(&dir, &jobs).spawn();
        wait_for_file(&dir.join("granted/runs"));
        running.signal(signal);
        wait_for_cancelled(&dir);
        fs::write(go, "").unwrap();
        let mut ran = running.wait().dies_of(signal).says("50 were read but not started");
        ran.stdout = fs::read(dir.join("out")).unwrap();
        let reports = reports(&ran);
        assert_eq!(reports["\"runs\""]["status"], "ok", "{ran}");
        assert!((0..50).all(|id| reports[&id.to_string()]["status"] == "cancelled"), "{ran}");
        dir.assert_nothing_left();
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let dir = TestDir::new();
    dir.mkdir("granted");
    let running = into_file(&dir, &[sleeper(&dir, "runs", 3600), hello(1)]).spawn();
    wait_for_file(&dir.join("granted/runs"));
    running.signal(Signal::TERM);
    // The first one has to be taken before the second can be one.
    wait_for_cancelled(&dir);
    running.signal(Signal::TERM);
    running.wait().dies_of(Signal::TERM);
    dir.assert_nothing_left();
}

#[test]
fn a_killed_batch_leaves_no_worker() {
    let dir = TestDir::new();
    dir.mkdir("granted");
    let running =
        batch(&dir, &[sleeper(&dir, "runs", 3600)]).args(["--allow-write", "granted"]).patience(PATIENCE).spawn();
    wait_for_file(&dir.join("granted/runs"));
    let workers = children(running.pid());
    assert!(!workers.is_empty());
    running.signal(Signal::KILL);
    running.wait().dies_of(Signal::KILL);
    let gone = |pid: &Pid| rustix::process::test_kill_process(*pid).is_err();
    assert!(wait_for(PATIENCE, || workers.iter().all(gone)));
    // The next run sweeps what SIGKILL leaves behind.
    batch(&dir, &[hello(1)]).run().exits_with(0);
    dir.assert_nothing_left();
}
