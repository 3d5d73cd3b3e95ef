//! Hosts on a network of their own, twenty in a whole run: the same tasks with Ansible's modules and with those of the
//! collection, over ssh and locally, by users that log in and by users that tasks become.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::ansible::oracle_collection::{ansible, releases};
use crate::ansible::oracle_fleet::controller;
use crate::support::{HostNetwork, PASSWORD, TestDir, oracle, sample};

/// How tasks reach a host, as which user they log in, and which one they become.
const WAYS: [(&str, &str, Option<&str>); 8] = [
    ("ssh", "op", Some("app")),
    ("ssh", "op", Some("root")),
    ("local", "root", Some("app")),
    ("ssh", "root", None),
    ("ssh", "op", None),
    ("ssh", "root", Some("app")),
    ("ssh", "root", Some("root")),
    ("local", "root", None),
];

/// Hosts over ssh in an ordinary run, and in a whole one.
const COUNTS: (usize, usize) = (2, 20);

/// Keys of results that differ from run to run, that Ansible's action plugin for `copy` adds, or that the module `stat` of
/// modbox does not have; and warnings of a folder for temporary files, which modbox does not need.
const OWN: [&str; 26] = [
    "_ansible_no_log",
    "ansible_facts",
    "atime",
    "attr_flags",
    "attributes",
    "charset",
    "ctime",
    "disk_usage_bytes",
    "executable",
    "finished",
    "inode",
    "invocation",
    "md5sum",
    "mimetype",
    "mtime",
    "readable",
    "results_file",
    "retries",
    "src",
    "started",
    "stderr",
    "stdout",
    "stdout_lines",
    "version",
    "warnings",
    "writeable",
];

/// Tasks of a collection in the folder `place` of the home of the user that they become.
fn tasks(collection: &str, place: &str) -> Vec<Value> {
    let name = |module: &str| format!("{collection}.{module}");
    let file = format!("{{{{ home }}}}/{place}/file");
    let line = |line: &str| json!({"path": file, "line": line});
    vec![
        json!({name("ping"): {"data": "é \"quoted\" {{ 1 + 1 }}"}}),
        json!({name("lineinfile"): line("checked"), "check_mode": true, "diff": true}),
        json!({name("lineinfile"): line("{{ item }}"), "loop": ["two", "three", "two"]}),
        json!({name("lineinfile"): {"path": file}}),
        json!({name("lineinfile"): {"path": "{{ home }}/nowhere", "line": "x"}}),
        json!({name("stat"): {"path": file, "checksum_algorithm": "sha256"}, "no_log": true}),
        json!({name("stat"): {"path": file}, "environment": {"LANG": "C"}}),
        json!({name("copy"): {"content": "text\n", "dest": format!("{{{{ home }}}}/{place}/copied"), "mode": "0640"}}),
        json!({name("lineinfile"): line("job"), "async": 120, "poll": 1}),
        json!({name("lineinfile"): line("later"), "async": 120, "poll": 0}),
        json!({"ansible.builtin.async_status": {"jid": "{{ task_9.ansible_job_id }}"}, "until": "task_10 is finished",
               "retries": 120, "delay": 1}),
        json!({name("stat"): {"path": "/etc/sudoers"}, "delegate_to": "{{ groups.all | first }}"}),
        json!({name("lineinfile"): line("four"), "diff": true}),
    ]
}

/// Tasks that always say that they change something: one in check mode, and one that only starts a job.
const ALWAYS: [usize; 2] = [1, 9];

/// Removes what differs, and the names of a side.
fn comparable(result: &Value, place: &str) -> Value {
    let text =
        result.to_string().replace(&format!("/{place}/"), "/place/").replace("ansible.builtin.", "modbox.modbox.");
    let mut result: Value = serde_json::from_str(&text).unwrap();
    remove(&mut result);
    result
}

fn remove(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, _| !OWN.contains(&key.as_str()) && !key.starts_with("ansible_job"));
            // Ansible's modules add differences of attributes, and empty ones of content where none was asked for.
            let first = object.get("diff").map(|diff| diff.get(0).unwrap_or(diff).clone());
            match first.filter(|first| first["after"] != first["before"]) {
                Some(first) => object.insert("diff".to_owned(), first),
                None => object.remove("diff"),
            };
            object.values_mut().for_each(remove);
        }
        Value::Array(items) => items.iter_mut().for_each(remove),
        _ => {}
    }
}

/// Folders that may be written on a host. Beside the hosts, `/tmp` is that of the machine.
const WRITABLE: &str = "/mnt/*/upper /run /srv /var/tmp";

fn files(network: &HostNetwork, number: usize) -> String {
    let own = if number == 0 { "" } else { "/tmp" };
    network.shell(number, format!("find {WRITABLE} {own} -xdev ! -type s | LC_ALL=C sort"))
}

/// Returns the files that are new, apart from modbox's cache, the empty folders for its temporary files, and what Ansible keeps
/// for its jobs and temporary files.
fn left(network: &HostNetwork, number: usize, before: &str) -> Vec<String> {
    let own = ["/.cache", "/.ansible", "/.ansible_async", "/ours", "/theirs"];
    let is_own = |path: &str| {
        if path.strip_prefix("/tmp/modbox-").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())) {
            return true;
        }
        let below_home = path.strip_prefix("/srv/").and_then(|path| path.find('/').map(|at| &path[at..]));
        let is_below =
            |folder: &str| below_home.is_some_and(|path| format!("{path}/").starts_with(&format!("{folder}/")));
        own.into_iter().any(is_below)
            && !path.contains("/ansible-tmp-")
            && (!path.contains("/.cache/") || path.contains("/.cache/modbox"))
    };
    let before: BTreeSet<&str> = before.lines().collect();
    let after = files(network, number);
    after.lines().filter(|path| !before.contains(path) && !is_own(path)).map(str::to_owned).collect()
}

/// Returns the hosts with their variables.
fn inventory(network: &HostNetwork, count: usize, runners: &Path) -> Map<String, Value> {
    let (local, ssh): (Vec<_>, Vec<_>) = WAYS.into_iter().partition(|(connection, ..)| *connection == "local");
    let local = &local[..sample::cases(1, local.len())];
    let over_ssh = ssh.iter().cycle().take(count).enumerate().map(|(index, way)| (index + 1, way));
    let host = |(number, (connection, login, become_user)): (usize, &(&str, &str, Option<&str>))| {
        let local = json!({"ansible_connection": connection});
        let mut variables = if number > 0 { network.variables(number) } else { local };
        variables["ansible_python_interpreter"] = "/usr/bin/python3".into();
        variables["ansible_user"] = (*login).into();
        variables["home"] = format!("/srv/{}", become_user.unwrap_or(login)).into();
        variables["modbox_runner_dir"] = json!(runners);
        if let Some(user) = become_user {
            variables["ansible_become"] = true.into();
            variables["ansible_become_user"] = (*user).into();
            // The password is not asked for, but might be, and then this connection gives a terminal to the task.
            if number == 0 {
                variables["ansible_become_password"] = PASSWORD.into();
                variables["ansible_pipelining"] = false.into();
            }
        }
        (format!("{number:02}_{connection}_{login}_{}", become_user.unwrap_or("itself")), variables)
    };
    over_ssh.chain(local.iter().map(|way| (0, way))).map(host).collect()
}

#[track_caller]
fn check(version: &str) {
    let dir = TestDir::new();
    let count = sample::cases(COUNTS.0, COUNTS.1);
    let Some(network) = HostNetwork::start(&dir, count) else { return };
    let runners = controller(version, &dir);
    let hosts = inventory(&network, count, &runners);
    let make = "cd /srv; for user in root op app; do for place in ours theirs; do
        install -d -o $user -g $(id -g $user) $user/$place; echo one >$user/$place/file;
        chown $user:$(id -g $user) $user/$place/file; done; done";
    for number in 0..=count {
        network.shell(number, make);
    }
    let run = |tasks: &[Value]| {
        let mut command = ansible(version, &dir, "playbook");
        command.env_remove("ANSIBLE_REMOTE_TEMP").env_remove("ANSIBLE_ASYNC_DIR").env("PATH", "/usr/bin:/bin");
        command.env("HOME", "/srv/root").env("ANSIBLE_FORKS", "20").env("ANSIBLE_PIPELINING", "1");
        oracle::play_on(network.beside(&command), &dir, &hosts, tasks)
    };
    let theirs = run(&tasks("ansible.builtin", "theirs"));
    // Ansible's modules leave files of jobs.
    let before: Vec<String> = (0..=count).map(|number| files(&network, number)).collect();
    let ours = run(&tasks("modbox.modbox", "ours"));
    let mut differences = Vec::new();
    for ((host, ours), theirs) in hosts.keys().zip(&ours).zip(&theirs) {
        for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
            let (result, expect) = (comparable(ours, "ours"), comparable(theirs, "theirs"));
            let shown = format!("{host}, task {number}: {result}, expected {expect}");
            differences.extend((result != expect).then_some(shown));
        }
    }
    assert!(differences.is_empty(), "{version}\n{}", differences.join("\n"));
    // The second run changes nothing.
    let again = run(&tasks("modbox.modbox", "ours"));
    for (host, again) in hosts.keys().zip(&again) {
        for (number, again) in again.iter().enumerate().filter(|(number, _)| !ALWAYS.contains(number)) {
            assert_eq!(again["changed"], false, "{version}, {host}, task {number}: {again}");
        }
    }
    for (number, before) in before.iter().enumerate() {
        assert_eq!(left(&network, number, before), [""; 0], "{version}, host {number}");
        let compare = "cd /srv; for user in root op app; do diff -r $user/ours $user/theirs; done";
        assert_eq!(network.shell(number, compare), "", "{version}, host {number}");
    }
    drop(network);
    dir.assert_nothing_left();
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn twenty_hosts_get_the_results_of_ansible() {
    for version in sample::sample(releases(), 1) {
        check(version);
    }
}
