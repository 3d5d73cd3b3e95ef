//! A collection of components, installed and used by the real ansible-core in several releases: manuals, names, check
//! mode, loops, jobs and the rest are as with Ansible's own modules.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Modbox, TestDir, modbox, module, oracle, sample};

/// Releases that the collection works under: the oracle, and older ones.
pub(crate) fn releases() -> Vec<&'static str> {
    let mut all = vec![oracle::version(), "2.16.19", "2.17.14", "2.18.19"];
    all.extend(Some(oracle::SETTLED).filter(|settled| *settled != oracle::version()));
    all
}

/// Modules of the collection of these tests.
const MODULES: [&str; 4] = ["copy", "lineinfile", "ping", "stat"];

/// Builds modbox's own collection of some modules.
pub(crate) fn build(dir: &TestDir, folder: &str, switches: &[&str]) -> PathBuf {
    let components = MODULES.map(module);
    let ran = Modbox::new(dir).args(["collection", "build", "--output"]).arg(dir.join(folder)).args(switches);
    PathBuf::from(components.iter().fold(ran, Modbox::arg).run().exits_with(0).stdout_text().trim_end())
}

/// Prepares a program of a release that finds the collections of the test, and keeps what it makes in the test's directory.
pub(crate) fn ansible(version: &str, dir: &TestDir, program: &str) -> Command {
    let mut command = oracle::ansible_of(version, dir, program);
    command.env("ANSIBLE_COLLECTIONS_PATH", dir.join("collections")).env("XDG_CACHE_HOME", dir.join("home/.cache"));
    command
}

/// Runs a program of Ansible, and returns what it prints.
#[track_caller]
fn text(command: &mut Command) -> String {
    let ran = command.output().expect("Python starts");
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{command:?}\n{out}{err}");
    out.into_owned()
}

pub(crate) fn install(version: &str, dir: &TestDir, archives: &[PathBuf]) {
    let folder = dir.join("collections");
    text(ansible(version, dir, "galaxy").args(["collection", "install", "--offline", "-p"]).arg(folder).args(archives));
}

/// Runs tasks with the installed collections, and returns the registered results.
pub(crate) fn play(version: &str, dir: &TestDir, tasks: &[Value], options: &[&str]) -> Vec<Value> {
    let text = oracle::play_by(ansible(version, dir, "playbook"), dir, tasks, options);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The option that names modbox on the host.
fn executable() -> String {
    format!("modbox_executable={}", modbox().display())
}

/// Installs a collection, and compares its manuals and tasks with those of Ansible's modules.
#[track_caller]
fn check(version: &str) {
    let dir = TestDir::new();
    install(version, &dir, &[build(&dir, "out", &[])]);
    check_manuals(version, &dir);
    check_tasks(version, &dir);
    check_jobs(version, &dir);
    dir.assert_nothing_left();
}

#[track_caller]
fn check_manuals(version: &str, dir: &TestDir) {
    let folder = dir.join("collections");
    let verify = ["collection", "verify", "--offline", "modbox.modbox", "-p"];
    text(ansible(version, dir, "galaxy").args(verify).arg(&folder));
    let list = text(ansible(version, dir, "doc").args(["-l", "modbox.modbox"]));
    for name in MODULES {
        assert!(list.contains(&format!("modbox.modbox.{name} ")), "{list}");
    }
    let manual = text(ansible(version, dir, "doc").args(["--json", "modbox.modbox.lineinfile"]));
    let manual: Value = serde_json::from_str(&manual).unwrap();
    assert_eq!(manual["modbox.modbox.lineinfile"]["doc"]["options"]["path"]["required"], true, "{manual}");
    assert_eq!(programs(&folder), Vec::<PathBuf>::new());
}

/// Returns the files below a folder that are programs of an architecture.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let is_program = |path: &PathBuf| fs::read(path).unwrap().starts_with(b"\x7fELF");
    files.into_iter().filter(is_program).chain(folders.iter().flat_map(|folder| programs(folder))).collect()
}

#[track_caller]
fn check_tasks(version: &str, dir: &TestDir) {
    let tasks = |collection: &str, place: &str| {
        let file = dir.write(&format!("{place}/file"), "one\n");
        let name = |module: &str| format!("{collection}.{module}");
        let line = |line: &str| json!({"path": file, "line": line});
        let defaults = json!({name("lineinfile"): {"path": file}});
        vec![
            json!({name("ping"): {"data": "é \"quoted\" {{ 1 + 1 }}"}}),
            json!({name("lineinfile"): line("checked"), "check_mode": true, "diff": true}),
            json!({name("lineinfile"): line("{{ item }}"), "loop": ["two", "three", "two"]}),
            json!({name("lineinfile"): {"path": file}}),
            json!({name("lineinfile"): {"path": dir.join("nowhere"), "line": "x"}}),
            json!({name("stat"): {"path": file, "checksum_algorithm": "sha256"}, "no_log": true}),
            json!({name("stat"): {"path": file}, "delegate_to": "localhost", "environment": {"LANG": "C"}}),
            json!({name("lineinfile"): {"line": "four"}, "vars": {"x": 1}, "module_defaults": defaults}),
        ]
    };
    let executable = executable();
    let ours = play(version, dir, &tasks("modbox.modbox", "ours"), &["-e", &executable]);
    let theirs = play(version, dir, &tasks("ansible.builtin", "theirs"), &[]);
    let content = |place: &str| fs::read_to_string(dir.join(place)).unwrap();
    assert_eq!(content("ours/file"), "one\ntwo\nthree\nfour\n");
    assert_eq!(content("ours/file"), content("theirs/file"));
    for (number, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        for key in ["changed", "failed", "skipped", "ping", "msg", "backup", "censored"] {
            let (ours, theirs) = (ours[key].to_string().replace("/ours/", "/theirs/"), theirs[key].to_string());
            let shown = theirs.replace("ansible.builtin.", "modbox.modbox.");
            assert_eq!(ours, shown, "{key} of task {number}");
        }
        assert_eq!(ours["stat"]["checksum"], theirs["stat"]["checksum"], "task {number}");
    }
    assert_eq!(ours[1]["diff"][0]["after"], "one\nchecked\n", "{}", ours[1]);
    // The second run changes nothing, and the group has the modules of the collection.
    let file = dir.join("ours/file");
    let again = json!({"modbox.modbox.lineinfile": {"line": "two"}, "module_defaults": {"group/modbox.modbox.all": {"path": file}}});
    let again = play(version, dir, &[again], &["-e", &executable]);
    assert_eq!(again[0]["changed"], false, "{}", again[0]);
}

#[track_caller]
fn check_jobs(version: &str, dir: &TestDir) {
    let file = dir.write("jobs/file", "one\n");
    let line = |line: &str| json!({"path": file, "line": line});
    let status = json!({"jid": "{{ task_1.ansible_job_id }}"});
    let tasks = [
        json!({"modbox.modbox.lineinfile": line("two"), "async": 120, "poll": 1}),
        json!({"modbox.modbox.lineinfile": line("three"), "async": 120, "poll": 0}),
        json!({"ansible.builtin.async_status": status, "until": "task_2 is finished", "retries": 120, "delay": 1}),
        json!({"modbox.modbox.lineinfile": {"path": file}, "async": 120, "poll": 1}),
    ];
    let ran = play(version, dir, &tasks, &["-e", &executable()]);
    assert_eq!(ran[0]["changed"], true, "{}", ran[0]);
    assert_eq!(ran[2]["changed"], true, "{}", ran[2]);
    assert!(ran[3]["failed"] == true && ran[3]["msg"].as_str().unwrap().contains("line"), "{}", ran[3]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn a_collection_works_under_several_releases() {
    // Each takes a minute; an ordinary run takes one of the older, since `oracle_hosts` takes the newest.
    for version in sample::sample(releases().split_off(1), 1) {
        check(version);
    }
    if sample::cases(0, 1) == 1 {
        check(oracle::version());
    }
}

#[test]
fn a_collection_is_made_of_the_same_bytes_again() {
    let dir = TestDir::new();
    let archive = build(&dir, "out", &[]);
    assert_eq!(archive.file_name().unwrap().to_str(), Some("modbox-modbox-0.1.0.tar.gz"));
    assert_eq!(fs::read(&archive).unwrap(), fs::read(build(&dir, "again", &[])).unwrap());
}

#[test]
fn another_collection_depends_on_that_of_modbox() {
    let dir = TestDir::new();
    let others = ["--namespace", "acme", "--name", "web", "--version", "1.4.0"];
    let (own, other) = (build(&dir, "out", &[]), build(&dir, "out", &others));
    let mut alone = ansible(oracle::version(), &dir, "galaxy");
    alone.args(["collection", "install", "--offline", "-p"]).arg(dir.join("collections")).arg(&other);
    assert!(!alone.output().unwrap().status.success());
    install(oracle::version(), &dir, &[own, other]);
    let tasks = [
        json!({"acme.web.ping": {"data": "x"}, "vars": {"modbox_executable": modbox()}}),
        json!({"acme.web.ping": {"data": "x"}, "vars": {"modbox_executable": "/no/modbox"}}),
    ];
    let ran = play(oracle::version(), &dir, &tasks, &[]);
    assert_eq!(ran[0]["ping"], "x", "{}", ran[0]);
    let message = ran[1]["msg"].as_str().unwrap_or_default();
    assert!(ran[1]["failed"] == true && message.contains("install modbox there"), "{}", ran[1]);
}

#[test]
fn an_invalid_collection_is_refused_with_its_name() {
    let dir = TestDir::new();
    let ping = module("ping");
    let text = dir.write("text.wasm", "hello");
    let folder = dir.mkdir("folder");
    for (args, status, expect) in [
        (vec!["--namespace".into(), "Acme".into(), ping.clone().into_os_string()], 2, "`Acme`"),
        (vec!["--version".into(), "1".into(), ping.clone().into_os_string()], 2, "semantic version"),
        (vec!["nowhere".into()], 3, "`nowhere`"),
        (vec![text.into_os_string()], 3, "text.wasm"),
        (vec![folder.into_os_string()], 3, "has no components"),
        (vec![ping.clone().into_os_string(), ping.into_os_string()], 3, "two modules have the name `ping`"),
    ] {
        let ran =
            Modbox::new(&dir).args(["collection", "build", "--output", "out"]).args(&args).run().exits_with(status);
        assert!(ran.stderr_text().contains(expect), "{ran}");
        assert!(!dir.join("out").exists(), "{ran}");
    }
}
