//! `modbox:host/files`: a guest can set modes and owners within its grants. Each denied case has a permitted
//! counterpart.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::core::native::native_place::Place;
use crate::support::{Modbox, RunOutput, TestDir, guest, module, repository};

fn run(dir: &TestDir, switches: &[(&str, String)], ops: &Value) -> RunOutput {
    let mut modbox = Modbox::run_module(dir, guest("attributes")).json_args(&json!({"ops": ops}));
    for (switch, value) in switches {
        modbox = modbox.arg(switch).arg(value);
    }
    modbox.arg("--output").arg("report").run()
}

/// What each operation saw, and what a report says was denied: operation and switch.
#[track_caller]
fn seen(dir: &TestDir, switches: &[(&str, String)], ops: &Value) -> (Vec<Value>, Vec<(String, String)>) {
    let report = run(dir, switches, ops).exits_with(0).json();
    dir.assert_nothing_left();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let denials = report["denials"].as_array().into_iter().flatten();
    let denials = denials.map(|denial| (text(&denial["operation"]), text(&denial["allow"]))).collect();
    (report["result"]["seen"].as_array().cloned().unwrap_or_else(|| panic!("{report}")), denials)
}

fn grant(switch: &'static str, path: &Path) -> (&'static str, String) {
    (switch, path.display().to_string())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_guest_sees_modes_owners_and_where_links_lead() {
    let dir = TestDir::new();
    let file = dir.write("data/file", "12345");
    let (data, link) = (file.parent().unwrap(), file.with_file_name("link"));
    set(&file, 0o6640);
    symlink("/nowhere/at all", &link).unwrap();
    fs::hard_link(&file, data.join("other")).unwrap();
    let ops = json!([
        ["stat", file],
        ["lstat", link],
        ["stat", link],
        ["stat", data],
        ["stat", data.join("none")],
        ["user_id", "root"],
        ["group_id", "no such group"]
    ]);
    for granted in [data, data.parent().unwrap()] {
        let (seen, _) = seen(&dir, &[grant("--allow-read", granted)], &ops);
        let metadata = fs::metadata(&file).unwrap();
        for (key, expect) in [
            ("kind", json!("File")),
            ("mode", json!("6640")),
            ("uid", json!(metadata.uid())),
            ("gid", json!(metadata.gid())),
            ("links", json!(2)),
            ("inode", json!(metadata.ino())),
            ("size", json!(5)),
            ("target", json!(null)),
        ] {
            assert_eq!(seen[0][key], expect, "{key}");
        }
        if metadata.uid() == 0 {
            assert_eq!((&seen[0]["user"], &seen[0]["group"]), (&json!("root"), &json!("root")));
        }
        assert_eq!((&seen[1]["kind"], &seen[1]["target"]), (&json!("Link"), &json!("/nowhere/at all")));
        assert_eq!((&seen[2], &seen[3]["kind"]), (&json!("PermissionDenied"), &json!("Directory")));
        assert_eq!(seen[4..], [json!("NotFound"), json!(0), json!(null)]);
    }
}

#[test]
fn modes_are_set_where_writing_is_granted_and_without_special_bits() {
    let dir = TestDir::new();
    let file = dir.write("data/file", "");
    let data = file.parent().unwrap();
    let (sub, fifo) = (dir.mkdir("data/sub"), data.join("fifo"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let ops = json!([["mode", file, "7751"], ["mode", sub, "1700"], ["mode", fifo, "666"], ["stat", file]]);
    set(&file, 0o600);
    let (refused, denials) = seen(&dir, &[grant("--allow-read", data)], &ops);
    assert_eq!(refused[..3], ["PermissionDenied"; 3].map(Value::from));
    assert_eq!(denials[0], ("set-mode".to_owned(), format!("--allow-write {}", file.display())));
    assert_eq!((mode(&file), mode(&fifo)), (0o600, 0o600));
    let (done, denials) = seen(&dir, &[grant("--allow-write", data)], &ops);
    assert_eq!(done[..3], ["ok", "ok", "PermissionDenied"].map(Value::from));
    assert_eq!(done[3]["mode"], "751");
    assert_eq!((mode(&file), mode(&sub), mode(&fifo)), (0o751, 0o700, 0o600));
    // No switch allows a FIFO.
    assert_eq!(denials, [("set-mode".to_owned(), String::new())]);
}

#[test]
fn a_granted_name_is_changed_and_its_neighbour_is_not() {
    let dir = TestDir::new();
    let (file, other) = (dir.write("etc/motd", ""), dir.write("etc/other", ""));
    let read_only = dir.write("etc/issue", "");
    for path in [&file, &other, &read_only] {
        set(path, 0o644);
    }
    let temporary = file.with_file_name(".tmp");
    let ops = json!([
        ["mode", file, "600"],
        ["mode", other, "600"],
        ["mode", read_only, "600"],
        ["mode", file.with_file_name("..").join("etc/other"), "600"],
        ["write", temporary, "new"],
        ["mode", temporary, "4611"],
        ["stat", temporary],
        ["rename", temporary, file],
    ]);
    let (seen, denials) = seen(&dir, &[grant("--allow-write", &file), grant("--allow-read", &read_only)], &ops);
    let refused = "PermissionDenied";
    assert_eq!(seen[..3], [json!("ok"), json!(refused), json!(refused)], "{seen:?}");
    assert_eq!((&seen[6]["mode"], &seen[7]), (&json!("611"), &json!("ok")), "{seen:?}");
    assert_eq!((mode(&file), mode(&other), mode(&read_only)), (0o611, 0o644, 0o644));
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert!(
        denials.contains(&("set-mode".to_owned(), format!("--allow-write {}", read_only.display()))),
        "{denials:?}"
    );
}

#[test]
fn no_link_leads_out_of_a_grant() {
    let dir = TestDir::new();
    let outside = dir.write("outside", "");
    let (inside, data) = (dir.write("data/inside", ""), dir.path().join("data"));
    for path in [&outside, &inside] {
        set(path, 0o644);
    }
    symlink("../outside", data.join("out")).unwrap();
    symlink("inside", data.join("in")).unwrap();
    symlink("..", data.join("up")).unwrap();
    let ops = json!([
        ["mode", data.join("out"), "600"],
        ["mode", data.join("up/outside"), "600"],
        ["mode", data.join("../outside"), "600"],
        ["stat", data.join("out")],
        ["owner", data.join("out"), "1"],
        ["lowner", data.join("in"), "1"],
        ["mode", data.join("in"), "600"],
    ]);
    let (seen, _) = seen(&dir, &[grant("--allow-write", &data), ("--allow-own", "1".to_owned())], &ops);
    assert_eq!(seen[..5], ["PermissionDenied"; 5].map(Value::from), "{seen:?}");
    assert_eq!(seen[5..], ["Other", "ok"].map(Value::from), "{seen:?}");
    assert_eq!((mode(&outside), mode(&inside)), (0o644, 0o600));
    assert_eq!(fs::metadata(&outside).unwrap().uid(), rustix::process::getuid().as_raw());
}

#[test]
fn files_are_given_to_those_who_are_granted() {
    let dir = TestDir::new();
    let file = dir.write("data/file", "");
    let data = file.parent().unwrap().to_owned();
    let (me, my_group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // Only root gives files away; others give them to themselves.
    let (user, group) = if me == 0 { (1234, 1235) } else { (me, my_group) };
    let ops = json!([["owner", file, user.to_string(), group.to_string()], ["owner", file, user.to_string(), "x"]]);
    let write = grant("--allow-write", &data);
    let (refused, denials) = seen(&dir, std::slice::from_ref(&write), &ops);
    assert_eq!(refused, ["PermissionDenied"; 2].map(Value::from));
    assert_eq!(denials, [("set-owner".to_owned(), format!("--allow-own {user}:{group}"))]);
    let (refused, _) = seen(&dir, &[write.clone(), ("--allow-own", user.to_string())], &ops);
    assert_eq!(refused, ["PermissionDenied", "ok"].map(Value::from));
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (user, my_group));
    let (done, denials) = seen(&dir, &[write, ("--allow-own", format!("{user}:{group}"))], &ops);
    assert_eq!((done, denials), (["ok", "ok"].map(Value::from).to_vec(), Vec::new()));
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (user, group));
    let (refused, _) = seen(&dir, &[grant("--allow-read", &data), ("--allow-own", format!("{user}:{group}"))], &ops);
    assert_eq!(refused, ["PermissionDenied"; 2].map(Value::from));
}

#[test]
fn stat_tells_what_the_kernel_lets_the_user_do_with_files_of_others() {
    for place in Place::all().into_iter().filter(|place| place.user.is_some()) {
        fs::copy(module("stat"), place.at("stat.wasm")).unwrap();
        let file = place.at("theirs/file");
        fs::write(&file, "x").unwrap();
        // The user is in none of the file's groups, so the last digit holds.
        for (mode, readable, executable) in [(0o640, false, false), (0o604, true, false), (0o641, false, true)] {
            set(&file, mode);
            let args = json!({"path": file, "get_mime": false, "get_attributes": false}).to_string();
            let ran = place.command("stat.wasm", &["--args", &args]).output().unwrap();
            let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
            let stat = &report["result"]["stat"];
            assert_eq!((&stat["readable"], &stat["executable"]), (&json!(readable), &json!(executable)), "{report:#}");
        }
    }
}

#[test]
fn unknown_owners_are_refused_before_the_run() {
    let dir = TestDir::new();
    let ran = Modbox::run_module(&dir, guest("attributes")).args(["--allow-own", "no such user"]).run().exits_with(2);
    assert!(
        ran.stdout_text().contains("unknown user `no such user` on this machine")
            || ran.stderr_text().contains("unknown user `no such user` on this machine"),
        "{ran}"
    );
    dir.write("policy.yaml", "allow: {own: [root, ':no such group']}\n");
    let ran = Modbox::new(&dir).args(["policy", "check", "policy.yaml"]).run().exits_with(2);
    assert!(format!("{ran}").contains("unknown group `no such group` on this machine"), "{ran}");
}

#[test]
fn the_calls_into_the_host_are_made_of_its_interfaces() {
    let host = repository().join("guest-sdk/host");
    let entries = ["wit", "wit/deps"].map(|folder| fs::read_dir(host.join(folder)).unwrap());
    let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut texts: Vec<_> = paths.filter(|path| path.extension().is_some_and(|extension| extension == "wit")).collect();
    // As `generate` orders them.
    texts.sort();
    let mut hasher = Sha256::new();
    texts.iter().for_each(|path| hasher.update(fs::read(path).unwrap()));
    let digest: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    let bindings = fs::read_to_string(host.join("bindings.rs")).unwrap();
    let first = bindings.lines().next().unwrap();
    assert!(first.contains(&digest), "the interfaces have changed, run guest-sdk/host/generate: {first}");
}
