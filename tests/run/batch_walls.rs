//! Jobs of a batch that write other names of one folder: they share a worker, and each reaches its own name alone.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::batch::PATIENCE;
use crate::support::{Modbox, TestDir, children, guest, wait_for};

/// A job that tries an operation on a file of `data`, while other names there are granted.
fn job(dir: &TestDir, op: &str, name: &str, granted: &[&str]) -> Value {
    let grants: Vec<_> = granted.iter().map(|name| dir.join("data").join(name)).collect();
    let args = json!({"op": op, "path": dir.join("data").join(name), "expect": "ok"});
    json!({"id": name, "module": guest("files"), "args": args, "policy": {"allow": {"write": grants}}})
}

/// Runs jobs one after the other. Returns whether each succeeded, and how many workers there are at the end.
fn run(dir: &TestDir, jobs: &[Value]) -> (Vec<bool>, usize) {
    let lines: String = jobs.iter().map(|job| format!("{job}\n")).collect();
    let _ = fs::remove_file(dir.join("go"));
    let _ = fs::remove_file(dir.join("out"));
    let input = dir.write("jobs", lines);
    let modbox = env!("CARGO_BIN_EXE_modbox");
    let script = "mkfifo -m 600 in 2>/dev/null; \"$0\" batch --jobs 1 < in > out & exec 3> in; cat \"$1\" >&3; \
        until [ -e go ]; do sleep 0.02; done; exec 3>&-; wait $!";
    let sh = Modbox::of(Path::new("/bin/sh"), dir).args(["-c", script, modbox]).arg(input);
    let running = sh.patience(PATIENCE).spawn();
    let text = || fs::read_to_string(dir.join("out")).unwrap_or_default();
    assert!(wait_for(PATIENCE, || text().lines().count() == jobs.len()), "{}", text());
    let is_modbox = |pid: &rustix::process::Pid| {
        fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero())).is_ok_and(|exe| exe == Path::new(modbox))
    };
    let [batch] = children(running.pid()).into_iter().filter(is_modbox).collect::<Vec<_>>()[..] else {
        panic!("there is one batch")
    };
    let workers = children(batch).len();
    dir.write("go", "");
    running.wait();
    let reports = text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    (reports.iter().map(|report| report["status"] == "ok").collect(), workers)
}

#[test]
fn jobs_that_write_other_names_of_one_folder_share_a_worker_and_reach_only_their_own() {
    let dir = TestDir::new();
    dir.write("data/there", "");
    let create = |name: &str| job(&dir, "create", name, &[name]);
    let jobs = [
        create("a"),
        create("b"),
        job(&dir, "overwrite", "there", &["there"]),
        // Files that jobs before have made, and one that was granted to one of them.
        job(&dir, "overwrite", "a", &["c"]),
        job(&dir, "unlink", "b", &["c"]),
        job(&dir, "read", "there", &["d"]),
        create("c"),
    ];
    let (succeeded, workers) = run(&dir, &jobs);
    assert_eq!(succeeded, [true, true, true, false, false, false, true]);
    assert_eq!(workers, 1);
    let read = |name: &str| fs::read_to_string(dir.join("data").join(name)).unwrap();
    assert_eq!(["a", "b", "there", "c"].map(read), ["guest", "guest", "guest", "guest"]);
}

#[test]
fn jobs_with_other_walls_have_other_workers() {
    let dir = TestDir::new();
    dir.write("data/inner/file", "");
    dir.write("data/there", "");
    let jobs = [
        job(&dir, "create", "a", &["a"]),
        job(&dir, "create", "inner/a", &["inner/a"]),
        job(&dir, "create", "b", &["b", "c"]),
        job(&dir, "create", "inner/b", &["inner"]),
    ];
    let (succeeded, workers) = run(&dir, &jobs);
    assert_eq!((succeeded, workers), (vec![true; 4], 4));
    dir.assert_nothing_left();
}
