//! Modules that a rule by their digest takes out of confinement: exactly these modules, and it is said. What keeps such a rule from
//! holding: another module, a name, a limit of trust rules, a preview. `agents/mcp_start.rs` has tools of agents.

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir};

/// A native module that leaves a file where nothing grants it.
const MODULE: &str = "#!/bin/sh\n# WANT_JSON\n: > DIR/out/ran\necho '{\"changed\": true}'\n";

/// A place with such a module.
struct Place {
    dir: TestDir,
    digest: String,
}

impl Place {
    fn new() -> Self {
        let dir = TestDir::new();
        dir.mkdir("out");
        dir.write("library/mounts", MODULE.replace("DIR", &dir.path().display().to_string()));
        let inspected = Modbox::new(&dir).args(["inspect", "--json", "./library/mounts"]).run().exits_with(0).json();
        let digest = inspected["digest"].as_str().unwrap_or_else(|| panic!("{inspected:#}")).to_owned();
        Self { dir, digest }
    }

    /// Writes a policy file with the rule, and more.
    fn policy(&self, more: &str) {
        self.dir.write("policy.yaml", format!("modules:\n  \"{}\": {{unconfined: true}}\n{more}", self.digest));
    }

    fn run(&self, words: &[&str]) -> RunOutput {
        let words = [&["--policy", "policy.yaml"], words].concat();
        Modbox::run_module(&self.dir, "./library/mounts").args(words).report().run()
    }

    /// Returns whether the module has run unconfined, and forgets it.
    fn ran(&self) -> bool {
        std::fs::remove_file(self.dir.join("out/ran")).is_ok()
    }
}

#[test]
fn exactly_the_module_of_the_digest_is_unconfined_and_it_is_said() {
    let place = Place::new();
    place.policy("audit: DIR/audit\n".replace("DIR", &place.dir.path().display().to_string()).as_str());
    let report = place.run(&[]).exits_with(0).json();
    assert!(place.ran(), "{report:#}");
    let source = format!("policy file policy.yaml, `{}`", place.digest);
    let note = format!("nothing confines the module: `unconfined`, {source}");
    assert!(report["notes"].as_array().unwrap().contains(&json!(note)), "{report:#}");
    assert_eq!((&report["confinement"]["level"], &report["grants"][0]["source"]), (&json!(0), &json!(source)));
    let audit: Value = serde_json::from_str(&std::fs::read_to_string(place.dir.join("audit")).unwrap()).unwrap();
    assert_eq!(audit["grants"][0]["source"], json!(source), "{audit:#}");
    let show = |words: &[&str]| {
        let words = [&["policy", "show", "--policy", "policy.yaml", "./library/mounts"], words].concat();
        Modbox::new(&place.dir).args(words).run().exits_with(0)
    };
    let said = format!("unconfined: nothing confines the module, which can do all that its user can ({source})\n");
    assert!(show(&[]).stdout_text().contains(&said), "{}", show(&[]));
    assert_eq!(show(&["--json"]).json()["unconfined"], json!(source));
    let checked = Modbox::new(&place.dir).args(["policy", "check", "policy.yaml"]).run().exits_with(0).stdout_text();
    assert!(checked.contains("warning: as powerful as root: `unconfined`: nothing confines the module"), "{checked}");
    // One byte more is another module.
    let text = std::fs::read_to_string(place.dir.join("library/mounts")).unwrap();
    place.dir.write("library/mounts", format!("{text}\n"));
    let other = place.run(&[]).json();
    assert!(!place.ran() && other["confinement"]["level"].as_u64() > Some(0), "{other:#}");
    assert!(!show(&[]).stdout_text().contains("unconfined"), "{}", show(&[]));
    assert_eq!(show(&["--json"]).json()["unconfined"], Value::Null);
}

#[test]
fn a_play_says_which_module_is_unconfined() {
    let place = Place::new();
    place.policy("");
    place.dir.write(
        "play.yml",
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - name: mount it\n      mounts:\n",
    );
    let play = |words: &[&str]| {
        let words = [&["play", "play.yml", "--module-path", "library", "--policy", "policy.yaml"], words].concat();
        Modbox::new(&place.dir).args(words).run()
    };
    let said = format!("nothing confines it: `unconfined`, policy file policy.yaml, `{}`", place.digest);
    assert!(play(&["--explain"]).exits_with(0).stdout_text().contains(&said), "{}", play(&["--explain"]));
    assert!(!place.ran());
    play(&[]).exits_with(0);
    assert!(place.ran());
    let previewed = play(&["--preview"]);
    assert!(!previewed.status.success() && !place.ran(), "{previewed}");
}

#[test]
fn trust_rules_with_a_limit_and_previews_refuse_it() {
    let place = Place::new();
    for limit in ["{write: [/], read: [/]}", "{}"] {
        place.policy(&format!("trust: {{rules: [{{unsigned: true, at-most: {limit}}}]}}\n"));
        let refused = place.run(&[]).exits_with(4).json();
        assert!(!place.ran(), "{refused:#}");
        let message = refused["result"]["msg"].as_str().unwrap();
        assert!(message.contains("may not be given everything"), "{message}");
    }
    place.policy("trust: {rules: [{unsigned: true}]}\n");
    place.run(&[]).exits_with(0);
    assert!(place.ran(), "a rule without a limit allows it");
    for word in ["--preview", "--transaction"] {
        let refused = place.run(&[word]);
        assert!(!refused.status.success() && !place.ran(), "{refused}");
    }
}

#[test]
fn a_level_that_is_asked_for_is_stricter() {
    let place = Place::new();
    place.policy("min-confinement: 2\n");
    let refused = place.run(&[]).exits_with(4).json();
    let message = refused["result"]["msg"].as_str().unwrap();
    assert!(message.contains("asks for level 2") && message.contains(&place.digest), "{message}");
    place.policy("");
    place.run(&["--min-confinement", "1"]).exits_with(4);
    assert!(!place.ran());
    place.run(&["--min-confinement", "0"]).exits_with(0);
    assert!(place.ran());
}

#[test]
fn names_tasks_and_files_for_every_module_cannot_say_it() {
    let place = Place::new();
    for (text, expect) in [
        ("modules: {mounts: {unconfined: true}}", "error: `unconfined` is for one module with all its parts"),
        ("tasks: {mounts: {unconfined: true}}", "error: unknown key `unconfined`"),
        ("unconfined: true", "error: unknown key `unconfined`"),
    ] {
        place.dir.write("policy.yaml", text);
        let checked =
            Modbox::new(&place.dir).args(["policy", "check", "policy.yaml"]).run().exits_with(2).stdout_text();
        assert!(checked.contains(expect), "{checked}");
        place.run(&[]).exits_with(2);
        assert!(!place.ran());
    }
}
