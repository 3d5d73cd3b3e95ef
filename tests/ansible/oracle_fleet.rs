//! Hosts that lack modbox get it from the controller: the real ansible-core over its connections, with shipments that are
//! cut off, refused or made by two processes at once.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::ansible::oracle_collection::{ansible, build, install, play, releases};
use crate::support::{SshHost, TestDir, modbox, oracle, sample};

const ARCH: &str = std::env::consts::ARCH;

/// Installs a collection on a controller that has modbox for this machine, but not in `PATH`.
pub(crate) fn controller(version: &str, dir: &TestDir) -> PathBuf {
    install(version, dir, &[build(dir, "out", &[])]);
    let folder = dir.mkdir("for hosts");
    symlink(modbox(), folder.join(format!("modbox-linux-{ARCH}"))).unwrap();
    folder
}

/// Runs tasks without modbox in `PATH`; `variables` are extra variables.
#[track_caller]
fn play_with(dir: &TestDir, variables: &Value, tasks: &[Value]) -> Vec<Value> {
    let mut command = ansible(oracle::version(), dir, "playbook");
    command.env("PATH", "/usr/bin:/bin").args(["-e", &variables.to_string()]);
    let text = oracle::play_by(command, dir, tasks, &[]);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn modbox_is_sent_once_to_a_host_that_lacks_it() {
    let dir = TestDir::new();
    let variables = json!({"modbox_runner_dir": controller(oracle::version(), &dir)});
    let kept = dir.mkdir("home/.cache/modbox/runners");
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o700)).unwrap();
    // What shipments left that were cut off, one of them long ago, and copies of three older versions.
    let old = dir.write("home/.cache/modbox/runners/.runner-aaaaaa", "half");
    dir.write("home/.cache/modbox/runners/.runner-bbbbbb", "half");
    fs::File::options().write(true).open(&old).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    for (number, name) in ["runner-1", "runner-2", "runner-3"].iter().enumerate() {
        let path = dir.write(&format!("home/.cache/modbox/runners/{name}"), "");
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1000 + number as u64);
        fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let file = dir.write("file", "one\n");
    let tasks = [
        json!({"modbox.modbox.lineinfile": {"path": "file", "line": "two"}}),
        json!({"modbox.modbox.ping": {"data": "x"}, "async": 120, "poll": 1}),
    ];
    let ran = play_with(&dir, &variables, &tasks);
    assert_eq!(ran[0]["changed"], true, "{}", ran[0]);
    assert_eq!(ran[1]["ping"], "x", "{}", ran[1]);
    // The path was a relative one, so the copy ran in the working directory of the connection.
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\ntwo\n");
    let listed = names(&kept);
    assert_eq!(listed.len(), 4, "{listed:?}");
    assert!([".runner-bbbbbb", "runner-2", "runner-3"].iter().all(|name| listed.iter().any(|other| other == name)));
    let copy = kept.join(listed.iter().find(|name| name.len() > 64).expect("its name has the digest"));
    let before = fs::metadata(&copy).unwrap();
    assert_eq!((before.mode() & 0o777, before.len()), (0o700, fs::metadata(modbox()).unwrap().len()));
    assert_eq!(names(&dir.join("home/.cache/modbox/shipments")).len(), 3);

    let ran = play_with(&dir, &variables, &tasks[..1]);
    assert_eq!(ran[0]["changed"], false, "{}", ran[0]);
    assert_eq!(fs::metadata(&copy).unwrap().ino(), before.ino());
    // Another user could have changed the copy, so it is not used.
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o777)).unwrap();
    let ran = play_with(&dir, &json!({}), &tasks[..1]);
    assert!(ran[0]["msg"].as_str().is_some_and(|message| message.contains("has none for Linux")), "{}", ran[0]);
    dir.assert_nothing_left();
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn two_processes_ship_at_once() {
    let dir = TestDir::new();
    let folder = controller(oracle::version(), &dir);
    let hosts: String = ["a", "b", "c"].map(|name| format!("{name} ansible_connection=local\n")).concat();
    let inventory = dir.write("inventory", hosts);
    let task = json!({"modbox.modbox.ping": {"data": "{{ inventory_hostname }}"}});
    let book = dir.write("book.yml", json!([{"hosts": "all", "gather_facts": false, "tasks": [task]}]).to_string());
    let mut command = ansible(oracle::version(), &dir, "playbook");
    command.env("PATH", "/usr/bin:/bin").args(["-e", &json!({"modbox_runner_dir": folder}).to_string(), "-i"]);
    let ran = command.arg(inventory).arg(book).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert_eq!(names(&dir.join("home/.cache/modbox/runners")).len(), 1);
    // The file, a note and a lock: the controller has compressed it once.
    assert_eq!(names(&dir.join("home/.cache/modbox/shipments")).len(), 3);
}

#[test]
fn what_cannot_be_sent_or_kept_is_named_with_a_remedy() {
    let dir = TestDir::new();
    let folder = controller(oracle::version(), &dir);
    // It has the header of a program for this machine, and is none.
    let mut header = fs::read(modbox()).unwrap();
    header.truncate(64);
    let broken = dir.write_executable(&format!("broken/modbox-linux-{ARCH}"), header);
    let other = dir.write_executable(&format!("other/modbox-linux-{ARCH}"), "#!/bin/sh\n");
    let task = [json!({"modbox.modbox.ping": {}})];
    let place = dir.join("kept");
    for (variables, expect) in [
        (json!({"modbox_runner_dir": dir.join("empty")}), ["has none for Linux", "/empty"]),
        (json!({"modbox_runner_dir": other.parent().unwrap()}), ["has none for Linux", "modbox_executable"]),
        (
            json!({"modbox_runner_dir": folder, "modbox_remote_dir": "/dev/null/x"}),
            ["named: the folder", "modbox_remote_dir"],
        ),
        (
            json!({"modbox_runner_dir": broken.parent().unwrap(), "modbox_remote_dir": place}),
            ["does not start", "noexec"],
        ),
        (json!({"modbox_executable": "/no/modbox"}), ["`/no/modbox`", "install modbox there"]),
    ] {
        let ran = play_with(&dir, &variables, &task);
        let message = ran[0]["msg"].as_str().unwrap_or_default().replace('\'', "`");
        assert!(ran[0]["failed"] == true && expect.iter().all(|text| message.contains(text)), "{}", ran[0]);
    }
    // Nothing is left in a place that refuses.
    assert_eq!(names(&place), [""; 0]);
    assert_eq!(names(&dir.join("home/.cache/modbox/runners")), [""; 0]);
}

/// Adds keywords to a task.
pub(crate) fn with(mut task: Value, keys: &Value) -> Value {
    task.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    task
}

/// Runs tasks on a host over ssh as root, and as other users.
#[track_caller]
fn check_ssh(version: &str) {
    let dir = TestDir::new();
    let Some(host) = SshHost::start(&dir) else { return };
    let folder = controller(version, &dir);
    let variables = json!({"modbox_runner_dir": folder}).to_string();
    let mut options = host.options();
    options.extend(["-e".to_owned(), variables]);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    host.shell("echo one >/srv/root/file; echo one >/srv/app/file; chown 64998 /srv/app/file");
    let line = |path: &str| json!({"path": path, "line": "two"});
    let temporary = json!({"TMPDIR": "/srv/root"});
    let app =
        json!({"become": true, "become_method": "su", "become_user": "app", "environment": {"TMPDIR": "/srv/app"}});
    let tasks = [
        json!({"modbox.modbox.lineinfile": line("file"), "environment": temporary, "check_mode": true}),
        json!({"modbox.modbox.lineinfile": line("file"), "environment": temporary}),
        json!({"modbox.modbox.lineinfile": line("file"), "environment": temporary}),
        json!({"modbox.modbox.lineinfile": line("file"), "environment": temporary, "async": 120, "poll": 1}),
        with(json!({"modbox.modbox.lineinfile": line("/srv/app/file")}), &app),
        with(json!({"modbox.modbox.lineinfile": line("/srv/root/file")}), &app),
    ];
    let ran = play(version, &dir, &tasks, &options);
    let changed: Vec<&Value> = ran.iter().map(|result| &result["changed"]).collect();
    assert_eq!(changed[..5], [true, true, false, false, true], "{ran:?}");
    // The other user does not see root's file.
    assert_eq!(ran[5]["failed"], true, "{}", ran[5]);
    assert_eq!(host.shell("cat /srv/root/file /srv/app/file"), "one\ntwo\none\ntwo\n");
    let owners = host.shell("cd /srv; stat -c '%u %a' */.cache/modbox/runners */.cache/modbox/runners/*");
    assert_eq!(owners, "64998 700\n0 700\n64998 700\n0 700\n");

    // If the home is full or mounted noexec, modbox and components are kept elsewhere.
    host.shell("rm -rf /srv/root/.cache; mount -o remount,noexec /srv");
    let again = play(version, &dir, &tasks[2..3], &options);
    assert_eq!(again[0]["changed"], false, "{}", again[0]);
    assert_eq!(host.shell("ls -d /var/tmp/*"), "/var/tmp/modbox-runners-0\n");
    host.shell("rm -rf /srv/*/.cache /var/tmp/*; mount -o remount,exec,size=1m /srv");
    let again = play(version, &dir, &tasks[2..3], &options);
    assert_eq!(again[0]["changed"], false, "{}", again[0]);
    assert_eq!(host.shell("ls -d /var/tmp/*"), "/var/tmp/modbox-fleet-0\n/var/tmp/modbox-runners-0\n");
    drop(host);
    dir.assert_nothing_left();
}

#[test]
fn a_host_over_ssh_gets_modbox() {
    // An ordinary run takes the newest release: the copy is sent by the same words in all of them.
    for version in sample::sample(releases()[..2].to_vec(), 1) {
        check_ssh(version);
    }
}
