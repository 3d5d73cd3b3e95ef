//! What modbox knows of Ansible's own modules: which paths in their options they write, replace and remove.
//!
//! The modules here are scripts in folders of the right names. The real ones are compared in the oracle tests.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::core::native::native_place::{Place, USER};
use crate::support::{Modbox, TestDir, missing};

/// A script that does with `path` what its arguments say, as Ansible's modules do it.
const SCRIPT: &str = r#"#!/usr/bin/python3
# WANT_JSON
import json
import os
import sys

args = json.load(open(sys.argv[1]))
path = args["path"]
try:
    if args.get("state") == "absent":
        if os.path.islink(path) or os.path.isfile(path):
            os.remove(path)
        elif os.path.isdir(path):
            os.rmdir(path)
    elif args.get("state") == "directory":
        os.makedirs(path, exist_ok=True)
    elif args.get("line"):
        if args.get("backup") == "yes":
            open(path + ".1~", "w").write(open(path).read())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path + ".new", "w").write(args["line"])
        os.rename(path + ".new", path)
    elif os.path.exists(path):
        open(path).read()
    print(json.dumps({"changed": True, "path": path}))
except OSError as error:
    print(json.dumps({"failed": True, "msg": str(error)}))

DOCUMENTATION = """
options:
  path: {type: path, aliases: [dest]}
"""
"#;

struct Case {
    dir: TestDir,
}

impl Case {
    /// Makes `data/f`, a link `data/link` to it, and an empty folder `data/empty`.
    fn new() -> Self {
        let dir = TestDir::new();
        dir.write("data/f", "old");
        dir.mkdir("data/empty");
        symlink("f", dir.join("data/link")).unwrap();
        Self { dir }
    }

    /// Runs the script as the module of a name, and applies what the report tells to allow, once.
    #[track_caller]
    fn run_and_allow(&self, module: &str, args: Value) -> (Value, Value) {
        let denied = self.run(module, args.clone(), &[]);
        assert_eq!(denied["status"], "denied", "{denied:#}");
        let allow = missing(&denied).next().unwrap()["allow"].as_str().unwrap().to_owned();
        let words: Vec<&str> = allow.split(' ').collect();
        (denied, self.run(module, args, &words))
    }

    #[track_caller]
    fn run(&self, module: &str, mut args: Value, switches: &[&str]) -> Value {
        let module = self.dir.write(&format!("{module}.py"), SCRIPT);
        args["path"] = self.path(args["path"].as_str().unwrap()).into();
        let run = Modbox::run_module(&self.dir, module).json_args(&args).args(switches).report().run();
        self.dir.assert_nothing_left();
        run.json()
    }

    fn path(&self, name: &str) -> String {
        if name.contains("://") { name.to_owned() } else { self.at(name).display().to_string() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.join("data").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }
}

#[track_caller]
fn assert_status(report: &Value, expect: &str) {
    assert_eq!(report["status"], expect, "{report:#}");
}

#[test]
fn a_known_module_writes_what_its_arguments_name() {
    for folder in ["ansible/modules/lineinfile", "ansible_collections/community/general/plugins/modules/htpasswd"] {
        let case = Case::new();
        let report = case.run(folder, json!({"path": "f", "line": "new"}), &[]);
        assert_status(&report, "changed");
        assert_eq!(case.text("f"), "new");
        assert_eq!(report["grants"].as_array().unwrap().len(), 1, "{report:#}");
        assert_eq!(
            (&report["grants"][0]["capability"], &report["grants"][0]["source"]),
            (&json!("write"), &json!("argument path"))
        );
        assert_status(&case.run(folder, json!({"path": "fresh", "line": "new"}), &[]), "changed");
        assert_eq!(case.text("fresh"), "new");
    }
}

#[test]
fn an_unknown_module_reads_it() {
    for module in
        ["library/lineinfile", "ansible/modules/unheard_of", "ansible_collections/a/b/plugins/modules/lineinfile"]
    {
        let case = Case::new();
        assert_status(&case.run(module, json!({"path": "f", "line": "new"}), &[]), "failed");
        assert_eq!(case.text("f"), "old");
    }
}

#[test]
fn operators_turn_it_down() {
    let case = Case::new();
    let write = json!({"path": "f", "line": "new"});
    for (switches, expect) in [
        (&["--designated", "read"][..], "denied"),
        (&["--designated", "none"], "denied"),
        (&["--designate", "path:read"], "failed"),
    ] {
        assert_status(&case.run("ansible/modules/lineinfile", write.clone(), switches), expect);
    }
    assert_eq!(case.text("f"), "old");
}

#[test]
fn a_link_is_removed_and_not_the_file_it_leads_to() {
    let case = Case::new();
    let (denied, done) = case.run_and_allow("ansible/modules/file", json!({"path": "link", "state": "absent"}));
    assert!(denied["result"]["msg"].as_str().unwrap().contains("native module needs that directory"), "{denied:#}");
    assert_status(&done, "changed");
    assert!(case.at("link").symlink_metadata().is_err());
    assert_eq!(case.text("f"), "old");
    // A file is removed without the directory, and what is not there needs nothing.
    for _ in 0..2 {
        assert_status(&case.run("ansible/modules/file", json!({"path": "f", "state": "absent"}), &[]), "changed");
        assert!(!case.at("f").exists());
    }
}

#[test]
fn folders_are_made_and_removed_in_granted_ones() {
    let case = Case::new();
    for (name, state) in [("a/b", "directory"), ("empty", "absent")] {
        let (_, done) = case.run_and_allow("ansible/modules/file", json!({"path": name, "state": state}));
        assert_status(&done, "changed");
        assert_eq!(case.at(name).is_dir(), state == "directory");
    }
    let existing = case.run("ansible/modules/file", json!({"path": "a/b", "state": "directory"}), &[]);
    assert_status(&existing, "changed");
}

#[test]
fn a_new_file_takes_the_place_of_a_link_only_in_a_granted_folder() {
    let case = Case::new();
    let module = "ansible_collections/community/general/plugins/modules/ini_file";
    let (_, done) = case.run_and_allow(module, json!({"path": "link", "line": "new"}));
    assert_status(&done, "changed");
    assert!(case.at("link").symlink_metadata().unwrap().is_file());
    assert_eq!((case.text("link"), case.text("f")), ("new".to_owned(), "old".to_owned()));
}

#[test]
fn a_backup_is_kept_or_the_run_does_not_start() {
    let case = Case::new();
    let args = json!({"path": "f", "line": "new", "backup": "yes"});
    let (denied, done) = case.run_and_allow("ansible/modules/lineinfile", args);
    assert!(denied["result"]["msg"].as_str().unwrap().contains("`backup` makes a file beside"), "{denied:#}");
    assert_status(&done, "changed");
    assert_eq!((case.text("f"), case.text("f.1~")), ("new".to_owned(), "old".to_owned()));
    // There is nothing to keep of a file that is new.
    let fresh = json!({"path": "fresh", "line": "new", "backup": "no"});
    assert_status(&case.run("ansible/modules/lineinfile", fresh, &[]), "changed");
}

#[test]
fn what_is_made_of_a_path_for_reading_is_lost() {
    let case = Case::new();
    // The module has a `/tmp` of its own, in which it can make the file.
    let below_tmp = tempfile::tempdir_in("/tmp").unwrap();
    let fresh = below_tmp.path().join("fresh").display().to_string();
    let report = case.run("library/own", json!({"path": fresh, "line": "new"}), &[]);
    assert_status(&report, "failed");
    assert_eq!(report["lost"][0]["path"], fresh, "{report:#}");
    assert!(!below_tmp.path().join("fresh").exists());
    assert_status(&case.run("library/own", json!({"path": fresh}), &[]), "changed");
}

#[test]
fn a_url_in_a_path_option_stays_as_it_is() {
    let case = Case::new();
    let report = case.run("ansible/modules/unarchive", json!({"path": "https://example.org/a/x.tgz"}), &[]);
    assert_eq!(report["result"]["path"], "https://example.org/a/x.tgz", "{report:#}");
}

#[test]
fn a_file_that_the_user_cannot_write_is_read() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    fs::write(place.at("theirs/f"), "old").unwrap();
    fs::create_dir_all(place.at("ansible/modules")).unwrap();
    fs::write(place.at("ansible/modules/lineinfile.py"), SCRIPT).unwrap();
    let run = |line: &str| {
        let mut command = Command::new(place.at("modbox"));
        command.arg("run").args(["--output", "report"]).arg(place.at("ansible/modules/lineinfile.py"));
        command.arg(format!("path={}", place.path("theirs/f"))).arg(format!("line={line}"));
        command.env("HOME", place.at("home")).env("TMPDIR", place.at("tmp")).current_dir(place.at("data"));
        let output = command.uid(USER).gid(USER).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    };
    let nothing_to_do = run("");
    assert_status(&nothing_to_do, "changed");
    assert_eq!(nothing_to_do["grants"][0]["capability"], "read", "{nothing_to_do:#}");
    assert!(nothing_to_do["notes"][0].as_str().unwrap().contains("granted for reading only"), "{nothing_to_do:#}");
    assert_status(&run("new"), "failed");
    assert_eq!(place.read("theirs/f"), "old");
}

#[test]
fn policy_show_lists_paths_and_what_arguments_grant() {
    let case = Case::new();
    let module = case.dir.write("ansible/modules/lineinfile.py", SCRIPT);
    let show = |args: &[String]| {
        let words = ["policy", "show", "--json"].map(str::to_owned);
        Modbox::new(&case.dir).args(words).arg(&module).args(args).run().json()
    };
    let listed = show(&[]);
    let path = json!({"option": "path", "use": "write", "source": "modbox's table"});
    assert_eq!((&listed["paths"][0], &listed["grants"], &listed["missing"]), (&path, &json!([]), &json!([])));
    let granted = show(&[format!("path={}", case.path("f"))]);
    assert_eq!(granted["grants"][0]["subject"], case.path("f"), "{granted:#}");
    let missing = show(&[format!("dest={}", case.path("f")), "backup=yes".to_owned()]);
    let allow = format!("--allow-write {}", case.dir.join("data").display());
    assert_eq!(missing["missing"][0]["allow"], allow, "{missing:#}");
    assert_eq!(case.text("f"), "old");
}
