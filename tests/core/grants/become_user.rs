//! Runs as another user (`--become-user`): everything that a module does has that user's rights, at every level, as a
//! native module, as a guest, as a command of a guest and as a job of a batch; and no way leads back to root.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::core::native::native_ladder::{NO_MOUNTS, behind};
use crate::core::native::native_place::{DONE, Place, USER};
use crate::support::guest;

/// A group in which the user is a member, beside the user's own.
const GROUP: u32 = 23_456;

/// Makes the users and groups of a test those of its mount namespace, and keeps that.
const HOLD: &str = "mount --bind $0/passwd /etc/passwd && mount --bind $0/group /etc/group && echo ready && exec cat";

/// Prints who the module is, and what it can do, as its result.
const WHO: &str = r#"
caps=$(grep ^Cap /proc/self/status | cut -f 2 | sort -u | tr '\n' ' ')
groups=$(id -G | tr ' ' '\n' | sort -n | tr '\n' ' ')
secret=kept; cat $d/theirs/secret > /dev/null 2>&1 && secret=read
shared=kept; cat $d/theirs/shared > /dev/null 2>&1 && shared=read
back=no
for call in 'setuid(0)' 'seteuid(0)' 'setresuid(0, 0, 0)' 'setgroups([0])' 'setgid(0)'; do
    /usr/bin/python3 -c "import os; os.$call" 2> /dev/null && back=$call
done
echo made > $d/data/made
echo "{\"changed\": true, \"uid\": \"$(id -u)\", \"gid\": \"$(id -g)\", \"name\": \"$(id -un)\", \"groups\": \"$groups\",
    \"caps\": \"$caps\", \"secret\": \"$secret\", \"shared\": \"$shared\", \"back\": \"$back\",
    \"variables\": \"$HOME $USER $LOGNAME $SHELL\"}"
"#;

/// A machine with a user `app`, on which root runs modbox.
struct Machine {
    place: Place,
    holder: Child,
}

impl Machine {
    /// Makes one; `None` if these tests are not root's.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            return None;
        }
        let place = Place::new(None);
        let home = place.path("data");
        let passwd = format!("root:x:0:0:root:/root:/bin/sh\napp:x:{USER}:{USER}::{home}:/bin/false\n");
        let group = format!("root:x:0:\napp:x:{USER}:\nshared:x:{GROUP}:root,app\n");
        place.write("passwd", &passwd);
        place.write("group", &group);
        for (name, mode) in [("theirs/secret", 0o600), ("theirs/shared", 0o640)] {
            place.write(name, "content");
            fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        chown(place.at("theirs/shared"), Some(0), Some(GROUP)).unwrap();
        chown(place.at("data"), Some(USER), Some(USER)).unwrap();
        let mut holder = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", HOLD, &place.path("")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Some(Self { place, holder })
    }

    /// Prepares modbox where the users of the test are those of the machine.
    fn modbox(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id())).arg(self.place.at("modbox")).args(words);
        command.env_clear().env("HOME", self.place.at("home")).env("TMPDIR", self.place.at("tmp"));
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("SECRET", "of root");
        command
    }

    /// Runs a module with these switches, on a kernel that answers some calls with an error.
    #[track_caller]
    fn run(&self, module: &Path, calls: &[(i64, i32)], switches: &[&str]) -> (Value, Option<i32>) {
        let (module, audit) = (module.display().to_string(), self.place.path("home/audit"));
        let words = ["run", &module, "--output", "report", "--timeout", "60s", "--audit", &audit];
        let mut command = self.modbox(&[&words, switches].concat());
        let output = behind(calls, || command.output().unwrap());
        self.assert_nothing_left();
        let mut report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        let line = fs::read_to_string(self.place.at("home/audit")).unwrap();
        fs::remove_file(self.place.at("home/audit")).unwrap();
        report["audit"] = serde_json::from_str(&line).unwrap();
        (report, output.status.code())
    }

    /// Runs a shell module as the user.
    #[track_caller]
    fn shell(&self, script: &str, calls: &[(i64, i32)], switches: &[&str]) -> (Value, Option<i32>) {
        let script = format!("#!/bin/sh\n# WANT_JSON\nd='{}'\n{script}\n", self.place.path("").trim_end_matches('/'));
        self.place.write("module", &script);
        self.run(&self.place.at("module"), calls, &[&["--become-user", "app"], switches].concat())
    }

    /// Asserts that no directory of a run is left.
    #[track_caller]
    fn assert_nothing_left(&self) {
        let roots = fs::read_dir(self.place.at("tmp")).unwrap().flatten();
        let left: Vec<_> = roots.flat_map(|root| fs::read_dir(root.path()).unwrap().flatten()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    fn owner(&self, name: &str) -> (u32, u32) {
        let found = self.place.at(name).metadata().unwrap();
        (found.uid(), found.gid())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The holder ends at the end of its input.
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}

/// Asserts that a result of [`WHO`] is that of the user.
#[track_caller]
fn assert_is_user(machine: &Machine, report: &Value) {
    let result = &report["result"];
    for (key, expect) in [
        ("uid", USER.to_string()),
        ("gid", USER.to_string()),
        ("name", "app".to_owned()),
        ("groups", format!("{USER} {GROUP} ")),
        ("secret", "kept".to_owned()),
        ("shared", "read".to_owned()),
        ("back", "no".to_owned()),
        ("variables", format!("{} app app /bin/false", machine.place.path("data"))),
    ] {
        assert_eq!(result[key], expect, "{key}: {report:#}");
    }
    assert_eq!(machine.owner("data/made"), (USER, USER));
    for told in [&report["become_user"], &report["audit"]["become_user"]] {
        assert_eq!(*told, json!({"name": "app", "uid": USER}), "{report:#}");
    }
    assert_eq!(report["audit"]["who"]["uid"], 0, "{report:#}");
    fs::remove_file(machine.place.at("data/made")).unwrap();
}

#[test]
fn a_native_module_has_the_rights_of_the_user_and_no_others() {
    let Some(machine) = Machine::new() else { return };
    let (data, theirs) = (machine.place.path("data"), machine.place.path("theirs"));
    let switches = ["--allow-write", &data, "--allow-read", &theirs];
    for (calls, level) in [(&[][..], 3), (NO_MOUNTS, 2)] {
        let (report, exit) = machine.shell(WHO, calls, &switches);
        assert_eq!((&report["status"], exit), (&json!("changed"), Some(0)), "{report:#}");
        assert_eq!(report["confinement"]["level"], level, "{report:#}");
        assert_eq!(report["result"]["caps"], "0000000000000000 ", "{report:#}");
        assert_is_user(&machine, &report);
    }
}

#[test]
fn a_native_module_that_is_trusted_is_the_user_too() {
    let Some(machine) = Machine::new() else { return };
    let (report, exit) = machine.shell(WHO, &[], &["--allow-all"]);
    assert_eq!((&report["status"], exit), (&json!("changed"), Some(0)), "{report:#}");
    // The bounding set alone is left: what a login of the user has.
    let caps = report["result"]["caps"].as_str().unwrap();
    assert!(caps.starts_with("0000000000000000 ") && caps.split_whitespace().count() <= 2, "{report:#}");
    assert_is_user(&machine, &report);
}

#[test]
fn a_single_file_is_taken_back_with_the_rights_of_the_user() {
    let Some(machine) = Machine::new() else { return };
    let file = machine.place.path("data/file");
    for script in ["echo new > $d/data/file", "echo new > $d/data/x && mv $d/data/x $d/data/file"] {
        machine.place.write("data/file", "old");
        chown(&file, Some(USER), Some(USER)).unwrap();
        let (report, exit) = machine.shell(&format!("{script} && {DONE}"), &[], &["--allow-write", &file]);
        assert_eq!((&report["status"], exit), (&json!("changed"), Some(0)), "{report:#}");
        assert_eq!((machine.place.read("data/file").as_str(), machine.owner("data/file")), ("new\n", (USER, USER)));
    }
    fs::remove_file(&file).unwrap();
    let (report, _) = machine.shell(&format!("echo made > $d/data/file && {DONE}"), &[], &["--allow-write", &file]);
    assert_eq!((&report["status"], machine.owner("data/file")), (&json!("changed"), (USER, USER)), "{report:#}");
}

#[test]
fn a_file_that_the_user_cannot_write_is_refused_before_the_start() {
    let Some(machine) = Machine::new() else { return };
    for name in ["theirs/shared", "theirs/new"] {
        let file = machine.place.path(name);
        let (report, exit) = machine.shell(&format!(": > $d/data/ran; {DONE}"), &[], &["--allow-write", &file]);
        assert_eq!((&report["status"], exit), (&json!("denied"), Some(4)), "{report:#}");
        let message = report["result"]["msg"].as_str().unwrap();
        assert!(message.contains(&file) && message.contains("as the user `app`"), "{message}");
        assert_eq!(report["audit"]["status"], "denied", "{report:#}");
    }
    assert!(!machine.place.at("data/ran").exists());
}

#[test]
fn a_grant_opens_no_way_that_the_user_does_not_have() {
    let Some(machine) = Machine::new() else { return };
    fs::create_dir_all(machine.place.at("theirs/closed/open")).unwrap();
    machine.place.write("theirs/closed/open/file", "content");
    fs::set_permissions(machine.place.at("theirs/closed"), fs::Permissions::from_mode(0o700)).unwrap();
    let (open, file) = (machine.place.path("theirs/closed/open"), machine.place.path("theirs/closed/open/file"));
    for granted in [&open, &file] {
        for calls in [&[][..], NO_MOUNTS] {
            let script = format!("cat {file} && {DONE}");
            let (report, exit) = machine.shell(&script, calls, &["--allow-read", granted]);
            assert_eq!((&report["status"], exit), (&json!("denied"), Some(4)), "{report:#}");
            let message = report["result"]["msg"].as_str().unwrap();
            assert!(message.contains(granted.as_str()) && message.contains("cannot reach"), "{message}");
        }
        let args = json!({"op": "read", "path": file, "expect": "ok"}).to_string();
        let switches = ["--become-user", "app", "--allow-read", granted, "--args", &args];
        let (report, exit) = machine.run(&guest("files"), &[], &switches);
        assert_eq!((&report["status"], exit), (&json!("denied"), Some(4)), "{report:#}");
    }
    // Root itself reads it.
    let args = json!({"op": "read", "path": file, "expect": "ok"}).to_string();
    let (report, _) = machine.run(&guest("files"), &[], &["--allow-read", &open, "--args", &args]);
    assert_eq!((&report["result"]["content"], &report["become_user"]), (&json!("content"), &Value::Null), "{report:#}");
}

#[test]
fn a_guest_has_the_rights_of_the_user_and_no_others() {
    let Some(machine) = Machine::new() else { return };
    let (data, theirs) = (machine.place.path("data"), machine.place.path("theirs"));
    let grants = [vec!["--allow-write", &data, "--allow-write", &theirs], vec!["--allow-all"]];
    for grants in grants {
        let run = |op: &str, path: &str| {
            let args = json!({"op": op, "path": machine.place.path(path), "expect": "ok"}).to_string();
            let switches = [&grants[..], &["--become-user", "app", "--args", &args]].concat();
            machine.run(&guest("files"), &[], &switches).0
        };
        let report = run("create", "data/made");
        assert_eq!(report["result"]["seen"], "ok", "{report:#}");
        assert_eq!(machine.owner("data/made"), (USER, USER));
        assert_eq!(report["become_user"]["uid"], USER, "{report:#}");
        fs::remove_file(machine.place.at("data/made")).unwrap();
        let report = run("read", "theirs/shared");
        assert_eq!(report["result"]["content"], "content", "{report:#}");
        for (op, path) in [("read", "theirs/secret"), ("append", "theirs/shared"), ("create", "theirs/made")] {
            let report = run(op, path);
            assert_eq!(report["status"], "failed", "{op}: {report:#}");
            assert!(report["result"]["seen"].as_str().unwrap().contains("PermissionDenied"), "{op}: {report:#}");
        }
    }
}

#[test]
fn a_guest_replaces_a_single_file_as_the_user() {
    let Some(machine) = Machine::new() else { return };
    let file = machine.place.path("data/file");
    machine.place.write("data/file", "old");
    chown(&file, Some(USER), Some(USER)).unwrap();
    let args = json!({"op": "overwrite", "path": file, "expect": "ok"}).to_string();
    let switches = ["--become-user", &USER.to_string(), "--allow-write", &file, "--args", &args];
    let (report, exit) = machine.run(&guest("files"), &[], &switches);
    assert_eq!((&report["result"]["seen"], exit), (&json!("ok"), Some(0)), "{report:#}");
    assert_eq!((machine.place.read("data/file").as_str(), machine.owner("data/file")), ("guest", (USER, USER)));
}

#[test]
fn a_command_of_a_guest_is_the_users_too() {
    let Some(machine) = Machine::new() else { return };
    let commands =
        json!([{"argv": ["id", "-u"]}, {"argv": ["sh", "-c", "grep ^CapEff /proc/self/status; echo $HOME"]}]);
    let args = json!({"commands": commands}).to_string();
    for grants in [&["--allow-run", "id *", "--allow-run", "sh *"][..], &["--allow-all"]] {
        let switches = [grants, &["--become-user", "app", "--args", &args]].concat();
        let (report, exit) = machine.run(&guest("command"), &[], &switches);
        assert_eq!(exit, Some(0), "{report:#}");
        let seen = &report["result"]["seen"];
        assert_eq!(seen[0]["stdout"], format!("{USER}\n"), "{report:#}");
        let home = machine.place.path("data");
        assert_eq!(seen[1]["stdout"], format!("CapEff:\t0000000000000000\n{home}\n"), "{report:#}");
    }
}

#[test]
fn a_job_of_a_batch_names_its_user() {
    let Some(machine) = Machine::new() else { return };
    let theirs = machine.place.path("theirs");
    let path = machine.place.path("theirs/secret");
    machine.place.write("module", "#!/bin/sh\n# WANT_JSON\necho \"{\\\"uid\\\": \\\"$(id -u)\\\"}\"\n");
    let files = json!({"op": "read", "path": path, "expect": "ok"});
    let policy = json!({"allow": {"read": [theirs]}});
    let native = machine.place.path("module");
    let lines: String = [
        json!({"id": "guest of root", "module": guest("files"), "args": files, "policy": policy}),
        json!({"id": "guest of app", "module": guest("files"), "args": files, "policy": policy, "become_user": "app"}),
        json!({"id": "native of root", "module": native, "become_user": "root"}),
        json!({"id": "native of app", "module": native, "become_user": USER.to_string()}),
        json!({"id": "unknown", "module": native, "become_user": "ghost"}),
    ]
    .iter()
    .map(|line| format!("{line}\n"))
    .collect();
    let mut command = machine.modbox(&["batch", "--jobs", "2"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    machine.assert_nothing_left();
    let reports: Vec<Value> =
        String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let report = |id: &str| reports.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{id}: {output:?}"));
    assert_eq!(report("guest of root")["result"]["content"], "content", "{output:?}");
    let refused = report("guest of app");
    assert!(refused["result"]["seen"].as_str().unwrap().contains("PermissionDenied"), "{refused:#}");
    assert_eq!(refused["become_user"]["name"], "app");
    assert_eq!(report("native of root")["result"]["uid"], "0", "{output:?}");
    assert_eq!(report("native of app")["result"]["uid"], USER.to_string(), "{output:?}");
    let unknown = report("unknown");
    assert_eq!(unknown["status"], "failed");
    assert!(unknown["result"]["msg"].as_str().unwrap().contains("unknown user `ghost`"), "{unknown:#}");
}

/// Runs a module that leaves a mark, with these switches, and asserts that it did not start.
#[track_caller]
fn refused(place: &Place, switches: &[&str], exit: i32, words: &[&str]) {
    place.write("module", &format!("#!/bin/sh\n# WANT_JSON\n: > {}\n{DONE}\n", place.path("data/ran")));
    let Output { status, stdout, stderr } =
        place.command("module", &[&["--allow-all"], switches].concat()).output().unwrap();
    let message = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(exit), "{message}{}", String::from_utf8_lossy(&stdout));
    words.iter().for_each(|word| assert!(message.contains(word), "no `{word}` in {message}"));
    assert!(!place.at("data/ran").exists());
}

#[test]
fn only_root_can_become_another_user() {
    for place in Place::all().into_iter().filter(|place| !place.is_root()) {
        refused(&place, &["--become-user", "root"], 4, &["`root`", "only root can", "sudo modbox"]);
        refused(&place, &["--become-user", "0", "--async", "10s"], 4, &["`root`", "only root can"]);
    }
}

#[test]
fn an_unknown_user_is_an_error_of_usage() {
    for place in Place::all() {
        for user in ["ghost", "4294967295", "-1", ""] {
            refused(&place, &[&format!("--become-user={user}")], 2, &[&format!("unknown user `{user}`")]);
        }
    }
}

#[test]
fn the_same_user_changes_nothing() {
    let Some(machine) = Machine::new() else { return };
    let script = format!("#!/bin/sh\n# WANT_JSON\n[ -z \"$USER\" ] && {DONE}\n");
    machine.place.write("module", &script);
    let (report, exit) = machine.run(&machine.place.at("module"), &[], &["--become-user", "root"]);
    assert_eq!((&report["status"], exit), (&json!("changed"), Some(0)), "{report:#}");
    assert_eq!((&report["become_user"], &report["audit"]["become_user"]), (&Value::Null, &Value::Null), "{report:#}");
}
