//! `modbox task`: tasks as a controller sends them, and the modules that are kept for them.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Modbox, RunOutput, TestDir, module, wait_for};

/// A module of modbox, as a controller has it.
struct Shipped {
    bytes: Vec<u8>,
    digest: String,
}

impl Shipped {
    fn of(name: &str) -> Self {
        let bytes = fs::read(module(name)).unwrap();
        let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Self { bytes, digest: format!("sha256:{hex}") }
    }
}

fn send(dir: &TestDir, args: &[&str], input: &[u8]) -> RunOutput {
    Modbox::new(dir).own_cache(dir).arg("task").args(args).stdin(input).run()
}

fn task(dir: &TestDir, digest: &str, args: &Value) -> RunOutput {
    send(dir, &[], json!({"contract": 1, "module": digest, "args": args}).to_string().as_bytes())
}

fn answer(output: &RunOutput) -> Value {
    let text = output.stdout_text();
    assert_eq!(text.lines().count(), 1, "{output}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[test]
fn a_task_runs_when_its_module_has_been_sent() {
    let dir = TestDir::new();
    let shipped = Shipped::of("lineinfile");
    let path = dir.write("file", "one\n");
    let args = json!({"path": path, "line": "two", "_ansible_check_mode": true, "_ansible_diff": true});
    let need = answer(&task(&dir, &shipped.digest, &args).exits_with(97));
    assert_eq!((&need["modbox_need"], &need["system"]), (&json!("module"), &json!("Linux")));
    assert_eq!(need["machine"], std::env::consts::ARCH);

    let stored = answer(&send(&dir, &["--store", &shipped.digest], &shipped.bytes).exits_with(0));
    assert_eq!(stored, json!({"modbox_stored": shipped.digest}));
    let checked = answer(&task(&dir, &shipped.digest, &args).exits_with(0));
    assert_eq!((&checked["changed"], &checked["diff"]["after"]), (&json!(true), &json!("one\ntwo\n")));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");

    let args = json!({"path": path, "line": "two", "_ansible_module_name": "acme.web.line"});
    let ran = answer(&task(&dir, &shipped.digest, &args).exits_with(0));
    assert_eq!(ran["changed"], true);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    let denied = json!({"path": "/etc/hostname", "line": "two", "unknown": 1});
    assert!(answer(&task(&dir, &shipped.digest, &denied).exits_with(1))["msg"].as_str().unwrap().contains("unknown"));
    dir.assert_nothing_left();
}

#[test]
fn another_module_than_the_named_one_is_not_kept() {
    let dir = TestDir::new();
    let shipped = Shipped::of("ping");
    let half = &shipped.bytes[..shipped.bytes.len() / 2];
    let refused = send(&dir, &["--store", &shipped.digest], half).exits_with(3);
    assert!(answer(&refused)["msg"].as_str().unwrap().contains("cut off"), "{refused}");
    task(&dir, &shipped.digest, &json!({})).exits_with(97);

    send(&dir, &["--store", &shipped.digest], &shipped.bytes).exits_with(0);
    answer(&task(&dir, &shipped.digest, &json!({})).exits_with(0));
    // A module that was changed since is asked for again.
    let entries = fs::read_dir(dir.join("home/.cache/modbox/fleet")).unwrap().flatten();
    let kept = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|word| word == "module"));
    for path in kept {
        fs::write(path, Shipped::of("lineinfile").bytes).unwrap();
    }
    task(&dir, &shipped.digest, &json!({})).exits_with(97);
}

#[test]
fn a_task_runs_in_the_background() {
    let dir = TestDir::new();
    let shipped = Shipped::of("ping");
    send(&dir, &["--store", &shipped.digest], &shipped.bytes).exits_with(0);
    let jobs = dir.join("jobs");
    let switches = ["--async", "60s", "--async-dir", jobs.to_str().unwrap()];
    let envelope = json!({"contract": 1, "module": shipped.digest, "args": {"data": "x"}}).to_string();
    let started = answer(&send(&dir, &switches, envelope.as_bytes()).exits_with(0));
    let id = started["ansible_job_id"].as_str().unwrap();
    assert_eq!(started["results_file"], json!(jobs.join(id)));
    let status = || Modbox::new(&dir).args(["status", id, "--async-dir"]).arg(&jobs).run();
    assert!(wait_for(Duration::from_secs(120), || status().status.code() != Some(7)));
    let status = answer(&status().exits_with(0));
    assert_eq!((&status["ping"], &status["finished"]), (&json!("x"), &json!(true)));
    dir.assert_nothing_left();
}

#[test]
fn a_wrong_task_is_answered_in_json() {
    let dir = TestDir::new();
    let digest = format!("sha256:{}", "0".repeat(64));
    for (input, status, expect) in [
        (json!([]).to_string(), 2, "not a JSON object"),
        ("{".to_owned(), 2, "not a JSON object"),
        (String::new(), 2, "not a JSON object"),
        (json!({"contract": 1, "module": "../../etc/passwd", "args": {}}).to_string(), 2, "names no module"),
        (json!({"contract": 1, "module": digest}).to_string(), 2, "`args`"),
        (json!({"contract": 1, "module": digest, "args": {}, "allow": "all"}).to_string(), 2, "unknown key `allow`"),
    ] {
        let ran = send(&dir, &[], input.as_bytes()).exits_with(status);
        let answer = answer(&ran);
        assert_eq!(answer["failed"], true, "{ran}");
        assert!(answer["msg"].as_str().unwrap().contains(expect), "{ran}");
    }
    let newer = send(&dir, &[], json!({"contract": 2, "more": 1}).to_string().as_bytes()).exits_with(97);
    assert_eq!(answer(&newer)["modbox_need"], "runner");
    send(&dir, &["--store", "sha256:x"], b"").exits_with(2);
}
