//! Jobs on layers in a warm worker: each says what a single run says, and none sees or changes another one's layers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use modbox_policy::{Access, PathGrant, Shape};
use modbox_run::{LayeredMode, LayeredRun, RealEffects};
use modbox_vocabulary::GrantSource;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::core::workers::hostile_workers::Attack;
use crate::layers::layers_runs::{Layered, Runs, changes};
use crate::support::{Modbox, RunOutput, children, guest, wait_for};

const PATIENCE: Duration = Duration::from_secs(30);

/// A job of a guest that makes these file operations. `%` stands for the directory of the test.
fn job(case: &Layered, id: usize, effect: &str, ops: &Value) -> String {
    let base = case.dir.path().display().to_string();
    let ops: Value = serde_json::from_str(&ops.to_string().replace('%', &base)).unwrap();
    json!({"id": id, "module": guest("drive"), "args": {"ops": ops}, "effect": effect}).to_string()
}

/// The batch of one process for these jobs, which may write `tree` and `single` and read `signals`.
fn batch(case: &Layered, jobs: &[String]) -> Modbox {
    case.dir.mkdir("signals");
    let grants = ["--allow-write", "%/tree", "--allow-write", "%/single", "--allow-read", "%/signals"];
    let words = [&["batch", "--ordered", "--jobs", "1"], &grants[..]].concat();
    case.command(&words).stdin(jobs.join("\n")).patience(PATIENCE)
}

#[track_caller]
fn reports(ran: &RunOutput) -> Vec<Value> {
    let parsed = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    ran.stdout_text().lines().map(parsed).collect()
}

/// The workers of a batch that have layers now, each with its first layer as it sees it. Only root has some in a warm worker.
fn at_work(batch: Pid) -> Vec<(Pid, PathBuf)> {
    let layer = |worker: Pid| {
        let process = format!("/proc/{}", worker.as_raw_nonzero());
        let mounts = fs::read_to_string(format!("{process}/mountinfo")).ok()?;
        let place = mounts.split(' ').find(|field| field.ends_with("/hub/0/layer"))?;
        Some((worker, PathBuf::from(format!("{process}/root{place}"))))
    };
    children(batch).into_iter().filter_map(layer).collect()
}

/// What is said of a run, without the times at which it wrote.
fn without_new_times(effect: &Value) -> Value {
    let mut effect = effect.clone();
    for change in effect["changes"].as_array_mut().into_iter().flatten() {
        if let Some(after) = change["after"].as_object_mut() {
            after.remove("modified_ns");
        }
    }
    effect
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn jobs_on_layers_share_a_worker_and_no_layers() {
    let case = Layered::new(Runs::Self_);
    let before = case.state();
    let ops = json!([
        ["read", "%/tree/file"],
        ["list", "%/tree"],
        ["read", "%/single"],
        ["write", "%/tree/made", "made"],
        ["append", "%/tree/file", "more"],
        ["unlink", "%/tree/other"],
        ["rename", "%/tree/sub", "%/tree/moved"],
        ["write", "%/single", "new"],
        ["hold_many", "%/tree/file", "20"],
        ["read", "%/tree/file"],
    ]);
    let jobs: Vec<String> = (0..6).map(|id| job(&case, id, "preview", &ops)).collect();
    let ran = batch(&case, &jobs).run().exits_with(0);
    let reports = reports(&ran);
    let single = reports[0]["effect"].clone();
    assert!(changes(&case, &single).contains(&"created tree/made".to_owned()), "{single}");
    let words = ["run", "%/drive.wasm", "--preview", "--output", "report", "--allow-write", "%/tree"];
    fs::copy(guest("drive"), case.dir.join("drive.wasm")).unwrap();
    let given: Value = serde_json::from_str(&jobs[0]).unwrap();
    let words = [&words[..], &["--allow-write", "%/single", "--allow-read", "%/signals", "--args"]].concat();
    let alone = case.command(&words).arg(given["args"].to_string()).run().exits_with(0).json();
    for report in &reports {
        assert_eq!(report["result"]["seen"], alone["result"]["seen"], "{ran}");
        assert_eq!(without_new_times(&report["effect"]), without_new_times(&alone["effect"]), "{ran}");
        assert_eq!(report["confinement"], alone["confinement"], "{ran}");
    }
    // Only the first job of a worker loads the code.
    let loads = reports.iter().filter(|report| report["timing"]["load_us"] != 0).count();
    assert!(!is_root() || loads <= 1, "{loads} loads: {ran}");
    assert_eq!(case.state(), before);
    case.assert_nothing_left();
}

#[test]
fn each_transaction_sees_the_former_one() {
    let case = Layered::new(Runs::Self_);
    let ops = |id: usize| {
        let line = format!("{id}\n");
        json!([["read", "%/tree/file"], ["append", "%/tree/file", line], ["append", "%/single", line]])
    };
    let jobs: Vec<String> = (0..8).map(|id| job(&case, id, "transaction", &ops(id))).collect();
    let ran = batch(&case, &jobs).run().exits_with(0);
    let mut expect = "one\ntwo\n".to_owned();
    for (id, report) in reports(&ran).iter().enumerate() {
        assert_eq!(report["effect"]["commit"]["state"], "committed", "{ran}");
        assert_eq!(report["result"]["seen"][0], expect, "{ran}");
        expect.push_str(&format!("{id}\n"));
    }
    assert_eq!(case.read("tree/file"), expect);
    assert_eq!(case.read("single"), expect.replace("one\ntwo\n", "single\n"));
    case.assert_nothing_left();
}

#[test]
fn a_killed_worker_changes_nothing_and_is_replaced() {
    if !is_root() {
        return;
    }
    let case = Layered::new(Runs::Self_);
    let before = case.state();
    let waits = json!([["write", "%/tree/file", "x"], ["wait", "%/signals/never"]]);
    let writes = json!([["write", "%/tree/made", "x"]]);
    let jobs = [job(&case, 0, "transaction", &waits), job(&case, 1, "transaction", &writes)];
    let running = batch(&case, &jobs).spawn();
    // The guest has written to its layer, so this is the worker of the job, not a compiler.
    let has_written = |layer: &Path| fs::read_to_string(layer.join("file")).is_ok_and(|written| written == "x");
    let working = || at_work(running.pid()).into_iter().find(|(_, layer)| has_written(layer));
    assert!(wait_for(PATIENCE, || working().is_some()));
    rustix::process::kill_process(working().unwrap().0, Signal::KILL).unwrap();
    let ran = running.wait().exits_with(1);
    let reports = reports(&ran);
    assert_eq!((&reports[0]["status"], &reports[1]["status"]), (&json!("crashed"), &json!("changed")), "{ran}");
    assert_eq!(case.read("tree/made"), "x");
    fs::remove_file(case.dir.join("tree/made")).unwrap();
    // The module's directory has a new time, and nothing else is another file than before.
    let now = case.state();
    let file = case.dir.join("tree/file");
    assert_eq!((now.len(), &now[&file]), (before.len(), &before[&file]));
    case.assert_nothing_left();
}

#[test]
fn a_change_of_another_process_meanwhile_is_a_conflict() {
    if !is_root() {
        return;
    }
    let case = Layered::new(Runs::Self_);
    let waits = json!([["wait", "%/signals/go"], ["write", "%/tree/file", "ours"]]);
    let jobs = [0, 1].map(|id| job(&case, id, "transaction", &waits));
    let running = batch(&case, &jobs).spawn();
    assert!(wait_for(PATIENCE, || !at_work(running.pid()).is_empty()));
    case.dir.write("tree/file", "theirs");
    case.dir.write("signals/go", "");
    let ran = running.wait().exits_with(1);
    let reports = reports(&ran);
    let states = [0, 1].map(|job| reports[job]["effect"]["commit"]["state"].as_str().unwrap_or_default());
    assert_eq!(states, ["conflict", "committed"], "{ran}");
    assert_eq!(case.read("tree/file"), "ours");
    case.assert_nothing_left();
}

#[test]
fn a_worker_that_keeps_files_of_a_layer_ends_with_its_job() {
    if !is_root() {
        return;
    }
    for (mode, status) in [("writes", "crashed"), ("reads", "changed")] {
        let mut attack = Attack::new(mode);
        let tree = attack.dir.mkdir("tree");
        attack.dir.write("tree/file", "one\n");
        let (host, guest, source) = (tree.clone(), tree.display().to_string(), GrantSource::named("test"));
        let grant = PathGrant { host, shape: Shape::Directory, guest, access: Access::Write, source };
        attack.policy.allow_path(grant).unwrap();
        let preview = LayeredMode::Preview { outside: RealEffects::Refused, compares_check: false, save: None };
        let reports = attack.batch(Some(LayeredRun {
            mode: preview,
            shows_all_lines: true,
            accepts_incomplete: false,
            keeps_result: false,
        }));
        for report in &reports {
            assert_eq!(report["status"], status, "{mode}: {report}");
        }
        assert_eq!(fs::read_to_string(tree.join("file")).unwrap(), "one\n");
        if mode == "reads" {
            // Each job has a worker of its own, which has written its number into a layer of its own.
            let diffs = reports.iter().map(|report| report["effect"]["changes"][0]["diff"].to_string());
            assert_eq!(diffs.collect::<BTreeSet<_>>().len(), 2, "{reports:?}");
        }
    }
}
