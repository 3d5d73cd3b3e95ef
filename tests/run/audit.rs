//! Every run writes one line to the audit log, however it ends. A run that cannot be audited does not start.

use std::fs;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, FileType, OFlags, mknodat};
use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Modbox, TestDir, core_module, guest, small_module, wait_for};

pub(crate) const MASKED: &str = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER";

const PATIENCE: Duration = Duration::from_secs(30);

/// The lines of an audit file, each a JSON object.
#[track_caller]
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[track_caller]
fn line(path: &Path) -> Value {
    let mut lines = lines(path);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    lines.remove(0)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A module that ends at once with a result; its spec has secrets.
pub(crate) fn module_with_secrets(dir: &TestDir) -> PathBuf {
    let metadata = json!({"name": "secretive", "version": "1", "argument_spec": {
        "token": {"no_log": true, "aliases": ["key"]},
        "password": {"no_log": false},
        "path": {"type": "path", "access": "read"},
        "url": {},
        "logins": {"type": "list", "elements": "dict", "options": {"name": {}, "pin": {"type": "int", "no_log": true}}},
    }});
    let custom = metadata.to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let fields = format!(
        r#"(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "\10\00\00\00\02\00\00\00")
        (data (i32.const 16) "{{}}")
        (func (export "_start") (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
        (@custom "modbox:module" "{custom}")"#
    );
    core_module(dir, "secretive.wasm", &fields)
}

/// A native module that writes a file when it is started.
pub(crate) fn tracing_module(dir: &TestDir) -> (PathBuf, PathBuf) {
    let trace = dir.join("trace");
    (dir.write("native", format!("#!/bin/sh\n# WANT_JSON\ntouch {}\necho '{{}}'\n", trace.display())), trace)
}

fn fifo(dir: &TestDir, name: &str) -> PathBuf {
    let path = dir.join(name);
    mknodat(CWD, &path, FileType::Fifo, 0o600.into(), 0).unwrap();
    path
}

#[test]
fn a_line_says_who_ran_what_and_how_it_went() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let granted = dir.mkdir("granted");
    let ran = Modbox::run_module(&dir, &module)
        .args(["--audit", "audit", "--allow-read", "granted", "--timeout", "7s", "--check", "n=1"])
        .json_args(&json!({"list": [1, "a\u{1b}[31m\u{9b}\n"]}))
        .run()
        .exits_with(0);
    let text = fs::read_to_string(dir.join("audit")).unwrap();
    assert!(text.trim_end().chars().all(|c| matches!(c, ' '..='~')), "{text}");
    let line = line(&dir.join("audit"));
    let bytes = fs::read(&module).unwrap();
    assert_eq!(
        line["module"],
        json!({"path": module, "name": "small", "kind": "core", "digest": format!("sha256:{}", sha256(&bytes))})
    );
    assert_eq!(line["args"], json!({"n": "1", "list": [1, "a\u{1b}[31m\u{9b}\n"]}));
    assert_eq!(line["check_mode"], true);
    assert_eq!(line["grants"], json!([{"capability": "read", "subject": granted, "source": "--allow-read"}]));
    assert_eq!(line["denials"], json!([]));
    assert_eq!((&line["limits"]["wall_us"], &line["limits"]["memory_bytes"]), (&json!(7_000_000), &json!(256 << 20)));
    assert_eq!((&line["limit"], &line["error"]), (&Value::Null, &Value::Null));
    assert_eq!((&line["status"], &line["exit"]), (&json!("ok"), &json!(0)));
    assert_eq!(line["usage"]["stdout_bytes"], 34);
    assert!(
        line["usage"]["wall_us"].as_u64() > Some(0)
            && line["duration_us"].as_u64() >= line["usage"]["wall_us"].as_u64()
    );
    assert_eq!(line["who"]["uid"], rustix::process::getuid().as_raw());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(line["who"]["host"], host.trim_end());
    assert!(line["who"]["pid"].as_u64() > Some(1));
    assert_eq!(line["confinement"]["layers"][0], "wasmtime");
    assert_eq!(line["modbox"], env!("CARGO_PKG_VERSION"));
    let time = line["time"].as_str().unwrap();
    assert!(time.len() == "2026-01-01T00:00:00.000000Z".len() && time.ends_with('Z'), "{time}");
    assert_eq!(line["result_digest"], format!("sha256:{}", sha256(ran.stdout_text().trim_end().as_bytes())));
    dir.assert_nothing_left();
}

#[test]
fn secrets_are_masked_by_the_modules_spec_wherever_they_are() {
    let dir = TestDir::new();
    let module = module_with_secrets(&dir);
    let args = json!({
        "key": "hunter2", "password": "shown", "url": "https://u:hunter2@host/", "proxy": "http://v:x8@proxy:80",
        "logins": [{"name": "a", "pin": 4711}], "unknown_passwd": "x9",
    });
    Modbox::run_module(&dir, &module).args(["--audit", "audit"]).json_args(&args).run().exits_with(0);
    let expected = json!({
        "key": MASKED, "password": "shown", "url": "https://u:********@host/",
        "logins": [{"name": "a", "pin": MASKED}], "unknown_passwd": MASKED, "proxy": "http://v:********@proxy:80",
    });
    assert_eq!(line(&dir.join("audit"))["args"], expected);
}

#[test]
fn secrets_are_masked_in_denials() {
    let dir = TestDir::new();
    let module = module_with_secrets(&dir);
    Modbox::run_module(&dir, &module)
        .args(["--audit", "audit", "--designated", "none", "token=hunter2", "path=/srv/hunter2"])
        .run()
        .exits_with(4);
    let line = line(&dir.join("audit"));
    assert_eq!((&line["status"], &line["exit"]), (&json!("denied"), &json!(4)));
    assert_eq!(line["denials"][0]["subject"], "/srv/********");
    assert!(!line.to_string().contains("hunter2"), "{line:#}");
}

#[test]
fn without_a_spec_names_tell_what_is_secret() {
    let dir = TestDir::new();
    let (module, _) = tracing_module(&dir);
    let run =
        Modbox::run_module(&dir, module).args(["--allow-all", "--audit", "audit", "db_password=a1b2", "name=a1b2!"]);
    run.run().exits_with(0);
    assert_eq!(line(&dir.join("audit"))["args"], json!({"db_password": MASKED, "name": "********!"}));
}

#[test]
fn no_log_hides_every_value_and_the_result() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let ran =
        Modbox::run_module(&dir, &module).args(["--audit", "audit", "--no-log", "path=/nowhere"]).run().exits_with(0);
    let by_switch = line(&dir.join("audit"));
    assert_eq!(by_switch["args"], json!({"path": MASKED}));
    // The digest is that of the printed result, so that it reveals nothing about hidden values.
    assert_eq!(by_switch["result_digest"], format!("sha256:{}", sha256(ran.stdout_text().trim_end().as_bytes())));

    let policy = format!("audit: {}\n", dir.join("by-ansible").display());
    dir.write("home/.config/modbox/policy.yaml", policy);
    let args = dir.write("args", r#"{"path": "/nowhere", "_ansible_no_log": true, "_ansible_check_mode": true}"#);
    Modbox::new(&dir).arg(&module).arg(args).run().exits_with(0);
    let by_ansible = line(&dir.join("by-ansible"));
    assert_eq!((&by_ansible["args"], &by_ansible["check_mode"]), (&json!({"path": MASKED}), &json!(true)));
    assert_eq!(by_ansible["result_digest"], by_switch["result_digest"]);
}

#[test]
fn whatever_becomes_of_a_run_is_audited() {
    let dir = TestDir::new();
    let (native, trace) = tracing_module(&dir);
    let broken = dir.write("broken.wasm", b"\0asm\x01\0\0\0junk");
    let trap = core_module(&dir, "trap.wasm", r#"(func (export "_start") unreachable)"#);
    for (module, more, status, exit) in [
        // No kernel knows hosts.
        (native.clone(), "--allow-net=example.org:443", "denied", 4),
        (guest("spin"), "--timeout=300ms", "limit", 5),
        (trap, "n=1", "crashed", 6),
        (broken, "n=1", "failed", 3),
        (dir.join("nowhere"), "n=1", "failed", 3),
        (core_module(&dir, "silent.wasm", r#"(func (export "_start"))"#), "n=1", "failed", 1),
    ] {
        let audit = dir.join("audit");
        Modbox::run_module(&dir, &module).args(["--audit", "audit", more]).run().exits_with(exit);
        let line = line(&audit);
        assert_eq!((&line["status"], &line["exit"]), (&json!(status), &json!(exit)), "{line:#}");
        assert_eq!(line["module"]["path"], json!(module));
        assert_eq!(line["error"].is_string(), exit == 3, "{line:#}");
        assert_eq!(line["limit"]["kind"].as_str(), (exit == 5).then_some("wall"));
        fs::remove_file(audit).unwrap();
    }
    assert!(!trace.exists(), "the denied module was started");
    dir.assert_nothing_left();
}

#[test]
fn a_run_that_a_signal_ends_is_audited() {
    let dir = TestDir::new();
    let started = dir.mkdir("granted").join("started");
    let running = Modbox::run_module(&dir, guest("sleep"))
        .json_args(&json!({"started": started}))
        .args(["--allow-write", "granted", "--audit", "audit"])
        .spawn();
    assert!(wait_for(PATIENCE, || started.exists()));
    running.signal(Signal::TERM);
    running.wait().dies_of(Signal::TERM);
    let line = line(&dir.join("audit"));
    assert_eq!((&line["status"], &line["exit"]), (&json!("interrupted"), &Value::Null));
    assert!(line["duration_us"].as_u64() > Some(0) && line["args"]["started"] == json!(started), "{line:#}");
    dir.assert_nothing_left();
}

#[test]
fn a_run_that_cannot_be_audited_does_not_start() {
    let dir = TestDir::new();
    let (module, trace) = tracing_module(&dir);
    symlink(dir.join("target"), dir.join("link")).unwrap();
    fifo(&dir, "fifo");
    for (file, status, says) in [
        (".", 2, "name a file, not a directory"),
        ("missing/audit", 2, "make its directory first"),
        ("link", 2, "name the file that the link leads to"),
        ("fifo", 2, "start whatever is to read the pipe first"),
        ("/dev/full", 70, "has no room for another line"),
    ] {
        let ran = Modbox::run_module(&dir, &module).args(["--allow-all", "--audit", file]).run().exits_with(status);
        let ran = ran.says(says).says(file);
        assert!(ran.stdout.is_empty() && !trace.exists(), "{file}: {ran}");
    }
    assert!(!dir.join("target").exists(), "the link was followed");
    // A good file beside a bad one does not help.
    Modbox::run_module(&dir, &module).args(["--allow-all", "--audit", "good", "--audit", "."]).run().exits_with(2);
    assert!(!trace.exists());
    dir.assert_nothing_left();
}

#[test]
fn a_file_that_may_not_grow_is_noticed_before_the_run() {
    let dir = TestDir::new();
    let (module, trace) = tracing_module(&dir);
    // In units of 512 bytes: enough for the module, too little for a line.
    let script = format!(
        "ulimit -f 4; exec {} run --allow-all --audit audit {}",
        env!("CARGO_BIN_EXE_modbox"),
        module.display()
    );
    let ran = Modbox::of(Path::new("/bin/sh"), &dir).args(["-c", &script]).run().exits_with(70);
    let _ran = ran.says("has no room for another line");
    assert!(!trace.exists());
}

#[test]
fn a_line_that_cannot_be_written_is_an_error_beside_the_result() {
    let dir = TestDir::new();
    let (reads, done) = (fifo(&dir, "audit"), dir.join("done"));
    let script = format!(
        "#!/bin/sh\n# WANT_JSON\ntouch started\nwhile [ ! -e {} ]; do sleep 0.02; done\necho '{{\"ended\": true}}'\n",
        done.display()
    );
    let module = dir.write("module", script);
    let reader =
        File::from(rustix::fs::open(&reads, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, 0.into()).unwrap());
    let running =
        Modbox::run_module(&dir, module).args(["--allow-all", "--audit", "audit", "--audit", "other"]).spawn();
    assert!(wait_for(PATIENCE, || dir.join("started").exists()));
    drop(reader);
    fs::write(done, "").unwrap();
    let ran =
        running.wait().exits_with(70).says("the run is missing in the audit file").says("its reader has closed it");
    assert_eq!(ran.json()["ended"], true);
    assert_eq!(line(&dir.join("other"))["status"], "ok", "the other file has its line");
}

#[test]
fn the_reader_of_a_pipe_gets_the_line() {
    let dir = TestDir::new();
    let path = fifo(&dir, "audit");
    let reader =
        File::from(rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, 0.into()).unwrap());
    Modbox::run_module(&dir, small_module(&dir, "small.wasm")).args(["--audit", "audit"]).run().exits_with(0);
    let text = std::io::read_to_string(reader).unwrap();
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["status"], "ok");
}

#[test]
fn runs_at_once_write_whole_lines() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    Modbox::run_module(&dir, &module).run().exits_with(0);
    let content = "x".repeat(3000);
    let start = |n: usize| {
        let args = json!({"n": n, "content": content});
        Modbox::run_module(&dir, &module).args(["--audit", "audit"]).json_args(&args).spawn()
    };
    let running: Vec<_> = (0..20).map(start).collect();
    running.into_iter().for_each(|running| drop(running.wait().exits_with(0)));
    let mut seen: Vec<u64> = lines(&dir.join("audit")).iter().map(|line| line["args"]["n"].as_u64().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<u64>>());
}

#[test]
fn every_file_that_is_named_gets_the_line_once() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    dir.write("home/.config/modbox/policy.yaml", format!("audit: {}\n", dir.join("of-policy").display()));
    dir.mkdir("sub");
    let switches = ["--audit", "of-switch", "--audit", "sub/../of-switch", "--audit", "of-policy"];
    Modbox::run_module(&dir, &module).args(switches).run().exits_with(0);
    assert_eq!(line(&dir.join("of-policy")), line(&dir.join("of-switch")));
}

#[test]
fn a_policy_file_names_its_audit_file_by_an_absolute_path() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    dir.write("policy.yaml", "audit: audit.jsonl\n");
    let ran = Modbox::run_module(&dir, &module).args(["--policy", "policy.yaml"]).run().exits_with(2);
    let _ran = ran.says("policy.yaml").says("the audit file `audit.jsonl` must be an absolute path");
}

#[test]
fn a_module_is_not_granted_its_own_audit_file() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    dir.mkdir("granted/deeper");
    symlink("granted/deeper", dir.join("link")).unwrap();
    for file in ["granted/audit", "granted/deeper/audit", "link/audit"] {
        let run = Modbox::run_module(&dir, &module).args(["--allow-write", "granted", "--audit", file]);
        let _ran = run.run().exits_with(2).says("which the module may write; put it elsewhere, or grant less");
        Modbox::run_module(&dir, &module).args(["--allow-read", "granted", "--audit", file]).run().exits_with(0);
    }
}

#[test]
fn a_kernels_start_is_audited_and_fails_as_json() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let args = dir.write("args", "{}");
    let policy =
        |file: &str| dir.write("home/.config/modbox/policy.yaml", format!("audit: {}\n", dir.join(file).display()));
    policy("missing/audit");
    let ran = Modbox::new(&dir).arg(&module).arg(&args).run().exits_with(2);
    assert!(ran.json()["msg"].as_str().unwrap().contains("a run that cannot be audited does not start"), "{ran}");
    policy("audit");
    Modbox::new(&dir).arg(&module).arg(&args).run().exits_with(0);
    Modbox::new(&dir).arg(dir.join("gone.wasm")).arg(&args).run().exits_with(3);
    let statuses: Vec<Value> = lines(&dir.join("audit")).iter().map(|line| line["status"].clone()).collect();
    assert_eq!(statuses, ["ok", "failed"]);
}
