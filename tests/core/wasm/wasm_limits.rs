//! A guest ends at its limits, whether it spins, sleeps, blocks, allocates or prints too much. The result is
//! well-formed, and the report names the limit.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, component, core_module, guest, prefixed};

/// Ends at the limit, plus the start of a process and the load of compiled code on a busy machine.
const SLACK: Duration = Duration::from_millis(1500);

fn limited(name: &str, args: &Value, options: &[&str]) -> RunOutput {
    let dir = TestDir::new();
    // Compiled beforehand, so that times are those of the run.
    Modbox::run_module(&dir, guest(name)).args(["--timeout", "1ms"]).run();
    let ran = Modbox::run_module(&dir, guest(name)).json_args(args).args(options).report().run();
    dir.assert_nothing_left();
    ran
}

#[track_caller]
fn assert_limit(ran: &RunOutput, kind: &str, allowed: u64, unit: &str) {
    let report = ran.json();
    assert_eq!(report["limit"], json!({"kind": kind, "allowed": allowed, "unit": unit}), "{ran}");
    assert_eq!(report["status"], "limit", "{ran}");
    assert_eq!(report["result"]["failed"], true, "{ran}");
    assert!(report["result"]["msg"].is_string(), "{ran}");
}

#[test]
fn an_endless_loop_ends_at_the_timeout() {
    let ran = limited("spin", &json!({}), &["--timeout", "400ms"]).exits_with(5);
    assert_limit(&ran, "wall", 400_000, "us");
    ran.within(Duration::from_millis(400) + SLACK);
}

/// Runs a guest in a process that executes the Python code `done` before it becomes modbox.
fn limited_after(done: &str, name: &str, options: &[&str]) -> RunOutput {
    let dir = TestDir::new();
    Modbox::run_module(&dir, guest(name)).args(["--timeout", "1ms"]).run();
    let before = |modbox: Command| {
        let mut python = Command::new("python3");
        python.args(["-c", &format!("import os, resource, signal, sys; {done}; os.execv(sys.argv[1], sys.argv[1:])")]);
        prefixed(python, &modbox)
    };
    Modbox::run_module(&dir, guest(name)).args(options).report().behind(before).run()
}

#[test]
fn an_alarm_set_before_the_start_still_ends_the_process() {
    for name in ["spin", "sleep"] {
        limited_after("signal.setitimer(signal.ITIMER_REAL, 0.5)", name, &[]).dies_of(Signal::ALARM);
    }
}

#[test]
fn an_endless_loop_ends_at_its_cpu_time() {
    let ran = limited("spin", &json!({}), &["--cpu-time", "300ms"]).exits_with(5);
    assert_limit(&ran, "cpu", 300_000, "us");
}

#[test]
fn an_endless_loop_of_host_calls_ends_at_its_cpu_time() {
    let ran = limited("spin_in_host", &json!({}), &["--cpu-time", "300ms", "--timeout", "20s"]).exits_with(5);
    assert_limit(&ran, "cpu", 300_000, "us");
}

#[test]
fn an_endless_sleep_ends_at_the_timeout() {
    for args in [json!({}), json!({"seconds": 3600})] {
        let ran = limited("sleep", &args, &["--timeout", "400ms"]).exits_with(5);
        assert_limit(&ran, "wall", 400_000, "us");
        ran.within(Duration::from_millis(400) + SLACK);
    }
}

#[test]
fn a_sleep_within_the_timeout_succeeds() {
    let ran = limited("sleep", &json!({"seconds": 0}), &["--timeout", "5s"]).exits_with(0);
    assert_eq!(ran.json()["limit"], Value::Null);
}

#[test]
fn a_wait_for_events_that_never_come_ends_at_the_timeout() {
    // One clock subscription at the end of time, in a module of WASI 0.1.
    let text = r#"
        (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
        (func (export "_start")
            (i32.store8 (i32.const 8) (i32.const 0))
            (i32.store (i32.const 16) (i32.const 1))
            (i64.store (i32.const 24) (i64.const -1))
            (drop (call $poll (i32.const 0) (i32.const 256) (i32.const 1) (i32.const 512))))"#;
    let dir = TestDir::new();
    let module = core_module(&dir, "poll.wasm", text);
    let ran = Modbox::run_module(&dir, module).args(["--timeout", "400ms"]).report().run().exits_with(5);
    assert_limit(&ran, "wall", 400_000, "us");
}

#[test]
fn single_instructions_that_move_much_do_not_outlast_the_timeout() {
    let dir = TestDir::new();
    let loops = [
        ("copy", "(memory.copy (i32.const 100000000) (i32.const 0) (i32.const 100000000))"),
        ("fill", "(memory.fill (i32.const 0) (i32.const 7) (i32.const 200000000))"),
        ("table-copy", "(table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 999999))"),
        ("table-fill", "(table.fill $t (i32.const 0) (ref.null func) (i32.const 1000000))"),
        ("table-grow", "(drop (table.grow $t (ref.null func) (i32.const 1)))"),
    ];
    for (name, step) in loops {
        let text = format!(
            r#"(memory (export "memory") 3100) (table $t 1000000 funcref)
               (func (export "_start") (loop $again {step} (br $again)))"#
        );
        let module = core_module(&dir, &format!("{name}.wasm"), &text);
        let run = |timeout| Modbox::run_module(&dir, &module).args(["--timeout", timeout]).report().run();
        run("1ms");
        let ran = run("400ms").exits_with(5);
        assert_limit(&ran, "wall", 400_000, "us");
        ran.within(Duration::from_millis(400) + SLACK);
    }
}

#[test]
fn a_table_that_takes_too_long_to_copy_is_refused() {
    let dir = TestDir::new();
    let run = |name: &str, table: &str, body: &str| {
        let module = core_module(&dir, name, &format!(r#"(table $t {table} funcref) (func (export "_start") {body})"#));
        Modbox::run_module(&dir, module).report().run().json()
    };
    let report = run("start.wasm", "2000000", "");
    assert_eq!(report["status"], "crashed", "{report}");
    assert!(report["result"]["msg"].as_str().unwrap().contains("table"), "{report}");
    // Growing the table beyond the limit fails with -1, on which this guest traps.
    let grow = |by: u32| {
        format!("(if (i32.eq (i32.const -1) (table.grow $t (ref.null func) (i32.const {by}))) (then unreachable))")
    };
    assert_eq!(run("refused.wasm", "1", &grow(2_000_000))["status"], "crashed");
    assert_eq!(run("allowed.wasm", "1", &grow(1_000_000))["status"], "failed");
}

#[test]
fn a_named_pipe_in_a_grant_does_not_hang_the_run() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    let fifo = granted.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let args = json!({"op": "read", "path": fifo, "expect": "ok"});
    let ran = Modbox::run_module(&dir, guest("files"))
        .json_args(&args)
        .arg("--allow-read")
        .arg(&granted)
        .args(["--timeout", "500ms"])
        .report()
        .run()
        .within(Duration::from_secs(5));
    // Refusing to open the file is as valid as ending at the limit.
    let report = ran.json();
    assert_eq!(report["result"]["failed"], true, "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn a_guest_that_takes_memory_until_it_aborts_has_hit_the_limit() {
    let ran = limited("memory", &json!({}), &["--max-memory", "32MiB"]).exits_with(5);
    assert_limit(&ran, "memory", 32 << 20, "bytes");
    assert!(ran.json()["usage"]["memory_bytes"].as_u64().unwrap() <= 32 << 20, "{ran}");
}

#[test]
fn a_guest_that_copes_with_the_memory_limit_gives_its_result() {
    let ran = limited("memory", &json!({"graceful": true}), &["--max-memory", "32MiB"]);
    let report = ran.json();
    let got = report["result"]["got_mib"].as_u64().unwrap();
    assert!((16..32).contains(&got), "{ran}");
}

#[test]
fn memory_within_the_limit_is_granted() {
    let ran = limited("memory", &json!({"mib": 20}), &["--max-memory", "64MiB"]).exits_with(0);
    assert_eq!(ran.json()["result"]["got_mib"], 20);
}

#[test]
fn the_memory_limit_holds_for_all_memories_together() {
    let dir = TestDir::new();
    let memories: String = (0..40).map(|index| format!("(core instance $i{index} (instantiate $m))\n")).collect();
    // Forty memories of 4 MiB each, before anything runs.
    let text = format!(r#"(component (core module $m (memory (export "memory") 64)) {memories} {RUN})"#);
    let module = component(&dir, "memories.wasm", &text);
    let ran = Modbox::run_module(&dir, module).args(["--max-memory", "64MiB"]).report().run().exits_with(5);
    assert_limit(&ran, "memory", 64 << 20, "bytes");
}

#[test]
fn a_large_table_counts_as_memory() {
    let dir = TestDir::new();
    let module = core_module(&dir, "table.wasm", r#"(table 1000000 funcref) (func (export "_start"))"#);
    let ran = Modbox::run_module(&dir, module).args(["--max-memory", "4MiB"]).report().run().exits_with(5);
    assert_limit(&ran, "memory", 4 << 20, "bytes");
}

/// `wasi:cli/run` for a component that has nothing to do.
const RUN: &str = r#"
    (core module $main (func (export "run") (result i32) (i32.const 0)))
    (core instance $main_instance (instantiate $main))
    (type $run_type (func (result (result))))
    (func $run (type $run_type) (canon lift (core func $main_instance "run")))
    (instance $run_interface (export "run" (func $run)))
    (export "wasi:cli/run@0.2.0" (instance $run_interface))"#;

#[test]
fn ten_gigabytes_of_output_are_cut_and_reported() {
    for stream in ["stdout", "stderr"] {
        let args = json!({"stream": stream, "bytes": 10_000_000_000_u64});
        let options = ["--max-output", "64KiB", "--timeout", "20s"];
        let ran = limited("flood", &args, &options).exits_with(5);
        let report = ran.json();
        // A slow machine ends it by the clock; either way the run is bounded and the head is kept.
        let kind = report["limit"]["kind"].as_str().unwrap();
        assert!(kind == stream || kind == "wall", "{ran}");
        assert!(report["usage"][format!("{stream}_bytes")].as_u64().unwrap() > 64 << 10, "{ran}");
        assert!(ran.stdout.len() < 1 << 20, "{} bytes are too many for a report", ran.stdout.len());
    }
}

#[test]
fn output_beyond_the_limit_is_cut_and_the_head_is_kept() {
    let args = json!({"stream": "stdout", "bytes": 1_000_000});
    let ran = limited("flood", &args, &["--max-output", "10KiB"]).exits_with(5);
    assert_limit(&ran, "stdout", 10 << 10, "bytes");
    let report = ran.json();
    assert!(report["usage"]["stdout_bytes"].as_u64().unwrap() > 1_000_000, "{ran}");
    assert!(report["result"]["module_stdout"].as_str().unwrap().starts_with("xxxx"), "{ran}");
    assert!(report["result"]["module_stdout"].as_str().unwrap().len() <= 10 << 10, "{ran}");
}

#[test]
fn much_output_within_the_limit_succeeds() {
    let args = json!({"stream": "stderr", "bytes": 3 << 20});
    let ran = limited("flood", &args, &[]).exits_with(0);
    let report = ran.json();
    assert_eq!((&report["limit"], &report["result"]["wrote"]), (&Value::Null, &json!(true)));
}

#[test]
fn what_a_guest_wrote_before_its_limit_is_not_lost() {
    let dir = TestDir::new();
    let args = json!({"stream": "stderr", "bytes": 100_000_000_000_u64});
    let ran = Modbox::run_module(&dir, guest("flood")).json_args(&args).args(["--timeout", "300ms"]).report().run();
    let report = ran.exits_with(5).json();
    assert!(report["result"]["module_stderr"].as_str().unwrap().starts_with("xxxx"));
}

#[test]
fn a_full_scratch_directory_is_gone_afterwards() {
    let ran = limited("fill", &json!({"dir": "/tmp", "files": 20, "mib": 2}), &[]).exits_with(0);
    let report = ran.json();
    assert_eq!((&report["result"]["made"], &report["result"]["written_mib"]), (&json!(20), &json!(40)));
    assert!(report["usage"]["disk_bytes"].as_u64().unwrap() >= 40 << 20, "{ran}");
}

#[test]
fn limits_come_from_a_policy_file_too() {
    let dir = TestDir::new();
    let policy = dir.write("policy.yaml", "limits: {timeout: 300ms}\n");
    let run = || Modbox::run_module(&dir, guest("sleep")).arg("--policy").arg(&policy).report();
    assert_limit(&run().run().exits_with(5), "wall", 300_000, "us");
    // The command line overrides the file.
    assert_limit(&run().args(["--timeout", "100ms"]).run().exits_with(5), "wall", 100_000, "us");
}
