//! `async` in plays: jobs that tasks wait for, jobs that go on, what `async_status` says of them, their grants, and what
//! is left of them.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Modbox, RunOutput, TestDir, wait_for};

/// Time limit, longer than any of these jobs takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a module that waits for the test needs.
const WAITS: [&str; 2] = ["--allow-read", "signal"];

fn module(dir: &TestDir, name: &str, body: &str) {
    dir.write(&format!("library/{name}.sh"), format!("#!/bin/sh\n# WANT_JSON\n{body}\n"));
}

/// Runs tasks as a play, and prints events if `options` do not say otherwise.
fn play(dir: &TestDir, tasks: &str, options: &[&str]) -> RunOutput {
    write(dir, tasks);
    Modbox::new(dir).arg("play").args(options).arg("play.yml").run()
}

/// Makes a module that waits for the file `signal/go`.
fn waiting_module(dir: &TestDir, body: &str) {
    let go = dir.mkdir("signal").join("go");
    module(dir, "worker", &format!("while [ ! -e {} ]; do sleep 0.05; done\n{body}", go.display()));
}

/// Runs a play, and writes the file `signal/go` when the play has printed a text.
fn play_until(dir: &TestDir, tasks: &str, options: &[&str], text: &str) -> RunOutput {
    write(dir, tasks);
    let shell = Modbox::of("/bin/sh".as_ref(), dir).args(["-c", "exec \"$0\" play \"$@\" > out"]);
    let running = shell.arg(env!("CARGO_BIN_EXE_modbox")).args(options).args(WAITS).arg("play.yml").spawn();
    let printed = || fs::read_to_string(dir.join("out")).unwrap_or_default();
    assert!(wait_for(PATIENCE, || printed().contains(text)), "no `{text}`: {}", printed());
    dir.write("signal/go", "");
    let mut ran = running.wait();
    ran.stdout = fs::read(dir.join("out")).unwrap();
    ran
}

fn write(dir: &TestDir, tasks: &str) {
    dir.write("play.yml", format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}"));
}

/// Returns the results of the tasks, in order.
fn results(output: &RunOutput) -> Vec<Value> {
    let events = output.stdout_text();
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"] == "result").collect()
}

/// Returns the names of the files of jobs.
fn jobs(dir: &TestDir) -> Vec<String> {
    let Ok(files) = fs::read_dir(dir.join("home/.ansible_async")) else { return Vec::new() };
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_task_waits_for_its_job_and_has_its_result() {
    let dir = TestDir::new();
    waiting_module(&dir, "printf '%s\\n' '{\"changed\": true, \"msg\": \"done\", \"stdout\": \"a\\nb\"}'");
    let task = "  - worker:\n    async: 60\n    poll: 1\n";
    let shown = play_until(&dir, task, &[], "ASYNC POLL").exits_with(0).stdout_text();
    assert!(
        shown.contains("ASYNC POLL on localhost: jid=j0") && shown.contains("ASYNC OK on localhost: jid=j0"),
        "{shown}"
    );
    let ran = play(&dir, task, &[&WAITS[..], &["--output", "jsonl"]].concat()).exits_with(0);
    let result = &results(&ran)[0];
    let data = &result["result"];
    assert_eq!((&result["status"], &data["msg"]), (&"changed".into(), &"done".into()));
    assert_eq!((&data["finished"], &data["started"]), (&true.into(), &true.into()));
    assert_eq!(data["stdout_lines"], serde_json::json!(["a", "b"]));
    let id = data["ansible_job_id"].as_str().unwrap();
    assert!(data["results_file"].as_str().unwrap().ends_with(&format!("/{id}")), "{data}");
    let report = &result["reports"][0];
    assert!(report["confinement"]["level"].as_u64() >= Some(2), "the report of the job's run is there: {result}");
    assert_eq!(jobs(&dir), [""; 0], "the file of a job that was waited for is removed");
    dir.assert_nothing_left();
}

#[test]
fn a_job_goes_on_and_is_asked_about() {
    let dir = TestDir::new();
    waiting_module(&dir, "echo '{\"changed\": true, \"msg\": \"done\"}'");
    let tasks = "  - worker:\n    async: 60\n    poll: 0\n    register: job\n\
                 \x20 - async_status: {jid: \"{{ job.ansible_job_id }}\"}\n    register: end\n    until: end is finished\n    retries: 100\n    delay: 0.2\n\
                 \x20 - async_status: {jid: \"{{ job.ansible_job_id }}\", mode: cleanup}\n\
                 \x20 - async_status: {jid: \"{{ job.ansible_job_id }}\"}\n    ignore_errors: true\n";
    let ran = play_until(&dir, tasks, &["--output", "jsonl"], "\"event\": \"retry\"").exits_with(0);
    let results = results(&ran);
    let of = |task: usize, key: &str| results[task]["result"][key].clone();
    assert_eq!((of(0, "finished"), of(0, "started"), of(0, "changed")), (false.into(), true.into(), true.into()));
    assert_eq!((of(1, "finished"), of(1, "msg"), of(1, "changed")), (true.into(), "done".into(), true.into()));
    assert!(of(1, "attempts").as_u64() > Some(1), "the first look came before the end");
    assert_eq!(of(2, "erased"), of(0, "results_file"));
    assert_eq!((of(3, "msg"), of(3, "failed")), ("could not find job".into(), true.into()));
    assert_eq!(jobs(&dir), [""; 0]);
}

#[test]
fn a_job_outlives_its_play() {
    let dir = TestDir::new();
    waiting_module(&dir, "echo '{\"changed\": true, \"msg\": \"done\"}'");
    play(&dir, "  - worker:\n    async: 60\n    poll: 0\n", &WAITS).exits_with(0);
    dir.write("signal/go", "");
    let id = jobs(&dir).pop().unwrap();
    let status = || Modbox::new(&dir).args(["status", &id]).run();
    assert!(wait_for(PATIENCE, || status().status.code() != Some(7)));
    assert_eq!(status().exits_with(0).json()["msg"], "done");
}

#[test]
fn the_limit_ends_a_job() {
    let dir = TestDir::new();
    module(&dir, "worker", "sleep 60\necho '{}'");
    let ran = play(&dir, "  - worker:\n    async: 1\n    poll: 5\n", &[]).exits_with(5);
    let shown = ran.stdout_text();
    assert!(shown.contains("ASYNC FAILED on localhost") && shown.contains("Timeout exceeded"), "{shown}");
    // What the operator allows is the upper limit.
    let task = "  - worker:\n    async: 600\n    poll: 600\n";
    play(&dir, task, &["--timeout", "1s"]).exits_with(5);
    dir.assert_nothing_left();
}

#[test]
fn a_job_has_the_grants_of_its_task_and_no_others() {
    let dir = TestDir::new();
    dir.write("secret", "s\n");
    let read =
        "if read line < \"$FOLDER/secret\"; then echo '{\"msg\": \"read\"}'; else echo '{\"msg\": \"not read\"}'; fi";
    module(&dir, "reader", read);
    let folder = dir.path().display();
    let task = format!("  - reader:\n    environment: {{FOLDER: {folder}}}\n    async: 60\n    poll: 1\n");
    let said = |options: &[&str]| {
        let ran = play(&dir, &task, &[&["--output", "jsonl"], options].concat()).exits_with(0);
        results(&ran)[0]["result"]["msg"].clone()
    };
    assert_eq!(said(&[]), "not read");
    assert_eq!(said(&["--allow-read", "secret"]), "read");
}

#[test]
fn a_folder_of_jobs_that_the_play_names_needs_a_grant() {
    let dir = TestDir::new();
    module(&dir, "worker", "echo '{\"msg\": \"done\"}'");
    let own = dir.mkdir("own").display().to_string();
    let task = format!("  - worker:\n    async: 60\n    poll: 0\n    vars: {{ansible_async_dir: {own}}}\n");
    let denied = play(&dir, &task, &[]).exits_with(4).stdout_text();
    assert!(denied.contains(&format!("--allow-write {own}")), "{denied}");
    assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
    play(&dir, &task, &["--allow-write", "own"]).exits_with(0);
    assert_eq!(fs::read_dir(&own).unwrap().count(), 1);
    // A job's file is read by modbox itself.
    dir.write("elsewhere/7", "{\"msg\": \"secret\"}");
    let elsewhere = dir.join("elsewhere").display().to_string();
    let task = format!("  - async_status: {{jid: '7'}}\n    vars: {{ansible_async_dir: {elsewhere}}}\n");
    let denied = play(&dir, &task, &[]).exits_with(4).stdout_text();
    assert!(denied.contains("--allow-read") && !denied.contains("secret\""), "{denied}");
}

#[test]
fn actions_that_cannot_be_jobs_say_so() {
    let dir = TestDir::new();
    let tasks = "  - debug:\n    async: 5\n";
    let shown = play(&dir, tasks, &[]).exits_with(1).stdout_text();
    assert!(shown.contains("\"msg\": \"This action (debug) does not support async.\""), "{shown}");
}

#[test]
fn a_play_that_is_killed_ends_the_job_that_it_waits_for() {
    let dir = TestDir::new();
    module(&dir, "worker", "sleep 300\necho '{}'");
    write(&dir, "  - worker:\n    async: 600\n    poll: 600\n");
    // A play that handles a signal ends the job. The job's monitor sees the end of one that cannot.
    for signal in [Signal::INT, Signal::KILL] {
        let running = Modbox::new(&dir).args(["play", "play.yml"]).spawn();
        assert!(wait_for(PATIENCE, || !monitors(&dir).is_empty()), "the job does not start");
        running.signal(signal);
        running.wait().dies_of(signal);
        assert!(wait_for(PATIENCE, || monitors(&dir).is_empty()), "{signal:?}: the monitor of the job stays");
    }
    // What a killed play leaves, the next run sweeps.
    module(&dir, "worker", "echo '{}'");
    play(&dir, "  - worker:\n", &[]).exits_with(0);
    dir.assert_nothing_left();
}

/// Returns the processes of the monitors that run jobs of a directory.
fn monitors(dir: &TestDir) -> Vec<String> {
    let processes = jobs(dir).into_iter().filter_map(|id| id.rsplit_once('.').map(|(_, process)| process.to_owned()));
    processes.filter(|process| fs::exists(format!("/proc/{process}")).unwrap()).collect()
}
