//! `modbox policy suggest`: a denied run, its report, and the policy file that lets the next run succeed.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, module};

/// A native module without documentation, so that nothing is designated. It runs the code in `do` with `path`.
const MODULE: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, sys, tempfile
args = json.load(open(sys.argv[1]))
try:
    exec(args["do"], {"path": args.get("path"), "os": os, "tempfile": tempfile})
    print(json.dumps({"changed": False}))
except Exception as error:
    print(json.dumps({"failed": True, "msg": repr(error)}))
"#;

fn suggest(dir: &TestDir, words: &[&str]) -> String {
    let printed = Modbox::new(dir).args(["policy", "suggest"]).args(words).run().exits_with(0);
    let text = printed.stdout_text();
    dir.write("suggested.yaml", &text);
    let checked = Modbox::new(dir).args(["policy", "check", "suggested.yaml"]).run().exits_with(0);
    assert!(!checked.stdout_text().contains("error"), "{checked}");
    text.replace(&dir.path().display().to_string(), "%")
}

/// Runs a module until it succeeds with what was suggested from all reports so far, and returns the last suggestion.
#[track_caller]
fn until_it_succeeds(dir: &TestDir, module: &str, args: &[String]) -> String {
    let mut text = String::new();
    for round in 0..6 {
        let policy: &[&str] = if round > 0 { &["--policy", "suggested.yaml"] } else { &[] };
        let ran = Modbox::run_module(dir, module).args(args).args(policy).args(["--audit", "audit"]).report().run();
        if ran.status.success() {
            assert!(round > 0, "the first run is denied: {ran}");
            return text;
        }
        let before = fs::read_to_string(dir.join("reports")).unwrap_or_default();
        dir.write("reports", before + &ran.stdout_text());
        text = suggest(dir, &["reports"]);
    }
    panic!("no end: {text}\n{}", fs::read_to_string(dir.join("reports")).unwrap());
}

fn native(dir: &TestDir, code: &str, path: &str) -> String {
    dir.write("module.py", MODULE);
    let root = dir.path().display().to_string();
    let args = [format!("do={code}"), format!("path={path}")].map(|arg| arg.replace('%', &root));
    until_it_succeeds(dir, "./module.py", &args)
}

#[test]
fn what_was_suggested_lets_a_wasm_module_run() {
    let dir = TestDir::new();
    dir.write("data/file", "one\n");
    dir.write("home/.config/modbox/policy.yaml", "designated: none\n");
    let args = [format!("path={}", dir.join("data/file").display()), "line=two".to_owned()];
    let text = until_it_succeeds(&dir, module("lineinfile").to_str().unwrap(), &args);
    assert!(text.contains("        - %/data/file  # denied: argument, 1 time (reports)\n"), "{text}");
    assert_eq!(fs::read_to_string(dir.join("data/file")).unwrap(), "one\ntwo\n");
    let audited = suggest(&dir, &["audit"]);
    assert!(audited.contains("        - %/data/file  # denied: argument, 1 time (audit:1)\n"), "{audited}");
    assert!(audited.contains("2 runs, 1 of them succeeded"), "{audited}");
}

#[test]
fn what_was_suggested_lets_native_modules_run() {
    for code in [
        "open(path)",
        "open(path, 'w')",
        "os.listdir(os.path.dirname(path))",
        "open('%/data/other').read(); open(path, 'a')",
        "name = tempfile.mkstemp(dir=os.path.dirname(path))[1]; os.rename(name, path)",
    ] {
        let dir = TestDir::new();
        dir.write("data/file", "one\n");
        dir.write("data/other", "one\n");
        native(&dir, code, "%/data/file");
    }
}

#[test]
fn designated_options_are_a_comment() {
    let dir = TestDir::new();
    dir.write("data/file", "one\n");
    let text = native(&dir, "open(path, 'w')", "%/data/file");
    assert!(text.contains("a policy file cannot hold `--designate path:write`"), "{text}");
    assert!(text.contains("      write:\n        - %/data/file  # denied: "), "{text}");
}

fn run_of(name: &str, status: &str, denials: &[[&str; 3]], grants: &[[&str; 3]]) -> Value {
    let denial = |[capability, subject, allow]: &[&str; 3]| json!({"capability": capability, "subject": subject, "operation": "open-at", "allow": allow});
    let grant = |[capability, subject, source]: &[&str; 3]| json!({"capability": capability, "subject": subject, "source": source});
    json!({
        "module": {"name": name, "digest": format!("sha256:{}", "ab".repeat(32))},
        "status": status,
        "denials": denials.iter().map(denial).collect::<Vec<_>>(),
        "grants": grants.iter().map(grant).collect::<Vec<_>>(),
    })
}

#[test]
fn options_are_replaced_and_what_was_not_needed_is_left_out() {
    let dir = TestDir::new();
    dir.write("f", "");
    let file = dir.join("f").display().to_string();
    let read = format!("--allow-read {file}");
    let lines = [
        run_of(
            "m",
            "ok",
            &[["read", &file, &read]],
            &[["net", "example.org:443", "--allow-net"], ["env", "LANG", "--allow-env"]],
        ),
        run_of("m", "failed", &[["run", "id", "--allow-run id"], ["read", "/no/such", "--allow-read /no/such"]], &[]),
        run_of("m", "failed", &[["confinement", "bpf", "--allow-all"], ["write", "/etc/x", ""]], &[]),
        run_of("m", "failed", &[["write", "********", "--allow-write ********"]], &[["read", "/x", "argument src"]]),
    ];
    dir.write("reports", lines.map(|line| line.to_string() + "\n").concat());
    let text = suggest(&dir, &["reports", "--by", "name"]);
    for expect in [
        "  \"m\":\n",
        "the module succeeded without this: read %/f (denied: open-at) (reports:1)",
        "- \"example.org:443\"  # granted by --allow-net, 1 time (reports:1)",
        "- \"LANG\"  # granted by --allow-env",
        "- \"id\"  # denied: open-at, 1 time (reports:2)",
        "# left out: failed to access `/no/such`",
        "a policy file cannot allow this, only `--allow-all` can: confinement bpf",
        "no option allows this: write /etc/x",
        "masked or cut in the record: write ********",
        "granted by an argument: read /x",
    ] {
        assert!(text.contains(expect), "no `{expect}` in {text}");
    }
    assert!(suggest(&dir, &["reports"]).contains("  \"sha256:abab"));
}

#[test]
fn a_directory_replaces_only_many_paths() {
    let dir = TestDir::new();
    let many: Vec<String> = (0..9).map(|n| dir.write(&format!("data/{n}"), "").display().to_string()).collect();
    let suggested = |paths: &[String]| {
        let options: Vec<String> = paths.iter().map(|path| format!("--allow-read {path}")).collect();
        let denials: Vec<[&str; 3]> =
            paths.iter().zip(&options).map(|(path, allow)| ["read", path.as_str(), allow.as_str()]).collect();
        dir.write("report", run_of("m", "failed", &denials, &[]).to_string());
        suggest(&dir, &["report"])
    };
    let few = suggested(&many[..8]);
    assert!(!few.contains("wider") && few.contains("- %/data/7  #"), "{few}");
    let all = suggested(&many);
    assert!(
        all.contains("# wider than what was denied: all of the directory, for 9 paths in it\n        - %/data  #"),
        "{all}"
    );
    assert!(!all.contains("%/data/7"), "{all}");
}

#[test]
fn other_input_is_refused() {
    let dir = TestDir::new();
    dir.write("result", "{\"changed\": true}");
    let refused = |file: &str| Modbox::new(&dir).args(["policy", "suggest", file]).run().exits_with(2);
    refused("result").says("failed to read `result`: it has no object `module`; expected the output of");
    refused("missing").says("failed to read `missing`");
    refused(".").says("failed to read `.`");
    refused("/dev/zero").says("longer than the limit");
    let stdin = Modbox::new(&dir).args(["policy", "suggest", "-"]).stdin("{").run().exits_with(2);
    stdin.says("failed to read line 1 of `stdin`: it is not JSON");
}
