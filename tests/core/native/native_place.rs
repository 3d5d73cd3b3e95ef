//! Support for tests of single files that native modules write: a folder that an ordinary user can use, and runs by that
//! user and by root, on kernels with fewer features, and while something else happens.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use crate::core::native::native_ladder::behind;
use crate::support::{copy_program, guest, wait_for};

/// An ordinary user.
pub(crate) const USER: u32 = 12345;

/// Last line of a shell module that says that it has changed something.
pub(crate) const DONE: &str = "echo '{\"changed\": true}'";

/// Lines of a shell module that wait until the test has interfered.
const PAUSE: &str = ": > $d/signal/started; while [ ! -e $d/signal/go ]; do sleep 0.01; done";

/// A folder with modbox in it. `data` belongs to the user who runs modbox, `theirs` to root.
pub(crate) struct Place {
    dir: tempfile::TempDir,
    pub(crate) user: Option<u32>,
}

/// Report of a run, and what else is known of it.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) report: Value,
    pub(crate) exit: Option<i32>,
    /// Line of the audit log.
    pub(crate) audit: Value,
}

impl Place {
    /// Makes one for root and, when this is root, one for an ordinary user.
    pub(crate) fn all() -> Vec<Self> {
        let users = if rustix::process::geteuid().is_root() { vec![None, Some(USER)] } else { vec![None] };
        users.into_iter().map(Self::new).collect()
    }

    pub(crate) fn new(user: Option<u32>) -> Self {
        let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        let place = Self { dir, user };
        for own in ["home", "tmp", "data", "signal", "theirs"] {
            fs::create_dir(place.at(own)).unwrap();
            fs::set_permissions(place.at(own), fs::Permissions::from_mode(0o755)).unwrap();
            if own != "theirs" {
                place.give(own);
            }
        }
        copy_program(&place.at("modbox"));
        place
    }

    pub(crate) fn is_root(&self) -> bool {
        self.user.is_none() && rustix::process::geteuid().is_root()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.at(name).display().to_string()
    }

    /// Gives a file to the user who runs modbox.
    pub(crate) fn give(&self, name: &str) {
        if let Some(user) = self.user {
            chown(self.at(name), Some(user), Some(user)).unwrap();
        }
    }

    /// Writes a file of the user who runs modbox.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
        self.give(name);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    /// Runs a shell module, in which `$d` is the folder.
    #[track_caller]
    pub(crate) fn run(&self, script: &str, switches: &[&str]) -> Ended {
        self.run_without(&[], script, switches)
    }

    /// Does the same on a kernel that answers some calls with an error.
    #[track_caller]
    pub(crate) fn run_without(&self, calls: &[(i64, i32)], script: &str, switches: &[&str]) -> Ended {
        let module = format!("#!/bin/sh\n# WANT_JSON\nd='{}'\n{script}\n", self.dir.path().display());
        fs::write(self.at("module"), module).unwrap();
        let mut command = self.command("module", switches);
        self.ended(behind(calls, || command.output().unwrap()))
    }

    /// Runs a Python module: some code that has the folder in `d`, and may set the keys of `result`.
    #[track_caller]
    pub(crate) fn python(&self, code: &str, switches: &[&str]) -> Ended {
        let start = "#!/usr/bin/python3\n# WANT_JSON\nimport json, os, struct\nresult = {'changed': True}\n";
        let module = format!("{start}d = {:?}\n{code}\nprint(json.dumps(result))\n", self.dir.path());
        fs::write(self.at("module"), module).unwrap();
        self.ended(self.command("module", switches).output().unwrap())
    }

    /// Runs the guest `command` with these arguments.
    #[track_caller]
    pub(crate) fn guest(&self, args: &Value, switches: &[&str]) -> Ended {
        let mut command = self.guest_command(args, switches);
        self.ended(command.output().unwrap())
    }

    /// Returns a command that does so.
    pub(crate) fn guest_command(&self, args: &Value, switches: &[&str]) -> Command {
        fs::copy(guest("command"), self.at("command.wasm")).unwrap();
        self.write("home/args", &args.to_string());
        let mut command = self.command("command.wasm", switches);
        command.arg("--args").arg(format!("@{}", self.path("home/args")));
        command
    }

    /// Reads a report. Nothing of the run is left.
    #[track_caller]
    pub(crate) fn ended_by(&self, output: Output) -> Ended {
        self.ended(output)
    }

    /// Runs a shell module that then waits, and interferes before it goes on.
    #[track_caller]
    pub(crate) fn run_while(&self, script: &str, switches: &[&str], interfere: impl FnOnce(&Self, u32)) -> Ended {
        for left in ["signal/started", "signal/go"] {
            let _ = fs::remove_file(self.at(left));
        }
        let signal = self.path("signal");
        let switches = [&["--allow-write", &signal], switches].concat();
        let module = format!("#!/bin/sh\n# WANT_JSON\nd='{}'\n{script}\n{PAUSE}\n", self.dir.path().display());
        fs::write(self.at("module"), module).unwrap();
        let mut command = self.command("module", &switches);
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        assert!(wait_for(Duration::from_secs(20), || self.at("signal/started").exists()), "the module does not start");
        interfere(self, child.id());
        fs::write(self.at("signal/go"), "").unwrap();
        self.ended(child.wait_with_output().unwrap())
    }

    pub(crate) fn command(&self, module: &str, switches: &[&str]) -> Command {
        let mut command = Command::new(self.at("modbox"));
        command.env_clear().env("HOME", self.at("home")).env("TMPDIR", self.at("tmp")).current_dir(self.at("home"));
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.arg("run").arg(self.at(module)).args(["--output", "report"]);
        if !switches.contains(&"--timeout") {
            command.args(["--timeout", "60s"]);
        }
        command.arg("--audit").arg(self.at("home/audit")).args(switches);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    #[track_caller]
    fn ended(&self, output: Output) -> Ended {
        let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let audit = fs::read_to_string(self.at("home/audit")).unwrap();
        fs::remove_file(self.at("home/audit")).unwrap();
        let roots = fs::read_dir(self.at("tmp")).unwrap().flatten();
        let left: Vec<_> = roots.flat_map(|root| fs::read_dir(root.path()).unwrap().flatten()).collect();
        assert!(left.is_empty(), "{left:?}");
        for directory in ["data", "theirs"] {
            assert!(
                self.names(directory).iter().all(|name| !name.starts_with(".modbox")),
                "{:?}",
                self.names(directory)
            );
        }
        Ended { report, exit: output.status.code(), audit: serde_json::from_str(&audit).unwrap() }
    }

    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.at(directory)) else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

impl Ended {
    /// Asserts that the run succeeded with a change.
    #[track_caller]
    pub(crate) fn changed(self) -> Value {
        let report = self.report;
        assert_eq!((&report["status"], self.exit), (&"changed".into(), Some(0)), "{report:#}");
        assert_eq!(report["lost"], Value::Null, "{report:#}");
        report
    }

    /// Asserts that the run failed since a change of this file was lost, for a reason with these words, and that result,
    /// report and audit log say so.
    #[track_caller]
    pub(crate) fn lost(self, path: &str, why: &str) -> Value {
        let report = self.report;
        assert_eq!((&report["status"], self.exit), (&"failed".into(), Some(1)), "{report:#}");
        let result = &report["result"];
        assert_eq!((&result["failed"], &result["changed"]), (&true.into(), &false.into()), "{report:#}");
        let lost = report["lost"].as_array().unwrap_or_else(|| panic!("{report:#}"));
        let one = lost.iter().find(|lost| lost["path"] == path).unwrap_or_else(|| panic!("no {path} in {report:#}"));
        assert!(one["reason"].as_str().unwrap().contains(why), "no `{why}` in {report:#}");
        for message in [&result["msg"], &self.audit["error"]] {
            let message = message.as_str().unwrap();
            assert!(message.contains(path) && message.contains(why), "{message}");
        }
        assert_eq!((&self.audit["status"], &self.audit["exit"]), (&"failed".into(), &1.into()), "{:#}", self.audit);
        report
    }

    /// Asserts that the run was refused before the start, since this file cannot be granted for writing.
    #[track_caller]
    pub(crate) fn refused(self, path: &str, why: &str) {
        let report = self.report;
        assert_eq!((&report["status"], self.exit), (&"denied".into(), Some(4)), "{report:#}");
        let denial = serde_json::json!({"capability": "write", "subject": path, "operation": "grant", "allow": ""});
        assert_eq!(report["denials"], serde_json::json!([denial]), "{report:#}");
        let message = report["result"]["msg"].as_str().unwrap();
        assert!(message.contains(path) && message.contains(why), "no `{why}` in {message}");
        assert_eq!((&self.audit["status"], &self.audit["exit"]), (&"denied".into(), &4.into()), "{:#}", self.audit);
    }
}
