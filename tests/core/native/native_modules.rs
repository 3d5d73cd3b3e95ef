//! Classic module kinds on the command line: denied by default, started as by Ansible when allowed, and limited like
//! guests. `native_sandbox` tests the sandbox itself.

use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, native_c, wait_for};

/// A script that reads a JSON file.
fn want_json(body: &str) -> String {
    format!("#!/bin/sh\n# WANT_JSON\n{body}\n")
}

fn prepare(dir: &TestDir, script: &str) -> Modbox {
    Modbox::run_module(dir, dir.write("module", script)).arg("--allow-all").report()
}

/// Runs a script that is allowed everything.
fn run(script: &str, options: &[&str]) -> RunOutput {
    let dir = TestDir::new();
    let ran = prepare(&dir, script).args(options).run();
    dir.assert_nothing_left();
    ran
}

#[track_caller]
fn assert_limit(ran: &RunOutput, kind: &str, allowed: u64, unit: &str) {
    let report = ran.json();
    assert_eq!(report["limit"], json!({"kind": kind, "allowed": allowed, "unit": unit}), "{ran}");
    assert_eq!((&report["status"], &report["result"]["failed"]), (&json!("limit"), &json!(true)), "{ran}");
}

#[test]
fn every_native_kind_is_confined_by_default() {
    let dir = TestDir::new();
    let canary = dir.join("canary");
    let body = format!("touch '{}' && echo '{{}}'", canary.display());
    dir.write("want_json", want_json(&body));
    dir.write("old_style", format!("#!/bin/sh\n{body}\n"));
    dir.write("jsonargs", format!("#!/bin/sh\n# <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>\n{body}\n"));
    dir.write("binary", format!("#!/bin/sh\n{body}\n\u{1}"));
    for kind in ["want_json", "old_style", "jsonargs", "binary"] {
        let report = Modbox::run_module(&dir, dir.join(kind)).report().run().exits_with(1).json();
        assert_eq!((&report["status"], &report["module"]["kind"]), (&json!("failed"), &json!(kind)));
        assert_eq!(
            (&report["denials"][0]["allow"], &report["confinement"]["level"]),
            (&json!(format!("--allow-write {}", canary.display())), &json!(3)),
            "{report:#}"
        );
        assert!(!canary.exists(), "{kind} reached it");
    }
    // The allowed twins. The last one is not a program, so only the shell runs, and fails.
    for kind in ["want_json", "old_style", "jsonargs"] {
        for switches in [&["--allow-write", "."][..], &["--allow-all"]] {
            Modbox::run_module(&dir, dir.join(kind)).args(switches).run().exits_with(0);
            assert!(canary.exists(), "{kind} did not run");
            std::fs::remove_file(&canary).unwrap();
        }
    }
    dir.assert_nothing_left();
}

#[test]
fn the_kernels_form_confines_native_modules_too() {
    let dir = TestDir::new();
    let module = dir.write("module", want_json("touch canary || exit 1"));
    let ran = Modbox::new(&dir).arg(&module).arg(dir.write("args", "{}")).run().exits_with(1);
    assert_eq!(ran.json()["failed"], true);
    assert!(!dir.join("canary").exists());
    let module = dir.write("module", want_json("echo '{\"changed\": true}'"));
    Modbox::new(&dir).arg(module).arg(dir.write("args", "{}")).run().exits_with(0);
}

#[test]
fn a_module_that_can_be_piped_in_is_on_no_disk() {
    let dir = TestDir::new();
    let body = r#"
        printf '{"zero": "%s", "files": "%s", "stdin": "%s"}\n' "$0" "$(ls -A "$(ls -d "$TMPDIR"/modbox-*/*)" | tr '\n' ' ')" \
            "$(readlink /proc/$$/fd/0 | cut -d: -f1)"
        # <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>"#;
    let module = dir.write("module", format!("#!/bin/sh\n{body}\n"));
    let run = |options: &[&str]| {
        let ran = Modbox::run_module(&dir, &module).args(["--allow-all", "secret=s3cr3t"]).args(options).report().run();
        ran.exits_with(0).json()
    };
    let piped = run(&[])["result"].clone();
    assert_eq!((&piped["zero"], &piped["files"]), (&json!("/bin/sh"), &json!("")), "{piped}");
    assert_eq!(piped["stdin"], "/memfd");
    let laid_out = run(&["--no-pipelining"])["result"].clone();
    assert!(laid_out["zero"].as_str().unwrap().ends_with("/AnsiballZ_module"), "{laid_out}");
    assert_eq!((&laid_out["files"], &laid_out["stdin"]), (&json!("AnsiballZ_module "), &json!("/dev/null")));
    dir.assert_nothing_left();
    // `--keep-files` writes the module to the disk, so that the user can read it.
    let kept = run(&["--keep-files"])["kept_files"].as_str().unwrap().to_owned();
    let text = std::fs::read_to_string(std::path::Path::new(&kept).join("AnsiballZ_module")).unwrap();
    assert!(text.contains("s3cr3t"), "{text}");
    std::fs::remove_dir_all(kept).unwrap();
}

#[test]
fn a_large_module_is_piped_in_whole() {
    let dir = TestDir::new();
    let filler = "# ä".to_owned() + &"x".repeat(60) + "\n";
    let body = filler.repeat(200_000);
    let module = dir.write(
        "module",
        format!("#!/bin/sh\n{body}echo '{{\"end\": true}}'\n# <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>\n"),
    );
    let result = Modbox::run_module(&dir, module).arg("--allow-all").run().exits_with(0).json();
    assert_eq!(result["end"], true);
    dir.assert_nothing_left();
}

#[test]
fn a_module_is_told_what_the_switches_say() {
    let dir = TestDir::new();
    let module = dir.write("module", want_json("cp \"$1\" told; echo '{}'"));
    // Reserved keys are removed from results, so the module writes its arguments to a file.
    let told = |options: &[&str]| -> Value {
        Modbox::run_module(&dir, &module).arg("--allow-all").args(options).run().exits_with(0);
        serde_json::from_slice(&std::fs::read(dir.join("told")).unwrap()).unwrap()
    };
    let options = [
        "--debug",
        "--no-target-syslog",
        "--module-name",
        "a.b.c",
        "--syslog-facility",
        "LOG_LOCAL1",
        "--target-log-info",
        "here",
        "--tracebacks-for",
        "warning,error",
        "--ignore-unknown-opts",
        "--shell-executable",
        "/bin/dash",
        "--remote-tmp",
        "/r",
        "--socket",
        "/s",
        "--selinux-special-fs",
        "a,b",
        "--check",
        "--diff",
        "-v",
    ];
    let args = told(&options);
    for (key, expect) in [
        ("debug", json!(true)),
        ("no_log", json!(true)),
        ("check_mode", json!(true)),
        ("diff", json!(true)),
        ("verbosity", json!(1)),
        ("version", json!("2.21.5")),
        ("module_name", json!("a.b.c")),
        ("syslog_facility", json!("LOG_LOCAL1")),
        ("target_log_info", json!("here")),
        ("tracebacks_for", json!(["error", "warning"])),
        ("ignore_unknown_opts", json!(true)),
        ("shell_executable", json!("/bin/dash")),
        ("remote_tmp", json!("/r")),
        ("socket", json!("/s")),
        ("selinux_special_fs", json!(["a", "b"])),
        ("keep_remote_files", json!(false)),
    ] {
        assert_eq!(args[format!("_ansible_{key}")], expect, "{key}");
    }
    let options = ["--contract", "2.9", "--string-conversion-action", "error"];
    let args = told(&options);
    assert_eq!(
        (&args["_ansible_version"], &args["_ansible_string_conversion_action"]),
        (&json!("2.9.27"), &json!("error"))
    );
    assert!(args.get("_ansible_tracebacks_for").is_none());
    for wrong in
        [&["--contract", "2.15"][..], &["--tracebacks-for", "x"], &["--contract", "2.14", "--target-log-info", "x"]]
    {
        Modbox::run_module(&dir, &module).arg("--allow-all").args(wrong).run().exits_with(2);
    }
}

#[test]
fn a_module_gets_one_argument_a_private_directory_and_an_empty_stdin() {
    let script = r#"
        mode() { stat -c %a "$1"; }
        printf '{"count": %s, "args": "%s", "directory": "%s", "stdin": %s, "name": "%s"}\n' \
            $# "$(mode "$1")" "$(mode "$(dirname "$1")")" "$(wc -c)" "$(basename "$0")""#;
    let result = run(&want_json(script), &[]).exits_with(0).json()["result"].clone();
    assert_eq!((&result["count"], &result["stdin"]), (&json!(1), &json!(0)), "{result}");
    assert_eq!((&result["args"], &result["directory"]), (&json!("744"), &json!("700")), "{result}");
    assert_eq!(result["name"], "AnsiballZ_module");
}

#[test]
fn a_binary_is_started_by_the_kernel() {
    let dir = TestDir::new();
    let module = native_c("authoring/kinds/hello.c");
    let ran =
        Modbox::run_module(&dir, module).arg("--allow-all").json_args(&json!({"name": "x", "n": 1})).report().run();
    let report = ran.exits_with(0).json();
    assert_eq!((&report["module"]["kind"], &report["result"]["greeting"]), (&json!("binary"), &json!("hello x")));
    dir.assert_nothing_left();
}

#[test]
fn an_interpreter_can_be_replaced() {
    let script = "#!/nowhere/shell\n# WANT_JSON\necho '{\"changed\": true}'\n";
    let missing = run(script, &[]).exits_with(1).json();
    assert_eq!(missing["result"]["msg"], "The module interpreter '/nowhere/shell' was not found.");
    let report = run(script, &["--interpreter", "shell=/bin/sh"]).exits_with(0).json();
    assert_eq!(report["status"], "changed");
}

#[test]
fn arguments_of_an_interpreter_line_are_arguments() {
    for line in ["#!/usr/bin/env sh", "#!/bin/sh -eu", "#! /bin/sh"] {
        let script = format!("{line}\n# WANT_JSON\nprintf '{{\"flags\": \"%s\"}}' \"$-\"\n");
        let report = run(&script, &[]).exits_with(0).json();
        let flags = report["result"]["flags"].as_str().unwrap();
        assert_eq!(flags.contains('e') && flags.contains('u'), line.ends_with("-eu"), "{line}: {flags}");
    }
}

#[test]
fn the_exit_status_counts_only_without_a_result() {
    run(&want_json(r#"echo '{"changed": false}'; exit 3"#), &[]).exits_with(0);
    let report = run(&want_json("echo oops >&2; exit 3"), &[]).exits_with(1).json();
    assert_eq!((&report["result"]["rc"], &report["result"]["module_stderr"]), (&json!(3), &json!("oops\n")));
}

#[test]
fn death_by_a_signal_is_a_crash() {
    for (signal, rc) in [("KILL", 137), ("SEGV", 139), ("TERM", 143)] {
        let report = run(&want_json(&format!("kill -{signal} $$; sleep 600")), &[]).exits_with(6).json();
        assert_eq!((&report["status"], &report["result"]["failed"]), (&json!("crashed"), &json!(true)), "{signal}");
        assert_eq!(report["result"]["rc"], rc, "{signal}");
    }
    // A result that was printed before it counts.
    run(&want_json(r#"echo '{"changed": true}'; kill -KILL $$"#), &[]).exits_with(0);
}

#[test]
fn an_endless_sleep_ends_at_the_timeout() {
    let ran = run(&want_json("trap '' TERM INT HUP; sleep 3600"), &["--timeout", "400ms"]).exits_with(5);
    assert_limit(&ran, "wall", 400_000, "us");
    ran.within(Duration::from_secs(3));
}

#[test]
fn an_endless_loop_ends_at_its_cpu_time() {
    let ran = run(&want_json("while :; do :; done"), &["--cpu-time", "1s", "--timeout", "20s"]).exits_with(5);
    assert_limit(&ran, "cpu", 1_000_000, "us");
    ran.within(Duration::from_secs(10));
}

#[test]
fn the_whole_tree_is_gone_at_a_limit() {
    let script = "setsid sh -c 'trap \"\" TERM; sleep 3600' & (sleep 3600 &) ; nohup sleep 3600 & sleep 3600";
    let ran = run(&want_json(script), &["--timeout", "400ms"]).exits_with(5);
    assert_limit(&ran, "wall", 400_000, "us");
}

#[test]
fn a_daemon_that_holds_the_output_delays_no_result() {
    let script = r#"setsid sleep 3600 & echo "{\"changed\": true, \"pid\": $!}""#;
    let dir = TestDir::new();
    let ran = prepare(&dir, &want_json(script)).run().exits_with(0).within(Duration::from_secs(5));
    let report = ran.json();
    // Nothing confines it, so it stays.
    let pid = Pid::from_raw(i32::try_from(report["result"]["pid"].as_i64().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::KILL).unwrap();
    assert_eq!(report["status"], "changed");
    assert!(wait_for(Duration::from_secs(10), || rustix::process::test_kill_process(pid).is_err()));
    dir.assert_nothing_left();
}

#[test]
fn too_many_processes_are_a_limit() {
    let script = "i=0; while [ $i -lt 100 ]; do sleep 3600 & i=$((i+1)); done; wait";
    let ran = run(&want_json(script), &["--max-processes", "10", "--timeout", "20s"]);
    // A user's own limit makes `fork` fail; root has none and is watched.
    assert!(matches!(ran.status.code(), Some(1 | 5)), "{ran}");
    let ran = ran.within(Duration::from_secs(10));
    assert_eq!(ran.json()["result"]["failed"], true, "{ran}");
}

#[test]
fn ten_gigabytes_of_output_are_cut_and_reported() {
    for (stream, redirection) in [("stdout", ""), ("stderr", ">&2")] {
        let script = want_json(&format!("head -c 10000000000 /dev/zero {redirection}"));
        let ran = run(&script, &["--max-output", "64KiB", "--timeout", "3s"]).exits_with(5);
        let report = ran.json();
        // A slow machine ends it by the clock; either way the run is bounded.
        let kind = report["limit"]["kind"].as_str().unwrap();
        assert!(kind == stream || kind == "wall", "{ran}");
        assert!(report["usage"][format!("{stream}_bytes")].as_u64().unwrap() > 64 << 10, "{ran}");
        assert!(ran.stdout.len() < 2 << 20, "{} bytes are too many for a report", ran.stdout.len());
    }
}

#[test]
fn both_streams_at_once_make_no_deadlock() {
    let script = "head -c 20000000 /dev/zero >&2 & head -c 20000000 /dev/zero; wait";
    let ran = run(&want_json(script), &["--max-output", "1KiB"]).exits_with(5);
    let report = ran.json();
    assert_eq!(report["usage"]["stdout_bytes"], 20_000_000, "{ran}");
    assert_eq!(report["usage"]["stderr_bytes"], 20_000_000, "{ran}");
}

#[test]
fn a_module_may_remove_its_files_and_close_its_directory() {
    for body in [
        r#"rm "$1""#,
        r#"rm -rf "$(dirname "$1")""#,
        r#"d=$(dirname "$1"); mkdir -p "$d/a/b"; touch "$d/a/b/c"; chmod 0 "$d/a/b" "$d/a""#,
        r#"d=$(dirname "$1"); chmod 0 "$d""#,
        r#"d=$(dirname "$1"); ln -s / "$d/root"; mkfifo "$d/pipe""#,
    ] {
        let report = run(&want_json(&format!("{body}\necho '{{\"changed\": true}}'")), &[]).exits_with(0).json();
        assert_eq!(report["status"], "changed", "{body}");
    }
}

#[test]
fn links_in_the_temporary_directory_are_removed_and_not_followed() {
    let dir = TestDir::new();
    let precious = dir.write("precious/file", "precious");
    let target = dir.join("precious").display().to_string();
    let script = want_json(&format!("ln -s '{target}' \"$(dirname \"$1\")/link\"; echo '{{}}'"));
    prepare(&dir, &script).run().exits_with(0);
    dir.assert_nothing_left();
    assert_eq!(std::fs::read(precious).unwrap(), b"precious");
}

#[test]
fn a_result_is_read_by_the_rules_of_ansible() {
    let cases: [(&str, i32, Value); 4] = [
        ("echo hi; echo '{\"a\": 1}'; echo bye", 0, json!({"a": 1})),
        ("echo '{\"a\": 1}'; echo '{\"a\": 2}'", 1, json!({"rc": 0})),
        ("echo '{\"a\": NaN}' | tr -d x", 0, json!({})),
        ("echo '{\"rc\": 7}'", 1, json!({"rc": 7})),
    ];
    for (body, code, part) in cases {
        let dir = TestDir::new();
        let ran =
            Modbox::run_module(&dir, dir.write("module", want_json(body))).arg("--allow-all").run().exits_with(code);
        // `NaN` is not JSON, although Python reads and writes it.
        let text = ran.stdout_text().replace("NaN", "null");
        let result: Value = serde_json::from_str(&text).unwrap();
        for (key, value) in part.as_object().unwrap() {
            assert_eq!(&result[key], value, "{ran}");
        }
        dir.assert_nothing_left();
    }
}
