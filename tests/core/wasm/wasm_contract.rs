//! What a guest gets as input, and how its output becomes a result.

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, core_module, guest};

/// The reserved keys of ansible-core 2.19.
const INTERNAL: [&str; 18] = [
    "_ansible_check_mode",
    "_ansible_debug",
    "_ansible_diff",
    "_ansible_ignore_unknown_opts",
    "_ansible_inject_invocation",
    "_ansible_keep_remote_files",
    "_ansible_module_name",
    "_ansible_no_log",
    "_ansible_remote_tmp",
    "_ansible_selinux_special_fs",
    "_ansible_shell_executable",
    "_ansible_socket",
    "_ansible_syslog_facility",
    "_ansible_target_log_info",
    "_ansible_tmpdir",
    "_ansible_tracebacks_for",
    "_ansible_verbosity",
    "_ansible_version",
];

fn echo(options: &[&str]) -> Value {
    let dir = TestDir::new();
    let ran = Modbox::run_module(&dir, guest("echo")).args(options).run();
    dir.assert_nothing_left();
    seen_by_echo(&ran.exits_with(0))
}

/// What the guest saw; it prints its arguments as text.
fn seen_by_echo(ran: &RunOutput) -> Value {
    let mut seen = ran.json();
    seen["args"] = serde_json::from_str(seen["args"].as_str().unwrap()).unwrap();
    seen
}

fn run_with(name: &str, args: &Value, options: &[&str]) -> RunOutput {
    let dir = TestDir::new();
    let ran = Modbox::run_module(&dir, guest(name)).json_args(args).args(options).run();
    dir.assert_nothing_left();
    ran
}

/// Runs a guest that prints these bytes and exits with `code`.
fn print(stdout: &[u8], code: u8, options: &[&str]) -> RunOutput {
    let hex: String = stdout.iter().map(|byte| format!("{byte:02x}")).collect();
    run_with("output", &json!({"stdout": hex, "code": code}), options)
}

#[test]
fn argv_is_the_modules_name_and_the_arguments_file() {
    let seen = echo(&[]);
    assert_eq!(seen["argv"], json!(["echo", "/args/args.json"]));
}

#[test]
fn a_guest_sees_its_arguments_a_scratch_directory_and_nothing_else() {
    let seen = echo(&[]);
    assert_eq!(seen["args_dir"], json!(["args.json"]));
    assert_eq!(seen["tmp_dir"], json!([]));
    assert_eq!(seen["env"], json!({}));
    assert_eq!(seen["stdin"], "");
    assert_eq!(seen["stdin_read"], "ok");
    // A list of what is granted would pass for a list of the machine's root.
    assert!(seen["root_dir"].as_str().is_some_and(|error| error.contains("Permission denied")), "{seen:#}");
}

#[test]
fn a_module_of_the_sdk_starts_in_its_scratch_directory() {
    let dir = TestDir::new();
    let result = Modbox::run_module(&dir, guest("relative")).args(["to=/args"]).run().json();
    let seen = (&result["started"], &result["note"], &result["now"]);
    // Another name of `/tmp`, below which nothing is granted.
    assert_eq!(seen, (&json!("/args/.cwd"), &json!("written"), &json!("/args")));
}

#[test]
fn arguments_are_the_callers_and_ansibles_reserved_ones() {
    let seen = echo(&["a=1", "b=x y"]);
    let args = seen["args"].as_object().unwrap();
    let mut names: Vec<&str> = args.keys().map(String::as_str).filter(|key| key.starts_with("_ansible_")).collect();
    names.sort_unstable();
    assert_eq!(names, INTERNAL);
    assert_eq!((&args["a"], &args["b"]), (&json!("1"), &json!("x y")));
    assert_eq!(args.len(), INTERNAL.len() + 2);
    assert_eq!(args["_ansible_tmpdir"], "/tmp/");
    assert_eq!(args["_ansible_check_mode"], false);
    assert_eq!(args["_ansible_version"], "2.21.5");
    assert_eq!(args["_ansible_module_name"], "echo");
    assert_eq!(args["_ansible_selinux_special_fs"], json!(["fuse", "nfs", "vboxsf", "ramfs", "9p", "vfat"]));
}

#[test]
fn ansibles_switches_reach_the_module() {
    let args = echo(&["--check", "--diff", "-vvv"])["args"].clone();
    assert_eq!((&args["_ansible_check_mode"], &args["_ansible_diff"]), (&json!(true), &json!(true)));
    assert_eq!(args["_ansible_verbosity"], 3);
}

#[test]
fn typed_arguments_keep_their_types_and_later_ones_win() {
    let seen =
        echo(&["-a", r#"{"n": 1, "list": [1, null, {"x": 1.5}], "name": "Zoë\u2028"}"#, "-a", "{n: 2}", "n=three"]);
    assert_eq!(seen["args"]["list"], json!([1, null, {"x": 1.5}]));
    assert_eq!(seen["args"]["name"], "Zoë\u{2028}");
    assert_eq!(seen["args"]["n"], "three");
    assert_eq!(seen["args_are_ascii"], true);
}

#[test]
fn arguments_come_from_a_file_and_from_stdin() {
    let dir = TestDir::new();
    let file = dir.write("args.yml", "n: 4\nlist:\n- one\n");
    let from_file = format!("@{}", file.display());
    let ran = Modbox::run_module(&dir, guest("echo")).args(["-a", &from_file, "-a", "-"]).stdin(r#"{"m": 5}"#).run();
    let seen = seen_by_echo(&ran.exits_with(0));
    assert_eq!(seen["args"]["n"], 4);
    assert_eq!(seen["args"]["list"], json!(["one"]));
    assert_eq!(seen["args"]["m"], 5);
}

#[test]
fn stdin_holds_the_arguments_when_asked_to() {
    let seen = echo(&["--stdin-args", "a=1"]);
    let stdin: Value = serde_json::from_str(seen["stdin"].as_str().unwrap()).unwrap();
    assert_eq!(stdin, seen["args"]);
}

#[test]
fn a_variable_is_seen_when_it_is_granted() {
    let dir = TestDir::new();
    let run = |option: &[&str]| {
        Modbox::run_module(&dir, guest("echo")).args(option).env("STAGE", "test").run().exits_with(0).json()["env"]
            .clone()
    };
    assert_eq!(run(&[]), json!({}));
    assert_eq!(run(&["--allow-env", "STAGE"]), json!({"STAGE": "test"}));
    assert_eq!(run(&["--allow-env", "STAGE=live", "--allow-env", "MORE=1"]), json!({"STAGE": "live", "MORE": "1"}));
}

#[test]
fn output_is_ascii_whatever_the_module_prints() {
    let ran = print("{\"text\": \"\u{2028}\\u2029é\", \"changed\": true}".as_bytes(), 0, &[]);
    // A raw U+2028 ends a line for Ansible's filter, so this is what Ansible says, too.
    assert!(ran.stdout.is_ascii());
    let ran = print("{\"text\": \"\\u2028\\u2029é\", \"changed\": true}".as_bytes(), 0, &[]).exits_with(0);
    assert!(ran.stdout.is_ascii(), "{ran}");
    assert_eq!(ran.json()["text"], "\u{2028}\u{2029}é");
}

#[test]
fn bytes_that_are_not_utf8_are_refused_inside_the_result_and_harmless_around_it() {
    let result = print(b"{\"text\": \"a\xff\xfeb\"}", 0, &[]).exits_with(1).json();
    assert!(
        result["msg"].as_str().unwrap().contains("Refusing to deserialize an invalid UTF8 string value"),
        "{result}"
    );
    let result = print(b"\xff\n{\"changed\": true}", 0, &[]).exits_with(0).json();
    assert_eq!(result["changed"], true);
}

#[test]
fn junk_around_the_result_is_dropped_with_a_warning() {
    let ran = print(b"starting\n{\"changed\": true}\ndone\n", 0, &[]).exits_with(0);
    let result = ran.json();
    assert_eq!(result["changed"], true);
    assert_eq!(result["warnings"], json!(["Module invocation had junk after the JSON data: done"]));
}

#[test]
fn two_documents_are_not_a_result() {
    let ran = print(b"{\"n\": 1}\n{\"n\": 2}\n", 0, &[]).exits_with(1);
    let result = ran.json();
    assert_eq!(result["failed"], true);
    let message = "Module result deserialization failed: Extra data: line 2 column 1 (char 9)";
    assert_eq!(result["msg"], message);
    assert_eq!(result["module_stdout"], "{\"n\": 1}\n{\"n\": 2}\n");
    assert_eq!(result["rc"], 0);
}

#[test]
fn the_last_json_line_counts_when_asked_to() {
    let chatter = b"{\"n\": 1}\nnoise {\n{\"n\": 2}\n[3]\nbye\n";
    print(chatter, 0, &[]).exits_with(1);
    assert_eq!(print(chatter, 0, &["--last-json-line"]).exits_with(0).json()["n"], 2);
}

#[test]
fn no_output_is_a_failure() {
    let ran = print(b"", 0, &[]).exits_with(1);
    let result = ran.json();
    assert_eq!(result["msg"], "Module result deserialization failed: No start of json char found");
    assert_eq!((&result["failed"], &result["module_stdout"]), (&json!(true), &json!("")));
}

#[test]
fn the_exit_status_of_a_module_counts_only_without_a_result() {
    print(b"{\"changed\": false}", 3, &[]).exits_with(0);
    // WASI 0.2 knows two exit statuses, success and failure.
    let result = print(b"oops", 3, &[]).exits_with(1).json();
    assert_eq!(result["rc"], 1);
}

#[test]
fn lines_are_added_to_stdout_and_stderr_of_a_result() {
    let result = print(br#"{"stdout": "a\nb\n", "stderr": ""}"#, 0, &[]).exits_with(0).json();
    assert_eq!(result["stdout_lines"], json!(["a", "b"]));
    assert_eq!(result["stderr_lines"], json!([]));
}

#[test]
fn internal_keys_are_removed_from_a_result() {
    // ansible-core 2.21 takes only the keys with its prefix for its own, and keeps odd results.
    for (contract, host, results) in [("2.19", None, None), ("2.21", Some(json!({})), Some(json!("text")))] {
        let text = br#"{"_ansible_x": 1, "add_host": {}, "results": "text"}"#;
        let result = print(text, 0, &["--contract", contract]).exits_with(0).json();
        assert_eq!(result.get("_ansible_x"), None);
        assert_eq!((result.get("add_host"), result.get("results")), (host.as_ref(), results.as_ref()), "{contract}");
        assert_eq!(result["ansible_module_results"], "text");
    }
}

#[test]
fn each_status_has_its_exit_status() {
    let cases: [(&[u8], i32, &str); 6] = [
        (br#"{"changed": false}"#, 0, "ok"),
        (br#"{"changed": true}"#, 0, "changed"),
        (br#"{"skipped": true}"#, 0, "skipped"),
        (br#"{"failed": true, "msg": "no"}"#, 1, "failed"),
        (br#"{"rc": 2}"#, 1, "failed"),
        (b"no result", 1, "failed"),
    ];
    for (stdout, code, status) in cases {
        let report = print(stdout, 0, &["--output", "report"]).exits_with(code).json();
        assert_eq!(report["status"], status, "{report}");
    }
}

#[test]
fn a_guest_that_only_exits_has_failed() {
    let report = run_with("end", &json!({"how": "exit", "code": 255}), &["--output", "report"]).exits_with(1).json();
    assert_eq!(report["status"], "failed");
    assert_eq!(report["result"]["failed"], true);
}

#[test]
fn a_result_before_a_bad_exit_counts() {
    let args = json!({"how": "exit", "code": 255, "text": r#"{"changed": true}"#});
    assert_eq!(run_with("end", &args, &[]).exits_with(0).json()["changed"], true);
}

#[test]
fn a_crash_is_a_failed_result_and_has_its_own_status() {
    for how in ["trap", "panic"] {
        let ran = run_with("end", &json!({"how": how}), &["--output", "report"]).exits_with(6);
        let report = ran.json();
        assert_eq!(report["status"], "crashed", "{how}");
        assert_eq!(report["result"]["failed"], true, "{how}");
        assert!(report["result"]["msg"].is_string(), "{how}");
    }
    let panicked = run_with("end", &json!({"how": "panic"}), &[]).exits_with(6).json();
    assert!(panicked.to_string().contains("this guest panics"), "the panic is lost: {panicked}");
}

#[test]
fn deep_recursion_is_a_crash() {
    let report = run_with("recurse", &json!({}), &["--output", "report"]).exits_with(6).json();
    assert_eq!((&report["status"], &report["result"]["failed"]), (&json!("crashed"), &json!(true)));
}

#[test]
fn a_report_says_what_ran_and_what_it_used() {
    let report = print(br#"{"changed": false}"#, 0, &["--output", "report"]).exits_with(0).json();
    assert_eq!(report["module"]["kind"], "component");
    assert!(report["module"]["digest"].as_str().unwrap().starts_with("sha256:"));
    assert!(report["module"]["path"].as_str().unwrap().ends_with("output.wasm"));
    assert!(report["module"]["reason"].is_string());
    assert_eq!(report["result"], json!({"changed": false, "failed": false}));
    assert_eq!((&report["limit"], &report["denials"]), (&Value::Null, &json!([])));
    assert_eq!(report["usage"]["stdout_bytes"], 18);
    for (group, names) in [
        (
            "usage",
            ["wall_us", "cpu_us", "memory_bytes", "stdout_bytes", "stderr_bytes", "disk_bytes", "tmp_bytes", "files"]
                .as_slice(),
        ),
        ("timing", &["load_us", "compile_us", "instantiate_us", "run_us"]),
    ] {
        for name in names {
            assert!(report[group][name].is_u64(), "{group}.{name} in {report}");
        }
    }
}

#[test]
fn no_log_shows_nothing_of_the_result() {
    let ran = print(br#"{"changed": true, "secret": "swordfish"}"#, 0, &["--no-log"]).exits_with(0);
    assert!(!ran.stdout_text().contains("swordfish"));
    let result = ran.json();
    assert_eq!(result["changed"], true);
    assert!(result["censored"].as_str().unwrap().starts_with("the output has been hidden"));
}

#[test]
fn kept_files_are_kept_where_it_says() {
    let dir = TestDir::new();
    let ran = Modbox::run_module(&dir, guest("hello")).args(["--keep-files", "name=x", "n=1"]).run().exits_with(0);
    let kept: Vec<_> = std::fs::read_dir(dir.scratch_root()).unwrap().flatten().map(|e| e.path()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(ran.stderr_text().contains(&kept[0].display().to_string()), "{ran}");
    assert!(kept[0].join("args/args.json").exists());
}

#[test]
fn a_kernel_starts_it_with_a_file_and_an_arguments_file() {
    let dir = TestDir::new();
    let args = dir.write("args", r#"{"name": "kernel", "n": 3, "_ansible_check_mode": true}"#);
    let ran = Modbox::new(&dir).arg(guest("hello")).arg(&args).run().exits_with(0);
    let expect = json!({"changed": false, "failed": false, "greeting": "hello kernel", "n": 3, "check": true});
    assert_eq!(ran.json(), expect);
    assert_eq!(ran.stdout.iter().filter(|byte| **byte == b'\n').count(), 1, "one line: {ran}");
    dir.assert_nothing_left();
}

#[test]
fn a_module_that_is_not_a_command_is_not_loaded() {
    let dir = TestDir::new();
    let library = core_module(&dir, "library.wasm", r#"(func (export "helper"))"#);
    Modbox::run_module(&dir, library).run().exits_with(3);
}
