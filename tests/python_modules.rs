//! ansible-core's own modules, through the real Ansible and through modbox: the same results and the same files.
//!
//! Each task is done twice, in two folders that begin the same: one by a play, one by `modbox run`. Compared is what is
//! registered, but for times and temporary names, and what the folders hold afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use modbox::contract::{Dict, Value as PythonValue, decode, encode};
use serde_json::{Value, json};

use crate::python_closure::package;
use crate::support::{Modbox, TestDir, oracle};

/// One task. `@` in arguments is the folder that it works in.
struct Task {
    module: &'static str,
    args: Value,
    check: bool,
}

fn task(module: &'static str, args: Value) -> Task {
    Task { module, args, check: false }
}

fn check(module: &'static str, args: Value) -> Task {
    Task { module, args, check: true }
}

fn tasks() -> Vec<Task> {
    let command = |text: &str| json!({"cmd": text, "chdir": "@"});
    vec![
        task("ping", json!({})),
        task("ping", json!({"data": "it's \"ünï\"\n$HOME\\"})),
        task("ping", json!({"data": "crash"})),
        task("ping", json!({"dtaa": "x"})),
        task("stat", json!({"path": "@/file"})),
        task("stat", json!({"path": "@/link", "follow": true, "checksum_algorithm": "sha256"})),
        task("stat", json!({"path": "@/missing"})),
        check("stat", json!({"path": "@/folder"})),
        task("stat", json!({})),
        task("file", json!({"path": "@/file", "mode": "0640"})),
        task("file", json!({"path": "@/file", "mode": "u=rw,g=r,o="})),
        task("file", json!({"path": "@/new/deep", "state": "directory", "mode": "0750"})),
        check("file", json!({"path": "@/new2", "state": "directory"})),
        task("file", json!({"path": "@/made", "state": "touch"})),
        task("file", json!({"path": "@/pointer", "src": "@/file", "state": "link"})),
        task("file", json!({"path": "@/hard", "src": "@/file", "state": "hard"})),
        task("file", json!({"path": "@/folder", "state": "absent"})),
        check("file", json!({"path": "@/file", "state": "absent"})),
        task("file", json!({"path": "@/missing", "state": "file"})),
        task("file", json!({"path": "@/file", "state": "nonsense"})),
        task("copy", json!({"src": "@/file", "dest": "@/copied", "remote_src": true, "mode": "0600"})),
        task("copy", json!({"src": "@/file", "dest": "@/copied", "remote_src": true})),
        check("copy", json!({"src": "@/lines", "dest": "@/copied", "remote_src": true})),
        task("copy", json!({"src": "@/missing", "dest": "@/copied", "remote_src": true})),
        task("lineinfile", json!({"path": "@/lines", "line": "added"})),
        task("lineinfile", json!({"path": "@/lines", "line": "added"})),
        task("lineinfile", json!({"path": "@/lines", "regexp": "^b(.)", "line": "\\1-ü", "backrefs": true})),
        check("lineinfile", json!({"path": "@/lines", "regexp": "^a", "state": "absent"})),
        task("lineinfile", json!({"path": "@/missing", "line": "x"})),
        task("lineinfile", json!({"path": "@/lines", "regexp": "(", "line": "x"})),
        task("blockinfile", json!({"path": "@/lines", "block": "one\ntwo", "marker": "; {mark}"})),
        check("blockinfile", json!({"path": "@/lines", "block": "one", "marker": "; {mark}"})),
        task("blockinfile", json!({"path": "@/missing", "block": "one"})),
        task("replace", json!({"path": "@/lines", "regexp": "a+", "replace": "A"})),
        check("replace", json!({"path": "@/lines", "regexp": "A", "replace": "a"})),
        task("replace", json!({"path": "@/missing", "regexp": "a"})),
        task("command", command("echo out")),
        task("command", command("sh -c 'echo out; echo err >&2; exit 3'")),
        task("command", json!({"argv": ["touch", "touched"], "chdir": "@", "creates": "@/touched"})),
        task("command", json!({"argv": ["touch", "touched"], "chdir": "@", "creates": "@/touched"})),
        check("command", command("touch never")),
        task("command", json!({"cmd": "cat", "stdin": "typed", "stdin_add_newline": false})),
        task("command", command("/no/such/program")),
        task("find", json!({"paths": "@/folder2", "patterns": "*.txt", "recurse": true})),
        task("find", json!({"paths": "@/missing"})),
        task("slurp", json!({"src": "@/file"})),
        task("slurp", json!({"src": "@/missing"})),
        task("getent", json!({"database": "passwd", "key": "root"})),
        task("getent", json!({"database": "passwd", "key": "no-such-user"})),
        task("get_url", json!({"url": "file://@/file", "dest": "@/fetched"})),
        task("get_url", json!({"url": "file://@/missing", "dest": "@/fetched2"})),
        task("wait_for", json!({"path": "@/file", "timeout": 5})),
        task("wait_for", json!({"path": "@/missing", "timeout": 1, "sleep": 1})),
        task("tempfile", json!({"path": "@", "prefix": "tmp-", "state": "directory"})),
        check("user", json!({"name": "modbox-no-such-user"})),
        check("group", json!({"name": "modbox-no-such-group"})),
        task("user", json!({"name": "root", "state": "nonsense"})),
        task(
            "setup",
            json!({"gather_subset": ["!all", "min"], "filter": ["ansible_distribution*", "ansible_python_version"]}),
        ),
        task("assert_nothing", json!({})),
    ]
}

/// Fills a folder.
fn begin(folder: &Path) {
    fs::create_dir_all(folder.join("folder/inside")).unwrap();
    fs::create_dir_all(folder.join("folder2/deep")).unwrap();
    for (name, text) in [
        ("file", "some text\n"),
        ("lines", "aaa\nbbb\nccc\n"),
        ("folder/inside/a", "a"),
        ("folder2/one.txt", "1"),
        ("folder2/deep/two.txt", "2"),
        ("folder2/three.log", "3"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    symlink("file", folder.join("link")).unwrap();
}

/// What a folder holds: modes, sizes, targets and texts by name.
fn holds(folder: &Path) -> BTreeMap<String, String> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = pending.pop() {
        for path in fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            let metadata = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            // A random one.
            let name = if name.starts_with("tmp-") { "tmp-".to_owned() } else { name };
            let text = match (metadata.is_dir(), metadata.is_symlink()) {
                (true, _) => {
                    pending.push(path);
                    String::new()
                }
                (_, true) => fs::read_link(&path).unwrap().display().to_string(),
                _ => fs::read_to_string(&path).unwrap(),
            };
            let text = text.replace(&folder.display().to_string(), "@");
            found.insert(name, format!("{:o} {} {text}", metadata.mode(), metadata.nlink()));
        }
    }
    found
}

/// Arguments with the folder's path in them.
fn placed(args: &Value, folder: &Path) -> Value {
    serde_json::from_str(&args.to_string().replace('@', folder.to_str().unwrap())).unwrap()
}

/// A result without what differs from run to run.
fn comparable(result: &Dict, folder: &Path) -> BTreeMap<String, String> {
    const TIMES: [&str; 9] = ["start", "end", "delta", "elapsed", "atime", "mtime", "ctime", "inode", "version"];
    fn without_times(value: &PythonValue) -> PythonValue {
        match value {
            PythonValue::Dict(dict) => {
                let kept = dict.iter().filter(|(key, _)| !TIMES.contains(&key.as_str()));
                PythonValue::Dict(kept.map(|(key, value)| (key.clone(), without_times(value))).collect())
            }
            PythonValue::List(list) => PythonValue::List(list.iter().map(without_times).collect()),
            other => other.clone(),
        }
    }
    let shown = |key: &str, value: &PythonValue| match key {
        // Ansible hides the traceback.
        "exception" => "an exception".to_owned(),
        "path" | "src" if encode(value).contains("tmp-") => "a random path".to_owned(),
        // In no order.
        "ansible_facts" => serde_json::from_str::<Value>(&encode(value)).unwrap().to_string(),
        // The wrapper's own frames.
        "module_stderr" => encode(value).rsplit("\\n").nth(1).unwrap_or_default().to_owned(),
        _ => encode(&without_times(value)).replace(folder.to_str().unwrap(), "@"),
    };
    let kept = result.iter().filter(|(key, _)| *key != "invocation" && !TIMES.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), shown(key, value))).collect()
}

#[test]
fn ansibles_modules_do_the_same_and_say_the_same() {
    let dir = TestDir::new();
    let (theirs, ours) = (dir.mkdir("ansible-side"), dir.mkdir("modbox--side"));
    begin(&theirs);
    begin(&ours);
    // One that does not end as it should is in no release.
    let silent =
        "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nAnsibleModule(argument_spec={})\n";
    let own = dir.write("library/assert_nothing.py", silent);
    let tasks = tasks();
    let python = oracle::python();
    let of_play = |task: &Task| json!({task.module: placed(&task.args, &theirs), "check_mode": task.check});
    let registered = oracle::play_to_text(&dir, &tasks.iter().map(of_play).collect::<Vec<_>>(), &[]);
    let registered = decode(&registered).unwrap();
    let modules = package(&python).join("modules");
    let mut differences = String::new();
    for (number, (task, theirs_result)) in tasks.iter().zip(registered.as_list().unwrap()).enumerate() {
        let file: PathBuf = modules.join(format!("{}.py", task.module));
        let path = if file.exists() { file } else { own.clone() };
        let modbox = Modbox::run_module(&dir, path).arg("--allow-all").arg("--interpreter").arg(&python);
        let modbox =
            modbox.args(["--ansiballz", ["cached", "zip"][number % 5 / 4]]).args(task.check.then_some("--check"));
        let ran = modbox.json_args(&placed(&task.args, &ours)).run();
        let result = decode(&ran.stdout_text()).unwrap_or_else(|error| panic!("{error}: {ran}"));
        let ours_result = comparable(result.as_dict().unwrap(), &ours);
        let theirs_result = comparable(theirs_result.as_dict().unwrap(), &theirs);
        if ours_result != theirs_result {
            differences +=
                &format!("{} {}\n  ansible {theirs_result:#?}\n  modbox  {ours_result:#?}\n", task.module, task.args);
        }
    }
    assert!(differences.is_empty(), "{differences}");
    assert_eq!(holds(&ours), holds(&theirs));
    dir.assert_nothing_left();
}
