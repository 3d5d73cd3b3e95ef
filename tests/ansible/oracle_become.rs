//! Tasks that become other users over ssh, on hosts as they are found: with passwords, terminals and banners, without gzip
//! or Python.

use serde_json::{Map, Value, json};

use crate::ansible::oracle_collection::{ansible, releases};
use crate::ansible::oracle_fleet::{controller, with};
use crate::support::{PASSWORD, SshHost, TestDir, oracle, sample};

/// A module that adds a line to a file, which it makes if need be.
fn line(module: &str, path: &str) -> Value {
    json!({module: {"path": path, "line": "two", "create": true}})
}

/// Variables of a task that logs in as one user and becomes another one.
fn login(user: &str, method: &str, target: &str, password: Option<&str>) -> Value {
    let mut variables = json!({
        "ansible_user": user,
        "ansible_become": true,
        "ansible_become_method": method,
        "ansible_become_user": target,
    });
    if let Some(password) = password {
        variables["ansible_become_password"] = password.into();
    }
    json!({"vars": variables})
}

/// Runs tasks on a host, and returns their results.
#[track_caller]
fn run(version: &str, dir: &TestDir, variables: Value, tasks: &[Value]) -> Vec<Value> {
    let mut hosts = Map::new();
    hosts.insert("host".to_owned(), variables);
    let mut command = ansible(version, dir, "playbook");
    // Ansible waits 12 seconds for a prompt by default, which a busy machine can take.
    command.env_remove("ANSIBLE_REMOTE_TEMP").env("PATH", "/usr/bin:/bin").env("ANSIBLE_TIMEOUT", "60");
    oracle::play_on(command, dir, &hosts, tasks).remove(0)
}

/// Asserts that a task has failed with a message that has these words.
#[track_caller]
fn assert_failed(result: &Value, words: &[&str]) {
    let message = result["msg"].as_str().unwrap_or_default();
    let failed = result["failed"] == true || result["unreachable"] == true;
    assert!(failed && words.iter().all(|word| message.contains(word)), "{words:?}: {result}");
}

#[track_caller]
fn check_users(version: &str) {
    let dir = TestDir::new();
    let Some(host) = SshHost::start(&dir) else { return };
    let mut variables = host.variables();
    variables["ansible_python_interpreter"] = "/usr/bin/python3".into();
    variables["modbox_runner_dir"] = json!(controller(version, &dir));
    let keeping = |target: &str| {
        let mut keys = login("kept", "sudo", target, None);
        keys["vars"]["ansible_become_flags"] = "-S -n".into();
        keys["environment"] = json!({"XDG_CACHE_HOME": "/srv/kept/.cache"});
        keys
    };
    let refused = "so the task has not begun";
    let cases = [
        // Without and with a password, and with one that is wrong or missing.
        ("root/op", login("op", "sudo", "root", None), None),
        ("app/op", login("op", "sudo", "app", None), None),
        ("root/asked", login("asked", "sudo", "root", Some(PASSWORD)), None),
        ("app/asked", login("asked", "sudo", "app", Some(PASSWORD)), None),
        ("root/wrong", login("asked", "sudo", "root", Some("wrong")), Some("Incorrect sudo password")),
        ("root/wrong", login("asked", "sudo", "root", None), Some("Missing sudo password")),
        ("root/wrong", login("app", "sudo", "root", Some(PASSWORD)), Some(refused)),
        // The password is not asked for.
        ("root/unasked", login("op", "sudo", "root", Some(PASSWORD)), None),
        // With a terminal.
        ("root/seated", login("seated", "sudo", "root", None), None),
        ("app/seated", login("seated", "sudo", "app", None), None),
        // `su`, by root and by a user.
        ("app/su", login("root", "su", "app", None), None),
        ("root/su", login("op", "su", "root", Some(PASSWORD)), None),
        ("root/wrong", login("op", "su", "root", Some("wrong")), Some("Incorrect su password")),
        ("app/other", login("op", "su", "app", Some(PASSWORD)), None),
        // HOME and the cache folder are those of the login user.
        ("root/kept", keeping("root"), None),
        ("app/kept", keeping("app"), None),
    ];
    let task = |(path, keys, _): &(&str, Value, Option<&str>)| {
        with(line("modbox.modbox.lineinfile", &format!("/srv/{path}")), keys)
    };
    let tasks: Vec<Value> = cases.iter().map(task).collect();
    let ran = run(version, &dir, variables, &tasks);
    let mut written = Vec::new();
    for ((path, keys, refusal), result) in cases.iter().zip(&ran) {
        match refusal {
            Some(words) => assert_failed(result, &[words]),
            None => assert_eq!(result["changed"], true, "{path} {keys}: {result}"),
        }
        let uid = if path.starts_with("root") { 0 } else { 64998 };
        written.extend(refusal.is_none().then(|| format!("{uid} {path}\n")));
    }
    written.sort();
    assert_eq!(host.shell("cd /srv; stat -c '%u %n' root/* app/* | LC_ALL=C sort"), written.concat());
    // None has written to the home of another user, and no file with arguments is left.
    assert_eq!(host.shell("cd /srv; find op asked seated kept -type f"), "");
    assert_eq!(
        host.shell("cd /srv; find . -name 'ansible-tmp-*'; find root -not -user root; find app -not -user app"),
        ""
    );
    assert_eq!(host.shell("ls /var/tmp"), "");
    drop(host);
    dir.assert_nothing_left();
}

#[test]
fn tasks_become_other_users() {
    for version in sample::sample(releases(), 1) {
        check_users(version);
    }
}

/// Hosts as they are found: what is done to them, with what a login prints before each answer.
const HOSTS: [&str; 5] = [
    "rm /usr/bin/setfacl",
    "rm /usr/bin/gzip /usr/bin/gunzip",
    "rm /usr/bin/python3*; rm -rf /usr/lib/python3*",
    "mkdir /srv/root/.ssh; echo 'printf \"Welcome to {this} host\\n{}\\n\"' >/srv/root/.ssh/rc",
    "mkdir /srv/root/.ssh; echo 'printf \"no line ends here: \"' >/srv/root/.ssh/rc",
];

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn hosts_lack_programs_or_print_banners() {
    for change in sample::sample(HOSTS.to_vec(), 1) {
        let dir = TestDir::new();
        let Some(host) = SshHost::start(&dir) else { return };
        host.shell(change);
        let mut variables = host.variables();
        variables["modbox_runner_dir"] = json!(controller(oracle::version(), &dir));
        let task = with(line("modbox.modbox.lineinfile", "/srv/root/file"), &json!({"vars": {"ansible_user": "root"}}));
        let app = login("root", "sudo", "app", None);
        // `su` needs a file with the arguments.
        let other = login("op", "su", "app", Some(PASSWORD));
        let [app, other] = [app, other].map(|keys| with(line("modbox.modbox.lineinfile", "/srv/app/file"), &keys));
        let ran = run(oracle::version(), &dir, variables, &[task.clone(), task, app, other]);
        let changed: Vec<&Value> = ran[..3].iter().map(|result| &result["changed"]).collect();
        assert_eq!(changed, [true, false, true], "{change}: {ran:?}");
        match change.contains("setfacl") {
            true => assert_failed(&ran[3], &["su gives no input", "Install setfacl", "sudo without `requiretty`"]),
            false => assert_eq!(ran[3]["failed"], false, "{change}: {}", ran[3]),
        }
    }
}

/// Ansible's own modules, confined, by users that the task becomes.
#[track_caller]
fn check_python(version: &str) {
    let dir = TestDir::new();
    let Some(host) = SshHost::start(&dir) else { return };
    let mut variables = host.variables();
    variables["ansible_python_interpreter"] = "/usr/local/bin/modbox-python".into();
    let task = |path: &str, keys: Value, is_piped: bool| {
        let mut task = with(line("ansible.builtin.lineinfile", path), &keys);
        task["vars"]["ansible_pipelining"] = is_piped.into();
        task
    };
    let mut keeping = login("kept", "sudo", "app", None);
    keeping["vars"]["ansible_become_flags"] = "-S -n".into();
    let tasks = [
        task("/srv/root/op", login("op", "sudo", "root", None), true),
        task("/srv/app/op", login("op", "sudo", "app", None), true),
        task("/srv/root/asked", login("asked", "sudo", "root", Some(PASSWORD)), true),
        task("/srv/app/asked", login("asked", "sudo", "app", Some(PASSWORD)), true),
        task("/srv/root/su", login("op", "su", "root", Some(PASSWORD)), true),
        task("/srv/root/seated", login("seated", "sudo", "root", None), false),
        task("/srv/app/root", login("root", "sudo", "app", None), false),
        task("/srv/app/kept", keeping, true),
        // What the user cannot write, its module cannot write either.
        task("/srv/root/op", login("op", "sudo", "app", None), true),
    ];
    let ran = run(version, &dir, variables, &tasks);
    let (denied, ran) = ran.split_last().unwrap();
    for (number, result) in ran.iter().enumerate() {
        assert_eq!(result["changed"], true, "task {number}: {result}");
    }
    assert_eq!(denied["failed"], true, "{denied}");
    let owners = host.shell("cd /srv; stat -c '%u %n' root/* app/* | LC_ALL=C sort");
    let expect = "\
0 root/asked\n0 root/op\n0 root/seated\n0 root/su\n64998 app/asked\n64998 app/kept\n64998 app/op\n64998 app/root\n";
    assert_eq!(owners, expect);
    assert_eq!(host.shell("cd /srv; find kept -type f -not -path '*/.ansible/*'; find app -not -user app"), "");
    drop(host);
    dir.assert_nothing_left();
}

#[test]
fn confined_modules_of_python_become_other_users() {
    for version in sample::sample(releases(), 1) {
        check_python(version);
    }
}
