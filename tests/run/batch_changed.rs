//! A module or a granted file that changes while a batch runs: the next job meets what is there then.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, guest};

/// Gives a module other contents in place, of the same size and with the time of the old ones.
const CHANGE: &str = "touch -r module stamp; cat other > module; touch -m -r stamp module";

#[test]
fn a_module_whose_time_was_set_back_is_read_again() {
    let dir = TestDir::new();
    let module = |word: &str| format!("#!/bin/sh\n# WANT_JSON\necho '{{\"changed\": true, \"word\": \"{word}\"}}'\n");
    dir.write("module", module("old"));
    dir.write("other", module("new"));
    let job = json!({"id": 1, "module": dir.join("module")});
    let modbox = env!("CARGO_BIN_EXE_modbox");
    // The first report is there before the change, and the batch goes on with the same modules in memory.
    let script = format!(
        "mkfifo in; {modbox} batch < in > out & exec 3> in; echo '{job}' >&3\n\
         until [ -s out ]; do sleep 0.02; done; {CHANGE}; echo '{job}' >&3; exec 3>&-; wait $!; cat out",
    );
    let ran = Modbox::of(Path::new("/bin/sh"), &dir).args(["-c", &script]).run().exits_with(0);
    let reports: Vec<Value> = ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let words: Vec<&Value> = reports.iter().map(|report| &report["result"]["word"]).collect();
    assert_eq!(words, ["old", "new"], "{ran}");
    assert_ne!(reports[0]["module"]["digest"], reports[1]["module"]["digest"], "{ran}");
}

#[test]
fn a_granted_file_that_was_replaced_between_two_jobs_is_found_again() {
    let dir = TestDir::new();
    let file = dir.write("data/file", "first");
    dir.write("data/new", "second");
    let job = json!({"id": 1, "module": guest("files"), "args": {"op": "read", "path": &file, "expect": "ok"}});
    let (modbox, job) = (env!("CARGO_BIN_EXE_modbox"), dir.write("job", format!("{job}\n")));
    // The worker of the first job has the old file open.
    let script = format!(
        "mkfifo in; {modbox} batch --allow-read data/file < in > out & exec 3> in; cat {job} >&3\n\
         until [ -s out ]; do sleep 0.02; done; mv data/new data/file; cat {job} >&3; exec 3>&-; wait $!; cat out",
        job = job.display()
    );
    let ran = Modbox::of(Path::new("/bin/sh"), &dir).args(["-c", &script]).run().exits_with(0);
    let text = ran.stdout_text();
    let results = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["result"].to_string());
    let results: Vec<String> = results.collect();
    assert!(results[0].contains("first") && results[1].contains("second"), "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn a_granted_name_is_made_in_a_folder_that_was_made_anew_between_two_jobs() {
    let dir = TestDir::new();
    dir.mkdir("data");
    let file = dir.join("data/file");
    let job = json!({"id": 1, "module": guest("files"), "args": {"op": "create", "path": &file, "expect": "ok"}});
    let (modbox, job) = (env!("CARGO_BIN_EXE_modbox"), dir.write("job", format!("{job}\n")));
    // The worker of the first job has the old folder open.
    let script = format!(
        "mkfifo in; {modbox} batch --allow-write data/file < in > out & exec 3> in; cat {job} >&3\n\
         until [ -s out ]; do sleep 0.02; done; rm -r data; mkdir data; cat {job} >&3; exec 3>&-; wait $!; cat out",
        job = job.display()
    );
    let ran = Modbox::of(Path::new("/bin/sh"), &dir).args(["-c", &script]).run().exits_with(0);
    let text = ran.stdout_text();
    let statuses: Vec<Value> =
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone()).collect();
    assert_eq!(statuses, ["ok", "ok"], "{ran}");
    assert!(file.exists(), "{ran}");
    dir.assert_nothing_left();
}
