//! What tasks of a play are granted: paths that modules steer, text from outside of the play's folder, and rules by task.

use std::fs;

use serde_json::Value;

use crate::support::{Modbox, RunOutput, TestDir};

/// A module that returns a path of the caller's file `steered`, in every way in which a module can return something.
const STEER: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json

path = open("/steered").read().strip()
print(json.dumps({"changed": False, "path": path, "name": path.rsplit("/", 1)[1], "ansible_facts": {"stolen": path}}))
"#;

/// A module that writes `text` to `dest`, and to each `dest` of `files`.
const PUT: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json
import sys

args = json.load(open(sys.argv[1]))
try:
    for dest in [args.get("dest")] + [file["dest"] for file in args.get("files", [])]:
        if dest:
            open(dest, "w").write(args.get("text", "put"))
    read = open(args["src"]).read() if "src" in args else None
    print(json.dumps({"changed": True, "read": read}))
except OSError as error:
    print(json.dumps({"failed": True, "msg": str(error)}))

DOCUMENTATION = r"""
options:
  src: {type: path, access: read}
  dest: {type: path, access: write}
  text: {type: str}
  files: {type: list, elements: dict, suboptions: {dest: {type: path, access: write}}}
"""
"#;

/// Makes a play's folder with both modules, and a target outside of it.
fn prepared() -> TestDir {
    let dir = TestDir::new();
    dir.write("play/library/steer.py", STEER);
    dir.write("play/library/put.py", PUT);
    dir.write("play/inner.yml", "- put: {dest: \"{{ item }}\"}\n");
    dir.write("target/kept", "");
    dir.write("steered", dir.join("target/file").display().to_string());
    dir
}

fn run(dir: &TestDir, tasks: &str, args: &[&str]) -> RunOutput {
    dir.write(
        "play/play.yml",
        format!(
            "- hosts: all\n  gather_facts: false\n  vars:\n    base: {}/target/\n  tasks:\n  - steer: {{}}\n    register: r\n{tasks}",
            dir.path().display()
        ),
    );
    let steered = format!("{}::/steered", dir.join("steered").display());
    Modbox::new(dir).args(["play", "--output", "jsonl", "--allow-read", &steered]).args(args).arg("play/play.yml").run()
}

/// Returns the sources of the grants for writing of the last run.
fn write_grants(ran: &RunOutput) -> Vec<String> {
    let events: Vec<Value> = ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let reports = events.iter().filter_map(|event| event["reports"].as_array()).flatten();
    let grants = reports.last().unwrap()["grants"].as_array().unwrap().clone();
    let writes = grants.iter().filter(|grant| grant["capability"] == "write");
    writes.map(|grant| grant["source"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_module_steers_no_path_under_strict() {
    let dir = prepared();
    let target = dir.join("target/file");
    for (tasks, argument) in [
        ("  - put: {dest: \"{{ r.path }}\"}\n", "dest"),
        ("  - put: {dest: \"{{ base }}{{ r.name }}\"}\n", "dest"),
        ("  - put: {files: [{dest: \"{{ r.path }}\"}]}\n", "files[0].dest"),
        ("  - set_fact: {p: \"{{ r.path }}\"}\n  - put: {dest: \"{{ p }}\"}\n", "dest"),
        ("  - put: {dest: \"{{ item }}\"}\n    loop: [\"{{ r.path }}\"]\n", "dest"),
        ("  - put: {dest: \"{{ item.x }}\"}\n    with_items: [{x: \"{{ r.path }}\"}]\n", "dest"),
        ("  - put: {dest: \"{{ stolen }}\"}\n", "dest"),
        ("  - put: {dest: \"{{ ansible_facts.stolen }}\"}\n", "dest"),
        ("  - put: {dest: \"{{ hostvars.localhost.r.path }}\"}\n", "dest"),
        ("  - put: {dest: \"{{ vars.r.path }}\"}\n", "dest"),
        ("  - put: {dest: \"{{ q }}\"}\n    vars: {q: \"{{ r.path | default('x') }}\"}\n", "dest"),
        ("  - add_host: {name: other, p: \"{{ r.path }}\"}\n  - put: {dest: \"{{ hostvars.other.p }}\"}\n", "dest"),
        ("  - include_tasks: inner.yml\n    loop: [\"{{ r.path }}\"]\n", "dest"),
        (
            "  - put: {dest: \"{{ playbook_dir }}/made.yml\", text: \"p: {{ r.path }}\"}\n  - include_vars: made.yml\n\
             \x20 - put: {dest: \"{{ p }}\"}\n",
            "dest",
        ),
    ] {
        let ran = run(&dir, tasks, &[]).exits_with(0);
        assert!(target.is_file(), "{tasks}");
        let source = write_grants(&ran).pop().unwrap();
        assert!(source.starts_with(&format!("argument {argument}, made from ")), "{tasks}: {source}");
        fs::remove_file(&target).unwrap();

        let denied = run(&dir, tasks, &["--strict"]).exits_with(4);
        let told = denied.stdout_text();
        assert!(!target.exists(), "{tasks}");
        assert!(told.contains(&format!("--allow-write {}", target.display())), "{tasks}: {told}");
        assert!(told.contains("made from") && told.contains("designated-by-results"), "{tasks}: {told}");

        let allowed = ["--strict", "--allow-write", &target.display().to_string()];
        run(&dir, tasks, &allowed).exits_with(0);
        assert!(target.is_file(), "{tasks}");
        fs::remove_file(&target).unwrap();
        let _ = fs::remove_file(dir.join("play/made.yml"));
    }
}

#[test]
fn what_the_play_itself_says_designates_under_strict() {
    let dir = prepared();
    let target = dir.join("target/file");
    for tasks in [
        "  - put: {dest: \"{{ base }}file\"}\n",
        "  - put: {dest: \"{{ base }}file\", text: \"{{ r.path }}\"}\n",
        "  - set_fact: {p: \"{{ base }}file\"}\n  - put: {dest: \"{{ p }}\"}\n",
        "  - put: {dest: \"{{ item }}\"}\n    loop: [\"{{ base }}file\"]\n",
        "  - put: {dest: \"{{ base }}file\"}\n    when: r.path is defined\n",
        "  - include_tasks: inner.yml\n    loop: [\"{{ base }}file\"]\n",
    ] {
        run(&dir, tasks, &["--strict"]).exits_with(0);
        assert!(target.is_file(), "{tasks}");
        fs::remove_file(&target).unwrap();
    }
}

#[test]
fn results_can_name_paths_to_read_alone() {
    let dir = prepared();
    dir.write("target/file", "text");
    dir.write("policy.yaml", "designated-by-results: read\n");
    let policy = ["--policy", "policy.yaml"];
    let ran = run(&dir, "  - put: {src: \"{{ r.path }}\"}\n", &policy).exits_with(0);
    assert!(ran.stdout_text().contains("\"read\": \"text\""), "{}", ran.stdout_text());
    run(&dir, "  - put: {dest: \"{{ r.path }}\"}\n", &policy).exits_with(4);
}

#[test]
fn roles_from_elsewhere_name_only_what_the_caller_wrote_under_strict() {
    let dir = prepared();
    let target = dir.join("target/file");
    dir.write("vendor/web/defaults/main.yml", "web_file: /nowhere/x\nweb_dir: /nowhere\n");
    dir.write("vendor/web/tasks/main.yml", "- put: {dest: \"{{ web_file }}\"}\n");
    dir.write("vendor/site/tasks/main.yml", "- put: {dest: \"{{ web_dir }}/file\"}\n");
    let role = |name: &str, vars: &str, args: &[&str]| {
        let vars = format!("{{{}}}", vars.replace('%', &dir.path().display().to_string()));
        let tasks = format!("  - import_role: {{name: {name}}}\n    vars: {vars}\n");
        let mut all = vec!["--roles-path", "vendor"];
        all.extend(args);
        run(&dir, &tasks, &all)
    };
    let clean = || drop(fs::remove_file(&target));
    role("web", "web_file: %/target/file", &["--strict"]).exits_with(0);
    clean();
    let extra = format!("web_file={}", target.display());
    role("web", "a: 1", &["--strict", "-e", &extra]).exits_with(0);
    clean();
    role("site", "web_dir: %/target", &[]).exits_with(0);
    clean();
    let denied = role("site", "web_dir: %/target", &["--strict"]).exits_with(4);
    assert!(!target.exists());
    assert!(denied.stdout_text().contains("vendor/site/tasks/main.yml"), "{}", denied.stdout_text());
    assert!(denied.stdout_text().contains("`--strict` keeps text outside"), "{}", denied.stdout_text());
}

#[test]
fn rules_for_tasks_and_roles_hold_for_them_alone() {
    let dir = prepared();
    let target = dir.join("target/file");
    dir.write("play/roles/web/tasks/main.yml", "- name: Put it\n  put: {dest: \"{{ r.path }}\"}\n");
    let all = format!("{}", dir.join("target").display());
    for (rules, task, expect) in [
        ("Put *", "  - name: Put it\n    put: {dest: \"{{ r.path }}\"}\n", 0),
        ("Put *", "  - name: Place it\n    put: {dest: \"{{ r.path }}\"}\n", 4),
        ("role: web", "  - import_role: {name: web}\n", 0),
        ("role: db", "  - import_role: {name: web}\n", 4),
        ("web : Put it", "  - import_role: {name: web}\n", 0),
        ("put", "  - put: {dest: \"{{ r.path }}\"}\n", 0),
    ] {
        dir.write("policy.yaml", format!("tasks:\n  '{rules}': {{allow: {{write: [{all}]}}}}\n"));
        run(&dir, task, &["--strict", "--policy", "policy.yaml"]).exits_with(expect);
        assert_eq!(target.exists(), expect == 0, "{rules}: {task}");
        let _ = fs::remove_file(&target);
    }
    // A rule for tasks can restrict, too.
    dir.write("policy.yaml", "tasks:\n  'Put *': {designated: none}\n");
    run(&dir, "  - name: Put it\n    put: {dest: \"{{ base }}file\"}\n", &["--policy", "policy.yaml"]).exits_with(4);
    run(&dir, "  - name: Place it\n    put: {dest: \"{{ base }}file\"}\n", &["--policy", "policy.yaml"]).exits_with(0);
}

/// A play whose tasks need grants of each kind.
fn needy(dir: &TestDir) {
    dir.write("elsewhere/t.j2", "text\n");
    dir.write("elsewhere/vars.yml", "found: {{ base }}file\n");
    dir.write("play/inner.yml", "- name: inner\n  put: {dest: \"{{ base }}inner\"}\n");
    let elsewhere = dir.join("elsewhere").display().to_string();
    let text = format!(
        "- hosts: all\n  gather_facts: false\n  vars: {{base: {}/target/}}\n  tasks:\n\
         \x20 - name: look up\n    debug: {{msg: \"{{{{ lookup('env', 'NEEDY') }}}} {{{{ lookup('file', '{elsewhere}/t.j2') }}}}\"}}\n\
         \x20 - name: pipe\n    debug: {{msg: \"{{{{ lookup('pipe', 'echo piped') }}}}\"}}\n\
         \x20 - name: put it\n    put: {{dest: \"{{{{ base }}}}file\"}}\n    when: base is defined\n    tags: [a, b]\n\
         \x20 - name: steer\n    steer: {{}}\n    register: r\n\
         \x20 - name: follow\n    debug: {{msg: \"{{{{ r.path }}}}\"}}\n\
         \x20 - name: steered\n    put: {{src: \"{{{{ r.path }}}}\"}}\n\
         \x20 - include_tasks: inner.yml\n  handlers:\n  - name: handle\n    debug:\n",
        dir.path().display()
    );
    dir.write("play/play.yml", text);
}

#[test]
fn what_a_play_needs_is_explained_and_is_a_policy() {
    let dir = prepared();
    needy(&dir);
    let target = dir.join("target/file");
    let run = |args: &[&str]| {
        let steered = format!("{}::/steered", dir.join("steered").display());
        let play = Modbox::new(&dir).env("NEEDY", "needed").args(["play", "--allow-read", &steered]);
        play.args(args).arg("play/play.yml").run()
    };
    let explained = run(&["--explain"]).exits_with(0).stdout_text();
    assert!(!target.exists(), "nothing runs");
    let put = format!("write {} (argument dest)", target.display());
    for expect in [
        "# TASK [put it] ",
        "play.yml:9:5",
        "#   runs put (classic, want_json): ",
        &put,
        "#   when: base is defined",
        "#   tags: a, b",
        "#   needs --allow-env NEEDY",
        "#   needs --allow-run echo",
        "#   src: known at run time: {{ r.path }}, from the result `r",
        "# TASK [inner] ",
        "# HANDLER [handle] ",
    ] {
        assert!(explained.contains(expect), "{expect}: {explained}");
    }
    let lacking = run(&[]).exits_with(4).stdout_text();
    let last: Vec<&str> = lacking.trim_end().lines().rev().take(2).collect();
    assert!(last[1] == "needs --allow-env NEEDY to read the variable `NEEDY`", "{lacking}");
    assert!(last[0].starts_with("needs --allow-read ") && last[0].contains("t.j2"), "{lacking}");
    dir.write("needs.yaml", &explained);
    dir.write("target/file", "text");
    let ran = run(&["--policy", "needs.yaml"]).exits_with(0).stdout_text();
    assert!(ran.contains("needed text") && ran.contains("\"msg\": \"piped\"") && !ran.contains("needs --"), "{ran}");
    let lines = run(&["--explain", "--output", "jsonl"]).exits_with(0).stdout_text();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["event"], "policy");
    assert_eq!(lines[2]["runs"][0]["module"]["name"], "put", "{}", lines[2]);
}

#[test]
fn an_explanation_says_what_is_refused() {
    let dir = prepared();
    dir.write(
        "play/play.yml",
        "- hosts: all\n  gather_facts: false\n  tasks:\n  - name: elsewhere\n    steer: {}\n    delegate_to: other\n\
         \x20 - name: unreadable\n    put: {dest: \"{{ nope }}\"}\n- hosts: web\n  tasks:\n  - debug:\n",
    );
    let explained = Modbox::new(&dir).args(["play", "--explain", "play/play.yml"]).run().exits_with(2).stdout_text();
    for expect in
        ["refused: delegated to `other`", "dest: not known: 'nope' is undefined", "refused: it is for other hosts"]
    {
        assert!(explained.contains(expect), "{expect}: {explained}");
    }
}

#[test]
fn users_that_a_play_makes_are_explained_as_open() {
    let dir = prepared();
    let tasks =
        "  - steer: {}\n  - name: as the new one\n    steer: {}\n    become: true\n    become_user: not_yet_made\n";
    dir.write("play/play.yml", format!("- hosts: all\n  gather_facts: false\n  become_user: root\n  tasks:\n{tasks}"));
    let ran = Modbox::new(&dir).args(["play", "--explain", "play/play.yml"]).run();
    if !rustix::process::geteuid().is_root() {
        assert!(ran.stdout_text().contains("start it with `sudo`"), "{ran}");
        return;
    }
    let explained = ran.exits_with(0).stdout_text();
    let open = "the user `not_yet_made` is not known before the run; what `steer` needs as that user stays open";
    assert!(explained.contains(&format!("#   note: {open}")), "{explained}");
    assert_eq!(explained.matches(open).count(), 2, "the policy says it, too: {explained}");
}

#[test]
fn hosts_are_listed_as_ansible_lists_them() {
    let dir = TestDir::new();
    dir.write("play.yml", "- name: first\n  hosts: all\n- hosts: [web, db]\n");
    let listed = Modbox::new(&dir).args(["play", "--list-hosts", "play.yml"]).run().exits_with(0).stdout_text();
    let expect = "  play #1 (all): first\tTAGS: []\n    pattern: ['all']\n    hosts (1):\n      localhost\n\n  play #2 (web,db): web,db\tTAGS: []\n    \
                  pattern: ['web', 'db']\n    hosts (0):\n";
    assert!(listed.ends_with(expect), "{listed}");
}
