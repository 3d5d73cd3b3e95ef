//! Names of modules lead to the files that ansible-core's own loader finds.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::sample::sample;
use crate::support::{Modbox, TestDir, fixture, oracle, repository};

/// Number of ansible-core's redirects that are looked up. It has three thousand.
const REDIRECTS: usize = 60;

const RUNTIME: &str = "plugin_routing:\n  modules:\n    moved: {redirect: n.d.there}\n    twice: {redirect: n.c.moved}\n    \
                       core: {redirect: ansible.builtin.ping}\n    own: {redirect: ansible.legacy.local}\n    \
                       gone: {tombstone: {removal_version: 2.0.0, warning_text: w}}\n    to_gone: {redirect: n.c.gone}\n    \
                       loop: {redirect: n.c.pool}\n    pool: {redirect: n.c.loop}\n    plain: {redirect: ping}\n    \
                       sub.moved: {redirect: n.c.sub.m}\n    no_tomb: {tombstone: {}}\n    nowhere: {redirect: x.y.z}\n    \
                       both: {deprecation: {removal_version: 9.0.0, warning_text: w}}\n    missing: {deprecation: {}}\n";

const FILES: [&str; 19] = [
    "first/ansible_collections/n/c/plugins/modules/m.py",
    "first/ansible_collections/n/c/plugins/modules/both.py",
    "first/ansible_collections/n/c/plugins/modules/both.ps1",
    "first/ansible_collections/n/c/plugins/modules/no_tomb.py",
    "first/ansible_collections/n/c/plugins/modules/binary",
    "first/ansible_collections/n/c/plugins/modules/only.yml",
    "first/ansible_collections/n/c/plugins/modules/old.py~",
    "first/ansible_collections/n/c/plugins/modules/moved.py",
    "first/ansible_collections/n/c/plugins/modules/a.b.py",
    "first/ansible_collections/n/c/plugins/modules/sub/m.py",
    "first/ansible_collections/n/c/plugins/modules/sub/deep/m.sh",
    "second/ansible_collections/n/c/plugins/modules/hidden.py",
    "second/ansible_collections/n/d/plugins/modules/there.py",
    "library/local.sh",
    "library/copy.py",
    "library/sub/inner.py",
    "library/n.c.hidden.py",
    "library/dot.ted.py",
    "library/_old.py",
];

const NAMES: &str = "n.c.m n.c.both n.c.no_tomb n.c.binary n.c.only n.c.old n.c.moved n.c.twice n.c.core n.c.own n.c.gone \
                     n.c.to_gone n.c.loop n.c.plain n.c.sub.moved n.c.sub.m n.c.sub.deep.m n.c.deep.m n.c.hidden n.d.there \
                     n.c.nowhere n.c.missing n.c.a n.c.a.b n.c.m.py x.y.z n.c 1n.c.m n.c.m. local copy hostname stat.py dnf \
                     ansible.legacy.local ansible.legacy.copy ansible.legacy.ping ansible.legacy.nothing ansible.builtin.copy \
                     ansible.builtin.ping ansible.builtin.local ansible.builtin.nothing ansible.builtin.sub.ping nothing dot.ted \
                     ansible.legacy.dot.ted formerly_core_ping";

fn asked(dir: &TestDir, python: &Path, names: &[String]) -> Vec<Value> {
    let mut filter = Command::new(python)
        .arg(fixture("oracle/names.py"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", dir.join("home"))
        .env("ANSIBLE_COLLECTIONS_PATH", format!("{}:{}", dir.join("first").display(), dir.join("second").display()))
        .env("ANSIBLE_LIBRARY", dir.join("library"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the oracle starts");
    let lines: String = names.iter().map(|name| format!("{}\n", json!(name))).collect();
    filter.stdin.take().expect("it is piped").write_all(lines.as_bytes()).expect("the oracle reads");
    let answered = filter.wait_with_output().expect("the oracle ends");
    let text = String::from_utf8(answered.stdout).expect("the answers are JSON");
    text.lines().map(|line| serde_json::from_str(line).expect("an answer is JSON")).collect()
}

/// Returns what modbox finds, in the oracle's form.
fn found(dir: &TestDir, python: &Path, name: &str) -> Value {
    let ran = Modbox::new(dir)
        .args(["policy", "show", name, "--json", "--module-path", "library", "--interpreter"])
        .arg(python)
        .env("ANSIBLE_COLLECTIONS_PATH", "first:second")
        .run();
    let said = ran.stderr_text();
    match ran.status.code() {
        Some(0) => json!({"name": ran.json()["module"]["name"]}),
        Some(3) if said.contains("was removed") => json!({"error": "removed"}),
        Some(3) if said.contains("do not end") => json!({"error": "loop"}),
        Some(3) => json!({"error": "unknown"}),
        _ => panic!("{ran}"),
    }
}

fn path(dir: &TestDir, python: &Path, name: &str) -> Value {
    let ran = Modbox::new(dir)
        .args(["inspect", name, "--json", "--module-path", "library", "--interpreter"])
        .arg(python)
        .env("ANSIBLE_COLLECTIONS_PATH", "first:second")
        .run();
    ran.exits_with(0).json()["path"].clone()
}

#[test]
fn names_lead_to_the_same_files() {
    let dir = TestDir::new();
    for file in FILES {
        // A module of some kind, and different from each other.
        dir.write(file, format!("#!/bin/sh\n# WANT_JSON {file}\n"));
    }
    dir.write("first/ansible_collections/n/c/meta/runtime.yml", RUNTIME);
    let python = oracle::python();
    let routing = "import json, yaml, ansible; path = ansible.__path__[0] + '/config/ansible_builtin_runtime.yml'; \
                   print(json.dumps(sorted(yaml.safe_load(open(path))['plugin_routing']['modules'])))";
    let listed = Command::new(&python).args(["-c", routing]).output().expect("the oracle starts");
    let listed: Vec<String> = serde_json::from_slice(&listed.stdout).expect("the list is JSON");
    let mut names: Vec<String> = NAMES.split_whitespace().map(str::to_owned).collect();
    names.extend(sample(listed, REDIRECTS));
    // modbox's own modules come before those of ansible-core, unless a folder of the library has the name.
    let is_own = |name: &str| repository().join("modules").join(name).is_dir();
    names.retain(|name| name == "copy" || !is_own(name));
    let answers = asked(&dir, &python, &names);
    assert_eq!(answers.len(), names.len());
    let mut differences = Vec::new();
    for (name, answer) in names.iter().zip(answers) {
        let own = found(&dir, &python, name);
        // Ansible has a prefix for modules outside of collections, and keeps the extension of a written file name.
        let legacy = |name: &str| {
            let name = name.strip_prefix("ansible.legacy.").unwrap_or(name);
            name.strip_suffix(".py").unwrap_or(name).to_owned()
        };
        let same = match answer["path"].as_str() {
            None => own == answer,
            Some(path_of_ansible) => {
                own["name"] == legacy(answer["name"].as_str().unwrap_or_default())
                    && path(&dir, &python, name) == path_of_ansible
            }
        };
        if !same {
            differences.push(format!("{name}: {own}, and Ansible {answer}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
