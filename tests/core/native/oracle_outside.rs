//! Ansible's own modules that start programs of the system, confined with commands outside: results and files of plain Ansible.
//!
//! Each side runs in a mount namespace in which `/etc` is a copy, so that this machine stays as it is.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Modbox, TestDir, oracle, prefixed};

/// Runs a command where `/etc` is a copy, and keeps what was made of its files.
const OWN_ETC: &str = "mkdir $0/etc && cp -a /etc/. $0/etc && mount --bind $0/etc /etc && mount -t tmpfs none /home && \"$@\"; status=$?; \
                       cp /etc/passwd /etc/group $0; umount /etc; rm -rf $0/etc; exit $status";

/// Tasks that make and change groups and users, with which the plays of both places begin.
pub(crate) const MAKING: &str = r#"
- hosts: localhost
  gather_facts: false
  tasks:
    - {name: made, group: {name: outsiders, gid: 23456}, register: a}
    - {name: made again, group: {name: outsiders, gid: 23456}, register: b}
    - {name: changed, group: {name: outsiders, gid: 23458}, register: c}
    - name: a user
      user: {name: outsider, uid: 23457, group: outsiders, home: /srv/outsider, create_home: false, comment: "An outsider"}
      register: d
    - name: the same user
      user: {name: outsider, uid: 23457, group: outsiders, home: /srv/outsider, create_home: false, comment: "An outsider"}
      register: e
    - {name: another shell, user: {name: outsider, shell: /bin/sh, create_home: false}, register: f}
"#;

/// Tasks that go on with homes, and remove all.
const REST: &str = r#"    - {name: no user, user: {name: outsider, state: absent}, register: g}
    - {name: with a home, user: {name: lodger, uid: 23460, comment: "With a home"}, register: k}
    - {name: with the same home, user: {name: lodger, uid: 23460, comment: "With a home"}, register: l}
    - {name: in more groups, user: {name: lodger, groups: [outsiders], append: true}, register: m}
    - {name: without the home, user: {name: lodger, state: absent, remove: true}, register: n}
    - {name: no group, group: {name: outsiders, state: absent}, register: h}
    - {name: still none, group: {name: outsiders, state: absent}, register: i}
    - {name: left, group: {name: lefts, gid: 23459}, register: j}
    - name: results
      copy: {dest: "{{ results }}", content: "{{ [a, b, c, d, e, f, g, h, i, j, k, l, m, n] | to_json }}"}
"#;

/// Results of tasks, and the users and groups afterwards.
pub(crate) type Side = (Value, String, String);

/// Keys of results that are compared.
const KEYS: [&str; 12] =
    ["changed", "failed", "gid", "uid", "group", "home", "shell", "comment", "name", "state", "system", "create_home"];

/// Runs a command with an `/etc` of its own, and returns what it made.
pub(crate) fn sides(dir: &TestDir, name: &str, run: impl FnOnce(Command, &str)) -> Side {
    let folder = dir.mkdir(name);
    let mut own = Command::new("unshare");
    own.args(["--mount", "--propagation", "private", "sh", "-c", OWN_ETC]).arg(&folder);
    let results = folder.join("results");
    run(own, results.to_str().unwrap());
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let results: Value = serde_json::from_str(&read("results")).unwrap();
    (results, read("passwd"), read("group"))
}

#[test]
fn users_and_groups_are_those_of_plain_ansible() {
    let Some(version) = oracle::newest() else { return };
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (dir, python) = (TestDir::new(), oracle::python_of(version));
    let play = dir.write("play.yml", [MAKING, REST].concat());
    let plain = sides(&dir, "plain", |own, results| {
        let mut playbook = oracle::ansible_by(&python, &dir, "playbook");
        playbook.arg(&play).args(["-i", "localhost,", "-c", "local", "-e", &format!("results={results}")]);
        let ran =
            prefixed(own, playbook.arg("-e").arg(format!("ansible_python_interpreter={}", python.display()))).output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    });
    dir.write("policy.yaml", "tasks: {'*': {profiles: [{manage-users: [outsider, outsiders, lefts, lodger]}]}}\n");
    let ours = sides(&dir, "ours", |own, results| {
        let folder = results.strip_suffix("/results").unwrap();
        let ran = Modbox::new(&dir)
            .args(["play", "play.yml", "--policy", "policy.yaml", "--prefer", "classic", "-e"])
            .arg(format!("results={results}"))
            .args(["--allow-write", folder, "--interpreter", &format!("python={}", python.display())])
            .behind(|command| prefixed(own, &command))
            .run();
        assert!(ran.status.success(), "{ran}");
    });
    compare(&plain, &ours);
    dir.assert_nothing_left();
}

/// Asserts that both sides have the same results, users and groups, and that the machine is as it was.
#[track_caller]
pub(crate) fn compare(plain: &Side, ours: &Side) {
    assert_eq!((&ours.1, &ours.2), (&plain.1, &plain.2));
    let (theirs, ours) = (plain.0.as_array().unwrap(), ours.0.as_array().unwrap());
    for (index, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
        for key in KEYS {
            assert_eq!(ours.get(key), theirs.get(key), "task {index}, `{key}`: {ours:#} {theirs:#}");
        }
    }
    assert_eq!(theirs.len(), ours.len());
    assert!(!fs::read_to_string("/etc/group").unwrap().contains("lefts"), "the machine was changed");
}
