//! The home of a task's user: what `~` and `HOME` mean to modules, by plain Ansible and in modbox's sandbox, for root and for another
//! user. A use of the home without a grant is refused.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, oracle, prefixed};

/// The number of the other user.
const USER: u32 = 23_461;

/// A module that tells its home, and one that writes there.
const TOLD: &str = "#!/bin/sh\n# WANT_JSON\n\
    printf '{\"changed\": false, \"failed\": false, \"stdout\": \"%s %s %s\"}' \"$HOME\" ~ \"$(cd ~ && pwd)\"\n";
const WRITER: &str = "#!/bin/sh\n# WANT_JSON\n\
    if echo text > ~/.by-module; then echo '{\"changed\": true, \"failed\": false}'; else echo '{\"failed\": true, \"msg\": \"no\"}'; fi\n";

/// Tasks of which modules and arguments grant what they need, and others, which start programs or have defaults. Those of Python are
/// for root alone: an interpreter of the tests may lie in root's home.
const TASKS: [&str; 8] = [
    "told: {}",
    "writer: {}",
    "command: sh -c 'echo $HOME; echo ~; cd ~ && pwd'",
    "file: {path: ~/made, state: touch}",
    "lineinfile: {path: ~/lines, line: text, create: true}",
    "stat: {path: ~/lines}",
    "shell: echo text > ~/.by-program",
    "known_hosts: {name: host.example, key: 'host.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJoHG8qHUqMb0gqBvVrKKgqxhNZLXPpEmW5yrkrYbRxF'}",
];

/// Number of tasks that need no Python.
const PLAIN: usize = 2;

/// Tasks that need a grant.
const WRITERS: [usize; 3] = [1, 6, 7];

/// Runs a command where there is the other user.
const HOLD: &str = "mount --bind passwd /etc/passwd && exec \"$@\"";

/// Keys of results that are compared.
const COMPARED: [&str; 6] = ["changed", "failed", "stdout", "path", "dest", "state"];

/// Writes the play for a user, and makes its home.
fn prepare(dir: &TestDir, user: Option<&str>) -> PathBuf {
    let task =
        |(index, task): (usize, &&str)| format!("    - {task}\n      register: r{index}\n      ignore_errors: true\n");
    let count = if user.is_some() { PLAIN } else { TASKS.len() };
    let tasks: String = TASKS.iter().take(count).enumerate().map(task).collect();
    let names: Vec<String> = (0..count).map(|index| format!("r{index}")).collect();
    let become_user = user.map(|user| format!("  become: true\n  become_method: su\n  become_user: {user}\n"));
    let results = dir.join("results");
    let text = format!(
        "- hosts: localhost\n  gather_facts: false\n{}  tasks:\n{tasks}    - copy: {{dest: {:?}, content: \"{{{{ [{}] | to_json }}}}\"}}\n      become: false\n",
        become_user.unwrap_or_default(),
        results,
        names.join(", ")
    );
    dir.write("play.yml", text);
    dir.write("library/told.sh", TOLD);
    dir.write("library/writer.sh", WRITER);
    let home = dir.mkdir(if user.is_some() { "of-user" } else { "home" });
    let own = dir.join("home");
    let passwd = format!("root:*:0:0::{}:/bin/sh\nlodger:*:{USER}:{USER}::{}:/bin/sh\n", own.display(), home.display());
    dir.write("passwd", passwd);
    fs::create_dir_all(home.join(".ssh")).unwrap();
    if user.is_some() {
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for own in [home.clone(), home.join(".ssh")] {
            chown(own, Some(USER), Some(USER)).unwrap();
        }
    }
    home
}

fn holder() -> Command {
    let mut holder = Command::new("unshare");
    holder.args(["--mount", "--propagation", "private", "sh", "-c", HOLD, "sh"]);
    holder
}

/// Returns the results of a play, and the files that it has made in a home, with their owners. Removes them.
fn taken(dir: &TestDir, home: &Path) -> (Vec<Value>, String) {
    let results: Vec<Value> = serde_json::from_str(&fs::read_to_string(dir.join("results")).unwrap()).unwrap();
    fs::remove_file(dir.join("results")).unwrap();
    let code = "for f in made lines .by-module .by-program .ssh/*; do test -e $f && stat -c '%n %u %s %a' $f; done; \
        rm -rf made lines .by-module .by-program .ssh/*";
    let made = Command::new("sh").args(["-c", code]).current_dir(home).output().unwrap();
    (results, String::from_utf8(made.stdout).unwrap())
}

fn modbox(dir: &TestDir, options: &[&str]) -> String {
    let ran = Modbox::new(dir)
        .args(["play", "play.yml", "--prefer", "classic", "--interpreter"])
        .arg(format!("python={}", oracle::python().display()))
        .args(options)
        .behind(|command| prefixed(holder(), &command))
        .run();
    ran.to_string()
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_have_the_home_of_their_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    for user in [None, Some("lodger")] {
        let dir = TestDir::new();
        let home = prepare(&dir, user);
        let mut playbook = oracle::ansible_by(&oracle::python(), &dir, "playbook");
        playbook.args(["play.yml", "-i", "localhost,", "-c", "local"]);
        playbook.args(["-e", "ansible_remote_tmp=/var/tmp"]);
        let ran = prefixed(holder(), &playbook).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        let (theirs, their_files) = taken(&dir, &home);
        assert!(theirs.iter().all(|result| result["failed"] == false), "{theirs:#?}");

        let said = modbox(&dir, &["--allow-write", home.to_str().unwrap()]);
        let (ours, our_files) = taken(&dir, &home);
        for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            for key in COMPARED {
                assert_eq!(ours.get(key), theirs.get(key), "{user:?} {key}: {}\n{said}", TASKS[index]);
            }
        }
        assert_eq!(our_files, their_files, "{user:?}");

        // Without the grant, what no argument names is refused, with what would grant it; and nothing is lost with a success.
        let said = modbox(&dir, &[]);
        let (ours, _) = taken(&dir, &home);
        for (index, result) in ours.iter().enumerate() {
            assert_eq!(result["failed"], json!(WRITERS.contains(&index)), "{user:?}: {}\n{said}", TASKS[index]);
        }
        let allowed: &[&str] = if user.is_some() { &[".by-module"] } else { &[".by-module", ".by-program", ".ssh"] };
        for allow in allowed {
            assert!(
                said.contains(&format!("--allow-write {}", home.join(allow).display())),
                "{user:?} {allow}: {said}"
            );
        }
        // The folder for runs of other users stays, and is empty.
        let _ = fs::remove_dir(dir.join("tmp/modbox-become-0"));
        dir.assert_nothing_left();
    }
}
