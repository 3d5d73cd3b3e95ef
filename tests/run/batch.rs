//! `modbox batch`: every line gets exactly one report, whatever happens to its job, and no job affects another.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, children, guest, module, small_module, wait_for};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn batch(dir: &TestDir, jobs: &[Value]) -> Modbox {
    let lines: String = jobs.iter().map(|job| format!("{job}\n")).collect();
    Modbox::new(dir).arg("batch").stdin(lines)
}

/// The reports, by id.
#[track_caller]
pub(crate) fn reports(ran: &RunOutput) -> BTreeMap<String, Value> {
    let lines = ran.stdout_text();
    let mut reports = BTreeMap::new();
    for line in lines.lines() {
        let report: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let id = report["id"].to_string();
        assert!(reports.insert(id.clone(), report).is_none(), "{id} was answered twice: {ran}");
    }
    reports
}

pub(crate) fn hello(id: impl Into<Value>) -> Value {
    let id: Value = id.into();
    json!({"id": id, "module": guest("hello"), "args": {"name": id.to_string()}})
}

#[test]
fn every_line_is_answered_whatever_it_is() {
    let dir = TestDir::new();
    dir.write("library/broken.wasm", b"\0asm\x0d\0\x01\0broken");
    let good = hello("good");
    let bytes = [
        format!("{good}\n\nnonsense\n").into_bytes(),
        b"{\"id\": \"bytes\", \"module\": \"\xff\"}\n".to_vec(),
        format!("{}\n", json!({"id": "missing", "module": "nowhere"})).into_bytes(),
        format!("{}\n", json!({"id": "broken", "module": "broken"})).into_bytes(),
        format!("{}\n", json!({"id": "unknown", "module": "broken", "cheque": true})).into_bytes(),
        format!("{}\n", json!({"id": {"a": [1, null]}, "module": guest("end"), "args": {"how": "exit"}})).into_bytes(),
        // The last line has no end.
        hello("last").to_string().into_bytes(),
    ]
    .concat();
    let ran = Modbox::new(&dir).arg("batch").stdin(bytes).run().exits_with(1);
    let lines: Vec<Value> = ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8, "{ran}");
    let find = |id: Value| lines.iter().find(|report| report["id"] == id).unwrap_or_else(|| panic!("no {id}: {ran}"));
    assert_eq!(find("good".into())["result"]["greeting"], "hello \"good\"");
    assert_eq!(find("last".into())["status"], "ok");
    for (id, expect) in [("missing", "there is no module"), ("broken", "failed to"), ("unknown", "cheque")] {
        let report = find(id.into());
        assert_eq!((&report["status"], &report["result"]["failed"]), (&json!("failed"), &json!(true)), "{ran}");
        assert!(report["result"]["msg"].as_str().unwrap().contains(expect), "{report}");
    }
    let broken_lines: Vec<_> = lines.iter().filter(|report| report["id"].is_null()).map(|r| &r["line"]).collect();
    assert_eq!(broken_lines, [3, 4], "{ran}");
    find(json!({"a": [1, null]}));
    dir.assert_nothing_left();
}

#[test]
fn reports_come_in_the_order_of_the_jobs_when_asked_to() {
    let dir = TestDir::new();
    let mut jobs = vec![json!({"id": 0, "module": guest("sleep"), "limits": {"timeout": "300ms"}})];
    jobs.extend((1..200).map(hello));
    let ran = batch(&dir, &jobs).args(["--ordered", "--jobs", "3"]).run().exits_with(1);
    let ids: Vec<u64> = ran
        .stdout_text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids, (0..200).collect::<Vec<_>>());
}

#[test]
fn a_job_that_hangs_ends_alone() {
    let dir = TestDir::new();
    let slow = |id: &str, module: &str| json!({"id": id, "module": guest(module), "limits": {"timeout": "400ms"}});
    let jobs: Vec<Value> =
        [slow("asleep", "sleep"), slow("spinning", "spin")].into_iter().chain((0..40).map(hello)).collect();
    let ran = batch(&dir, &jobs).args(["--jobs", "2"]).run().exits_with(1);
    let reports = reports(&ran);
    assert_eq!(reports.len(), 42, "{ran}");
    for (id, report) in reports {
        let expect = if id.starts_with('"') { "limit" } else { "ok" };
        assert_eq!(report["status"], expect, "{report}");
    }
    dir.assert_nothing_left();
}

#[test]
fn grants_and_limits_of_a_job_are_its_own() {
    let dir = TestDir::new();
    dir.write("data/file", "host");
    let path = dir.join("data/file");
    let read =
        |id: u32| json!({"id": id, "module": guest("files"), "args": {"op": "read", "path": path, "expect": "ok"}});
    let mut granted = read(1);
    granted["policy"] = json!({"allow": {"read": [dir.join("data")]}});
    let ran = batch(&dir, &[read(0), granted, read(2)]).args(["--jobs", "1"]).run().exits_with(1);
    let reports = reports(&ran);
    assert_eq!(reports["1"]["status"], "ok", "{ran}");
    assert_eq!(reports["1"]["grants"][0]["source"], "job", "{ran}");
    for id in ["0", "2"] {
        assert_eq!(reports[id]["status"], "failed", "{ran}");
        assert_eq!(reports[id]["grants"], json!([]), "{ran}");
    }
}

#[test]
fn no_job_sees_what_another_one_left_in_its_tmp() {
    let dir = TestDir::new();
    let changes = [
        json!([["write", "/tmp/left", "x"], ["unlink", "/tmp/left"]]),
        json!([["mkdir", "/tmp/left"]]),
        json!([["symlink", "/tmp/left", "x"]]),
        json!([["stat", "/tmp"], ["write", "/tmp/left", "x"], ["rename", "/tmp/left", "/tmp/right"]]),
        json!([["mkdir", "/tmp/a"], ["write", "/tmp/a/left", "x"], ["times", "/tmp", "1"]]),
    ];
    let look = json!([["stat", "/tmp"], ["identity", "/tmp"], ["list", "/tmp"]]);
    let jobs: Vec<Value> = changes
        .iter()
        .flat_map(|change| [change, &look, &look])
        .enumerate()
        .map(|(id, ops)| json!({"id": id, "module": guest("drive"), "args": {"ops": ops}}))
        .collect();
    let ran = batch(&dir, &jobs).args(["--jobs", "1"]).run().exits_with(0);
    let reports = reports(&ran);
    for id in (0..jobs.len()).filter(|id| id % 3 > 0) {
        let seen = &reports[&id.to_string()]["result"]["seen"];
        assert_eq!((&seen[0], &seen[2]), (&json!("dir 0"), &json!("[]")), "{id}: {ran}");
    }
    dir.assert_nothing_left();
}

#[test]
fn workers_are_confined_to_what_their_jobs_are_granted() {
    let dir = TestDir::new();
    let granted = dir.write("data/granted", "old");
    let line = |id: &str| json!({"id": id, "module": module("lineinfile"), "args": {"path": granted, "line": id}});
    // The arguments' paths are granted only to the worker of these jobs, not to that of `hello`.
    let ran = batch(&dir, &[line("one"), hello(1), line("two")]).args(["--ordered", "--jobs", "1"]).run().exits_with(0);
    let reports = reports(&ran);
    for report in reports.values() {
        assert_eq!(report["confinement"]["level"], 2, "{ran}");
    }
    assert_eq!(reports["\"one\""]["grants"][0]["source"], "argument path", "{ran}");
    assert_eq!(reports["1"]["grants"], json!([]), "{ran}");
    let lines = fs::read_to_string(granted).unwrap();
    assert!(lines.contains("one\n") && lines.contains("two\n"), "{lines}");
    dir.assert_nothing_left();
}

#[test]
fn native_modules_are_confined_unless_they_are_trusted() {
    let dir = TestDir::new();
    let module = dir.write_executable("native", "#!/bin/sh\n# WANT_JSON\necho '{\"changed\": true}'\n");
    let job = json!({"id": 1, "module": module});
    for (switches, level) in [(&[][..], 3), (&["--allow-all"], 0)] {
        let ran = batch(&dir, std::slice::from_ref(&job)).args(switches).run().exits_with(0);
        let report = reports(&ran)["1"].clone();
        assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("changed"), &json!(level)), "{ran}");
    }
    dir.assert_nothing_left();
}

#[test]
fn a_job_says_by_which_contract_and_what_its_module_is_told() {
    let dir = TestDir::new();
    // Reserved keys are removed from results, so the module returns them as text.
    let body = "tr '\"' \"'\" <\"$1\" >told && printf '{\"told\": \"%s\"}' \"$(cat told)\"";
    let reads = dir.write("reads", format!("#!/bin/sh\n# WANT_JSON\n{body}\n"));
    let piped =
        dir.write("piped", "#!/bin/sh\n# <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>\nprintf '{\"zero\": \"%s\"}' \"$0\"\n");
    let jobs = [
        json!({"id": "new", "module": reads, "internal": {"target_log_info": "here", "debug": true}}),
        json!({"id": "old", "module": reads, "internal": {"contract": "2.14"}}),
        json!({"id": "piped", "module": piped}),
        json!({"id": "laid out", "module": piped, "no_pipelining": true}),
        json!({"id": "wrong", "module": reads, "internal": {"contract": "2.14", "target_log_info": "here"}}),
    ];
    let ran = batch(&dir, &jobs).args(["--allow-all", "--jobs", "1"]).run().exits_with(1);
    let reports = reports(&ran);
    let told = |id: &str| reports[id]["result"]["told"].as_str().unwrap_or_else(|| panic!("{ran}")).to_owned();
    assert!(told("\"new\"").contains("'_ansible_target_log_info': 'here'"), "{ran}");
    assert!(told("\"new\"").contains("'_ansible_debug': true"), "{ran}");
    assert!(told("\"old\"").contains("'_ansible_version': '2.14.18'"), "{ran}");
    assert!(told("\"old\"").ends_with("'_ansible_remote_tmp': '~/.ansible/tmp'}"), "{ran}");
    assert_eq!(reports["\"piped\""]["result"]["zero"], "/bin/sh");
    assert!(reports["\"laid out\""]["result"]["zero"].as_str().unwrap().ends_with("/AnsiballZ_piped"), "{ran}");
    assert!(reports["\"wrong\""]["result"]["msg"].as_str().unwrap().contains("contract 2.14 has no"), "{ran}");
    dir.assert_nothing_left();
}

#[track_caller]
pub(crate) fn wait_for_file(path: &Path) {
    assert!(wait_for(PATIENCE, || path.exists()), "{} did not appear", path.display());
}

/// A job that signals that it runs, and then sleeps.
pub(crate) fn sleeper(dir: &TestDir, id: &str, seconds: u64) -> Value {
    let started = dir.join("granted").join(id);
    json!({"id": id, "module": guest("sleep"), "args": {"started": started, "seconds": seconds}})
}

#[test]
fn a_worker_that_is_killed_is_replaced() {
    let dir = TestDir::new();
    dir.mkdir("granted");
    let mut jobs = vec![sleeper(&dir, "victim", 3600)];
    jobs.extend((0..5).map(|id| json!({"id": id, "module": guest("sleep"), "args": {"seconds": 0}})));
    let running = batch(&dir, &jobs).args(["--jobs", "1", "--allow-write", "granted"]).patience(PATIENCE).spawn();
    wait_for_file(&dir.join("granted/victim"));
    for worker in children(running.pid()) {
        rustix::process::kill_process(worker, Signal::KILL).unwrap();
    }
    let ran = running.wait().exits_with(1);
    let reports = reports(&ran);
    assert_eq!(reports["\"victim\""]["status"], "crashed", "{ran}");
    let message = reports["\"victim\""]["result"]["msg"].as_str().unwrap();
    assert!(message.contains("its worker process ended: signal: 9"), "{message}");
    assert!((0..5).all(|id| reports[&id.to_string()]["status"] == "ok"), "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn a_worker_that_does_not_run_when_the_batch_ends_leaves_nothing_all_the_same() {
    let dir = TestDir::new();
    let job = json!({"id": 1, "module": guest("hello"), "args": {"name": "x"}});
    let jobs = dir.write("jobs", format!("{job}\n"));
    let script = "(cat \"$1\"; until [ -e go ]; do sleep 0.02; done) | \"$0\" batch > out; cat out";
    let sh = Modbox::of("/bin/sh".as_ref(), &dir).args(["-c", script, env!("CARGO_BIN_EXE_modbox")]).arg(jobs);
    let running = sh.patience(PATIENCE).spawn();
    // The worker's only job is done, so the worker waits for another one.
    assert!(wait_for(PATIENCE, || fs::metadata(dir.join("out")).is_ok_and(|out| out.len() > 0)));
    let is_modbox = |pid: &Pid| {
        let exe = fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero()));
        exe.is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_modbox")))
    };
    let [batch] = children(running.pid()).into_iter().filter(is_modbox).collect::<Vec<_>>()[..] else {
        panic!("there is one batch")
    };
    let [worker] = children(batch)[..] else { panic!("it has one worker") };
    rustix::process::kill_process(worker, Signal::STOP).unwrap();
    dir.write("go", "");
    running.wait().exits_with(0);
    dir.assert_nothing_left();
}

#[test]
fn a_module_that_was_replaced_between_two_jobs_is_read_again() {
    let dir = TestDir::new();
    dir.write("m.wasm", fs::read(guest("hello")).unwrap());
    let job = |id: u32| format!("{}\n", json!({"id": id, "module": dir.join("m.wasm"), "args": {"name": "x"}}));
    let jobs: Vec<_> = (0..4).map(|id| dir.write(&format!("{id}.jsonl"), job(id))).collect();
    // Two jobs are written at once before, and two after.
    let script = "(cat \"$1\" \"$2\"; until [ -s out ]; do sleep 0.02; done; cp \"$3\" m.wasm; cat \"$4\" \"$5\") \
        | \"$0\" batch > out; cat out";
    let args = [jobs[0].as_path(), &jobs[1], &guest("echo"), &jobs[2], &jobs[3]];
    let sh = Modbox::of("/bin/sh".as_ref(), &dir).args(["-c", script, env!("CARGO_BIN_EXE_modbox")]).args(args);
    let reports = reports(&sh.patience(PATIENCE).run());
    let digest = |id: u32| reports[&id.to_string()]["module"]["digest"].as_str().unwrap();
    assert_eq!((digest(0), digest(2)), (digest(1), digest(3)));
    assert_ne!(digest(0), digest(2));
    dir.assert_nothing_left();
}

#[test]
fn a_module_whose_modification_time_was_set_back_is_read_again() {
    let dir = TestDir::new();
    // Two components of the same length that differ in a custom section of two bytes.
    let component = |data: &[u8; 2]| [&fs::read(guest("hello")).unwrap()[..], &[0, 4, 1, b'x'], data].concat();
    let module = dir.write("m.wasm", component(b"11"));
    let other = dir.write("other.wasm", component(b"22"));
    let job = |id: u32| format!("{}\n", json!({"id": id, "module": module, "args": {"name": "x"}}));
    let jobs: Vec<_> = (0..2).map(|id| dir.write(&format!("{id}.jsonl"), job(id))).collect();
    let script = "touch -r m.wasm then; (cat \"$1\"; until [ -s out ]; do sleep 0.02; done; \
        cat \"$2\" > m.wasm; touch -r then m.wasm; cat \"$3\") | \"$0\" batch > out; cat out";
    let args = [jobs[0].as_path(), &other, &jobs[1]];
    let sh = Modbox::of("/bin/sh".as_ref(), &dir).args(["-c", script, env!("CARGO_BIN_EXE_modbox")]).args(args);
    let reports = reports(&sh.patience(PATIENCE).run());
    let digest = |id: u32| reports[&id.to_string()]["module"]["digest"].as_str().unwrap();
    assert_ne!(digest(0), digest(1));
    dir.assert_nothing_left();
}

#[test]
fn a_reader_that_went_away_ends_the_batch() {
    let dir = TestDir::new();
    let jobs: String = (0..2000).map(|id| format!("{}\n", hello(id))).collect();
    let jobs = dir.write("jobs.jsonl", jobs);
    let script = format!("\"$0\" batch < '{}' | head -n 1", jobs.display());
    let ran =
        Modbox::of("/bin/sh".as_ref(), &dir).args(["-c", &script, env!("CARGO_BIN_EXE_modbox")]).run().exits_with(0);
    assert_eq!(ran.stdout_text().lines().count(), 1);
    dir.assert_nothing_left();
}

#[test]
fn an_input_that_is_quicker_than_the_workers_is_not_read_whole() {
    const JOBS: u64 = 3_000;
    const AHEAD: u64 = 4 << 20;
    let dir = TestDir::new();
    let job = json!({"id": 1, "module": small_module(&dir, "small.wasm"), "args": {"padding": "x".repeat(4000)}});
    let line = format!("{job}\n");
    dir.write("jobs.jsonl", line.repeat(usize::try_from(JOBS).unwrap()));
    let reports = dir.write("reports.jsonl", "");
    let script = "exec \"$0\" batch --jobs 1 < jobs.jsonl > reports.jsonl";
    let shell = Modbox::of("/bin/sh".as_ref(), &dir).args(["-c", script, env!("CARGO_BIN_EXE_modbox")]);
    let running = shell.patience(PATIENCE).spawn();
    let position = format!("/proc/{}/fdinfo/0", running.pid().as_raw_nonzero());
    let mut most = 0;
    let ended = wait_for(PATIENCE, || {
        let read = fs::read_to_string(&position).unwrap_or_default();
        let read = read.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse::<u64>().ok());
        let reported = fs::read(&reports).unwrap().iter().filter(|byte| **byte == b'\n').count() as u64;
        most = most.max(read.unwrap_or_default().saturating_sub(reported * line.len() as u64));
        read.is_none()
    });
    assert!(ended);
    running.wait().exits_with(0);
    assert_eq!(fs::read_to_string(&reports).unwrap().lines().count() as u64, JOBS);
    assert!((1..AHEAD).contains(&most), "{most} of {} bytes were read ahead", JOBS * line.len() as u64);
    dir.assert_nothing_left();
}
