//! Python plugins in the sandbox for WebAssembly: the same calls there, natively and by ansible-playbook; where a plugin runs and
//! what is said of it; and what hostile ones reach.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use super::oracle_plugins::{
    EXPRESSIONS, FAILURES, MADE, NESTED, PATIENCE, call, is_same, modbox_by, results, write_play, write_play_with,
    write_plugins,
};
use super::oracle_plugins_of_collections::OF_UTILS;
use super::plugin_attempts::{Attempt, ENDED, check_attempts, on_files};
use crate::python::oracle_python_places::INSTALLED;
use crate::support::sample::{Random, cases};
use crate::support::{Modbox, RunOutput, TestDir, fixture, oracle_collections};

/// Returns a text with the words of older versions of Python in the place of those that the one in the sandbox has.
fn in_older_words(text: &str) -> String {
    let text = text.replace("' is not a container or iterable", "' is not iterable");
    // `cannot use 'a.B' as a dict key (unhashable type: 'B')`.
    let mut parts = text.split("cannot use '");
    let mut older = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("(unhashable type: ").and_then(|(_, rest)| rest.split_once(')')) {
            Some((kind, rest)) => older += &format!("unhashable type: {kind}{rest}"),
            None => older += &format!("cannot use '{part}"),
        }
    }
    older
}

/// Runs a play with the interpreter that the oracle has installed, where plugins are told to run.
fn modbox(dir: &TestDir, play: &str, place: &str) -> Modbox {
    modbox_by(dir, &dir.join(play), &INSTALLED.python).own_cache(&INSTALLED.dir).args(["--python", place])
}

fn in_sandbox(dir: &TestDir, play: &str) -> RunOutput {
    modbox(dir, play, "wasm").run()
}

/// Runs a play by ansible-playbook, natively and in the sandbox, and compares what its tasks show.
#[track_caller]
fn check(dir: &TestDir, count: usize, variables: &[(&str, &Path)]) {
    let with = |run: Modbox| variables.iter().fold(run, |run, (name, value)| run.env(name, value));
    let program = INSTALLED.python.with_file_name("ansible-playbook");
    let by_ansible = Modbox::of(&program, dir).args(["-i", "localhost,", "-c", "local"]).arg(dir.join("play.yml"));
    let by_ansible = with(by_ansible.patience(PATIENCE)).run().exits_with(0);
    let expect = results(&by_ansible.stdout_text());
    assert_eq!(expect.len(), count, "{by_ansible}");
    for place in ["native", "wasm"] {
        let ran = with(modbox(dir, "play.yml", place)).run().exits_with(0);
        let found = results(&in_older_words(&ran.stdout_text()));
        let differing: Vec<_> = expect.iter().zip(&found).filter(|(expect, found)| !is_same(expect, found)).collect();
        assert!(
            differing.is_empty(),
            "{place}: {} of {count} differ, expected and found: {differing:#?}",
            differing.len()
        );
        assert_eq!(found.len(), count, "{ran}");
    }
}

#[test]
fn plugins_do_in_the_sandbox_what_they_do_natively_and_under_ansible() {
    let dir = TestDir::new();
    write_plugins(&dir);
    let mut expressions: Vec<String> = EXPRESSIONS.iter().map(|text| (*text).to_owned()).collect();
    expressions.extend(MADE.map(|what| format!("'{what}' | make")));
    expressions.extend(FAILURES.map(|kind| format!("'{kind}' | fail")));
    write_play(&dir, "play.yml", &expressions);
    check(&dir, expressions.len(), &[]);
    dir.assert_nothing_left();
}

#[test]
fn random_calls_have_the_same_value_in_both_places_and_under_ansible() {
    let dir = TestDir::new();
    write_plugins(&dir);
    dir.write("lookup_plugins/own.py", fs::read(fixture("oracle/plugins/lookups.py")).unwrap());
    let mut random = Random::new(0x3a5b);
    let mut expressions: Vec<String> = (0..cases(120, 2000)).map(|_| call(&mut random, 0)).collect();
    expressions.extend((0..cases(80, 2000)).map(|_| format!("{NESTED}{}", call(&mut random, 2))));
    write_play(&dir, "play.yml", &expressions);
    check(&dir, expressions.len(), &[]);
}

#[test]
fn plugins_of_a_collection_do_the_same_unless_they_lack_a_package() {
    let dir = TestDir::new();
    let collections = oracle_collections::collections_with_plugins();
    // `netaddr` and `xmltodict` are not there. What looks at the inside of `ipaddress` differs by the version of Python.
    let is_plain = |text: &&&str| {
        ["get_path", "to_paths", "index_of", "_keys", "fact_diff", "param_list", "consolidate"]
            .iter()
            .any(|part| text.contains(part))
    };
    let expressions: Vec<String> = OF_UTILS.iter().filter(is_plain).map(|text| (*text).to_owned()).collect();
    assert!(expressions.len() > 15);
    let vars = json!({"data": {"a": {"b": [{"c": 1}, {"c": "{{ 1 + 2 }}"}]}}});
    write_play_with(&dir, "play.yml", &expressions, &vars);
    check(&dir, expressions.len(), &[("ANSIBLE_COLLECTIONS_PATH", &collections)]);
    write_play(&dir, "lacking.yml", &["'10.0.0.1' | ansible.utils.ipaddr".to_owned()]);
    let lacking = modbox(&dir, "lacking.yml", "wasm").env("ANSIBLE_COLLECTIONS_PATH", &collections).run();
    assert!(lacking.stdout_text().contains("netaddr"), "{lacking}");
}

/// Returns the entries of the event `plugins`.
fn listed(ran: &RunOutput) -> Vec<Value> {
    let lines = ran.stdout_text();
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut plugins = events.filter(|event| event["event"] == "plugins");
    plugins.next().map(|event| event["plugins"].as_array().unwrap().clone()).unwrap_or_default()
}

#[test]
fn where_a_plugin_runs_is_said_with_the_reason() {
    let dir = TestDir::new();
    let filter = |imports: &str| {
        format!(
            "{imports}\n\nclass FilterModule(object):\n    def filters(self):\n        return {{'twice': lambda value: value * 2}}\n"
        )
    };
    dir.write("filter_plugins/own.py", filter("import re"));
    write_play(&dir, "play.yml", &["2 | twice".to_owned()]);
    for (place, runs, reason) in [
        ("native", "native", "the policy says `native`"),
        ("auto", "native", "the sandbox has Python 3.14, and `ansible` runs with 3."),
        ("wasm", "wasm", "the policy says `wasm`"),
    ] {
        let ran = modbox(&dir, "play.yml", place).args(["--output", "jsonl"]).run().exits_with(0);
        let plugins = listed(&ran);
        assert_eq!((&plugins[0]["place"], &plugins[0]["names"]), (&json!(runs), &json!(["twice"])), "{ran}");
        assert!(plugins[0]["reason"].as_str().unwrap().starts_with(reason), "{place}: {ran}");
        let warns = ran.stderr_text().contains("may have other results in the sandbox: the sandbox has Python 3.14");
        assert_eq!(warns, place == "wasm", "{ran}");
        let explained = modbox(&dir, "play.yml", place).arg("--explain").run().exits_with(0).stdout_text();
        assert!(explained.contains(&format!(", {runs}), since {reason}")), "{explained}");
    }
    // A policy file says it, too.
    let policy = dir.write("policy.yaml", "python: wasm\n");
    let by_policy = modbox_by(&dir, &dir.join("play.yml"), &INSTALLED.python).own_cache(&INSTALLED.dir);
    let ran = by_policy.arg("--policy").arg(policy).args(["--output", "jsonl"]).run().exits_with(0);
    assert_eq!(listed(&ran)[0]["place"], "wasm", "{ran}");

    // What the sandbox lacks is an error with its place, and so is a sandbox without a component.
    dir.write("filter_plugins/own.py", filter("import re\nimport netaddr"));
    let ran = modbox(&dir, "play.yml", "wasm").args(["--output", "jsonl"]).run();
    let own = dir.join("filter_plugins/own.py").display().to_string();
    let says = format!("line 2 of `{own}` imports `netaddr`, which the sandbox does not have");
    let plugins = listed(&ran);
    assert_eq!(plugins[0]["place"], Value::Null, "{ran}");
    assert!(plugins[0]["reason"].as_str().unwrap().contains(&says), "{ran}");
    let empty =
        modbox_by(&dir, &dir.join("play.yml"), &INSTALLED.python).own_cache(&dir).args(["--python", "wasm"]).run();
    assert!(empty.stderr_text().contains("`modbox python install` builds one"), "{empty}");
}

#[test]
fn a_hostile_plugin_reaches_nothing_in_the_sandbox_and_its_process_is_replaced() {
    let dir = TestDir::new();
    dir.write("play/filter_plugins/hostile.py", fs::read(fixture("oracle/plugins/sandboxed_hostile.py")).unwrap());
    dir.write("play/.env", "do-not-read\n");
    let file = dir.write("play/files/own.txt", "a text\n").display().to_string();
    let of_play = |path: &str| dir.join("play").join(path).display().to_string();
    let secret = dir.write("secret", "do-not-read\n").display().to_string();
    symlink("../../secret", dir.join("play/files/to_secret")).unwrap();
    let outside = dir.join("made").display().to_string();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let denied = "Permission denied";
    let mut attempts: Vec<Attempt> = vec![
        // Its status, or the limit of memory that a call before it has met.
        ("1 | leave".to_owned(), "its process "),
        ("1 | kill".to_owned(), "The filter plugin 'kill' failed"),
        ("1 | run".to_owned(), "The filter plugin 'run' failed"),
        ("1 | many".to_owned(), ENDED),
        ("1 | recursion".to_owned(), "The filter plugin 'recursion' failed"),
        ("'/etc/shadow' | read".to_owned(), denied),
        ("'/proc/self/environ' | read".to_owned(), denied),
        (format!("'{secret}' | read"), denied),
        (format!("'{}' | read", of_play(".env")), denied),
        (format!("'{}' | read", of_play("files/to_secret")), "The filter plugin 'read' failed"),
        (format!("{} | connect", server.local_addr().unwrap().port()), "The filter plugin 'connect' failed"),
    ];
    attempts.extend(on_files(&file, &of_play("files/made"), &outside));
    check_attempts(&dir, attempts, || modbox(&dir, "play/play.yml", "wasm"));
    assert!(!dir.join("made").exists());
    server.set_nonblocking(true).unwrap();
    assert!(server.accept().is_err(), "a plugin connected");
    assert_eq!(fs::read_to_string(&file).unwrap(), "a text\n");
    dir.assert_nothing_left();
}

#[test]
fn a_task_that_is_run_twice_has_a_worker_that_remembers_its_files() {
    let dir = TestDir::new();
    dir.write("filter_plugins/hostile.py", fs::read(fixture("oracle/plugins/sandboxed_hostile.py")).unwrap());
    write_play(&dir, "play.yml", &["1 | leave".to_owned(), "1 | leave".to_owned(), "1 | good".to_owned()]);
    let ran = in_sandbox(&dir, "play.yml").exits_with(0);
    let shown = results(&ran.stdout_text());
    let statuses: Vec<bool> =
        shown.iter().map(|(_, result)| result.contains("its process ended with status ")).collect();
    assert_eq!(statuses, [true, true, false], "{ran}");
    assert!(shown[2].1.contains("\"msg\": 2"), "{ran}");
}
