//! Jobs and the real ansible-core: its `async_status` reads modbox's jobs, and modbox reads Ansible's.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::support::{Modbox, TestDir, oracle, wait_for};

/// Time limit, longer than any of these jobs takes, even while other tests run.
const PATIENCE: Duration = Duration::from_secs(120);

fn script(dir: &TestDir, name: &str, body: &str) -> PathBuf {
    dir.write(name, format!("#!/bin/sh\n# WANT_JSON\n{body}\n"))
}

#[test]
fn the_real_async_status_reads_our_jobs_and_we_read_those_of_ansible() {
    let dir = TestDir::new();
    let folder = dir.join("home/async");
    let folder = folder.to_str().unwrap();
    let module = script(&dir, "library/background", "echo '{\"changed\": true, \"a\": 1}'");
    let endless = script(&dir, "endless", "while [ ! -e go ]; do sleep 0.05; done; echo '{}'");
    let begin = |module: &PathBuf| {
        let options = ["--async", "60s", "--allow-all", "--async-dir", folder];
        let reply = Modbox::run_module(&dir, module).args(options).run().exits_with(0).json();
        reply["ansible_job_id"].as_str().unwrap().to_owned()
    };
    let (done, running) = (begin(&module), begin(&endless));
    let asked = |id: &str| Modbox::new(&dir).args(["status", "--async-dir", folder, id]).run();
    assert!(wait_for(PATIENCE, || asked(&done).status.code() == Some(0)));
    let tasks = [
        json!({"async_status": {"jid": done}}),
        json!({"async_status": {"jid": running}}),
        json!({"async_status": {"jid": done, "mode": "cleanup"}}),
        json!({"background": {}, "async": 30, "poll": 0}),
    ];
    let registered = oracle::play(&dir, &tasks, &[]);
    assert_eq!((&registered[0]["finished"], &registered[0]["a"]), (&json!(true), &json!(1)), "{registered:?}");
    assert_eq!(
        (&registered[1]["finished"], &registered[1]["started"]),
        (&json!(false), &json!(true)),
        "{registered:?}"
    );
    assert_eq!(registered[2]["erased"].as_str().unwrap(), format!("{folder}/{done}"));
    asked(&done).exits_with(3);
    // A job that Ansible started.
    let theirs = registered[3]["ansible_job_id"].as_str().unwrap();
    assert!(wait_for(PATIENCE, || asked(theirs).status.code() == Some(0)));
    assert_eq!(asked(theirs).json()["a"], 1);
    dir.write("go", "");
    assert!(wait_for(PATIENCE, || asked(&running).status.code() == Some(0)));
}
