//! A module that changes while a batch runs: the next job runs what the file has then.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir};

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
