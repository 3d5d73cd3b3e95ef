//! Every job of a batch writes one line to the audit log. A job that cannot be audited does not start.

use std::fs;

use serde_json::{Value, json};

use crate::run::audit::{MASKED, lines, module_with_secrets, tracing_module};
use crate::support::{Modbox, TestDir, guest, small_module};

#[test]
fn each_job_of_a_batch_has_its_line() {
    let dir = TestDir::new();
    let (small, secretive, spin) = (small_module(&dir, "small.wasm"), module_with_secrets(&dir), guest("spin"));
    let job = |job: Value| job.to_string() + "\n";
    let jobs = [
        job(json!({"id": 1, "module": small, "args": {"n": 1}, "check": true})),
        job(json!({"id": 2, "module": secretive, "args": {"token": "hunter2", "url": "hunter2/"}})),
        job(json!({"id": 3, "module": spin, "limits": {"timeout": "300ms"}})),
        job(json!({"id": 4, "module": "nowhere"})),
        job(json!({"id": 5, "module": small, "args": {"x": "y"}, "no_log": true})),
        job(json!({"id": 6, "module": small, "policy": {"audit": dir.join("of-job")}})),
        job(json!({"id": 7, "module": small, "policy": {"allow": {"write": [dir.path()]}}})),
    ];
    let ran = Modbox::new(&dir).args(["batch", "--audit", "audit"]).stdin(jobs.concat()).run().exits_with(1);
    let text = ran.stdout_text();
    let reports: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let report = |id: u64| reports.iter().find(|report| report["id"] == id).unwrap();
    let lines = lines(&dir.join("audit"));
    assert_eq!((lines.len(), reports.len()), (jobs.len(), jobs.len()), "{lines:#?}");
    let line = |what: &str, value: Value| {
        let found = lines.iter().find(|line| line.pointer(what) == Some(&value));
        found.unwrap_or_else(|| panic!("no line with {what} {value}: {lines:#?}"))
    };
    let first = line("/args/n", json!(1));
    assert_eq!((&first["check_mode"], &first["status"], &first["exit"]), (&json!(true), &json!("ok"), &Value::Null));
    assert_eq!(first["usage"], report(1)["usage"]);
    assert_eq!(line("/args/token", json!(MASKED))["args"]["url"], "********/");
    assert_eq!(line("/limit/kind", json!("wall"))["status"], "limit");
    assert_eq!(line("/module/path", json!("nowhere"))["status"], "failed");
    let hidden = line("/args/x", json!(MASKED));
    assert_ne!(hidden["result_digest"], first["result_digest"]);
    assert_eq!(fs::read_to_string(dir.join("of-job")).unwrap().lines().count(), 1);
    assert!(report(7)["result"]["msg"].as_str().unwrap().contains("which the module may write"), "{text}");
    dir.assert_nothing_left();
}

#[test]
fn no_job_of_a_batch_starts_that_cannot_be_audited() {
    let dir = TestDir::new();
    let (module, trace) = tracing_module(&dir);
    let job = json!({"id": 1, "module": module}).to_string() + "\n";
    let batch = |file: &str| Modbox::new(&dir).args(["batch", "--allow-all", "--audit", file]).stdin(job.clone()).run();
    let _ran = batch("missing/audit").exits_with(2).says("make its directory first");
    let ran = batch("/dev/full").exits_with(1);
    assert!(ran.json()["result"]["msg"].as_str().unwrap().contains("has no room for another line"), "{ran}");
    assert!(!trace.exists());
    batch("audit").exits_with(0);
    assert!(trace.exists());
}
