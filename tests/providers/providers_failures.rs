//! Providers that fail, lie or do not end: which failure counts, what libral's own program would say, and metadata that is
//! wrong.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::providers::providers_runs::{provider, resource};
use crate::support::{Modbox, TestDir};

/// Runs one action of a provider with a body, and returns its report.
fn report(body: &str, words: &[&str], switches: &[&str]) -> Value {
    let dir = TestDir::new();
    let module = provider(&dir, "p", "", body);
    let ran = Modbox::run_module(&dir, module).args(words).args(switches).report().run();
    dir.assert_nothing_left();
    ran.json()
}

#[track_caller]
fn check(body: &str, action: &str, status: &str, expect: &str) {
    let words = [format!("ral_action={action}"), "name=n".to_owned()];
    let words: Vec<&str> = words.iter().map(String::as_str).take(if action == "list" { 1 } else { 2 }).collect();
    let report = report(body, &words, &["--timeout", "20s"]);
    assert_eq!(report["status"], status, "{body}: {report:#}");
    let message = report["result"]["msg"].as_str().unwrap_or_default();
    assert!(message.contains(expect), "{body}: {message}");
}

#[test]
fn failures_have_an_order() {
    let error = "echo ral_error: boom; echo ral_eom";
    // A signal, before everything else.
    check(&format!("{error}; kill -9 $$"), "find", "crashed", "signal 9 ended the provider");
    // Output that is not valid, before the error that follows.
    check(&format!("echo junk; {error}; exit 3"), "find", "failed", "the line `junk` has no `:`");
    // An error, before the exit status; what is before and after it is void.
    check(&format!("echo name: n; {error}; echo junk; exit 3"), "find", "failed", "the provider reported: boom");
    check("echo ral_error: boom; echo 'more text'", "find", "failed", "the provider reported: boom\nmore text");
    // The exit status, before a resource that is unknown.
    check("echo ral_unknown: 1; exit 3", "update", "failed", "the provider exited with status 3");
    check("echo name: n; exit 3", "find", "failed", "the provider exited with status 3");
    check("echo ral_unknown: 1", "update", "failed", "failed to update `n`: it does not exist");
    check("echo name: n; exit 3", "list", "failed", "the provider exited with status 3");
    check("echo a: 1", "list", "failed", "`a` comes before the first `name`");
    check("echo name: other", "update", "failed", "changed `other` instead of `n`");
    check("echo ral_was: 1", "update", "failed", "comes before the first change");
    check("echo name: n; echo name: n", "find", "failed", "more than one resource");
}

#[test]
fn an_answer_without_a_look_is_none() {
    // As providers of services and packages do it: what the program says is lost, and its silence is the answer.
    let state = "state=$(no-such-program \"$name\") && echo 'ensure: running' || echo 'ensure: stopped'";
    let blind = "the provider could not look, so its answer says nothing: ";
    check(&format!("echo name: n; {state}"), "find", "failed", blind);
    check(&format!("echo name: n; {state}"), "find", "failed", "no-such-program");
    check(&format!("echo name: n; {state}"), "list", "failed", blind);
    check(
        "echo 'Failed to connect to bus: No such file or directory' >&2; echo name: n",
        "find",
        "failed",
        "connect to bus",
    );
    check(
        "echo 'System has not been booted with systemd as init system' >&2; echo ral_unknown: true",
        "find",
        "failed",
        blind,
    );
    // The database of packages is hidden, and `dpkg` finds none of them.
    if std::path::Path::new("/var/lib/dpkg/status").exists() {
        let ask =
            "echo name: n; dpkg -l bash 2>/dev/null | grep -q ^ii && echo 'ensure: there' || echo 'ensure: absent'";
        check(ask, "find", "failed", "; grant it the profile `packages`, or allow it with --allow-read /");
        let grants = ["--allow-read", "/var/lib/dpkg", "--allow-read", "/etc/dpkg"];
        let found = report(ask, &["ral_action=find", "name=n"], &grants);
        assert_eq!(found["result"]["resource"]["ensure"], "there", "{found:#}");
    }
    // A warning of another sort is one.
    let warned = report("echo 'no unit of this name' >&2; echo name: n", &["ral_action=find", "name=n"], &[]);
    assert_eq!(warned["status"], "ok", "{warned:#}");
}

#[test]
fn a_program_that_cannot_start_says_so() {
    let dir = TestDir::new();
    provider(&dir, "p", "", "");
    for (text, status, expect) in [
        ("#!/no/such/interpreter\n", 3, "No such file or directory"),
        ("echo text\n", 3, "text without a `#!` line"),
        ("\u{7f}ELF nothing", 3, "failed to start the module"),
    ] {
        let module = dir.write_executable("data/providers/p.prov", text);
        let ran = Modbox::run_module(&dir, module).arg("ral_action=list").run().exits_with(status);
        let message = ran.json()["msg"].as_str().unwrap().to_owned();
        assert!(message.contains(expect), "{text}: {message}");
    }
    dir.assert_nothing_left();
}

#[test]
fn limits_end_a_provider_and_all_that_it_started() {
    let long = report("sleep 600 & sleep 600", &["ral_action=list"], &["--timeout", "1s"]);
    assert_eq!((&long["status"], &long["limit"]["kind"]), (&json!("limit"), &json!("wall")), "{long:#}");
    let flood = report("yes name: n", &["ral_action=list"], &["--cpu-time", "5s"]);
    assert_eq!(flood["status"], "limit", "{flood:#}");
    let cut = report("yes name: n | head -c 9000000", &["ral_action=list"], &[]);
    assert_eq!((&cut["status"], &cut["limit"]["kind"]), (&json!("limit"), &json!("stdout")), "{cut:#}");
    assert_eq!(cut["result"]["resources"], Value::Null, "half of a list is not a list");
}

#[test]
fn messages_on_standard_error_have_levels() {
    let body = "echo name: n; printf 'debug: d\\nInfo: i\\nwarning: w\\nplain\\nerror: e\\n' >&2";
    let report = report(body, &["ral_action=find", "name=n"], &[]);
    let says = |list: &Value| -> Vec<String> {
        let texts = list.as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.filter_map(|text| text.strip_prefix("the provider says: ")).map(str::to_owned).collect()
    };
    assert_eq!(report["status"], "ok");
    assert_eq!(says(&report["notes"]), ["d", "i"]);
    assert_eq!(says(&report["result"]["warnings"]), ["w", "plain", "e"]);
}

#[test]
fn ralsh_s_texts_and_statuses_are_kept() {
    let dir = TestDir::new();
    let body = "case $ral_action in list) echo name: a; echo name: b; echo a: 1; echo ensure: absent;; \
        find) [ \"$name\" = none ] && echo ral_unknown: true; echo name: $name; echo ensure: absent; [ \"$name\" = bad ] && exit 3; \
        [ \"$name\" = loud ] && echo error: e >&2;; \
        update) echo ral_error: no way; echo ral_eom;; esac; exit 0";
    provider(&dir, "p", "", body);
    let path = dir.join("data/providers/p.prov").display().to_string();
    let run = |words: &[&str]| {
        let ran = resource(&dir, &["--compat", "ralsh"]).args(words).run();
        (ran.status.code(), ran.stdout_text(), ran.stderr_text())
    };
    let resource = |name: &str, attributes: &str| format!("thing::p {{ '{name}':\n{attributes}}}\n");
    let absent = "  ensure => 'absent',\n";
    let listed = resource("a", "") + &resource("b", "  ensure => 'absent',\n  a      => '1',\n");
    assert_eq!(run(&["thing"]), (Some(0), listed, String::new()));
    assert_eq!(run(&["thing", "x"]), (Some(0), resource("x", absent), String::new()));
    assert_eq!(run(&["thing", "x", "-a"]), (Some(1), resource("x", absent), String::new()));
    assert_eq!(run(&["thing", "none"]), (Some(1), String::new(), String::new()));
    // Errors of `find` are on standard error, those of others on standard output.
    let failed = format!("failed: Something went wrong running {path} ral_action=find\n");
    assert_eq!(run(&["thing", "bad"]), (Some(2), String::new(), failed.clone()));
    assert_eq!(run(&["thing", "bad", "a=1"]), (Some(2), failed, String::new()));
    assert_eq!(run(&["thing", "x", "a=1"]), (Some(2), "failed: no way\n".to_owned(), String::new()));
    let unknown = "unknown provider: 'y'\nrun 'ralsh' to see a list of all providers\n".to_owned();
    assert_eq!(run(&["y"]), (Some(2), unknown, String::new()));
    let attribute = "failed to read attribute z: there is no attribute 'z'\n\
        run 'ralsh -e thing::p' to get a list of attributes and valid values\n";
    assert_eq!(run(&["thing", "x", "z=1"]), (Some(2), String::new(), attribute.to_owned()));
    // An error on standard error, although the action succeeded.
    assert_eq!(run(&["thing", "loud"]).0, Some(2));
    let json = |words: &[&str]| run(&[&["--output", "json"], words].concat()).1;
    let about = r#""ral":{"type":"thing","provider":"thing::p"}"#;
    assert_eq!(json(&["thing", "x"]), format!("{{\"resource\":{{\"name\":\"x\",\"ensure\":\"absent\",{about}}}}}\n"));
    assert_eq!(json(&["thing", "none"]), "{}\n");
    assert_eq!(json(&["thing", "x", "a=1"]), "{\"error\":{\"message\":\"failed: no way\"}}\n");
    assert_eq!(run(&["thing", "--output", "report"]).0, Some(2));
}

#[test]
fn what_a_provider_says_about_itself_is_asked_once_and_without_grants() {
    let dir = TestDir::new();
    let canary = dir.mkdir("canary");
    let metadata = "provider: {type: t, invoke: simple, suitable: true, attributes: {name: }}";
    let script = format!(
        "#!/bin/sh\neval \"$@\"\nif [ $ral_action = describe ]; then\n  echo x 2>/dev/null > {0}/described\n  echo '{metadata}'\nelse\n  \
         echo x > {0}/$ral_action; echo '# simple'\nfi\n",
        canary.display()
    );
    dir.write_executable("data/providers/p.prov", &script);
    let run = |words: &[&str]| resource(&dir, &["t", "--allow-write"]).arg(&canary).args(words).own_cache(&dir).run();
    run(&[]).exits_with(0);
    assert!(canary.join("list").exists() && !canary.join("described").exists());
    // The answer is kept by the digest of the file: a provider that would fail now is not asked again.
    let kept: Vec<_> = fs::read_dir(dir.join("home/.cache/modbox/providers")).unwrap().flatten().collect();
    assert!(kept.iter().any(|entry| entry.path().extension().is_some_and(|extension| extension == "yaml")), "{kept:?}");
    Modbox::new(&dir).args(["cache", "clear"]).own_cache(&dir).run().exits_with(0);
    // A file beside it comes first.
    let named = metadata.replace("type: t", "type: t, name: from_file");
    dir.write("data/providers/p.yaml", named);
    let all = resource(&dir, &[]).run().exits_with(0).stdout_text();
    assert_eq!(all, "t::from_file  suitable\n");
}

#[test]
fn wrong_metadata_leaves_a_provider_out() {
    let good = "provider: {type: good, invoke: simple, suitable: true, attributes: {name: }}";
    for (script, sidecar, expect, is_error) in [
        ("exit 3", None, "exited with status 3", false),
        ("echo 'warn: x' >&2", None, "it wrote to standard error: x", false),
        ("sleep 60", None, "ran longer than its wall-clock limit, 2s", false),
        ("yes", None, "failed to ask", false),
        ("kill -9 $$", None, "signal 9", false),
        ("echo '[}'", None, "the metadata is not YAML", true),
        ("echo 'provider: {}'", None, "`provider.type` in the metadata is missing", true),
        ("echo", Some(good.replace("{name: }", "{a: }")), "must contain `name`", true),
        ("echo", Some(good.replace("simple", "native")), "is `native`; expected one of simple, json", true),
        ("echo", Some(good.replace("{name: }", "{name: , ral_x: }")), "the name is reserved", true),
        ("echo", Some("a: &a [*a]".to_owned()), "the metadata", true),
        ("echo", Some("x".repeat(2 << 20)), "where at most 1048576 are allowed", true),
    ] {
        let dir = TestDir::new();
        dir.write_executable("data/providers/bad.prov", format!("#!/bin/bash\n{script}\n"));
        sidecar.map(|text| dir.write("data/providers/bad.yaml", text));
        dir.write_executable("data/providers/good.prov", "#!/bin/sh\necho '# simple'\n");
        dir.write("data/providers/good.yaml", good);
        let ran = resource(&dir, &[]).run().exits_with(0).within(Duration::from_secs(30));
        let ran = ran.says("left out the provider").says(expect);
        assert_eq!(ran.stdout_text(), "good::good  suitable\n", "{script}");
        resource(&dir, &["good"]).run().exits_with(0);
        // For libral's own program wrong metadata is an error of every command.
        resource(&dir, &["--compat", "ralsh", "good"]).run().exits_with(if is_error { 2 } else { 0 });
        dir.assert_nothing_left();
    }
}

#[test]
fn the_json_convention_has_its_own_actions() {
    let dir = TestDir::new();
    let script = r#"#!/usr/bin/env python3
import json, sys
action = sys.argv[1].partition("=")[2]
text = sys.stdin.read()
given = json.loads(text)
open("seen", "a").write(text + "\n")
if action == "get":
    names = given["names"] or ["a", "b"]
    entry = lambda name: {"name": name, "n": 5, "flag": True, "more": 1}
    unknown = {"name": "none", "error": {"message": "gone", "kind": "unknown"}}
    print(json.dumps({"resources": [unknown if name == "none" else entry(name) for name in names]}))
else:
    update = given["updates"][0]
    if update["should"].get("n") == "0":
        print(json.dumps({"error": {"message": "not zero", "kind": "forbidden"}}))
    else:
        print(json.dumps({"derive": True}))
"#;
    dir.write_executable("data/providers/j.prov", script);
    let metadata = "provider: {type: j, invoke: json, suitable: true, noop_safe: true, attributes: {name: , n: , flag: {type: boolean}}}";
    dir.write("data/providers/j.yaml", metadata);
    let run = |words: &[&str]| resource(&dir, &["j", "--output", "json", "--allow-write", "."]).args(words).run();
    let about = json!({"type": "j", "provider": "j::j"});
    let entry = |name: &str, n: &str| json!({"name": name, "n": n, "flag": true, "ral": about});
    assert_eq!(run(&[]).exits_with(0).json(), json!({"resources": [entry("a", "5"), entry("b", "5")]}));
    assert_eq!(run(&["it's"]).exits_with(0).json(), json!({"resource": entry("it's", "5")}));
    assert_eq!(run(&["none"]).exits_with(1).json(), json!({}));
    let changes = json!([{"attr": "n", "is": "6", "was": "5"}]);
    let update = run(&["x", "n=6", "flag=true"]).exits_with(0).json();
    assert_eq!(update, json!({"result": [{"resource": entry("x", "6"), "changes": changes}]}));
    let seen = fs::read_to_string(dir.join("seen")).unwrap();
    let expect =
        r#"{"ral":{"noop":false},"updates":[{"name":"x","is":{"flag":true,"n":"5"},"should":{"flag":true,"n":"6"}}]}"#;
    assert_eq!(seen.lines().last().unwrap(), expect);
    assert_eq!(run(&["x", "n=0"]).exits_with(1).json()["error"]["message"], "failed: the provider reported: not zero");
    // The file that it writes is read-only in check mode.
    run(&["x", "n=6", "--check"]).exits_with(1);
    assert!(!fs::read_to_string(dir.join("seen")).unwrap().contains("\"noop\":true"));
    // One action by itself, and an action of the other convention.
    let module = dir.join("data/providers/j.prov");
    let raw = |args: &Value| Modbox::run_module(&dir, &module).args(["--allow-write", "."]).json_args(args).run();
    let got = raw(&json!({"ral_action": "get", "names": ["x"]})).exits_with(0).json();
    assert_eq!(got["resource"], json!({"name": "x", "flag": true, "n": "5"}));
    let wrong = raw(&json!({"ral_action": "find", "name": "x"})).exits_with(3).json();
    assert!(wrong["msg"].as_str().unwrap().contains("it follows the convention `json`"), "{wrong}");
    dir.assert_nothing_left();
}

#[test]
fn what_a_provider_prints_cannot_move_a_cursor() {
    let dir = TestDir::new();
    provider(&dir, "p", "", r"printf 'name: n\na: \033[31mred\n'; printf 'warn: \033]0;x\n' >&2");
    let ran = resource(&dir, &["thing", "n"]).run().exits_with(0);
    assert!(!ran.stdout.contains(&0x1b) && !ran.stderr.contains(&0x1b), "{ran}");
    assert!(ran.stdout_text().contains("\\u{1b}[31mred"), "{ran}");
}
