//! Full names of modules, wherever a module is named: the same file is found, and policy, report and audit log have
//! the same name.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir};

/// A module that returns the name that it was given.
const ECHO: &str = "#!/bin/sh\n# WANT_JSON\n\
                    name=$(sed 's/.*\"_ansible_module_name\": \"\\([^\"]*\\)\".*/\\1/' \"$1\")\n\
                    printf '{\"given\": \"%s\"}\\n' \"$name\"\n";

const RUNTIME: &str = "plugin_routing:\n  modules:\n    old: {redirect: n.c.echo, deprecation: {warning_text: Use echo.}}\n    \
                       gone: {tombstone: {removal_version: 2.0.0, warning_text: Use echo.}}\n";

struct Case {
    dir: TestDir,
}

impl Case {
    fn new() -> Self {
        let case = Self { dir: TestDir::new() };
        case.collection("own", "n/c");
        case
    }

    /// Makes a collection below a folder.
    fn collection(&self, folder: &str, collection: &str) {
        let folder = format!("{folder}/ansible_collections/{collection}");
        for module in ["echo.sh", "sub/deep/echo.sh"] {
            self.dir.write(&format!("{folder}/plugins/modules/{module}"), ECHO);
        }
        self.dir.write(&format!("{folder}/meta/runtime.yml"), RUNTIME);
    }

    fn modbox(&self, words: &[&str]) -> RunOutput {
        Modbox::new(&self.dir).args(words).run()
    }

    fn echo(&self) -> PathBuf {
        self.dir.join("own/ansible_collections/n/c/plugins/modules/echo.sh")
    }
}

const OWN: [&str; 2] = ["--collections-path", "own"];

#[test]
fn a_full_name_works_wherever_a_module_is_named() {
    let case = Case::new();
    let policy = case.dir.write("policy.yaml", "modules: {n.c.echo: {allow: {env: [A=b]}}}\n");
    let policy = ["--policy", policy.to_str().unwrap()];
    let audit = case.dir.join("audit.jsonl");
    let audited = ["--audit", audit.to_str().unwrap()];
    let module = json!({"name": "n.c.echo", "path": case.echo()});
    let check = |report: &Value, task_name: &str| {
        let facts = report["module"].as_object().unwrap();
        assert_eq!(json!({"name": facts["name"], "path": facts["path"]}), module, "{report:#}");
        assert_eq!(report["result"]["given"], task_name, "{report:#}");
        assert_eq!(report["grants"][0]["subject"], "A", "{report:#}");
    };
    for name in ["n.c.echo", "n.c.old"] {
        let words = [&["run", name, "a=1", "--output", "report"], &OWN[..], &policy, &audited].concat();
        let report = case.modbox(&words).exits_with(0).json();
        check(&report, name);
        let deprecated = report["notes"].to_string().contains("n.c.old` is deprecated: Use echo.");
        assert_eq!(deprecated, name == "n.c.old", "{report:#}");
        let batch = Modbox::new(&case.dir).arg("batch").args(OWN).args(policy).args(audited);
        let batch = batch.stdin(format!("{}\n", json!({"module": name, "args": {"a": "1"}}))).run().exits_with(0);
        check(&batch.json(), name);
    }
    let human = case.modbox(&[&["run", "n.c.old", "--output", "human"], &OWN[..]].concat()).exits_with(0);
    assert!(human.stdout_text().starts_with("ok: n.c.echo\n"), "{human}");
    let lines = std::fs::read_to_string(&audit).unwrap();
    assert_eq!(lines.matches(r#""name": "n.c.echo""#).count(), 4, "{lines}");

    let inspected = case.modbox(&[&["inspect", "n.c.echo", "--json"], &OWN[..]].concat()).exits_with(0).json();
    assert_eq!(inspected["path"], json!(case.echo()));
    let shown =
        case.modbox(&[&["policy", "show", "n.c.old", "--json"], &OWN[..], &policy].concat()).exits_with(0).json();
    assert_eq!((&shown["module"]["name"], &shown["grants"][0]["subject"]), (&json!("n.c.echo"), &json!("A")));
    for words in [["doc", "n.c.nothing"], ["validate", "n.c.nothing"], ["inspect", "n.c.nothing"]] {
        let ran = case.modbox(&[&words[..], &OWN].concat()).exits_with(3);
        assert!(ran.stderr_text().contains("nothing of that name in `"), "{ran}");
    }
    case.dir.assert_nothing_left();
}

#[test]
fn collections_are_found_where_ansible_finds_them() {
    let case = Case::new();
    for (folder, collection) in
        [("named", "n/c"), ("home/.ansible/collections", "n/c"), ("set", "n/d"), ("home/x", "n/e")]
    {
        case.collection(folder, collection);
    }
    let site = "venv/lib/python3.11/site-packages";
    case.collection(site, "n/f");
    case.dir.write(&format!("{site}/ansible/release.py"), "__version__ = '2.19.0'\n");
    case.dir.write(&format!("{site}/ansible/module_utils/basic.py"), "");
    case.dir.write(&format!("{site}/ansible/modules/echo.sh"), ECHO);
    let python = case.dir.write_executable("venv/bin/python", "#!/bin/sh\nexit 9\n");
    let python = python.to_str().unwrap();
    let found = |name: &str, variables: &[(&str, &str)], words: &[&str]| {
        let modbox = Modbox::new(&case.dir).args(["inspect", name, "--json"]).args(words);
        let modbox = variables.iter().fold(modbox, |modbox, (name, value)| modbox.env(name, value));
        let ran = modbox.run();
        if ran.status.code() == Some(3) {
            return None;
        }
        let path = ran.exits_with(0).json()["path"].as_str().unwrap().to_owned();
        let path = path.strip_prefix(case.dir.path().to_str().unwrap()).unwrap().trim_start_matches('/').to_owned();
        Some(path.split("/ansible").next().unwrap().to_owned())
    };
    let some = |folder: &str| Some(folder.to_owned());
    let (set, sets) =
        (("ANSIBLE_COLLECTIONS_PATH", "nowhere:set/ansible_collections:~/x"), "ANSIBLE_COLLECTIONS_PATHS");
    assert_eq!(found("n.c.echo", &[], &[]), some("home/.ansible/collections"));
    assert_eq!(found("n.c.echo", &[], &["--collections-path", "named"]), some("named"));
    assert_eq!(found("n.c.sub.deep.echo", &[], &["--collections-path", "named/ansible_collections"]), some("named"));
    assert_eq!(found("n.d.echo", &[], &[]), None);
    assert_eq!(found("n.d.echo", &[set], &[]), some("set"));
    assert_eq!(found("n.e.echo", &[set], &[]), some("home/x"));
    assert_eq!(found("n.c.echo", &[set], &[]), None, "the variable replaces Ansible's own folders");
    assert_eq!(found("n.d.echo", &[(sets, "set")], &[]), some("set"));
    assert_eq!(found("n.d.echo", &[(sets, "set"), ("ANSIBLE_COLLECTIONS_PATH", "own")], &[]), None);
    assert_eq!(found("n.c.echo", &[("ANSIBLE_HOME", "named")], &[]), None);
    // The interpreter is not started: this one would fail.
    for name in ["n.f.echo", "ansible.builtin.echo", "ansible.legacy.echo", "echo"] {
        assert_eq!(found(name, &[], &["--interpreter", python]), some(site), "{name}");
        assert_eq!(found(name, &[("MODBOX_INTERPRETER", python)], &[]), some(site), "{name}");
    }
    let path = format!("{}:/usr/bin:/bin", case.dir.join("venv/bin").display());
    case.dir.write_executable("venv/bin/ansible", format!("#!{python}\n"));
    assert_eq!(found("n.f.echo", &[("PATH", &path)], &[]), some(site));
    assert_eq!(found("n.f.echo", &[], &[]), None);
}

#[test]
fn what_is_not_found_is_said_with_every_place() {
    let case = Case::new();
    let said = |words: &[&str]| case.modbox(words).exits_with(3).stderr_text();
    let home = case.dir.join("home/.ansible/collections/ansible_collections");
    let text = said(&["run", "a.b.c", "--collections-path", "own"]);
    for part in [
        "no collection `a.b` in --collections-path (`".to_owned(),
        "$ANSIBLE_COLLECTIONS_PATH (unset)".to_owned(),
        format!(
            "Ansible's folders (`{}`, missing; `/usr/share/ansible/collections/ansible_collections`",
            home.display()
        ),
        "beside ansible-core (".to_owned(),
        "`ansible-galaxy collection install a.b`".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    let text = said(&["run", "n.c.gone", "--collections-path", "own"]);
    assert!(text.contains("the module `n.c.gone` was removed: Use echo (release 2.0.0)"), "{text}");
    let ran = case.modbox(&["run", "n.c.echo", "--collections-path", "nowhere"]).exits_with(2);
    assert!(ran.stderr_text().contains("`--collections-path nowhere` is not a folder"), "{ran}");
    case.dir.write("own/ansible_collections/n/c/meta/runtime.yml", vec![b'x'; 17 << 20]);
    let text = said(&["run", "n.c.echo", "--collections-path", "own"]);
    assert!(text.contains("meta/runtime.yml"), "{text}");
}

#[test]
fn a_batch_uses_the_interpreter_that_is_named() {
    let case = Case::new();
    case.dir.write("library/ask", "#!/usr/bin/asker\n# WANT_JSON\n");
    let asker = case.dir.write_executable("bin/asker", "#!/bin/sh\necho '{\"asked\": true}'\n");
    let job = "{\"module\": \"ask\"}\n";
    let asker = format!("asker={}", asker.display());
    let ran = Modbox::new(&case.dir).args(["batch", "--interpreter", &asker]).stdin(job).run().exits_with(0);
    assert_eq!(ran.json()["result"]["asked"], true, "{ran}");
    let ran = Modbox::new(&case.dir).arg("batch").env("MODBOX_INTERPRETER", &asker).stdin(job).run().exits_with(0);
    assert_eq!(ran.json()["result"]["asked"], true, "{ran}");
    let ran = Modbox::new(&case.dir).arg("batch").env("MODBOX_INTERPRETER", "asker").stdin(job).run().exits_with(2);
    assert!(ran.stderr_text().contains("MODBOX_INTERPRETER=asker"), "{ran}");
}

#[test]
fn a_file_of_the_working_directory_that_hides_a_module_is_named() {
    let dir = TestDir::new();
    let say = |what: &str| format!("#!/bin/sh\n# WANT_JSON\necho '{{\"changed\": false, \"said\": \"{what}\"}}'\n");
    let theirs = dir.write_executable("theirs/known", say("theirs"));
    dir.write("play.yaml", "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - known:\n    - known:\n");
    let run =
        |words: &[&str]| Modbox::new(&dir).args(words).env("MODBOX_LIBRARY", dir.join("theirs")).run().exits_with(0);
    let hidden = format!("in place of `{}` and has the grants of its name", theirs.display());
    let silent = |words: &[&str]| {
        let ran = run(words);
        assert!(!ran.stderr_text().contains("in place of"), "{ran}");
    };
    silent(&["run", "known"]);
    silent(&["play", "play.yaml"]);
    // The same file stands for itself.
    dir.write_executable("library/known", say("theirs"));
    silent(&["run", "known"]);
    dir.write_executable("library/known", say("planted"));
    for format in ["result", "human"] {
        let ran = run(&["run", "--output", format, "known"]);
        assert!(ran.stdout_text().contains("planted"), "{ran}");
        ran.says("`known` is the file `./library/known`").says(&hidden);
    }
    let played = run(&["play", "play.yaml"]);
    assert_eq!(played.stderr_text().matches("in place of").count(), 1, "{played}");
    assert!(played.stderr_text().contains("`known` is the file `./library/known`"), "{played}");
    silent(&["run", "./library/known"]);
    silent(&["run", "theirs/known"]);
    std::fs::remove_dir_all(dir.join("library")).unwrap();
    dir.write_executable("known", say("planted"));
    run(&["run", "known"]).says("`known` is the file `./known`").says(&hidden);
    silent(&["play", "play.yaml"]);
}
