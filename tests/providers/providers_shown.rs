//! What other commands show of providers: `inspect`, `doc`, `list`, completion, tips for misspelt names, and the user of a
//! run.

use std::fs;

use serde_json::{Value, json};

use crate::providers::providers_runs::{provider, resource};
use crate::support::{Modbox, TestDir};

/// Answers a shell that completes a line, whose last word is not complete.
fn completed(dir: &TestDir, words: &[&str]) -> Vec<String> {
    let command =
        Modbox::new(dir).env("MODBOX_COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
    let index = words.len();
    let command = command.env("_CLAP_COMPLETE_INDEX", index.to_string()).args(["--", "modbox"]).args(words);
    let ran = command.run().exits_with(0);
    ran.stdout_text().lines().map(str::to_owned).collect()
}

#[test]
fn types_attributes_and_choices_are_completed() {
    let dir = TestDir::new();
    provider(&dir, "p", "", "echo completion runs nothing > ran");
    let data = dir.join("data").display().to_string();
    let line = |words: &[&str]| completed(&dir, &[&["resource", "--data-dir", &data], words].concat());
    assert_eq!(line(&["th"]), ["thing", "thing::p"]);
    assert_eq!(line(&["--explain", "thing:"]), ["thing::p"]);
    let all = line(&["thing", "n", ""]);
    for expect in ["a=", "b=", "list=", "file=", "ensure="] {
        assert!(all.iter().any(|word| word == expect), "{all:?}");
    }
    assert!(!all.iter().any(|word| word == "name=" || word == "fixed="), "{all:?}");
    assert_eq!(line(&["thing", "n", "ensure="]), ["ensure=present", "ensure=absent"]);
    assert_eq!(line(&["thing::p", "n", "ensure=a"]), ["ensure=absent"]);
    assert_eq!(line(&["thing", "n", "b=t"]), ["b=true"]);
    // An attribute that is given is not offered again, and -I counts, too.
    let more = completed(&dir, &["resource", "-I", &data, "thing", "n", "ensure=absent", "ens"]);
    assert!(more.is_empty(), "{more:?}");
    assert!(!dir.join("ran").exists());
}

#[test]
fn inspect_and_doc_show_attributes_without_running_anything() {
    let dir = TestDir::new();
    let module = provider(&dir, "p", "", "");
    fs::write(&module, "#!/bin/sh\necho ran > ran\n").unwrap();
    let run =
        |command: &str, words: &[&str]| Modbox::new(&dir).arg(command).arg(&module).args(words).own_cache(&dir).run();
    let inspected = run("inspect", &[]).exits_with(0).stdout_text();
    for expect in [
        "provider: thing::p (simple)\n",
        "  ensure: enum[present, absent] (rw)\n",
        "  file: string (rw), a path: write\n",
        "  fixed: string (r)\n",
    ] {
        assert!(inspected.contains(expect), "{inspected}");
    }
    let value = run("inspect", &["--json"]).exits_with(0).json();
    assert_eq!((&value["kind"], &value["provider"]["name"]), (&json!("provider"), &json!("thing::p")));
    let manual = run("doc", &[]).exits_with(0).stdout_text();
    assert!(
        manual.starts_with("Provider thing::p\n") && manual.contains(". type = enum[present, absent]\n"),
        "{manual}"
    );
    let explained = resource(&dir, &["--explain", "thing"]).run().exits_with(0).stdout_text();
    assert_eq!(manual, explained);
    assert!(!dir.join("ran").exists());
    // One that has to be asked is not asked.
    fs::remove_file(dir.join("data/providers/p.yaml")).unwrap();
    assert!(run("inspect", &[]).exits_with(0).stdout_text().contains("it has not been asked"));
    run("doc", &[]).exits_with(3).says("ral_action=describe` asks it");
    assert!(!dir.join("ran").exists());
}

#[test]
fn list_has_the_providers() {
    let dir = TestDir::new();
    provider(&dir, "p", "  desc: Things of a test.\n", "");
    dir.write_executable("data/providers/unknown.prov", "#!/bin/sh\necho ran > ran\n");
    dir.write_executable("data/providers/wrong.prov", "#!/bin/sh\n");
    dir.write("data/providers/wrong.yaml", "provider: {}\n");
    let list =
        |words: &[&str]| Modbox::new(&dir).args(["list", "-I", "data"]).args(words).own_cache(&dir).run().exits_with(0);
    let rows: Vec<Value> =
        list(&["--json"]).stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row =
        |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {rows:?}")).clone();
    assert_eq!(
        (&row("thing::p")["kind"], &row("thing::p")["description"]),
        (&json!("provider"), &json!("Things of a test."))
    );
    assert!(row("unknown.prov")["description"].as_str().unwrap().contains("`modbox resource` asks it"));
    assert!(row("wrong.prov")["problem"].as_str().unwrap().contains("`provider.type`"));
    assert_eq!(list(&["thing::*"]).stdout_text().lines().count(), 1);
    assert_eq!(list(&["THINGS"]).stdout_text().lines().count(), 1);
    assert!(!dir.join("ran").exists());
}

#[test]
fn near_names_are_suggested() {
    let dir = TestDir::new();
    provider(&dir, "p", "", "echo name: n");
    resource(&dir, &["thign"]).run().exits_with(3).says("did you mean `thing`?");
    resource(&dir, &["thing::q"]).run().exits_with(3).says("did you mean `thing::p`?");
    resource(&dir, &["thing", "n", "ensrue=absent"]).run().exits_with(2).says("did you mean `ensure`?");
    resource(&dir, &["thing", "n", "ensure=absnet"]).run().exits_with(2).says("expected one of present, absent");
}

#[test]
fn a_provider_runs_as_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = TestDir::new();
    provider(&dir, "p", "", "echo \"ral_error: $(id -u) $HOME\"");
    resource(&dir, &["thing", "n", "--become-user", "65534"]).run().exits_with(1).says("the provider reported: 65534 ");
    resource(&dir, &["thing", "n", "--become-user", "no-such-user"]).run().exits_with(2).says("unknown user");
}
