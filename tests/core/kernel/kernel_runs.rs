//! `modbox run` confines itself: what the report says about the confinement, how it works on kernels with fewer
//! features, and that a confined run still works.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::{fs, thread};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};
use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, copy_program, guest, small_module};

fn layers(ran: &RunOutput) -> (u64, Vec<String>) {
    let confinement = &ran.json()["confinement"];
    let layers = confinement["layers"].as_array().unwrap().iter().map(|layer| layer.as_str().unwrap().to_owned());
    (confinement["level"].as_u64().unwrap(), layers.collect())
}

/// The layers, with Landlock's version left out.
fn names(ran: &RunOutput) -> Vec<String> {
    layers(ran).1.into_iter().map(|layer| layer.split('-').next().unwrap().to_owned()).collect()
}

/// Runs modbox on a kernel that answers one call with an error, and only when its first argument is the given one.
fn without(call: i64, errno: i32, argument: Option<u64>, run: impl FnOnce() -> RunOutput + Send) -> RunOutput {
    let condition = |value| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value).unwrap();
    let rules: Vec<SeccompRule> =
        argument.map(|value| SeccompRule::new(vec![condition(value)]).unwrap()).into_iter().collect();
    let filter = SeccompFilter::new(
        [(call, rules)].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    // A filter binds the thread that installs it and what that starts.
    let behind = || {
        seccompiler::apply_filter(&program).unwrap();
        run()
    };
    thread::scope(|scope| scope.spawn(behind).join().unwrap())
}

fn without_landlock(run: impl FnOnce() -> RunOutput + Send) -> RunOutput {
    without(libc::SYS_landlock_create_ruleset, libc::ENOSYS, None, run)
}

#[test]
fn a_run_is_confined_by_the_kernel_also_when_it_compiles_first() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    for _ in 0..2 {
        let ran = Modbox::run_module(&dir, &module).own_cache(&dir).report().run().exits_with(0);
        assert_eq!(layers(&ran).0, 2, "{ran}");
        assert_eq!(names(&ran), ["wasmtime", "landlock", "seccomp", "rlimits", "capabilities", "no"], "{ran}");
    }
    dir.assert_nothing_left();
}

#[test]
fn a_module_that_is_trusted_with_everything_is_not_confined() {
    let dir = TestDir::new();
    let run = Modbox::run_module(&dir, small_module(&dir, "small.wasm")).arg("--allow-all").report();
    // With `--allow-all` the required level is ignored, since the two contradict each other.
    let ran = without_landlock(|| run.args(["--min-confinement", "2"]).run()).exits_with(0);
    assert_eq!(layers(&ran), (0, vec!["wasmtime".to_owned()]), "{ran}");
}

#[test]
fn a_kernel_without_landlock_is_refused_with_the_remedy() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let ran = without_landlock(|| Modbox::run_module(&dir, &module).report().run()).exits_with(4);
    let report = ran.json();
    assert_eq!(report["status"], "denied", "{ran}");
    let denial = json!([{
        "capability": "confinement", "subject": "level 1", "operation": "start", "allow": "--min-confinement 1",
    }]);
    assert_eq!(report["denials"], denial, "{ran}");
    let message = report["result"]["msg"].as_str().unwrap();
    for part in ["level 2", "Landlock: this kernel has none, Linux 6.2 and newer do", "`--min-confinement 1`"] {
        assert!(message.contains(part), "no `{part}` in {message}");
    }
    dir.assert_nothing_left();
}

#[test]
fn less_is_accepted_when_the_operator_says_so() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let run = || Modbox::run_module(&dir, &module).report().args(["--min-confinement", "1"]).run();
    let ran = without_landlock(run).exits_with(0);
    assert_eq!(layers(&ran).0, 1);
    assert_eq!(names(&ran), ["wasmtime", "seccomp", "rlimits", "capabilities", "no"]);
    assert!(ran.json()["notes"][0].as_str().unwrap().contains("Landlock: this kernel has none"), "{ran}");
    let policy = dir.write("policy.yaml", "min-confinement: 1\n");
    let run = || Modbox::run_module(&dir, &module).report().arg("--policy").arg(&policy).run();
    without_landlock(run).exits_with(0);
}

#[test]
fn a_policy_file_that_asks_for_more_is_not_overruled() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let policy = dir.write("policy.yaml", "min-confinement: 2\n");
    let run = || Modbox::run_module(&dir, &module).arg("--policy").arg(&policy).args(["--min-confinement", "0"]);
    let ran = without_landlock(|| run().run()).exits_with(4);
    let message = ran.json()["msg"].as_str().unwrap().to_owned();
    assert!(message.contains(&format!("policy file {} asks for more", policy.display())), "{message}");
    run().run().exits_with(0);
}

#[test]
fn every_layer_counts() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let least = |level: &str| Modbox::run_module(&dir, &module).report().args(["--min-confinement", level]).run();
    let filter = |level: &'static str| without(libc::SYS_seccomp, libc::EINVAL, Some(1), || least(level));
    let ran = filter("1").exits_with(0);
    assert_eq!(
        (layers(&ran).0, names(&ran)),
        (1, ["wasmtime", "landlock", "rlimits", "capabilities", "no"].map(str::to_owned).to_vec())
    );
    filter("2").exits_with(4);
    let limits = |level: &'static str| without(libc::SYS_prlimit64, libc::EPERM, Some(0), || least(level));
    let ran = limits("0").exits_with(0);
    assert_eq!(layers(&ran).0, 0, "{ran}");
    limits("1").exits_with(4);
}

#[test]
fn the_highest_level_is_not_for_guests() {
    let dir = TestDir::new();
    let module = small_module(&dir, "small.wasm");
    let ran = Modbox::run_module(&dir, &module).args(["--min-confinement", "3"]).run().exits_with(4);
    assert!(ran.json()["msg"].as_str().unwrap().contains("not confined further"), "{ran}");
    Modbox::run_module(&dir, &module).args(["--min-confinement", "4"]).run().exits_with(2).says("from 0 to 3");
}

#[test]
fn an_ordinary_user_is_confined_like_root() {
    let dir = TestDir::new();
    let [user, group] = [12345; 2];
    let rooted = rustix::process::geteuid().is_root();
    // Another user may have no access to the target directory.
    let place = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    copy_program(&at("modbox"));
    fs::copy(guest("files"), at("files.wasm")).unwrap();
    for own in ["home", "tmp", "granted"] {
        fs::create_dir(at(own)).unwrap();
        if rooted {
            std::os::unix::fs::chown(at(own), Some(user), Some(group)).unwrap();
        }
    }
    let made = at("granted/made");
    let args = json!({"op": "create", "path": made, "expect": "ok"}).to_string();
    let mut command = Command::new(at("modbox"));
    command.env_clear().env("HOME", at("home")).env("TMPDIR", at("tmp")).current_dir(at("granted"));
    command.arg("run").arg(at("files.wasm")).args(["--output", "report", "--allow-write", ".", "--args", &args]);
    if rooted {
        command.uid(user).gid(group);
    }
    let output = command.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(report["confinement"]["level"], 2, "{report}");
    assert_eq!(report["result"]["failed"], false, "{report}");
    assert_eq!(fs::read(made).unwrap(), b"guest");
    let left = fs::read_dir(at("tmp")).unwrap().flatten().flat_map(|root| fs::read_dir(root.path()).unwrap()).count();
    assert_eq!(left, 0, "the directory of the run is gone");
    drop(dir);
}

#[test]
fn a_guest_that_opens_too_much_sees_an_error() {
    let dir = TestDir::new();
    let run = Modbox::run_module(&dir, guest("open_many")).json_args(&json!({"times": 2000})).report().run();
    let result = run.exits_with(0).json()["result"].clone();
    let opened = result["opened"].as_u64().unwrap();
    assert!((200..400).contains(&opened), "{result}");
    assert_ne!(result["stopped"], "ok", "{result}");
    dir.assert_nothing_left();
}

#[test]
fn what_the_caller_left_open_does_not_count() {
    let dir = TestDir::new();
    let open = "for n in $(seq 100 399); do eval \"exec $n</dev/null\"; done; exec \"$@\"";
    let modbox = Path::new(env!("CARGO_BIN_EXE_modbox"));
    let args = json!({"times": 100}).to_string();
    let ran = Modbox::of(Path::new("/bin/bash"), &dir)
        .args(["-c", open, "bash"])
        .arg(modbox)
        .arg("run")
        .arg(guest("open_many"))
        .args(["--args", &args])
        .run()
        .exits_with(0);
    assert_eq!(ran.json()["opened"], 100, "{ran}");
}

#[test]
fn a_guest_that_writes_too_much_sees_an_error() {
    let dir = TestDir::new();
    let args = json!({"dir": "/tmp", "files": 1, "mib": 80});
    let ran = Modbox::run_module(&dir, guest("fill")).json_args(&args).report().run();
    let report = ran.json();
    // The limit of 64 MiB holds, by the guard of the filesystem or by the kernel, and the report is whole.
    let written = report["result"]["written_mib"].as_u64().unwrap_or(64);
    assert!(written <= 64, "{ran}");
    assert_ne!(report["status"], "crashed", "{ran}");
    dir.assert_nothing_left();
}

#[test]
fn a_long_log_can_be_added_to() {
    let dir = TestDir::new();
    let log = dir.mkdir("granted").join("long.log");
    // Longer than all that a run may write.
    fs::File::create(&log).unwrap().set_len(200 << 20).unwrap();
    let args = json!({"op": "append", "path": log, "expect": "ok"});
    let run = || Modbox::run_module(&dir, guest("files")).json_args(&args);
    run().args(["--allow-write", "granted"]).run().exits_with(0);
    assert_eq!(fs::metadata(&log).unwrap().len(), (200 << 20) + 5);
    // So can a long file that modbox itself prints to.
    let modbox = env!("CARGO_BIN_EXE_modbox");
    let shell = format!("{modbox} run {} >> {}", small_module(&dir, "small.wasm").display(), log.display());
    Modbox::of(Path::new("/bin/sh"), &dir).args(["-c", &shell]).run().exits_with(0);
    assert!(fs::metadata(&log).unwrap().len() > (200 << 20) + 5, "the result is in the log");
}

#[test]
fn a_guest_with_all_of_its_memory_and_output_ends_in_a_report() {
    let dir = TestDir::new();
    // An array of short numbers takes the most memory for its size as JSON.
    let numbers = format!("{{\"a\": [{}0]}}", "0,".repeat(2_000_000));
    let args = json!({"stdout": numbers.bytes().map(|byte| format!("{byte:02x}")).collect::<String>(), "stderr": ""});
    let file = dir.write("args.json", args.to_string());
    let ran =
        Modbox::run_module(&dir, guest("output")).arg("--args").arg(format!("@{}", file.display())).run().exits_with(0);
    assert!(ran.stdout.len() > 2_000_000, "{} bytes", ran.stdout.len());
}
