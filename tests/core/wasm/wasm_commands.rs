//! Commands that guests request by `modbox:host/process`: which are granted, what they see, how they end, and that they
//! leave nothing behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use modbox_contract::InternalArgs;
use modbox_contract::args::decode_file;
use modbox_policy::Policy;
use modbox_policy::run::{RunGrant, exactly, switch};
use modbox_run::{Arguments, Module, ModuleFile, RunRequest, Runner, RunnerConfig};
use modbox_vocabulary::{GrantSource, Limits};
use modbox_worker::Workers;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, guest, wait_for};

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn modbox(dir: &TestDir, switches: &[&str], args: &Value) -> Modbox {
    Modbox::run_module(dir, guest("command")).args(switches).json_args(args).report()
}

/// Runs commands in a guest. Returns the outcome of each command, and the report.
#[track_caller]
fn seen(dir: &TestDir, switches: &[&str], commands: &Value) -> (Vec<Value>, Value) {
    let report = modbox(dir, switches, &json!({"commands": commands})).run().exits_with(0).json();
    dir.assert_nothing_left();
    (report["result"]["seen"].as_array().cloned().unwrap_or_else(|| panic!("{report:#}")), report)
}

/// The switches that a report names.
fn allows(report: &Value) -> Vec<&str> {
    report["denials"].as_array().into_iter().flatten().filter_map(|denial| denial["allow"].as_str()).collect()
}

pub(crate) fn sh(dir: &TestDir, script: &str) -> Value {
    // Each of its processes can be identified by its command line.
    json!({"argv": ["sh", "-c", script, dir.path()]})
}

#[test]
fn without_a_grant_every_command_is_denied_with_its_switch() {
    let dir = TestDir::new();
    let commands =
        json!([{"argv": ["echo", "a b", "it's", "*"]}, {"argv": ["/bin/true"]}, {"argv": ["no-such-program"]}]);
    let ran = modbox(&dir, &["--log", "debug"], &json!({"commands": commands})).run().exits_with(0);
    let report = ran.json();
    let first = switch(&exactly("echo", &["a b", "it's", "*"].map(str::to_owned)));
    let expect = [first.as_str(), "--allow-run /bin/true", "--allow-run no-such-program"];
    assert_eq!(allows(&report), expect);
    assert_eq!(
        report["denials"][1],
        json!({"capability": "run", "subject": "/bin/true", "operation": "run", "allow": expect[1]})
    );
    for (seen, expect) in report["result"]["seen"].as_array().unwrap().iter().zip(expect) {
        assert_eq!(seen["denied"], expect);
    }
    // The switch in a denial, pasted into a shell, allows that command and no other.
    let script = format!("exec \"$0\" run {} \"$@\"", expect[0]);
    let args = json!({"commands": commands}).to_string();
    let shell = Modbox::of(Path::new("/bin/sh"), &dir).args(["-c", &script, env!("CARGO_BIN_EXE_modbox")]);
    let ran = shell.arg(guest("command")).args(["--log", "debug", "--args", &args]).report().run().exits_with(0);
    assert_eq!(ran.json()["result"]["seen"][0]["stdout"], "a b it's *\n");
    assert_eq!(allows(&ran.json()), expect[1..]);
    dir.assert_nothing_left();
}

#[test]
fn a_rule_is_about_one_program_and_each_of_its_arguments() {
    let dir = TestDir::new();
    let rules = ["--allow-run", "echo one ?wo", "--allow-run", "/bin/cat", "--allow-run", "printf '%s.' *"];
    let commands = [
        (json!(["echo", "one", "two"]), Some("one two\n")),
        (json!(["/usr/bin/echo", "one", "2wo"]), Some("one 2wo\n")),
        (json!(["echo", "one two"]), None),
        (json!(["echo", "one", "two", ""]), None),
        (json!(["echo", "one"]), None),
        (json!(["echo", "--", "one", "two"]), None),
        (json!(["./echo", "one", "two"]), None),
        (json!(["/usr/bin/../bin/echo", "one", "two"]), None),
        (json!(["cat"]), Some("given")),
        (json!(["/bin/cat"]), Some("given")),
        (json!(["/bin/cat", "/etc/passwd"]), None),
        (json!(["printf", "%s."]), Some(".")),
        (json!(["printf", "%s.", "a b", "", "*", "$HOME"]), Some("a b..*.$HOME.")),
        (json!(["printf", "%d."]), None),
    ];
    let asked: Vec<Value> = commands.iter().map(|(argv, _)| json!({"argv": argv, "input": "given"})).collect();
    let (seen, report) = seen(&dir, &rules, &json!(asked));
    for ((argv, expect), seen) in commands.iter().zip(&seen) {
        assert_eq!(seen["stdout"].as_str(), *expect, "{argv}: {seen}");
        assert_eq!(seen["denied"].is_string(), expect.is_none(), "{argv}: {seen}");
    }
    let grants: Vec<&Value> = report["grants"].as_array().unwrap().iter().map(|grant| &grant["subject"]).collect();
    assert_eq!(grants, ["echo one ?wo", "/bin/cat", "printf %s. *"]);
    for (rule, says) in [
        ("no-such-program *", "failed to find the program `no-such-program`"),
        ("bin/echo", "must be a name, or an absolute path"),
        ("*", "must not contain `*` and `?`"),
        ("echo 'a", "a quote is not closed"),
    ] {
        modbox(&dir, &["--allow-run", rule], &json!({})).run().exits_with(2).says(says);
    }
}

#[test]
fn a_program_that_the_module_could_change_is_not_run() {
    let dir = TestDir::new();
    let program = dir.write_executable("data/program", "#!/bin/sh\necho ran\n");
    let link = dir.mkdir("links").join("program");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let data = dir.join("data").display().to_string();
    for (place, access) in [(&program, "--allow-read"), (&program, "--allow-write"), (&link, "--allow-write")] {
        let rule = place.display().to_string();
        let (seen, _) = seen(&dir, &["--allow-run", &rule, access, &data], &json!([{"argv": [rule]}]));
        if access == "--allow-read" {
            assert_eq!(seen[0]["stdout"], "ran\n", "{seen:?}");
        } else {
            assert!(seen[0]["failed"].as_str().unwrap().contains("could put another in its place"), "{seen:?}");
        }
    }
    // Another directory is mapped to the path of the program.
    let mapped = format!("{data}::/usr/bin");
    let (seen, _) = seen(&dir, &["--allow-run", "echo", "--allow-read", &mapped], &json!([{"argv": ["echo"]}]));
    assert!(seen[0]["failed"].as_str().unwrap().contains("could put another in its place"), "{seen:?}");
}

#[test]
fn a_command_sees_the_files_and_variables_that_are_granted() {
    let dir = TestDir::new();
    let (open, secret) = (dir.write("open/file", "open\n"), dir.write("secret/file", "secret\n"));
    let (single, made) = (dir.write("single/name", "before\n"), dir.join("open/made"));
    let script = format!(
        "cat '{}' '{}'; echo $STAGE/$HIDDEN; echo more > '{}' && echo after > '{}'; env",
        open.display(),
        secret.display(),
        made.display(),
        single.display()
    );
    let (open, name) = (dir.join("open").display().to_string(), single.display().to_string());
    let rule = ["--allow-run", "sh -c *"];
    let grants = ["--allow-write", &open, "--allow-write", &name, "--allow-env", "STAGE=test"];
    let run = |switches: &[&str], command: Value| seen(&dir, &[&rule, switches].concat(), &json!([command]));
    let (seen, report) = run(&grants, sh(&dir, &script));
    let stdout = seen[0]["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("open\ntest/\n") && !stdout.contains("HIDDEN"), "{seen:?}");
    assert!(seen[0]["stderr"].as_str().unwrap().contains("No such file"), "{seen:?}");
    assert_eq!((fs::read(&made).unwrap(), fs::read(&single).unwrap()), (b"more\n".to_vec(), b"after\n".to_vec()));
    assert_eq!(allows(&report), [format!("--allow-read {}", secret.display())]);
    // The module can set the environment, the directory and the umask.
    let with = |key: &str, value: Value, script: &str| {
        let mut command = sh(&dir, script);
        command[key] = value;
        command
    };
    let (seen, _) = run(&grants, with("environment", json!({"LC_ALL": "C", "STAGE": "other"}), "echo $LC_ALL $STAGE"));
    assert_eq!(seen[0]["stdout"], "C other\n");
    for name in ["LD_PRELOAD", "PATH", "BASH_ENV", "HOME"] {
        let (seen, report) = run(&grants, with("environment", json!({name: "/x y"}), "true"));
        let allow = format!("--allow-env {name}=");
        assert_eq!((&seen[0]["denied"], allows(&report)), (&json!(allow), vec![allow.as_str()]));
    }
    assert_eq!(run(&grants, with("directory", json!(open), "pwd")).0[0]["stdout"], format!("{open}\n"));
    assert_eq!(run(&grants, with("umask", json!(0o077), "umask")).0[0]["stdout"], "0077\n");
    assert_eq!(run(&grants, with("directory", json!(dir.join("open/none")), "pwd")).0[0], "no directory");
    let elsewhere = dir.join("secret");
    let (seen, _) = run(&grants, with("directory", json!(elsewhere), "pwd"));
    assert_eq!(seen[0]["denied"], format!("--allow-read {}", elsewhere.display()));
}

#[test]
fn a_command_ends_as_it_ends() {
    let dir = TestDir::new();
    let with = |mut command: Value, key: &str, value: Value| {
        command[key] = value;
        command
    };
    let count = json!({"argv": ["wc", "-c"]});
    let commands = json!([
        sh(&dir, "exit 137"),
        sh(&dir, "kill -9 $$"),
        sh(&dir, "kill -TERM $$"),
        {"argv": ["/no/such/program"]},
        {"argv": ["/etc/passwd"]},
        with(sh(&dir, "echo begun; trap '' TERM INT; while :; do sleep 1; done"), "timeout", json!(2000)),
        with(count.clone(), "input_size", json!(1 << 20)),
        with(count.clone(), "input_size", json!(3 << 20)),
        {"argv": ["wc", "a\0b"]},
        sh(&dir, "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"),
    ]);
    let rules =
        ["sh -c *", "/no/such/program", "/etc/passwd", "wc *"].into_iter().flat_map(|rule| ["--allow-run", rule]);
    let switches: Vec<&str> = rules.chain(["--max-output", "1MiB"]).collect();
    let (seen, report) = seen(&dir, &switches, &commands);
    let ends: Vec<&Value> = seen.iter().map(|seen| seen.get("end").unwrap_or(seen)).collect();
    let failed = json!({"failed": "a word of the command has a NUL byte in it"});
    let expect = [
        json!(137),
        json!("signal 9"),
        json!("signal 15"),
        json!("not found"),
        json!("not executable"),
        json!("timed out"),
        json!(0),
        json!("too long"),
        failed,
        json!(0),
    ];
    assert_eq!(ends, expect.iter().collect::<Vec<_>>());
    assert_eq!((&seen[5]["stdout"], &seen[6]["stdout"]), (&json!("begun\n"), &json!("1048576\n")));
    assert_eq!((&seen[9]["kept"], &seen[9]["length"]), (&json!(1 << 20), &json!(3_000_000)));
    assert!(report["usage"]["cpu_us"].as_u64().unwrap() > 0 && report["limit"].is_null(), "{report:#}");
}

#[test]
fn what_passes_a_limit_is_ended_with_all_that_it_started() {
    let dir = TestDir::new();
    let bomb = "bomb() { bomb | bomb & }; bomb; while :; do bomb; sleep 0.01; done";
    let forever = "trap '' TERM HUP INT; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' \"$0\" &); yes";
    for (script, switches, kind) in [
        (bomb, &["--max-processes", "20", "--timeout", "20s"][..], "processes"),
        (forever, &["--timeout", "1s"], "wall"),
        ("while :; do :; done", &["--cpu-time", "1s", "--timeout", "20s"], "cpu"),
        ("head -c 50000000 /dev/zero > /tmp/file; sleep 60", &["--max-tmp", "1MiB", "--timeout", "20s"], "tmp"),
    ] {
        let args = json!({"commands": [sh(&dir, script)], "fail": 1});
        let ran = modbox(&dir, &[&["--allow-run", "sh -c *"], switches].concat(), &args).run().exits_with(5);
        assert_eq!(ran.json()["limit"]["kind"], kind, "{ran}");
        dir.assert_nothing_left();
    }
    // A daemon is killed at the end of its command, without waiting for it.
    let daemon = "setsid sh -c 'trap \"\" TERM; sleep 3600; :' \"$0\" & echo left";
    let (seen, _) = seen(&dir, &["--allow-run", "sh -c *"], &json!([sh(&dir, daemon)]));
    assert_eq!((&seen[0]["end"], &seen[0]["stdout"]), (&json!(0), &json!("left\n")));
}

#[test]
fn no_signal_leaves_a_command_behind() {
    for signal in [Signal::KILL, Signal::TERM, Signal::INT] {
        let dir = TestDir::new();
        let begun = dir.mkdir("data").join("begun");
        let script = format!("trap '' TERM INT HUP; touch '{}'; while :; do sleep 1; done", begun.display());
        let data = dir.join("data").display().to_string();
        let switches = ["--allow-run", "sh -c *", "--allow-write", &data];
        let running = modbox(&dir, &switches, &json!({"commands": [sh(&dir, &script)]})).patience(PATIENCE).spawn();
        assert!(wait_for(PATIENCE, || begun.exists()));
        running.signal(signal);
        running.wait().dies_of(signal);
        if signal == Signal::KILL {
            // After SIGKILL, directories are left behind; the next run sweeps them.
            modbox(&dir, &[], &json!({})).run().exits_with(0);
        }
        dir.assert_nothing_left();
    }
}

#[test]
fn workers_of_a_batch_run_commands_by_their_own_grants() {
    let dir = TestDir::new();
    let job = |id: u32, policy: Value| {
        let script = "cat /tmp/given; echo more >> /tmp/given";
        let args = json!({
            "write": {"/tmp/given": format!("of {id}\n")},
            "commands": [{"argv": ["echo", id.to_string()]}, sh(&dir, script)],
            "read": ["/tmp/given"],
        });
        json!({"id": id, "module": guest("command"), "args": args, "policy": policy})
    };
    let jobs: Vec<Value> = (0..12)
        .map(|id| job(id, json!({"allow": {"run": if id % 2 == 0 { json!(["sh -c *"]) } else { json!([]) }}})))
        .collect();
    let lines: String = jobs.iter().map(|job| format!("{job}\n")).collect();
    let batch = Modbox::new(&dir).arg("batch").args(["--jobs", "2", "--ordered", "--allow-run", "echo *"]).stdin(lines);
    let ran = batch.patience(PATIENCE).run().exits_with(0);
    let reports: Vec<Value> = ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), jobs.len());
    for (id, report) in reports.iter().enumerate() {
        let seen = &report["result"]["seen"];
        assert_eq!(seen[0]["stdout"], format!("{id}\n"), "{report:#}");
        assert_eq!((seen[1]["end"] == 0, seen[1]["denied"].is_string()), (id % 2 == 0, id % 2 == 1), "{report:#}");
        // Each job has files of its own, which its commands see.
        let (given, more) = (format!("of {id}\n"), if id % 2 == 0 { "more\n" } else { "" });
        assert_eq!(report["result"]["read"], json!([given.clone() + more]), "{report:#}");
        assert!(id % 2 == 1 || seen[1]["stdout"] == given, "{report:#}");
    }
    dir.assert_nothing_left();
}

#[test]
fn policy_files_grant_commands_and_the_audit_log_has_them() {
    let dir = TestDir::new();
    let policy =
        dir.write("policy.yaml", format!("allow: {{run: ['echo *']}}\naudit: {}\n", dir.join("audit").display()));
    let policy = policy.display().to_string();
    let (seen, _) = seen(&dir, &["--policy", &policy], &json!([{"argv": ["echo", "a"]}, {"argv": ["true"]}]));
    assert_eq!((&seen[0]["stdout"], &seen[1]["denied"]), (&json!("a\n"), &json!("--allow-run true")));
    let line: Value = serde_json::from_str(&fs::read_to_string(dir.join("audit")).unwrap()).unwrap();
    let source = format!("policy file {policy}");
    assert_eq!(line["grants"], json!([{"capability": "run", "subject": "echo *", "source": source}]));
    assert_eq!(line["denials"][0]["allow"], "--allow-run true");
    let shown = Modbox::new(&dir).args(["policy", "show", "--policy", &policy]).run().exits_with(0).stdout_text();
    assert!(shown.contains(&format!("  run echo * ({source})\n")), "{shown}");
    let wrong = dir.write("wrong.yaml", "allow:\n  run: ['nowhere-to-be-found', 'x *y', '/no/such/one']\n");
    let check = Modbox::new(&dir).args(["policy", "check"]).arg(&wrong).run().exits_with(2).stdout_text();
    for expect in [
        ":2:9: error: invalid grant `nowhere-to-be-found`",
        ":2:32: error: invalid grant `x *y`",
        "warning: `/no/such/one` does not exist yet",
    ] {
        assert!(check.contains(expect), "{check}");
    }
}

#[test]
fn a_module_with_every_grant_runs_any_command() {
    let dir = TestDir::new();
    let secret = dir.write("secret", "all of it");
    let (seen, _) = seen(&dir, &["--allow-all"], &json!([{"argv": ["cat", secret]}, {"argv": ["no-such-program"]}]));
    assert_eq!((&seen[0]["stdout"], &seen[1]), (&json!("all of it"), &json!("not found")));
}

#[test]
fn a_librarys_caller_grants_commands_too() {
    let dir = TestDir::new();
    let bytes = fs::read(guest("command")).unwrap().into();
    let module = Module::new(ModuleFile { path: guest("command"), bytes }, None);
    let runner = Runner::new(RunnerConfig {
        workers: Some(Workers::new(env!("CARGO_BIN_EXE_modbox").into())),
        ..RunnerConfig::new(dir.join("tmp"))
    });
    let run = |policy: &Policy| -> Value {
        let args = json!({"commands": [{"argv": ["echo", "from a library"]}]}).to_string();
        let internal = Box::new(InternalArgs::new("command"));
        let arguments = Arguments::Task { args: decode_file(args.as_bytes()).unwrap(), internal };
        let report = runner.run(&module, &RunRequest::new("command", arguments, policy, &Limits::default()));
        serde_json::from_str(&report.result.to_json()).unwrap()
    };
    let mut policy = Policy::default();
    assert_eq!(run(&policy)["seen"][0]["denied"], r#"--allow-run 'echo '"'"'from a library'"'"''"#);
    let (rule, programs) = ("echo *".parse().unwrap(), vec!["/usr/bin/echo".into()]);
    policy.allow_run(RunGrant { rule, programs, source: GrantSource::named("test") });
    assert_eq!(run(&policy)["seen"][0]["stdout"], "from a library\n");
    dir.assert_nothing_left();
}
