//! `modbox list`: every module that has a name is listed once, a broken file with its problem.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::support::{Modbox, RunOutput, TestDir};

fn module(description: &str) -> String {
    format!("#!/usr/bin/python\nDOCUMENTATION = r'''\nmodule: m\nshort_description: {description}\n'''\n# WANT_JSON\n")
}

fn list(dir: &TestDir, words: &[&str]) -> RunOutput {
    Modbox::new(dir).own_cache(dir).arg("list").args(words).run().exits_with(0)
}

/// Returns the objects of `--json` by the name of the module.
#[track_caller]
fn listed(dir: &TestDir, words: &[&str]) -> Vec<Value> {
    let ran = list(dir, &[words, &["--json"]].concat());
    ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn modules_of_all_places_are_listed() {
    let dir = TestDir::new();
    dir.write("library/own_one.py", module("Does one. Uses C(this)."));
    dir.write("library/README.md", "not a module");
    dir.write("library/.hidden.py", "");
    dir.write("more/own_one.py", module("Hidden by the first"));
    dir.write("more/own_two.sh", "#!/bin/sh\n# WANT_JSON\n");
    let collection = dir.join("c/ansible_collections/n/c");
    dir.write("c/ansible_collections/n/c/MANIFEST.json", r#"{"collection_info": {"version": "1.2.3"}}"#);
    dir.write("c/ansible_collections/n/c/plugins/modules/own_three.py", module("\"Does: three\""));
    dir.write("c/ansible_collections/n/c/plugins/modules/sub/own_four.py", module("Does four"));
    // A circle of links ends.
    symlink(&collection, collection.join("plugins/modules/sub/circle")).unwrap();
    let places = ["--module-path", "more", "--collections-path", "c"];
    let rows = listed(&dir, &[&["*own_*"], &places[..]].concat());
    assert_eq!(names(&rows), ["n.c.own_three", "n.c.sub.own_four", "own_one", "own_two"]);
    assert_eq!((&rows[0]["version"], &rows[0]["description"]), (&"1.2.3".into(), &"Does: three".into()));
    assert_eq!((&rows[2]["kind"], &rows[2]["description"]), (&"want_json".into(), &"Does one. Uses `this`.".into()));
    assert!(rows[2]["digest"].as_str().unwrap().starts_with("sha256:"), "{rows:?}");
    // The last part of a name fits, too, and a word of the name or of the description.
    for word in ["own_thre?", "own_three", "DOES: three"] {
        assert_eq!(names(&listed(&dir, &[&[word], &places[..]].concat())), ["n.c.own_three"], "{word}");
    }
    let rows = listed(&dir, &[&["--collection", "n.c"], &places[..]].concat());
    assert_eq!(names(&rows), ["n.c.own_three", "n.c.sub.own_four"]);
    let all = list(&dir, &places).stdout_text();
    let counted = all.lines().find(|line| line.starts_with("n.c ")).unwrap();
    assert!(counted.contains("1.2.3") && counted.contains("2 modules; `modbox list --collection n.c`"), "{all}");
    assert!(!all.contains("own_four") && all.contains("own_one"), "{all}");
    let long = list(&dir, &[&["own_two", "-l"], &places[..]].concat()).stdout_text();
    assert!(long.contains("sha256:") && long.trim_end().ends_with("more/own_two.sh"), "{long}");
    assert!(list(&dir, &["unknown_*"]).stderr_text().contains("no module has `unknown_*` in its name or description"));
}

#[test]
fn modules_of_modbox_are_listed_before_they_are_built() {
    let dir = TestDir::new();
    let rows = listed(&dir, &["lineinfile"]);
    let own = rows.iter().find(|row| row["name"] == "lineinfile").unwrap();
    assert_eq!(own["description"], "inserts, replaces or removes a line in a text file. (not built)");
    assert!(list(&dir, &["lineinfile"]).stderr_text().contains("`modbox build --all`"));
    assert!(own["path"].is_null(), "{own}");
}

#[test]
fn broken_files_are_listed_with_their_problem() {
    let dir = TestDir::new();
    dir.write("library/bad.wasm", b"\0asm\x0d\0\x01\0broken");
    symlink("nowhere", dir.join("library/lost.py")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.join("library/pipe.py"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    dir.write("library/ok.py", module("'''"));
    let rows = listed(&dir, &[]);
    let problem = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        row["problem"].as_str().unwrap_or_default().to_owned()
    };
    assert!(problem("bad").contains("failed to parse"), "{rows:?}");
    assert!(problem("lost").contains("failed to read the module"), "{rows:?}");
    assert!(problem("pipe").contains("is not a regular file"), "{rows:?}");
    assert_eq!(problem("ok"), "");
    assert!(list(&dir, &["lost"]).stdout_text().contains("broken"));
}
