//! Grants of single files for writing to native modules: the module can create, replace and remove the file, as
//! programs that write atomically do, and can change nothing beside it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir};

struct Case {
    dir: TestDir,
}

impl Case {
    fn new() -> Self {
        let dir = TestDir::new();
        dir.write("etc/motd", "old\n");
        dir.write("etc/secret", "secret\n");
        Self { dir }
    }

    fn motd(&self) -> PathBuf {
        self.dir.join("etc/motd")
    }

    /// Runs a script that is granted `etc/motd`, in which `$f` is the file and `$d` its directory.
    #[track_caller]
    fn run(&self, script: &str, switches: &[&str]) -> Value {
        let module = format!("#!/bin/sh\n# WANT_JSON\nf='{}'; d=${{f%/*}}\n{script}\n", self.motd().display());
        let module = self.dir.write("module", module);
        let report = Modbox::run_module(&self.dir, module).args(["--allow-write", "etc/motd"]).args(switches);
        let report = report.report().run().json();
        self.dir.assert_nothing_left();
        report
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.join("etc")).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const DONE: &str = "echo '{\"changed\": true}'";

#[test]
fn a_file_is_written_replaced_and_removed() {
    let case = Case::new();
    fs::set_permissions(case.motd(), fs::Permissions::from_mode(0o640)).unwrap();
    for (script, expect) in [
        ("echo more >> $f", Some("old\nmore\n")),
        ("echo new > $f", Some("new\n")),
        ("echo replaced > $d/.tmp1 && chmod 600 $d/.tmp1 && mv $d/.tmp1 $f", Some("replaced\n")),
        ("rm $f", None),
        ("[ ! -e $f ] && echo made > $f", Some("made\n")),
    ] {
        let report = case.run(&format!("set -e; {script}; {DONE}"), &[]);
        assert_eq!((&report["status"], &report["denials"]), (&json!("changed"), &json!([])), "{script}: {report:#}");
        assert_eq!(fs::read_to_string(case.motd()).ok().as_deref(), expect, "{script}");
        let mode = expect.map(|_| case.motd().metadata().unwrap().permissions().mode() & 0o777);
        match script {
            "rm $f" => {}
            _ if script.contains("chmod 600") => assert_eq!(mode, Some(0o600)),
            _ if script.contains("made") => assert_eq!(mode, Some(0o644)),
            _ => assert_eq!(mode, Some(0o640)),
        }
        assert!(case.names().iter().all(|name| ["motd", "secret"].contains(&name.as_str())), "{:?}", case.names());
    }
}

#[test]
fn a_file_that_is_left_alone_is_left_alone() {
    let case = Case::new();
    let before = case.motd().metadata().unwrap();
    let report = case.run(&format!("cat $f >&2; {DONE}"), &[]);
    assert_eq!(report["status"], "changed", "{report:#}");
    let after = case.motd().metadata().unwrap();
    assert_eq!((before.ino(), before.ctime_nsec()), (after.ino(), after.ctime_nsec()));
}

#[test]
fn what_lies_beside_it_is_not_there() {
    let case = Case::new();
    let report = case.run("ls $d; cat $d/secret; exit 1", &[]);
    let said = report["result"]["module_stderr"].to_string();
    assert!(said.contains("No such file"), "{report:#}");
    // Below `/tmp`, which is the module's own, the way to the file can be listed.
    let is_own = case.dir.path().starts_with("/tmp");
    assert_eq!(said.contains("Permission denied"), !is_own, "{report:#}");
    // A list of the folder would have `motd` alone, so it is refused.
    let denials: Vec<&Value> = report["denials"].as_array().unwrap().iter().map(|denial| &denial["allow"]).collect();
    for path in ["etc", "etc/secret"].into_iter().skip(usize::from(is_own)) {
        let allow = json!(format!("--allow-read {}", case.dir.join(path).display()));
        assert!(denials.contains(&&allow), "{report:#}");
    }
}

#[test]
fn what_is_made_beside_it_fails_the_run_and_leaves_the_file_as_it_was() {
    let case = Case::new();
    let report = case.run(&format!("cp $f $d/other; rm $f; {DONE}"), &[]);
    assert_eq!(
        (case.names(), fs::read(case.motd()).unwrap()),
        (vec!["motd".to_owned(), "secret".to_owned()], b"old\n".to_vec())
    );
    assert_eq!(report["status"], "failed", "{report:#}");
    let other = case.dir.join("etc/other").display().to_string();
    assert!(report["lost"].as_array().unwrap().iter().any(|lost| lost["path"] == *other), "{report:#}");
    let message = report["result"]["msg"].as_str().unwrap();
    assert!(
        message.contains("beside a file that is granted alone") && message.contains("`--allow-write "),
        "{report:#}"
    );
    let allow = format!("--allow-write {}", case.dir.join("etc/other").display());
    assert!(report["denials"].as_array().unwrap().iter().any(|denial| denial["allow"] == *allow), "{report:#}");
}

#[test]
fn a_new_directory_is_taken_with_what_is_in_it() {
    let case = Case::new();
    let name = case.dir.join("etc/conf.d");
    let allow = ["--allow-write", name.to_str().unwrap()];
    for script in [
        "mkdir -m 700 $d/conf.d && chmod g+s $d/conf.d",
        "mkdir -p $d/conf.d/a/b; echo 1 > $d/conf.d/a/one; chmod 640 $d/conf.d/a/one",
    ] {
        let report = case.run(&format!("{script}; {DONE}"), &allow);
        assert_eq!(report["status"], "changed", "{report:#}");
        assert!(name.is_dir(), "{report:#}");
        if script.contains("g+s") {
            assert_eq!(name.metadata().unwrap().permissions().mode() & 0o7777, 0o2700);
        } else {
            assert!(name.join("a/b").is_dir());
            assert_eq!(fs::read(name.join("a/one")).unwrap(), b"1\n");
            assert_eq!(name.join("a/one").metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        }
        fs::remove_dir_all(&name).unwrap();
    }
    for (script, why) in [
        ("mkdir $d/conf.d; ln -s /etc/passwd $d/conf.d/link", "a link in it"),
        ("mkdir $d/conf.d; mkfifo $d/conf.d/pipe", "something else than a file in it"),
        (
            "mkdir $d/conf.d; touch $d/conf.d/x; chmod 4755 $d/conf.d/x; test -u $d/conf.d/x || ln -s x $d/conf.d/y",
            "it",
        ),
        ("p=$d/conf.d; for i in $(seq 40); do mkdir $p; p=$p/x; done", "directories in each other"),
    ] {
        let report = case.run(&format!("{script}; {DONE}"), &allow);
        assert_eq!(report["status"], "failed", "{script}: {report:#}");
        assert!(report["lost"][0]["reason"].as_str().unwrap().contains(why), "{script}: {report:#}");
        assert!(!name.exists(), "{script}: {report:#}");
    }
}

#[test]
fn only_files_are_taken() {
    let case = Case::new();
    for script in ["rm $f; ln -s /etc/passwd $f", "rm $f; mkdir $f", "rm $f; mkfifo $f"] {
        let report = case.run(&format!("{script}; {DONE}"), &[]);
        assert_eq!(fs::read(case.motd()).unwrap(), b"old\n", "{script}");
        assert_eq!((&report["status"], &report["result"]["changed"]), (&json!("failed"), &json!(false)), "{report:#}");
        assert!(
            report["result"]["msg"]
                .as_str()
                .unwrap()
                .contains("and only files and new directories are taken back; allow it with `--allow-write "),
            "{report:#}"
        );
    }
    let report = case.run(&format!("chmod 4755 $f && echo set; chmod 755 $f; {DONE}"), &[]);
    assert!(!report["result"]["msg"].to_string().contains("set"), "{report:#}");
    assert_eq!(case.motd().metadata().unwrap().permissions().mode() & 0o7777, 0o755);
}

#[test]
fn a_run_that_a_limit_ends_changes_nothing() {
    let case = Case::new();
    let report = case.run("echo half > $f; sleep 600", &["--timeout", "500ms"]);
    assert_eq!(report["limit"]["kind"], "wall", "{report:#}");
    assert_eq!(fs::read(case.motd()).unwrap(), b"old\n");
}

#[test]
fn changes_of_other_processes_are_not_overwritten() {
    let case = Case::new();
    let (started, go) = (case.dir.join("signal/started"), case.dir.join("signal/go"));
    case.dir.mkdir("signal");
    let signal = case.dir.join("signal").display().to_string();
    let script = format!(
        "echo mine > $f; : > {}; while [ ! -e {} ]; do sleep 0.01; done; {DONE}",
        started.display(),
        go.display()
    );
    let report = std::thread::scope(|scope| {
        let run = scope.spawn(|| case.run(&script, &["--allow-write", &signal]));
        assert!(crate::support::wait_for(std::time::Duration::from_secs(20), || started.exists()));
        fs::write(case.motd(), "theirs\n").unwrap();
        fs::write(&go, "").unwrap();
        run.join().unwrap()
    });
    assert_eq!(fs::read(case.motd()).unwrap(), b"theirs\n");
    assert_eq!(report["status"], "failed", "{report:#}");
    assert!(report["result"]["msg"].as_str().unwrap().contains("another process has changed it"), "{report:#}");
}

#[test]
fn inside_what_is_granted_for_reading_it_is_replaced_and_removed() {
    let case = Case::new();
    let etc = case.dir.join("etc").display().to_string();
    let before = case.motd().metadata().unwrap().ino();
    let script = format!("cat $d/secret >&2; echo new > $d/x; mv $d/x $f; {DONE}");
    let report = case.run(&script, &["--allow-read", &etc]);
    assert_eq!(report["status"], "changed", "{report:#}");
    assert_eq!(
        (fs::read(case.motd()).unwrap(), case.names()),
        (b"new\n".to_vec(), vec!["motd".into(), "secret".into()])
    );
    assert_ne!(case.motd().metadata().unwrap().ino(), before);
    let report = case.run(&format!("rm $f; {DONE}"), &["--allow-read", &etc]);
    assert_eq!((&report["status"], case.names()), (&json!("changed"), vec!["secret".into()]), "{report:#}");
}

#[test]
fn a_name_in_the_systems_tmp_is_granted_alike() {
    let case = Case::new();
    let file = tempfile::Builder::new().prefix("modbox-test-").tempfile_in("/tmp").unwrap();
    let path = file.path().display().to_string();
    let report = case.run(&format!("echo new > '{path}'; ls /tmp >&2; {DONE}"), &["--allow-write", &path]);
    assert_eq!(report["status"], "changed", "{report:#}");
    assert_eq!(fs::read(file.path()).unwrap(), b"new\n");
}

#[test]
fn a_module_that_may_send_datagrams_asks_name_servers_as_the_machine_does() {
    let case = Case::new();
    let tell = "echo \"{\\\"options\\\": \\\"$RES_OPTIONS\\\"}\"";
    for (grant, expect) in [("*:53+any", "use-vc"), ("udp:*+any", "")] {
        let report = case.run(tell, &["--allow-net", grant]);
        assert_eq!(report["result"]["options"], expect, "{report:#}");
    }
}
