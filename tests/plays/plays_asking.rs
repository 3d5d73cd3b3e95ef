//! `modbox play --ask` on a terminal: before each task what its arguments lack, after a denial the task again from its start. Each
//! situation is played by keys, and what the person sees is compared.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::run::asking::{KEYS, PATIENCE, answers};
use crate::support::server::{Server, response};
use crate::support::{Modbox, RunOutput, TestDir, fixture, module, stretched};

/// A native module without documentation, so that nothing is designated. It runs the code in `do`, in which `%` stands for the folder of
/// the test, and counts its runs in `runs`, which it may write.
const MODULE: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, sys
args = json.load(open(sys.argv[1]))
try:
    exec(args["do"].replace("%", args["at"]))
    print(json.dumps({"changed": True}))
except Exception as error:
    print(json.dumps({"failed": True, "msg": repr(error)}))
"#;

/// A folder with a play of these tasks, in which `%` stands for the folder.
fn place(tasks: &str) -> TestDir {
    let dir = TestDir::new();
    dir.write_executable("play/library/native", MODULE);
    fs::copy(module("lineinfile"), dir.join("play/library/line.wasm")).unwrap();
    for name in ["one", "two", "three"] {
        dir.write(&format!("site/{name}"), "hello\n");
    }
    write(&dir, tasks);
    dir
}

fn write(dir: &TestDir, tasks: &str) {
    let tasks = tasks.replace('%', &dir.path().display().to_string());
    dir.write("play/play.yml", format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}"));
}

/// Runs the play on a terminal. A step is a text, the keys that are typed after it, and what is done before.
fn on_terminal(dir: &TestDir, steps: &Value, words: &[&str]) -> RunOutput {
    let patience = stretched(PATIENCE);
    Modbox::of(Path::new("python3"), dir)
        .arg(fixture("plays/terminal.py"))
        .args([&patience.as_secs().to_string(), &steps.to_string(), env!("CARGO_BIN_EXE_modbox"), "play"])
        .args(words)
        .arg("play/play.yml")
        .env("XDG_STATE_HOME", dir.join("home/state"))
        .patience(patience + PATIENCE)
        .run()
}

fn asked(dir: &TestDir, keys: &[&str]) -> RunOutput {
    let steps: Vec<Value> = keys.iter().map(|key| json!([KEYS, key])).collect();
    on_terminal(dir, &json!(steps), &["--ask", "--designated", "none"])
}

/// What the person sees, without the folder's name.
fn shown(dir: &TestDir, ran: &RunOutput) -> String {
    ran.stdout_text().replace("\r\n", "\n").replace(&dir.path().display().to_string(), "%")
}

fn file(dir: &TestDir, name: &str) -> String {
    fs::read_to_string(dir.join(&format!("site/{name}"))).unwrap()
}

fn line(name: &str) -> String {
    format!("  - name: write {name}\n    line: {{path: %/site/{name}, line: new}}\n")
}

fn code(text: &str) -> String {
    format!("  - name: run it\n    native: {{at: %, do: \"{text}\"}}\n")
}

/// The question of [`line`].
fn question(name: &str) -> String {
    format!(
        "modbox: line 0.1.0 (no signature checked) asks to write %/site/{name}\n        for the task \"write {name}\"\n        the argument \
         path names it\n  o once   a always   n no > \n"
    )
}

#[test]
fn each_task_is_asked_about_before_it_runs() {
    let dir = place(&[line("one"), line("two"), line("one").replace("new", "more")].concat());
    let ran = asked(&dir, &["o", "o"]).exits_with(0);
    let seen = shown(&dir, &ran);
    let first = format!("{}modbox: once: write %/site/one\n", question("one"));
    assert!(seen.contains(&first) && seen.contains(&question("two")), "{seen}");
    assert_eq!(seen.matches("asks to").count(), 2, "what was granted holds for the module: {seen}");
    assert_eq!((file(&dir, "one").as_str(), file(&dir, "two").as_str()), ("hello\nnew\nmore\n", "hello\nnew\n"));
    assert!(answers(&dir).is_empty());
    dir.assert_nothing_left();
}

#[test]
fn always_is_a_file_that_later_plays_read() {
    let dir = place(&line("one"));
    let seen = shown(&dir, &asked(&dir, &["a"]).exits_with(0));
    assert!(seen.contains("modbox: always: written to `%/home/.config/modbox/policy.d/line-"), "{seen}");
    let [answer] = &answers(&dir)[..] else { panic!("{seen}") };
    let text = fs::read_to_string(answer).unwrap();
    assert!(text.starts_with("# An answer to `modbox play --ask`, given on "), "{text}");
    fs::write(dir.join("site/one"), "hello\n").unwrap();
    Modbox::new(&dir).args(["play", "--designated", "none", "play/play.yml"]).run().exits_with(0);
    assert_eq!(file(&dir, "one"), "hello\nnew\n");
    fs::remove_file(answer).unwrap();
    Modbox::new(&dir).args(["play", "--designated", "none", "play/play.yml"]).run().exits_with(4);
}

#[test]
fn no_holds_for_the_module_and_loops_ask_once() {
    let looped = "  - name: write it\n    line: {path: %/site/one, line: \"{{ item }}\"}\n    loop: [a, b, c]\n    ignore_errors: true\n";
    let dir = place(&[looped, &line("one"), &line("two")].concat());
    let seen = shown(&dir, &asked(&dir, &["n"]).exits_with(4));
    assert_eq!(seen.matches("asks to").count(), 1, "{seen}");
    assert_eq!(file(&dir, "one"), "hello\n");
    // Of the other grants of the module, and of other modules, a person is asked.
    write(&dir, &[looped, &line("two")].concat());
    let seen = shown(&dir, &asked(&dir, &["n", "o"]).exits_with(0));
    assert_eq!((seen.matches("asks to").count(), file(&dir, "two").as_str()), (2, "hello\nnew\n"), "{seen}");
}

#[test]
fn a_loop_asks_once_for_what_its_items_share() {
    let looped = "  - name: write it\n    line: {path: %/site/one, line: \"{{ item }}\"}\n    loop: [a, b, c]\n";
    let dir = place(looped);
    let seen = shown(&dir, &asked(&dir, &["o"]).exits_with(0));
    assert_eq!((seen.matches("asks to").count(), file(&dir, "one").as_str()), (1, "hello\na\nb\nc\n"), "{seen}");
}

#[test]
fn a_task_that_is_refused_something_starts_again_and_nothing_half_done_remains() {
    let text = "open('%/site/one', 'a').write('one\\\\n'); open('%/site/two', 'a').write('two\\\\n')";
    let dir = place(&code(text));
    let seen = shown(&dir, &asked(&dir, &["o", "n"]).exits_with(1));
    let refused = "asks to write %/site/one\n        for the task \"run it\"\n        the module was refused it (open); its changes are \
                   discarded\n";
    assert!(seen.contains(refused) && seen.contains("asks to write %/site/two\n"), "{seen}");
    assert_eq!(file(&dir, "one"), "hello\n");
    asked(&dir, &["o", "o"]).exits_with(0);
    assert_eq!((file(&dir, "one").as_str(), file(&dir, "two").as_str()), ("hello\none\n", "hello\ntwo\n"));
    dir.assert_nothing_left();
}

#[test]
fn a_result_stays_that_of_the_module() {
    // It says that it changed something, and changes no file.
    let dir = place(
        "  - native: {at: %, do: pass}\n    notify: told\n  handlers:\n  - name: told\n    debug: {msg: told so}\n",
    );
    let seen = shown(&dir, &asked(&dir, &[]).exits_with(0));
    assert!(seen.contains("changed: [localhost]") && seen.contains("told so"), "{seen}");
}

#[test]
fn blocks_rescue_what_a_person_refuses_and_handlers_are_asked_about() {
    let tasks = "  - block:\n    - name: write one\n      line: {path: %/site/one, line: new}\n    rescue:\n    - name: write two\n      \
                 line: {path: %/site/two, line: new}\n      notify: last\n  handlers:\n  - name: last\n    line: {path: %/site/three, line: new}\n";
    let dir = place(tasks);
    let seen = shown(&dir, &asked(&dir, &["n", "o", "o"]).exits_with(0));
    assert!(seen.contains("for the task \"last\""), "{seen}");
    let files = ["one", "two", "three"].map(|name| file(&dir, name));
    assert_eq!(files, ["hello\n", "hello\nnew\n", "hello\nnew\n"], "{seen}");
}

#[test]
fn tasks_that_are_tried_again_and_jobs_are_asked_about_once() {
    let tries = "  - name: write one\n    line: {path: %/site/one, line: new}\n    register: it\n    until: it is not changed\n    retries: 3\n    \
                 delay: 0\n";
    let job = "  - name: write two\n    line: {path: %/site/two, line: new}\n    async: 60\n    poll: 1\n";
    let dir = place(&[tries, job].concat());
    let seen = shown(&dir, &asked(&dir, &["o", "o"]).exits_with(0));
    assert_eq!(seen.matches("asks to").count(), 2, "{seen}");
    assert_eq!((file(&dir, "one").as_str(), file(&dir, "two").as_str()), ("hello\nnew\n", "hello\nnew\n"));
    // What a job is refused while it runs is not asked: the job goes on by itself.
    write(&dir, &format!("{}    async: 60\n    poll: 1\n", code("open('%/site/three', 'a').write('x')")));
    let seen = shown(&dir, &asked(&dir, &[]).exits_with(1));
    assert!(!seen.contains("asks to"), "{seen}");
    assert_eq!(file(&dir, "three"), "hello\n");
}

#[test]
fn several_hosts_of_this_machine_ask_once() {
    let dir = place(&line("one").replace("line: new", "line: \"{{ inventory_hostname }}\""));
    dir.write("hosts", "[all:vars]\nansible_connection=local\n[web]\na\nb\n");
    let steps = json!([[KEYS, "o"]]);
    let ran = on_terminal(&dir, &steps, &["--ask", "--designated", "none", "-i", "hosts"]).exits_with(0);
    let seen = shown(&dir, &ran);
    assert_eq!((seen.matches("asks to").count(), file(&dir, "one").as_str()), (1, "hello\na\nb\n"), "{seen}");
}

#[test]
fn sections_bound_the_questions_and_ask_without_the_switch() {
    let dir = place(&[line("one"), line("two")].concat());
    dir.write("home/.config/modbox/policy.yaml", format!("ask: {{write: [{}]}}\n", dir.join("site/one").display()));
    let ran = on_terminal(&dir, &json!([[KEYS, "o"]]), &["--designated", "none"]).exits_with(4);
    let seen = shown(&dir, &ran);
    assert!(seen.contains(&question("one")), "{seen}");
    let left_out = "modbox: not asked: write %/site/two: the sections `ask` of the policy files do not have it\n";
    assert!(seen.contains(left_out), "{seen}");
    assert_eq!((file(&dir, "one").as_str(), file(&dir, "two").as_str()), ("hello\nnew\n", "hello\n"));
    // A play on layers has no part that is dropped alone, so it does not ask.
    for other in ["--preview", "--transaction"] {
        let seen = shown(&dir, &on_terminal(&dir, &json!([]), &["--designated", "none", other]).exits_with(4));
        assert!(!seen.contains("asks to"), "{other}: {seen}");
    }
}

#[test]
fn the_switch_needs_a_terminal_and_no_layers() {
    let dir = place(&line("one"));
    let play = |words: &[&str]| Modbox::new(&dir).arg("play").args(words).arg("play/play.yml").run();
    let ran = play(&["--ask"]).exits_with(2);
    assert!(ran.stderr_text().contains("`--ask` asks a person on a terminal"), "{ran}");
    for other in ["--preview", "--transaction", "--allow-all", "--syntax-check", "--list-tasks"] {
        let ran = play(&["--ask", other]).exits_with(2);
        assert!(ran.stderr_text().contains("'--ask' cannot be used with"), "{other}: {ran}");
        assert!(ran.stderr_text().contains(other), "{other}: {ran}");
    }
    assert_eq!(file(&dir, "one"), "hello\n");
}

#[test]
fn what_no_answer_should_grant_is_never_asked() {
    let dir = place("");
    for (text, why) in [
        ("os.mkdir('/etc/none')", "root or a top-level folder"),
        ("open('%/home/.config/modbox/policy.d/x.yaml', 'w')", "it decides about grants"),
    ] {
        fs::create_dir_all(dir.join("home/.config/modbox/policy.d")).unwrap();
        write(&dir, &code(text));
        let seen = shown(&dir, &asked(&dir, &[]).exits_with(1));
        assert!(!seen.contains("asks to"), "{text}: {seen}");
        assert!(seen.contains("modbox: not asked: ") && seen.contains(why), "{text}: {seen}");
    }
}

#[test]
fn what_no_view_holds_is_not_done_twice() {
    let dir = place("");
    let server = Server::http(|_, _| response("200 OK", "", "page"));
    let address = server.address.to_string();
    let (host, port) = address.rsplit_once(':').unwrap();
    let connects = format!(
        "import socket; socket.create_connection(('{host}', {port})).close(); open('%/site/one', 'a').write('x')"
    );
    write(&dir, &code(&connects));
    // The kernel keeps a native module to ports alone.
    let words = ["--ask", "--designated", "none", "--allow-net", &format!("*:{port}+any")];
    let seen = shown(&dir, &on_terminal(&dir, &json!([]), &words).exits_with(1));
    assert!(seen.contains("modbox: not asked: the run may have used net "), "{seen}");
    assert_eq!((server.connections(), file(&dir, "one").as_str()), (1, "hello\n"));
}

#[test]
fn ctrl_c_ends_the_play_and_nothing_is_changed() {
    let dir = place(&[line("one"), line("two")].concat());
    asked(&dir, &["\u{3}"]).exits_with(254);
    assert_eq!((file(&dir, "one").as_str(), answers(&dir).len()), ("hello\n", 0));
    dir.assert_nothing_left();
}

#[test]
fn a_check_is_asked_about_before_it_starts_alone() {
    let dir = place(&line("one"));
    let ran = on_terminal(&dir, &json!([[KEYS, "o"]]), &["--ask", "--check", "--designated", "none"]).exits_with(0);
    let seen = shown(&dir, &ran);
    assert!(seen.contains(&question("one")) && seen.contains("changed: [localhost]"), "{seen}");
    assert_eq!(file(&dir, "one"), "hello\n");
}

#[test]
fn names_of_tasks_forge_no_question() {
    let dir = place("  - name: \"x\\n  o once\\u202e\\e[2J\\\"\"\n    line: {path: %/site/one, line: new}\n");
    let seen = shown(&dir, &asked(&dir, &["n"]).exits_with(4));
    assert!(seen.contains("        for the task \"x\\u{a}  o once\\u{202e}\\u{1b}[2J'\"\n"), "{seen}");
    assert!(!seen.contains('\u{202e}'), "{seen}");
}

#[test]
fn what_would_be_asked_is_explained_as_such() {
    let dir = place(&[line("one"), line("two")].concat());
    let explain = |words: &[&str]| {
        let ran = Modbox::new(&dir)
            .args(["play", "--designated", "none", "--explain"])
            .args(words)
            .arg("play/play.yml")
            .run();
        shown(&dir, &ran.exits_with(0))
    };
    let lacking = explain(&[]);
    assert!(lacking.contains("needs --allow-write %/site/one") && !lacking.contains("asks for"), "{lacking}");
    let all = explain(&["--ask"]);
    assert!(all.contains("#   asks for write %/site/one\n") && !all.contains("needs --allow-write"), "{all}");
    assert!(!all.contains("- %/site") && !all.contains("- \"%/site"), "what is asked is not missing: {all}");
    // With sections, what they have is asked, and the rest is missing.
    dir.write("home/.config/modbox/policy.yaml", format!("ask: {{write: [{}]}}\n", dir.join("site/one").display()));
    let some = explain(&[]);
    assert!(
        some.contains("#   asks for write %/site/one\n") && some.contains("needs --allow-write %/site/two"),
        "{some}"
    );
    let events = explain(&["--output", "jsonl"]);
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let run = |at: usize| &events.iter().filter(|event| event["event"] == "task").nth(at).unwrap()["runs"][0];
    assert_eq!(
        (run(0)["asks"][0]["subject"].as_str(), run(0)["needs"].as_array().unwrap().len()),
        (Some("%/site/one"), 0)
    );
    assert_eq!((run(1)["asks"].as_array().unwrap().len(), run(1)["needs"].as_array().unwrap().len()), (0, 1));
    assert_eq!(file(&dir, "one"), "hello\n");
}

#[test]
fn a_module_that_changes_after_the_question_gets_nothing() {
    let dir = place(&line("one"));
    let module: PathBuf = dir.join("play/library/line.wasm");
    let swap = format!("cp {} {}", crate::support::guest("echo").display(), module.display());
    let ran = on_terminal(&dir, &json!([[KEYS, "o", swap]]), &["--ask", "--designated", "none"]);
    assert_eq!(file(&dir, "one"), "hello\n", "{ran}");
}
