//! What the tests of previews and transactions share: a tree of files, a module that runs given code, and the state of
//! every file.

#![expect(clippy::disallowed_methods, reason = "tests read files of their own making")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Modbox, RunOutput, TestDir, prefixed};

/// Number of a user without rights.
const USER: u32 = 54_321;

/// A module that runs the code in `do`, with its check mode as `check`. It says what the code says with `say`.
const MODULE: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json, os, shutil, socket, sys, time
args = json.load(open(sys.argv[1]))
said = {"changed": True}
try:
    exec(args["do"], {"os": os, "shutil": shutil, "socket": socket, "time": time, "check": args["_ansible_check_mode"], "args": args,
                      "say": said.update})
except Exception as error:
    said = {"failed": True, "msg": repr(error)}
print(json.dumps(said))
"#;

/// Who runs modbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// The user of the tests.
    Self_,
    /// A user without rights. Only root can run tests so.
    User,
}

/// Returns the users that can run modbox in these tests.
pub(crate) fn runners() -> Vec<Runs> {
    match rustix::process::geteuid().is_root() {
        true => vec![Runs::Self_, Runs::User],
        false => vec![Runs::Self_],
    }
}

/// A tree with a module beside it.
pub(crate) struct Layered {
    pub(crate) dir: TestDir,
    runs: Runs,
}

impl Layered {
    pub(crate) fn new(runs: Runs) -> Self {
        let dir = TestDir::new();
        dir.write_executable("module.py", MODULE);
        dir.write("tree/file", "one\ntwo\n");
        dir.write("tree/other", "other\n");
        dir.write("tree/sub/inner", "inner\n");
        dir.write("single", "single\n");
        dir.write("outside", "outside\n");
        fs::hard_link(dir.join("tree/other"), dir.join("tree/linked")).unwrap();
        symlink("file", dir.join("tree/link")).unwrap();
        fs::set_permissions(dir.join("tree/sub"), fs::Permissions::from_mode(0o750)).unwrap();
        if runs == Runs::User {
            own(dir.path());
        }
        Self { dir, runs }
    }

    /// Makes the tree one of which an ordinary user has an overlay: without second names, and too large to be copied in a
    /// moment.
    pub(crate) fn make_large(&self) {
        fs::remove_file(self.dir.join("tree/linked")).unwrap();
        let large = self.dir.join("tree/sub/large");
        fs::File::create(&large).unwrap().set_len(5 << 20).unwrap();
        if self.runs == Runs::User {
            own(&large);
        }
    }

    /// Returns whether a user without rights runs modbox.
    pub(crate) fn is_users(&self) -> bool {
        self.runs == Runs::User
    }

    /// Gives something in the directory of the test to the user of the runs.
    pub(crate) fn give(&self, name: &str) {
        if self.is_users() {
            own(&self.dir.join(name));
        }
    }

    /// Returns whether the user of the runs can have namespaces.
    pub(crate) fn has_namespaces(&self) -> bool {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-current-user", "--mount", "true"]);
        let mut command = if self.runs == Runs::User { as_user(command) } else { command };
        command.status().is_ok_and(|status| status.success())
    }

    /// Prepares a run with these switches. `%` in a switch stands for the directory of the test.
    pub(crate) fn command(&self, words: &[&str]) -> Modbox {
        let words = words.iter().map(|word| word.replace('%', &self.dir.path().display().to_string()));
        let modbox = Modbox::new(&self.dir).env("XDG_STATE_HOME", self.dir.join("home/state")).args(words);
        match self.runs {
            Runs::Self_ => modbox,
            Runs::User => modbox.own_cache(&self.dir).behind(as_user),
        }
    }

    /// Runs code in the module, which may write `tree` and `single`.
    pub(crate) fn run(&self, code: &str, switches: &[&str]) -> RunOutput {
        let code = format!("do={}", code.replace('%', &self.dir.path().display().to_string()));
        let grants = ["--allow-write", "%/tree", "--allow-write", "%/single"];
        let ran = self.command(&[&["run", "%/module.py"], &grants[..], switches].concat()).arg(code).run();
        self.assert_nothing_left();
        ran
    }

    /// Asserts that the runs of this test have left no process and no temporary file.
    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        // The folders themselves stay; they must be empty.
        for folder in
            ["modbox-", "modbox-become-"].iter().flat_map(|prefix| [0, USER].map(|user| format!("{prefix}{user}")))
        {
            let _ = fs::remove_dir(self.dir.join("tmp").join(folder));
        }
        self.dir.assert_nothing_left();
    }

    /// Runs code, and returns the report's part about layers.
    #[track_caller]
    pub(crate) fn effect(&self, code: &str, switches: &[&str], status: i32) -> Value {
        let ran = self.run(code, &[&["--output", "report"], switches].concat()).exits_with(status);
        ran.json()["effect"].clone()
    }

    /// Returns whether a run has made its layers.
    pub(crate) fn has_layers(&self) -> bool {
        let below = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        below(self.dir.join("tmp")).flat_map(below).any(|run| run.join("at-0").exists())
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.dir.join(name)).unwrap()
    }

    /// Returns the state of every file that a run must not change without saying so.
    pub(crate) fn state(&self) -> BTreeMap<PathBuf, String> {
        let mut state = BTreeMap::new();
        for name in ["tree", "single", "outside"] {
            record(&self.dir.join(name), &mut state);
        }
        state
    }
}

/// Returns the kinds and paths of changes, below the directory of the test.
pub(crate) fn changes(case: &Layered, effect: &Value) -> Vec<String> {
    let base = format!("{}/", case.dir.path().display());
    let changes = effect["changes"].as_array().unwrap();
    let shown = |change: &Value| format!("{} {}", change["kind"].as_str().unwrap(), change["path"].as_str().unwrap());
    changes.iter().map(|change| shown(change).replace(&base, "")).collect()
}

fn record(path: &Path, state: &mut BTreeMap<PathBuf, String>) {
    let Ok(found) = path.symlink_metadata() else { return };
    let content = match found.file_type() {
        file if file.is_file() => format!("{:?}", fs::read(path).unwrap()),
        link if link.is_symlink() => format!("{:?}", fs::read_link(path).unwrap()),
        _ => String::new(),
    };
    let times = (found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec());
    let owner = (found.mode(), found.uid(), found.gid(), found.ino(), found.nlink());
    state.insert(path.to_owned(), format!("{owner:?} {times:?} {content}"));
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            record(&entry.unwrap().path(), state);
        }
    }
}

fn own(path: &Path) {
    std::os::unix::fs::lchown(path, Some(USER), Some(USER)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            own(&entry.unwrap().path());
        }
    }
}

/// Puts `setpriv` before a command.
fn as_user(command: Command) -> Command {
    let mut setpriv = Command::new("setpriv");
    let user = USER.to_string();
    setpriv.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    prefixed(setpriv, &command)
}
