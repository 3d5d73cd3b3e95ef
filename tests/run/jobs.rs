//! Jobs outlive the process that started them, end at their limit with all their processes, and leave a file that
//! modbox and Ansible can read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, guest, wait_for};

/// Time limit, longer than any of these jobs takes.
const PATIENCE: Duration = Duration::from_secs(30);

fn script(dir: &TestDir, name: &str, body: &str) -> PathBuf {
    dir.write(name, format!("#!/bin/sh\n# WANT_JSON\n{body}\n"))
}

/// Starts a job and returns its id.
fn start(dir: &TestDir, module: impl AsRef<std::ffi::OsStr>, options: &[&str]) -> String {
    let ran = Modbox::run_module(dir, module).args(["--async-dir", "jobs"]).args(options).run().exits_with(0);
    let reply = ran.json();
    assert_eq!((&reply["started"], &reply["finished"], &reply["failed"]), (&json!(true), &json!(false), &json!(false)));
    let id = reply["ansible_job_id"].as_str().unwrap().to_owned();
    assert_eq!(reply["results_file"], dir.join("jobs").join(&id).display().to_string());
    id
}

fn status(dir: &TestDir, id: &str) -> RunOutput {
    Modbox::new(dir).args(["status", "--async-dir", "jobs", id]).run()
}

fn finished(dir: &TestDir, id: &str) -> RunOutput {
    let done = wait_for(PATIENCE, || status(dir, id).status.code() != Some(7));
    assert!(done, "the job does not finish");
    // The monitor has only to exit.
    let gone = wait_for(PATIENCE, || !process_of(id).is_some_and(|pid| fs::exists(format!("/proc/{pid}")).unwrap()));
    assert!(gone, "the monitor stays");
    status(dir, id)
}

fn process_of(id: &str) -> Option<i32> {
    id.rsplit_once('.')?.1.parse().ok()
}

#[test]
fn a_job_runs_on_and_its_result_is_asked_for() {
    let dir = TestDir::new();
    let module =
        script(&dir, "module", "while [ ! -e go ]; do sleep 0.05; done; echo note >&2; echo '{\"changed\": true}'");
    let id = start(&dir, module, &["--async", "30s", "--allow-all"]);
    let running = status(&dir, &id).exits_with(7).json();
    assert_eq!((&running["started"], &running["finished"]), (&json!(true), &json!(false)));
    let listed = Modbox::new(&dir).args(["jobs", "--async-dir", "jobs", "--json"]).run().exits_with(0).json();
    assert_eq!((&listed["job"], &listed["state"]), (&json!(id), &json!("running")));
    assert_eq!(listed["module"], "module");
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(dir.join("jobs")), mode(dir.join("jobs").join(&id))), (0o700, 0o600));
    dir.write("go", "");
    let done = finished(&dir, &id).exits_with(0).json();
    assert_eq!((&done["finished"], &done["changed"], &done["stderr"]), (&json!(true), &json!(true), &json!("note\n")));
    let lines = Modbox::new(&dir).args(["jobs", "--async-dir", "jobs"]).run().exits_with(0).stdout_text();
    assert!(lines.starts_with(&format!("{id}  succeeded")) && lines.trim_end().ends_with("  module"), "{lines}");
    let erased = Modbox::new(&dir).args(["status", "--async-dir", "jobs", "--cleanup", &id]).run().exits_with(0).json();
    assert_eq!(erased["erased"], dir.join("jobs").join(&id).display().to_string());
    status(&dir, &id).exits_with(3).says("unknown job");
    dir.assert_nothing_left();
}

#[test]
fn failures_have_a_file_too() {
    let dir = TestDir::new();
    let module = script(&dir, "module", "echo out; echo err >&2; exit 3");
    let id = start(&dir, module, &["--async", "30s", "--allow-all"]);
    let done = finished(&dir, &id).exits_with(1).json();
    assert_eq!((&done["failed"], &done["data"], &done["stderr"]), (&json!(true), &json!("out\n"), &json!("err\n")));
    assert_eq!(done["ansible_job_id"], id);
    // Denied, in the background.
    let id = start(&dir, dir.join("module"), &["--async", "30s", "--allow-net", "example.org:443"]);
    let denied = finished(&dir, &id).exits_with(1).json();
    assert!(denied["msg"].as_str().unwrap().contains("--allow-net"), "{denied}");
    // Errors that are found before the start are reported at once.
    Modbox::run_module(&dir, dir.join("nothing")).args(["--async", "5s"]).run().exits_with(3);
    Modbox::run_module(&dir, dir.join("module")).args(["--async", "soon"]).run().exits_with(2);
    Modbox::run_module(&dir, dir.join("module")).args(["--async", "5s", "no-pair"]).run().exits_with(2);
    dir.assert_nothing_left();
}

#[test]
fn a_job_is_killed_as_a_tree_at_its_limit() {
    let dir = TestDir::new();
    let tree = "trap '' TERM INT HUP; setsid sh -c 'trap \"\" TERM; sleep 3600' & (sleep 3600 &); sleep 3600";
    let id = start(&dir, script(&dir, "module", tree), &["--async", "500ms", "--allow-all"]);
    let done = finished(&dir, &id).exits_with(5).json();
    assert_eq!((&done["msg"], &done["failed"]), (&json!("Timeout exceeded"), &json!(true)));
    assert!(done["child_pid"].as_u64().unwrap() > 0);
    dir.assert_nothing_left();
}

#[test]
fn a_job_whose_monitor_is_killed_is_lost_and_leaves_nothing() {
    let dir = TestDir::new();
    let module = script(&dir, "module", "touch begun; sleep 3600");
    let id = start(&dir, module, &["--async", "1h", "--allow-all"]);
    assert!(wait_for(PATIENCE, || dir.join("begun").exists()));
    let monitor = Pid::from_raw(process_of(&id).unwrap()).unwrap();
    rustix::process::kill_process(monitor, Signal::KILL).unwrap();
    assert!(wait_for(PATIENCE, || status(&dir, &id).status.code() == Some(6)));
    assert_eq!(status(&dir, &id).json()["finished"], true);
    // The launcher ends the module's processes. The next run sweeps the directory that SIGKILL leaves behind.
    Modbox::run_module(&dir, guest("hello")).run().exits_with(0);
    dir.assert_nothing_left();
}

#[test]
fn a_job_outlives_the_session_that_it_was_started_in() {
    let dir = TestDir::new();
    let module = script(
        &dir,
        "module",
        "while [ ! -e go ]; do sleep 0.05; done; echo '{\"session\": '$(ps -o sid= -p $$ | tr -d ' ')'}'",
    );
    let shell = format!(
        "exec 7>held; '{}' run '{}' --async 30s --async-dir jobs --allow-all 2>/dev/null; kill -HUP -$$",
        env!("CARGO_BIN_EXE_modbox"),
        module.display()
    );
    let ran = Modbox::of("/usr/bin/setsid".as_ref(), &dir).args(["-w", "sh", "-c", &shell]).run();
    dir.write("go", "");
    let id = ran.json()["ansible_job_id"].as_str().unwrap().to_owned();
    finished(&dir, &id).exits_with(0);
    dir.assert_nothing_left();
}

#[test]
fn a_job_is_started_in_a_container_whose_session_is_outside() {
    let dir = TestDir::new();
    let module = script(&dir, "module", "echo '{\"changed\": true}'");
    // The kernel says 0 for the session of such a process. The shell waits for the job, because the processes of a PID
    // namespace end with the first one.
    let shell =
        "id=$(\"$0\" run \"$1\" --async 30s --async-dir jobs --allow-all | sed 's/.*ansible_job_id\": \"//; s/\".*//')
        while \"$0\" status --async-dir jobs \"$id\"; [ $? = 7 ]; do sleep 0.05; done >ended; cat ended";
    let spaces = if rustix::process::geteuid().is_root() { "-pf" } else { "-rpf" };
    let ran = Modbox::of("unshare".as_ref(), &dir)
        .args([spaces, "--mount-proc", "sh", "-c", shell, env!("CARGO_BIN_EXE_modbox")])
        .arg(module)
        .run()
        .exits_with(0);
    assert!(ran.stdout_text().contains(r#""finished": true"#), "{ran}");
    assert!(ran.stdout_text().contains(r#""changed": true"#), "{ran}");
}

#[test]
fn arguments_of_a_job_are_in_no_command_line() {
    let dir = TestDir::new();
    dir.write("args.json", r#"{"password": "geheim-4711"}"#);
    let look = "if grep -l geheim-4711 /proc/[0-9]*/cmdline /proc/[0-9]*/environ >found 2>/dev/null; then :; fi
        printf '{\"found\": \"%s\", \"args\": \"%s\"}\\n' \"$(cat found)\" \"$(grep -c geheim \"$1\")\"";
    let id = start(&dir, script(&dir, "module", look), &["--async", "30s", "--allow-all", "-a", "@args.json"]);
    let done = finished(&dir, &id).exits_with(0).json();
    assert_eq!((&done["found"], &done["args"]), (&json!(""), &json!("1")));
    dir.assert_nothing_left();
}

#[test]
fn guests_run_in_the_background_confined_as_ever() {
    let dir = TestDir::new();
    let id = start(&dir, guest("hello"), &["--async", "30s", "-a", r#"{"name": "x"}"#]);
    let done = finished(&dir, &id).json();
    assert_eq!(done["finished"], true, "{done}");
    assert!(done.get("failed").is_none_or(|failed| failed == false), "{done}");
    dir.assert_nothing_left();
}

#[test]
fn a_kept_directory_is_named_and_a_removed_file_does_not_come_back() {
    let dir = TestDir::new();
    let module = script(&dir, "module", "while [ ! -e go ]; do sleep 0.05; done; echo '{}'");
    let id = start(&dir, &module, &["--async", "30s", "--allow-all"]);
    Modbox::new(&dir).args(["status", "--async-dir", "jobs", "--cleanup", &id]).run().exits_with(0);
    dir.write("go", "");
    let pid = process_of(&id).unwrap();
    assert!(wait_for(PATIENCE, || !fs::exists(format!("/proc/{pid}")).unwrap()));
    assert!(!dir.join("jobs").join(&id).exists());
    let id = start(&dir, &module, &["--async", "30s", "--allow-all", "--keep-files"]);
    let kept = finished(&dir, &id).exits_with(0).json()["kept_files"].as_str().unwrap().to_owned();
    assert!(PathBuf::from(&kept).join("args").exists());
    fs::remove_dir_all(kept).unwrap();
}

#[test]
fn older_contracts_have_older_files() {
    let dir = TestDir::new();
    let module = script(&dir, "module", "while [ ! -e go ]; do sleep 0.05; done; echo '{}'");
    let mut ids = Vec::new();
    for (contract, letter) in [("2.9", false), ("2.14", true)] {
        let options = ["--async", "30s", "--allow-all", "--async-dir", "jobs", "--contract", contract];
        let reply = Modbox::run_module(&dir, &module).args(options).run().exits_with(0).json();
        assert_eq!((&reply["started"], &reply["finished"]), (&json!(1), &json!(0)));
        let id = reply["ansible_job_id"].as_str().unwrap().to_owned();
        assert_eq!(id.starts_with('j'), letter, "{id}");
        let content: Value = serde_json::from_slice(&fs::read(dir.join("jobs").join(&id)).unwrap()).unwrap();
        assert_eq!(content, json!({"started": 1, "finished": 0, "ansible_job_id": id}));
        ids.push(id);
    }
    dir.write("go", "");
    ids.iter().for_each(|id| drop(finished(&dir, id).exits_with(0)));
    dir.assert_nothing_left();
}
