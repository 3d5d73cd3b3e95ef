//! Looks for a secret in everything that modbox prints and writes of runs of a module that puts its secret everywhere: into
//! content, names, links, attributes, results, failures, standard error and its log.
//!
//! The tree that the module may write, saved previews and transactions that can be undone are data, so the secret is there;
//! they are private. `tests/secrets.rs` and `tests/oracle_secrets.rs` have the modules.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::sample::Random;
use crate::support::{Modbox, RunOutput, TestDir, wait_for};

/// Characters of a secret that its part without quotes is made of.
const PLAIN: &[u8] = b"abcdefghkmnpqrstuvwxyzABCDEFGHKMNPQRSTUVWXYZ23456789";

/// What follows that part: characters that JSON, Python, shells and pages write in other ways.
const ODD: [&str; 7] = ["", "'q", "\"q", "\\q", "$q", "é", "<q&"];

/// Patience with a job, on two busy cores.
const PATIENCE: Duration = Duration::from_secs(60);

/// A module that tells its secret in all ways.
pub(crate) struct Teller {
    /// The module's file, whose name a play knows.
    pub(crate) module: PathBuf,
    /// Its arguments for a secret, the end that it comes to, and the directory that it may write.
    pub(crate) arguments: fn(&str, &str, &Path) -> Value,
    /// Ends that it can come to; the first is a success.
    pub(crate) ends: &'static [&'static str],
    /// Switches and variables of every command that runs it.
    pub(crate) switches: Vec<String>,
    pub(crate) variables: Vec<(String, PathBuf)>,
    /// Whether it runs under the `no_log` of its task, which alone makes its arguments secret.
    pub(crate) no_log: bool,
}

/// A hunt for the secret of one module.
struct Hunt<'a> {
    dir: TestDir,
    teller: &'a Teller,
    secret: String,
    /// The part of the secret that is the same in every notation.
    plain: String,
}

/// Runs a module by every command, with a secret that the seed gives, and fails where any of them tells it.
pub(crate) fn hunt(teller: &Teller, stream: u64) {
    let mut random = Random::new(stream);
    for end in teller.ends {
        let plain: String = (0..10).map(|_| char::from(*random.pick(PLAIN))).collect();
        let secret = format!("{plain}{}", random.pick(&ODD));
        let hunt = Hunt { dir: TestDir::new(), teller, secret, plain };
        hunt.fresh_tree();
        hunt.runs(end);
        hunt.plays(end);
        hunt.lists();
        hunt.files();
    }
}

impl Hunt<'_> {
    fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    /// Makes the tree that the module changes, as it is before each run.
    fn fresh_tree(&self) {
        let _ = fs::remove_dir_all(self.tree());
        self.dir.write("tree/f", "before\n");
        self.dir.write("tree/old", "old\n");
    }

    fn modbox(&self, words: &[&str]) -> Modbox {
        let modbox = Modbox::new(&self.dir).env("XDG_STATE_HOME", self.dir.join("home/state")).args(words);
        self.teller.variables.iter().fold(modbox, |modbox, (name, value)| modbox.env(name, value))
    }

    fn arguments(&self, end: &str) -> Value {
        (self.teller.arguments)(&self.secret, end, &self.tree())
    }

    /// Prepares a run of the module.
    fn run(&self, end: &str, words: &[&str]) -> Modbox {
        let tree = self.tree();
        let granted = ["run", self.teller.module.to_str().unwrap(), "--allow-write", tree.to_str().unwrap()];
        let no_log = if self.teller.no_log { &["--no-log"][..] } else { &[] };
        let switches: Vec<&str> = self.teller.switches.iter().map(String::as_str).collect();
        let words = [&granted, &["--audit", "audit"][..], &switches, no_log, words].concat();
        self.modbox(&words).json_args(&self.arguments(end))
    }

    #[track_caller]
    fn check(&self, ran: &RunOutput) {
        for (stream, text) in [("stdout", ran.stdout_text()), ("stderr", ran.stderr_text())] {
            if let Some(at) = text.find(&self.plain) {
                let around = &text[text.floor_char_boundary(at.saturating_sub(200))..text.ceil_char_boundary(at + 100)];
                panic!("the secret `{}` is in {stream}: ...{around}...", self.secret);
            }
        }
    }

    fn runs(&self, end: &str) {
        let is_success = end == self.teller.ends[0];
        for output in ["result", "report", "human"] {
            for layers in [&[][..], &["--preview"], &["--transaction", "--keep-undo"]] {
                self.fresh_tree();
                let words = [&["--output", output, "-vvv", "--diff", "--log", "trace"], layers].concat();
                let ran = self.run(end, &words).run();
                self.check(&ran);
                if output == "report" {
                    self.assert_is_told(&ran, end, !layers.is_empty());
                }
            }
        }
        if is_success {
            self.fresh_tree();
            let saved =
                self.run(end, &["--preview", "--save", "saved", "--log", "trace", "--log-format", "json"]).run();
            self.check(&saved.exits_with(0));
            let applied = self.modbox(&["apply", "--json", "--keep-undo", "saved"]).run().exits_with(0);
            self.check(&applied);
            self.conflicts(applied.json()["run"].as_str().unwrap());
        }
        self.job(end);
        self.batch(end);
    }

    /// Lets a file with the secret in its name keep changes from being applied and taken back.
    fn conflicts(&self, run: &str) {
        let link = self.tree().join(format!("l-{}", self.secret));
        fs::remove_file(&link).unwrap();
        fs::write(&link, "of another process").unwrap();
        for words in [&["apply", "saved"][..], &["apply", "--json", "saved"], &["undo", run]] {
            let words = [words, &["--audit", "audit"]].concat();
            self.check(&self.modbox(&words).run().exits_with(8));
        }
        let audit = fs::read_to_string(self.dir.join("audit")).unwrap();
        assert!(audit.contains("conflict"), "{audit}");
    }

    /// Asserts that a report is that of a run which told its secret: there is something in its place.
    #[track_caller]
    fn assert_is_told(&self, ran: &RunOutput, end: &str, is_layered: bool) {
        let report = ran.json();
        let is_success = end == self.teller.ends[0];
        assert_eq!(report["result"]["failed"] == true, !is_success, "{end}: {report}");
        if is_layered {
            let changes = report["effect"]["changes"].to_string();
            assert!(changes.contains("********"), "{end}: {report}");
        }
        let is_written = !is_layered || report["effect"]["commit"]["state"] == "committed";
        assert_eq!(fs::read_dir(self.tree()).unwrap().count() > 2, is_written, "{end}: {report}");
    }

    fn job(&self, end: &str) {
        self.fresh_tree();
        let started = self.run(end, &["--async", "60", "--async-dir", "jobs"]).run().exits_with(0);
        self.check(&started);
        let id = started.json()["ansible_job_id"].as_str().unwrap().to_owned();
        let status = || self.modbox(&["status", "--async-dir", "jobs", &id]).run();
        assert!(wait_for(PATIENCE, || status().json()["finished"] == true));
        self.check(&status());
        self.check(&self.modbox(&["jobs", "--async-dir", "jobs", "--json"]).run());
    }

    fn batch(&self, end: &str) {
        self.dir.write("observe.yaml", "check: observe\n");
        for is_preview in [false, true] {
            self.fresh_tree();
            let tree = self.tree();
            let mut job = json!({"id": 1, "module": self.teller.module, "args": self.arguments(end)});
            job["check"] = is_preview.into();
            if self.teller.no_log {
                job["no_log"] = true.into();
            }
            let switches: Vec<&str> = self.teller.switches.iter().map(String::as_str).collect();
            let words = ["batch", "--audit", "audit", "--log", "debug", "--policy", "observe.yaml"];
            let granted = ["--allow-write", tree.to_str().unwrap()];
            let lines = format!("{job}\n{job}\n");
            let ran = self.modbox(&[&words[..], &granted, &switches].concat()).stdin(lines).run();
            assert_eq!(ran.stdout_text().lines().count(), 2, "{ran}");
            assert_eq!(ran.stdout_text().contains("\"mode\": \"preview\""), is_preview, "{ran}");
            self.check(&ran);
        }
    }

    fn plays(&self, end: &str) {
        let name = self.teller.module.file_stem().unwrap().to_str().unwrap();
        let mut task = json!({"name": "a task", name: self.arguments(end), "register": "told", "ignore_errors": true});
        let mut second =
            json!({"debug": {"msg": "{{ told.changed }} {{ told.msg | default('') }} {{ told.keys() | list }}"}});
        if self.teller.no_log {
            task["no_log"] = true.into();
            second["no_log"] = true.into();
        }
        let play = json!([{"hosts": "localhost", "gather_facts": false, "tasks": [task, second]}]);
        self.dir.write("plays/site.json", play.to_string());
        let tree = self.tree();
        let folder = self.teller.module.parent().unwrap().to_str().unwrap();
        let switches: Vec<&str> = self.teller.switches.iter().map(String::as_str).collect();
        let words =
            ["play", "plays/site.json", "-M", folder, "--allow-write", tree.to_str().unwrap(), "--audit", "audit"];
        for output in ["human", "jsonl", "html"] {
            for layers in [&[][..], &["--preview"], &["--transaction", "--keep-undo"], &["--explain"]] {
                if (output, layers) == ("html", &["--explain"]) {
                    continue;
                }
                self.fresh_tree();
                let more = ["--output", output, "-vvv", "--diff", "--log", "trace"];
                let ran = self.modbox(&[&words[..], &switches, &more, layers].concat()).run();
                self.check(&ran);
                let told = [ran.stdout_text(), ran.stderr_text()].concat();
                assert!(told.contains("a task"), "{ran}");
                if layers.first().is_some_and(|layers| *layers != "--explain") {
                    assert!(told.contains("created") && told.contains("modified"), "{ran}");
                }
                // An escape code is for a terminal; as text it is a fault of the output.
                assert!(!told.contains("\\u{1b}") && !told.contains('\u{1b}'), "{ran}");
            }
        }
    }

    /// Looks into the commands that show what runs have left.
    fn lists(&self) {
        let audit = fs::read_to_string(self.dir.join("audit")).unwrap();
        let told: Vec<&str> = audit.lines().filter(|line| line.contains(&self.plain)).collect();
        assert!(told.is_empty(), "the secret `{}` is in the audit log: {told:#?}", self.secret);
        for words in [
            &["audit", "-v", "audit"][..],
            &["audit", "--html", "audit"],
            &["audit", "--json", "audit"],
            &["policy", "suggest", "audit"],
            &["transactions"],
            &["transactions", "--json"],
        ] {
            self.check(&self.modbox(words).run().exits_with(0));
        }
    }

    /// Looks into all files that runs have left. Those with data are private.
    fn files(&self) {
        let data = [self.dir.join("home/state"), self.dir.join("saved")];
        let input = [self.tree(), self.dir.join("plays")];
        let mut folders = vec![(self.dir.path().to_owned(), false)];
        while let Some((folder, is_private)) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap().flatten() {
                let (path, metadata) = (entry.path(), entry.metadata().unwrap());
                if input.contains(&path) {
                    continue;
                }
                let is_private = is_private || metadata.permissions().mode() & 0o077 == 0;
                if metadata.is_dir() {
                    folders.push((path, is_private));
                    continue;
                }
                let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
                let is_told = content.windows(self.plain.len()).any(|part| part == self.plain.as_bytes());
                let is_data = data.iter().any(|data| path.starts_with(data));
                assert!(!is_told || is_data && is_private, "the secret is in {}", path.display());
            }
        }
    }
}
