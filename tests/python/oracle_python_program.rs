//! `modbox-python` in the place of Python: the real ansible-core, in several releases, sends its modules to it and gets the
//! results that Python gives; and nothing but modules runs by this name.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, modbox, oracle, sample};

/// Keys of results that differ from run to run, or name the folder of a side. `writeable` differs too: a path that `stat`
/// names is granted for reading alone.
const OWN: [&str; 14] = [
    "_ansible_no_log",
    "atime",
    "ctime",
    "delta",
    "end",
    "inode",
    "invocation",
    "mtime",
    "results_file",
    "src",
    "start",
    "version",
    "warnings",
    "writeable",
];

/// A module that tells its limit of open files.
const OPEN_FILES: &str = "#!/usr/bin/python\nimport resource\nfrom ansible.module_utils.basic import AnsibleModule\n\
    module = AnsibleModule({})\nmodule.exit_json(soft=resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n";

/// Makes the link that takes the place of Python.
fn link(dir: &TestDir) -> PathBuf {
    let link = dir.mkdir("bin").join("modbox-python");
    symlink(modbox(), &link).unwrap();
    link
}

/// Tasks in a folder of their own. `python` is the interpreter of their modules.
fn tasks(dir: &TestDir, place: &str, python: &str) -> Vec<Value> {
    let at = dir.mkdir(place);
    let file = dir.write(&format!("{place}/file"), "one\n");
    let line = |line: &str| json!({"path": file, "line": line});
    let job = json!({"path": file, "line": "job"});
    let mut tasks = vec![
        json!({"ping": {"data": "é \"quoted\""}}),
        json!({"lineinfile": line("checked"), "check_mode": true, "diff": true}),
        json!({"lineinfile": line("{{ item }}"), "loop": ["two", "three", "two"]}),
        json!({"lineinfile": {"path": file}}),
        json!({"stat": {"path": file, "checksum_algorithm": "sha256"}}),
        json!({"stat": {"path": file}, "no_log": true}),
        json!({"command": {"argv": ["echo", "words"]}}),
        json!({"shell": "echo $LANG; exit 3", "environment": {"LANG": "C"}}),
        json!({"file": {"path": at.join("folder"), "state": "directory", "mode": "0750"}}),
        json!({"copy": {"content": "text\n", "dest": at.join("copied"), "mode": "0600"}}),
        json!({"slurp": {"src": at.join("copied")}}),
        json!({"lineinfile": job, "async": 60, "poll": 1}),
        json!({"file": {"path": at.join("copied"), "state": "absent"}}),
        json!({"limit": {}, "vars": {"ansible_python_module_rlimit_nofile": 77}}),
        json!({"limit": {}, "vars": {"ansible_python_module_rlimit_nofile": "{{ 70 + 8 }}"}}),
    ];
    for task in &mut tasks {
        task["vars"]["ansible_python_interpreter"] = json!(python);
    }
    tasks
}

/// Removes what differs, and the folder of a side.
fn comparable(result: &Value, place: &str) -> Value {
    let text = result.to_string().replace(&format!("/{place}/"), "/place/");
    let mut result: Value = serde_json::from_str(&text).unwrap();
    remove(&mut result);
    result
}

fn remove(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|key, _| !OWN.contains(&key.as_str()) && !key.starts_with("ansible_job"));
            object.values_mut().for_each(remove);
        }
        Value::Array(items) => items.iter_mut().for_each(remove),
        _ => {}
    }
}

#[track_caller]
fn check(version: &str, options: &[&str]) {
    let dir = TestDir::new();
    let link = link(&dir).display().to_string();
    dir.write("library/limit.py", OPEN_FILES);
    // A confined module has no variable of its task that no policy grants, and makes directories only in granted ones.
    let rules = json!({"allow": {"env": ["LANG"]}, "modules": {"file": {"allow": {"write": [dir.join("ours")]}}}});
    dir.write("home/.config/modbox/policy.yaml", rules.to_string());
    let python = oracle::python_of(version).display().to_string();
    let run = |place: &str, python: &str| -> Vec<Value> {
        let play = oracle::ansible_of(version, &dir, "playbook");
        let text = oracle::play_by(play, &dir, &tasks(&dir, place, python), options);
        serde_json::from_str(&text).unwrap()
    };
    let (ours, theirs) = (run("ours", &link), run("theirs", &python));
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(comparable(ours, "ours"), comparable(theirs, "theirs"), "{version}, task {number}: {ours}");
    }
    let limits: Vec<&Value> = ours.iter().filter_map(|result| result.get("soft")).collect();
    assert_eq!(limits, [77, 78], "{version}: {ours:?}");
    let read = |place: &str| fs::read_to_string(dir.join(place)).unwrap();
    assert_eq!((read("ours/file"), read("ours/file")), (read("theirs/file"), "one\ntwo\nthree\njob\n".to_owned()));
    dir.assert_nothing_left();
}

#[test]
fn modules_of_the_newest_release_do_the_same() {
    check(oracle::version(), &[]);
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_of_the_next_release_do_the_same() {
    oracle::warn_about_next(|version| check(version, &[]));
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn modules_of_earlier_releases_do_the_same() {
    for version in sample::sample(vec!["2.16.19", "2.17.14", "2.18.19", oracle::SETTLED], 1) {
        check(version, &["-e", "ansible_pipelining=true"]);
    }
    if sample::cases(0, 1) == 1 {
        check("2.16.19", &[]);
    }
}

#[test]
fn a_job_of_another_kind_is_refused_by_its_name() {
    for version in [oracle::version(), oracle::SETTLED] {
        let dir = TestDir::new();
        let link = link(&dir).display().to_string();
        dir.write("library/touch", "#!/bin/sh\n# WANT_JSON\ntouch \"$HOME/touched\"\necho '{\"changed\": true}'\n");
        let task = json!({
            "touch": {"x": 1}, "async": 60, "poll": 1, "ignore_errors": true,
            "vars": {"ansible_python_interpreter": link},
        });
        let mut play = oracle::ansible_of(version, &dir, "playbook");
        play.env("ANSIBLE_LIBRARY", dir.join("library"));
        let text = oracle::play_by(play, &dir, &[task], &[]);
        let result = serde_json::from_str::<Value>(&text).unwrap()[0].clone();
        let message = result["msg"].as_str().unwrap_or_default();
        assert!(message.contains("AnsiballZ_touch` of the job is not in Python"), "{version}: {result}");
        assert!(!dir.join("home/touched").exists(), "{version}");
    }
}

/// Gives a program to `modbox-python` on standard input.
fn given(link: &PathBuf, words: &[&str], program: &[u8]) -> (Option<i32>, String) {
    use std::io::Write as _;
    let mut command = Command::new(link);
    command.args(words).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/nonexistent");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // A program that is refused by its words is not read.
    let _ = child.stdin.take().unwrap().write_all(program);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn other_programs_are_refused_in_json() {
    let dir = TestDir::new();
    let (link, touched) = (link(&dir), dir.join("touched"));
    let touch = format!("open({:?}, 'w')", touched.display().to_string());
    let file = dir.write("program.py", &touch);
    let marked = format!("_ANSIBALLZ_WRAPPER = True\ndef _ansiballz_main():\n    {touch}\n_ansiballz_main()\n");
    for (words, program) in [
        (&[][..], touch.as_str()),
        (&[], &marked),
        (&["-c", &touch], ""),
        (&["-"], &touch),
        (&[file.to_str().unwrap()], ""),
        (&[file.to_str().unwrap(), "a", "b", "c"], ""),
        (&["/no/such/file"], ""),
        (&["/dev/zero"], ""),
    ] {
        let (status, text) = given(&link, words, program.as_bytes());
        let answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{words:?}: {error}: {text}"));
        assert_eq!((&answer["failed"], status == Some(0)), (&json!(true), false), "{words:?}: {answer}");
        assert!(!touched.exists(), "{words:?}");
    }
}

/// A module of a collection that takes what it can reach: by paths, by links of processes, by programs, and by a network.
const HOSTILE: &str = r#"
import glob, os, socket, subprocess
from ansible.module_utils.basic import AnsibleModule

def attempt(what):
    try:
        return str(what())
    except BaseException as error:
        return type(error).__name__

def main():
    module = AnsibleModule(argument_spec=dict(canary=dict(type="str"), port=dict(type="int")))
    canary = module.params["canary"]
    write = lambda path: open(path, "w").write("taken")
    seen = dict(
        read=attempt(lambda: open(canary + "/secret").read()),
        listed=attempt(lambda: os.listdir(canary)),
        shadow=attempt(lambda: open("/etc/shadow").read()),
        roots=[attempt(lambda: open(root + canary + "/secret").read()) for root in glob.glob("/proc/*/root")],
        program=attempt(lambda: subprocess.run(["cat", canary + "/secret"], capture_output=True, text=True).stdout),
        written=[attempt(lambda: write(path)) for path in (canary + "/secret", canary + "/new", "/etc/modbox-was-here")],
        removed=attempt(lambda: os.unlink(canary + "/secret")),
        linked=attempt(lambda: os.link(canary + "/secret", "/tmp/link")),
        connected=attempt(lambda: socket.create_connection(("127.0.0.1", module.params["port"]), 2)),
        environment=[value for value in os.environ.values() if "hidden" in value],
    )
    module.exit_json(changed=False, seen=seen)

main()
"#;

#[test]
fn a_hostile_module_of_a_collection_takes_nothing() {
    let dir = TestDir::new();
    let link = link(&dir).display().to_string();
    dir.write("collections/ansible_collections/evil/corp/plugins/modules/steal.py", HOSTILE);
    let secret = dir.write("canary/secret", "hidden words");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = |python: &str| {
        json!({
            "evil.corp.steal": {"canary": dir.join("canary"), "port": port}, "environment": {"SECRET": "hidden too"},
            "vars": {"ansible_python_interpreter": python},
        })
    };
    let run = |python: &str| -> Value {
        let mut play = oracle::ansible_of(oracle::version(), &dir, "playbook");
        play.env("ANSIBLE_COLLECTIONS_PATH", dir.join("collections"));
        let text = oracle::play_by(play, &dir, &[task(python)], &[]);
        serde_json::from_str::<Value>(&text).unwrap()[0].clone()
    };
    let confined = run(&link);
    assert_eq!(confined["failed"], false, "{confined}");
    let seen = confined["seen"].to_string();
    assert!(!seen.contains("hidden") && !seen.contains("root:"), "{seen}");
    for key in ["read", "listed", "shadow", "removed", "linked", "connected"] {
        let error = confined["seen"][key].as_str().unwrap();
        assert!(error.ends_with("Error"), "{key}: {seen}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "hidden words");
    assert_eq!(fs::read_dir(dir.join("canary")).unwrap().count(), 1);
    assert!(!std::path::Path::new("/etc/modbox-was-here").exists());
    // The test means something: without modbox the same module takes it all.
    let python = oracle::python().display().to_string();
    let control = HOSTILE.replace(r#", "/etc/modbox-was-here""#, "");
    dir.write("collections/ansible_collections/evil/corp/plugins/modules/steal.py", control);
    let taken = run(&python)["seen"].clone();
    assert!(taken["read"] == "hidden words" && taken["removed"] == "None", "{taken}");
    assert!(taken["connected"].as_str().unwrap().contains("socket"), "{taken}");
    dir.assert_nothing_left();
}

/// A module that makes calls which no rule allows: a socket to the packet filter, a mount and a set-id file.
const CALLS: &str = r#"
import ctypes, os, socket
from ansible.module_utils.basic import AnsibleModule

def error(call):
    try:
        call()
    except OSError as error:
        return error.errno

def main():
    module = AnsibleModule(argument_spec=dict(file=dict(type="path")))
    libc = ctypes.CDLL(None, use_errno=True)
    made = dict(
        filter=error(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)),
        routes=error(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)),
        mode=error(lambda: os.chmod(module.params["file"], 0o4755)),
        mount=libc.mount(b"none", b"/no/such/place", b"tmpfs", 0, None),
    )
    module.exit_json(changed=False, made=made)

main()
"#;

#[test]
fn calls_that_no_rule_allows_are_written() {
    let dir = TestDir::new();
    let link = link(&dir).display().to_string();
    dir.write("collections/ansible_collections/acme/corp/plugins/modules/calls.py", CALLS);
    let (file, audit) = (dir.write("file", "text"), dir.join("audit.jsonl"));
    let policy = |rules: Value| dir.write("home/.config/modbox/policy.yaml", rules.to_string());
    let result = || -> Value {
        let task = json!({"acme.corp.calls": {"file": file}, "vars": {"ansible_python_interpreter": link}});
        let mut play = oracle::ansible_of(oracle::version(), &dir, "playbook");
        play.env("ANSIBLE_COLLECTIONS_PATH", dir.join("collections"));
        let text = oracle::play_by(play, &dir, &[task], &[]);
        serde_json::from_str::<Value>(&text).unwrap()[0].clone()
    };
    let run = || -> Value {
        let result = result();
        assert_eq!(result["failed"], false, "{result}");
        result["made"].clone()
    };
    let denied = || -> Vec<String> {
        let text = fs::read_to_string(&audit).unwrap();
        let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let calls = last["denials"].as_array().unwrap().iter().filter(|denial| denial["operation"] == "call");
        calls.map(|denial| denial["subject"].as_str().unwrap().to_owned()).collect()
    };

    policy(json!({"audit": audit, "python-modules": "observe", "allow": {"write": [file]}}));
    let observed = run();
    assert!(observed["filter"].is_null() && observed["routes"].is_null() && observed["mode"].is_null(), "{observed}");
    let (filter, routes) = ("socket(AF_NETLINK, NETLINK_NETFILTER)", "socket(AF_NETLINK, NETLINK_ROUTE)");
    let is_there = |calls: &[String], name: &str| calls.iter().any(|call| call == name);
    let calls = denied();
    for name in [filter, routes, "mount"] {
        assert!(is_there(&calls, name), "{name}: {calls:?}");
    }
    let suggest = Modbox::new(&dir).args(["policy", "suggest", "--by", "name"]).arg(&audit).run().exits_with(0);
    let text = suggest.stdout_text();
    assert!(
        text.contains(&format!("no rule allows this system call, so a confined module must do without: {filter}")),
        "{text}"
    );
    // The bits are those of one owner, so a rule can allow them.
    let uid = fs::metadata(&file).unwrap().uid();
    assert!(text.contains(&format!("{uid}+setid")), "{text}");

    // A ceiling lets no module run without confinement, whatever a user's file says.
    let ceiling = json!({"rules": [{"unsigned": true, "at-most": {"write": [file]}}]});
    policy(json!({"audit": audit, "python-modules": "observe", "trust": ceiling}));
    let refused = result();
    let message = refused["msg"].as_str().unwrap_or_default();
    assert!(refused["failed"] == true && message.contains("may not run without confinement"), "{refused}");

    policy(json!({"audit": audit, "allow": {"write": [file]}}));
    let confined = run();
    let [no_family, refused] = [libc::EAFNOSUPPORT, libc::EPERM];
    let expect = json!({"filter": no_family, "routes": no_family, "mode": refused, "mount": -1});
    assert_eq!(confined, expect);
    let calls = denied();
    assert!(is_there(&calls, filter) && is_there(&calls, "mount") && !is_there(&calls, routes), "{calls:?}");
    dir.assert_nothing_left();
}
