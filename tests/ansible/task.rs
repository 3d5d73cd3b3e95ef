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
    assert_eq!((&checked["changed"], &checked["diff"][0]["after"]), (&json!(true), &json!("one\ntwo\n")));
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
    let newer = send(&dir, &[], json!({"contract": 4, "more": 1}).to_string().as_bytes()).exits_with(97);
    assert_eq!(answer(&newer)["modbox_need"], "runner");
    send(&dir, &["--store", "sha256:x"], b"").exits_with(2);
}

/// Sends a task with more keys than the first contract has.
fn extended(dir: &TestDir, digest: &str, args: &Value, more: &Value) -> RunOutput {
    let mut task = json!({"contract": 2, "module": digest, "args": args});
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    send(dir, &[], task.to_string().as_bytes())
}

#[test]
fn a_task_restricts_what_the_host_grants_and_grants_only_where_the_host_accepts_it() {
    let dir = TestDir::new();
    let shipped = Shipped::of("lineinfile");
    send(&dir, &["--store", &shipped.digest], &shipped.bytes).exits_with(0);
    let (path, elsewhere) = (dir.write("file", "one\n"), dir.write("elsewhere/file", "one\n"));
    let with = |policy: &str| {
        let args = json!({"path": path, "line": "two"});
        extended(&dir, &shipped.digest, &args, &json!({"policy": policy}))
    };
    for (policy, status, expect) in [
        ("designated: none", 4, "--allow-write"),
        ("modules: {lineinfile: {designated: read}, other: {}}", 0, ""),
        (&format!("modules: {{'{}': {{designated: read}}}}", shipped.digest), 4, "--allow-write"),
        ("limits: {module: 1KiB}", 5, "module"),
        ("limits: {module: 60GiB, timeout: 300days}", 0, ""),
        ("allow: {read: [/etc]}", 2, "accept-policy: grants"),
        ("modules: {x: {profiles: [facts]}}", 2, "accept-policy: grants"),
        ("accept-policy: grants", 2, "`accept-policy`"),
        ("audit: /var/log/x", 2, "`audit`"),
        ("tasks: {x: {designated: none}}", 2, "`tasks`"),
        ("python-modules: observe", 2, "`python-modules`"),
        ("min-confinement: 0", 0, ""),
        ("alow: {}", 2, "unknown key `alow`"),
        ("min-confinement: 9", 2, "level of confinement"),
        ("{", 2, "invalid policy of the task"),
    ] {
        fs::write(&path, "one\n").unwrap();
        let ran = with(policy).exits_with(status);
        let answer = answer(&ran);
        assert_eq!(answer["failed"] == true, status != 0, "{policy}: {ran}");
        assert!(answer["msg"].as_str().unwrap_or_default().contains(expect), "{policy}: {ran}");
        assert_eq!(fs::read_to_string(&path).unwrap(), if status == 0 { "one\ntwo\n" } else { "one\n" }, "{policy}");
    }

    let args = json!({"path": elsewhere, "line": "two"});
    let grants = json!({"policy": format!("allow: {{write: [{}]}}", dir.join("elsewhere").display())});
    let policy = |text: &str| dir.write("home/.config/modbox/policy.yaml", text);
    policy("designated: none\n");
    extended(&dir, &shipped.digest, &args, &grants).exits_with(2);
    policy("designated: none\naccept-policy: grants\n");
    let ran = extended(&dir, &shipped.digest, &args, &grants).exits_with(0);
    assert_eq!(answer(&ran)["changed"], true, "{ran}");
    let shown = Modbox::new(&dir).args(["policy", "show"]).run().exits_with(0).stdout_text();
    assert!(shown.contains("accept-policy: grants (policy file "), "{shown}");
    dir.assert_nothing_left();
}

#[test]
fn a_task_gets_its_audit_line_when_it_asks_or_the_host_says_so() {
    let dir = TestDir::new();
    let shipped = Shipped::of("lineinfile");
    send(&dir, &["--store", &shipped.digest], &shipped.bytes).exits_with(0);
    let args = json!({"path": dir.write("file", "one\n"), "line": "two", "_ansible_module_name": "acme.web.line"});
    let asked = answer(&extended(&dir, &shipped.digest, &args, &json!({"audit": true})).exits_with(0));
    let line = &asked["invocation"]["modbox"];
    assert_eq!((&line["module"]["name"], &line["status"]), (&json!("acme.web.line"), &json!("changed")), "{asked}");
    assert_eq!(line["module"]["digest"], shipped.digest);
    assert!(line["grants"].as_array().is_some_and(|grants| !grants.is_empty()), "{asked}");

    let unasked = answer(&task(&dir, &shipped.digest, &args).exits_with(0));
    assert_eq!(unasked["invocation"]["modbox"], Value::Null, "{unasked}");
    let (log, policy) = (dir.join("audit.jsonl"), "home/.config/modbox/policy.yaml");
    dir.write(policy, format!("audit-in-results: true\naudit: {}\n", log.display()));
    let told = answer(&task(&dir, &shipped.digest, &args).exits_with(0));
    let written: Value = serde_json::from_str(&fs::read_to_string(&log).unwrap()).unwrap();
    for key in ["module", "status", "grants", "args", "result_digest", "limits"] {
        assert_eq!(told["invocation"]["modbox"][key], written[key], "{key}");
    }
    dir.write(policy, "audit-in-results: perhaps\n");
    let wrong = task(&dir, &shipped.digest, &args).exits_with(2);
    assert!(answer(&wrong)["msg"].as_str().unwrap().contains("`perhaps` is neither"), "{wrong}");
}
