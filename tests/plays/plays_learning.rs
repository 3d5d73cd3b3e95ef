//! `modbox play --learn`: one observed run of a play, and the policy file with which the play runs confined.

use std::fs;
use std::time::Duration;

use crate::support::{Modbox, RunOutput, TestDir, wait_for};

/// A module that runs the shell code in `do`.
const ACT: &str = "#!/bin/sh\n# WANT_JSON\n\
    code=$(sed 's/.*\"do\": \"\\([^\"]*\\)\".*/\\1/' \"$1\")\n\
    if eval \"$code\" >/dev/null 2>&1; then echo '{\"changed\": true}'; else echo '{\"failed\": true, \"msg\": \"no\"}'; fi\n";

/// A play with one task, which has the name `the task`. `%` in its code stands for the folder of what it uses.
struct Learned {
    dir: TestDir,
    data: TestDir,
}

impl Learned {
    fn new(code: &str) -> Self {
        let (dir, data) = (TestDir::new(), TestDir::new());
        dir.write("library/act.sh", ACT);
        data.write("in/file", "old");
        data.mkdir("out");
        let code = code.replace('%', &data.path().display().to_string());
        let play =
            format!("- hosts: all\n  gather_facts: false\n  tasks:\n  - name: the task\n    act: {{do: '{code}'}}\n");
        dir.write("play.yml", play);
        Self { dir, data }
    }

    fn play(&self, options: &[&str]) -> RunOutput {
        Modbox::new(&self.dir).args(["play", "play.yml"]).args(options).run()
    }

    /// Learns, and returns the policy without the line about its origin.
    #[track_caller]
    fn learns(&self) -> String {
        self.play(&["--learn", "learned.yaml"]).exits_with(0);
        let text = fs::read_to_string(self.dir.join("learned.yaml")).unwrap();
        let checked = Modbox::new(&self.dir).args(["policy", "check", "learned.yaml"]).run();
        checked.exits_with(0);
        let rules = text.split_once('\n').unwrap().1;
        rules.replace(&self.data.path().display().to_string(), "%")
    }

    #[track_caller]
    fn runs_confined(&self) {
        self.play(&["--policy", "learned.yaml"]).exits_with(0);
        self.dir.assert_nothing_left();
    }
}

#[test]
fn a_play_runs_confined_with_what_one_run_has_taught() {
    let learned = Learned::new("cat %/in/file > %/out/file");
    learned.play(&[]).exits_with(1);
    assert!(!learned.data.join("out/file").exists());
    let expect = "tasks:\n  \"the task\": {allow: {read: [%/in/file], write: [%/out/file]}}\n";
    assert_eq!(learned.learns(), expect);
    fs::remove_file(learned.data.join("out/file")).unwrap();
    learned.runs_confined();
    assert_eq!(fs::read_to_string(learned.data.join("out/file")).unwrap(), "old");
}

#[test]
fn a_command_that_a_profile_covers_is_that_profile_alone() {
    let learned = Learned::new("/usr/sbin/useradd --help");
    assert_eq!(learned.learns(), "modules:\n  act: {profiles: [manage-users]}\n");
}

#[test]
fn the_name_that_a_file_has_in_the_end_is_learned() {
    let learned = Learned::new("echo new > %/out/.x9 && mv %/out/.x9 %/in/file");
    assert_eq!(learned.learns(), "tasks:\n  \"the task\": {allow: {write: [%/in/file]}}\n");
}

#[test]
fn daemons_of_the_run_go_on() {
    let learned = Learned::new("(while ! test -e %/in/stop; do cat %/in/file >> %/out/told; sleep 0.1; done) &");
    learned.play(&["--learn", "learned.yaml"]).exits_with(0);
    let told = || fs::read(learned.data.join("out/told")).map_or(0, |bytes| bytes.len());
    let then = told();
    assert!(wait_for(Duration::from_secs(20), || told() > then), "the daemon did not go on");
    learned.data.write("in/stop", "");
    let file = learned.data.join("out/told");
    fs::remove_file(&file).unwrap();
    learned.dir.assert_nothing_left();
}

#[test]
fn no_file_is_replaced() {
    let learned = Learned::new("true");
    learned.dir.write("learned.yaml", "mine");
    let ran = learned.play(&["--learn", "learned.yaml"]).exits_with(2);
    assert!(ran.stderr_text().contains("`learned.yaml` exists"), "{ran}");
    assert!(!ran.stdout_text().contains("TASK"), "{ran}");
    assert_eq!(fs::read_to_string(learned.dir.join("learned.yaml")).unwrap(), "mine");
    for other in ["--check", "--explain", "--preview", "--transaction", "--allow-all", "--strict"] {
        learned.play(&["--learn", "new.yaml", other]).exits_with(2);
    }
    assert!(!learned.dir.join("new.yaml").exists());
}

#[test]
fn a_failed_run_teaches_too_and_the_file_says_so() {
    let learned = Learned::new("cat %/in/file && false");
    learned.play(&["--learn", "learned.yaml"]).exits_with(1);
    let text = fs::read_to_string(learned.dir.join("learned.yaml")).unwrap();
    assert!(text.contains("1 of them failed") && text.contains("in/file]}}"), "{text}");
}

#[test]
fn lookups_are_learned_for_the_whole_play() {
    let learned = Learned::new("true");
    let file = learned.data.join("in/file");
    let play = format!(
        "- hosts: all\n  gather_facts: false\n  tasks:\n  - debug: {{msg: \"{{{{ lookup('file', '{}') }}}}\"}}\n",
        file.display()
    );
    learned.dir.write("play.yml", play);
    learned.play(&[]).exits_with(4);
    assert_eq!(learned.learns(), "allow:\n  read: [%/in/file]\n");
    learned.runs_confined();
}

#[test]
fn a_play_whose_file_cannot_be_made_does_not_begin() {
    let learned = Learned::new("echo new > %/out/file");
    learned.dir.write("there.yaml", "");
    for (file, why) in [
        ("none/learned.yaml", "no file can be made in `none`"),
        ("there.yaml", "exists"),
        ("play.yml/a", "no file can be made in `play.yml`"),
    ] {
        let ran = learned.play(&["--learn", file]).exits_with(2);
        assert!(ran.stderr_text().contains(why), "{file}: {ran}");
        assert!(!learned.data.join("out/file").exists(), "{file}");
    }
    learned.play(&["--learn", "learned.yaml", "--ask"]).exits_with(2);
}

#[test]
fn a_failed_play_teaches_what_it_did_and_says_so() {
    let learned = Learned::new("cat %/in/file > %/out/file; false");
    let ran = learned.play(&["--learn", "learned.yaml"]).exits_with(1);
    assert!(ran.stderr_text().contains("did not end well"), "{ran}");
    let text = fs::read_to_string(learned.dir.join("learned.yaml")).unwrap();
    assert!(text.contains("/out/file"), "{text}");
}
