//! Ansible's own modules that manage a machine, each twice in a row: results and what they leave on a host are those of plain Ansible. The
//! policy is what `modbox play --explain` says that the play needs, and nothing else.
//!
//! Each side runs in a host of its own, on this machine's file systems; see `system_host.sh`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Modbox, TestDir, oracle, prefixed, repository};

/// Tasks, without their names and the names of their results.
const TASKS: &str = r#"
group: {name: lodgers, gid: 23461}
group: {name: lodgers, gid: 23461}
user: {name: lodger, uid: 23460, groups: [lodgers], comment: "A lodger", password: "$6$abc$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlqrjYE4LBzF9hHqw0nqFNKFBnB8QxmPQbcTvXQLIK0xGQtP1PeIX3QU/"}
user: {name: lodger, uid: 23460, groups: [lodgers], comment: "A lodger", password: "$6$abc$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlqrjYE4LBzF9hHqw0nqFNKFBnB8QxmPQbcTvXQLIK0xGQtP1PeIX3QU/"}
user: {name: lodger, password: "$6$def$IB2mjUgCHjWNlkpsLHOXcnMqKwLdZVlqrjYE4LBzF9hHqw0nqFNKFBnB8QxmPQbcTvXQLIK0xGQtP1PeIX3QU/"}
getent: {database: passwd, key: lodger}
dpkg_selections: {name: bash, selection: hold}
dpkg_selections: {name: bash, selection: hold}
debconf: {name: modtest, question: modtest/question, value: "yes", vtype: boolean}
debconf: {name: modtest, question: modtest/question, value: "yes", vtype: boolean}
hostname: {name: after.example}
hostname: {name: after.example}
sysvinit: {name: modtest, state: started, enabled: true}
sysvinit: {name: modtest, state: started, enabled: true}
service: {name: modtest, state: restarted, use: service}
service: {name: modtest, state: stopped, use: service}
known_hosts: {name: host.example, path: /etc/modtest-hosts, key: "host.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJoHG8qHUqMb0gqBvVrKKgqxhNZLXPpEmW5yrkrYbRxF"}
known_hosts: {name: host.example, path: /etc/modtest-hosts, key: "host.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJoHG8qHUqMb0gqBvVrKKgqxhNZLXPpEmW5yrkrYbRxF"}
apt: {name: modtest}
apt: {name: modtest}
package_facts: {}
apt: {name: modtest, state: absent, purge: true}
apt: {name: modtest, state: absent, purge: true}
"#;

/// Keys of results that tell of the place, the time or the words of a run.
const ASIDE: [&str; 7] =
    ["invocation", "warnings", "deprecations", "diff", "stderr", "stderr_lines", "cache_update_time"];

/// Writes the play, and returns it with the number of its tasks.
fn play(dir: &TestDir) -> (std::path::PathBuf, usize) {
    let tasks: Vec<&str> = TASKS.lines().filter(|line| !line.is_empty()).collect();
    let task = |(index, task): (usize, &&str)| {
        let module = task.split(':').next().unwrap();
        format!("    - name: {index} {module}\n      {task}\n      register: r{index}\n")
    };
    let all: String = tasks.iter().enumerate().map(task).collect();
    let names: Vec<String> = (0..tasks.len()).map(|index| format!("r{index}")).collect();
    let results = format!(
        "    - name: results\n      copy: {{dest: \"{{{{ results }}}}\", content: \"{{{{ [{}] | to_json }}}}\"}}\n",
        names.join(", ")
    );
    let text = format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{all}{results}");
    (dir.write("play.yml", text), tasks.len())
}

/// Runs a command in a host of its own, and returns the results of the play and the state of the host.
fn side(dir: &TestDir, name: &str, run: impl FnOnce(Command, &str)) -> (Vec<Value>, String) {
    let folder = dir.mkdir(name);
    run(host(&folder), folder.join("results").to_str().unwrap());
    let results = fs::read_to_string(folder.join("results")).unwrap();
    let state = fs::read_to_string(folder.join("state")).unwrap();
    (serde_json::from_str(&results).unwrap(), state)
}

fn host(folder: &Path) -> Command {
    let mut host = Command::new("unshare");
    host.args(["--mount", "--uts", "sh"]).arg(repository().join("tests/core/native/system_host.sh")).arg(folder);
    host
}

#[test]
fn modules_that_manage_a_machine_do_as_under_plain_ansible() {
    let Some(version) = oracle::newest() else { return };
    let has = |program: &str| Path::new(program).exists();
    if !rustix::process::geteuid().is_root() || !has("/usr/bin/apt-get") || !has("/usr/lib/python3/dist-packages/apt") {
        return;
    }
    let (dir, python) = (TestDir::new(), oracle::python_of(version));
    let (play, count) = play(&dir);
    let (theirs, their_state) = side(&dir, "plain", |host, results| {
        let mut playbook = oracle::ansible_by(&python, &dir, "playbook");
        playbook.arg(&play).args(["-i", "localhost,", "-c", "local", "-e", &format!("results={results}")]);
        playbook.arg("-e").arg(format!("ansible_python_interpreter={}", python.display()));
        let ran = prefixed(host, &playbook).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    });
    let modbox = |host: Command, results: &str, words: &[&str]| {
        let usual = ["play", "play.yml", "--prefer", "classic", "-e", &format!("results={results}"), "--interpreter"];
        let play = Modbox::new(&dir).args(usual).arg(format!("python={}", python.display())).args(words);
        play.behind(|command| prefixed(host, &command)).run()
    };
    let explained = dir.mkdir("explained");
    let needs = modbox(host(&explained), explained.join("results").to_str().unwrap(), &["--explain"]).exits_with(0);
    dir.write("needs.yaml", needs.stdout_text());
    let (ours, our_state) = side(&dir, "ours", |host, results| {
        let ran = modbox(host, results, &["--policy", "needs.yaml", "--output", "jsonl"]);
        assert!(ran.status.success(), "{}\n{ran}", needs.stdout_text());
    });
    assert_eq!((ours.len(), theirs.len()), (count, count));
    for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        let keys = theirs.as_object().unwrap().keys().chain(ours.as_object().unwrap().keys());
        for key in keys.filter(|key| !ASIDE.contains(&key.as_str())) {
            assert_eq!(ours.get(key), theirs.get(key), "task {index}, `{key}`");
        }
    }
    assert_eq!(our_state, their_state);
    assert!(!fs::read_to_string("/etc/group").unwrap().contains("lodgers"), "the machine was changed");
    dir.assert_nothing_left();
}
