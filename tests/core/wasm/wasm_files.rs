//! A guest reaches only the granted directories, and only with the granted access. Each denied case has a permitted
//! counterpart, so that the denial proves something.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, guest};

/// Tries one operation under the given options.
fn attempt(dir: &TestDir, args: &Value, options: &[&str]) -> RunOutput {
    let ran = Modbox::run_module(dir, guest("files")).json_args(args).args(options).run();
    dir.assert_nothing_left();
    ran
}

/// A directory `data` with a file, a directory and a fixed time, and what it looks like.
fn data(dir: &TestDir) -> String {
    let file = dir.write("data/file", "host");
    dir.mkdir("data/empty");
    let time = fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000));
    fs::File::options().write(true).open(file).unwrap().set_times(time).unwrap();
    dir.join("data").display().to_string()
}

/// Describes everything beneath a directory: names, kinds, links, lengths, contents, times of files.
fn picture(dir: &Path) -> Vec<String> {
    let mut seen = Vec::new();
    let mut pending = vec![dir.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap().flatten() {
            let path = entry.path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let time = if metadata.is_file() { metadata.mtime() } else { 0 };
            let (links, mode) = (if metadata.is_file() { metadata.nlink() } else { 0 }, metadata.mode());
            seen.push(format!("{} {mode:o} {links} {time} {:?}", path.display(), String::from_utf8_lossy(&content)));
            if metadata.is_dir() {
                pending.push(path);
            }
        }
    }
    seen.sort();
    seen
}

/// Operations that change something, as `(op, path, to)` beneath the granted directory.
const CHANGES: [(&str, &str, &str); 13] = [
    ("create", "new", ""),
    ("overwrite", "file", ""),
    ("append", "file", ""),
    ("truncate_by_open", "file", ""),
    ("rename", "file", "renamed"),
    ("rename_then_read", "file", "renamed"),
    ("hard_link", "file", "linked"),
    ("symlink", "file", "linked"),
    ("set_times", "file", ""),
    ("unlink", "file", ""),
    ("mkdir", "new", ""),
    ("rmdir", "empty", ""),
    ("truncate_by_size", "file", ""),
];

fn change_args(data: &str, (op, path, to): (&str, &str, &str), expect: &str) -> Value {
    // The target of a symbolic link is relative to the link.
    let path = if op == "symlink" { path.to_owned() } else { format!("{data}/{path}") };
    json!({"op": op, "path": path, "to": format!("{data}/{to}"), "expect": expect})
}

#[test]
fn nothing_is_changed_through_a_read_only_grant() {
    for change in CHANGES {
        let dir = TestDir::new();
        let data = data(&dir);
        let before = picture(Path::new(&data));
        let expect = if change.0 == "truncate_by_size" { "InvalidInput" } else { "PermissionDenied" };
        let ran = attempt(&dir, &change_args(&data, change, expect), &["--allow-read", &data]);
        assert_eq!(picture(Path::new(&data)), before, "{change:?} changed the disk");
        let seen = ran.json()["seen"].as_str().unwrap().to_owned();
        assert!(!seen.starts_with("ok"), "{change:?} saw `{seen}`");
        assert!(change.0 == "truncate_by_size" || seen.starts_with("PermissionDenied"), "{change:?} saw `{seen}`");
    }
}

#[test]
fn everything_can_be_changed_through_a_writable_grant() {
    for change in CHANGES.into_iter().filter(|change| change.0 != "truncate_by_size") {
        let dir = TestDir::new();
        let data = data(&dir);
        let before = picture(Path::new(&data));
        attempt(&dir, &change_args(&data, change, "ok"), &["--allow-write", &data]).exits_with(0);
        assert_ne!(picture(Path::new(&data)), before, "{change:?} changed nothing");
    }
}

#[test]
fn a_read_only_grant_can_be_read() {
    let dir = TestDir::new();
    let data = data(&dir);
    let file = format!("{data}/file");
    for (op, path, content) in [("read", &file, "host"), ("list", &data, "empty file"), ("stat", &file, "4")] {
        let args = json!({"op": op, "path": path, "expect": "ok"});
        let result = attempt(&dir, &args, &["--allow-read", &data]).exits_with(0).json();
        assert_eq!(result["content"], content, "{op}");
    }
}

#[test]
fn nothing_of_the_host_is_there_without_a_grant() {
    let dir = TestDir::new();
    let data = data(&dir);
    let before = picture(Path::new(&data));
    for path in ["/etc/passwd", "/etc", "/proc/self/environ", &format!("{data}/file"), "../../../../../etc/passwd"] {
        for op in ["read", "list", "stat"] {
            let ran = attempt(&dir, &json!({"op": op, "path": path, "expect": "ok"}), &[]).exits_with(1);
            assert!(!ran.json()["seen"].as_str().unwrap().starts_with("ok"), "{op} {path}: {ran}");
        }
    }
    for change in CHANGES {
        let ran = attempt(&dir, &change_args(&data, change, "ok"), &[]).exits_with(1);
        assert!(!ran.json()["seen"].as_str().unwrap().starts_with("ok"), "{change:?}: {ran}");
    }
    assert_eq!(picture(Path::new(&data)), before);
}

#[test]
fn etc_passwd_is_read_only_when_it_is_granted() {
    let dir = TestDir::new();
    let args = json!({"op": "read_a_byte", "path": "/etc/passwd", "expect": "ok"});
    attempt(&dir, &args, &["--allow-read", "/etc"]).exits_with(0);
    let ran =
        attempt(&dir, &json!({"op": "read", "path": "/etc/passwd", "expect": "PermissionDenied"}), &[]).exits_with(0);
    assert!(!ran.stdout_text().contains("root:"));
}

#[test]
fn a_symbolic_link_leads_out_of_no_grant() {
    let dir = TestDir::new();
    let data = data(&dir);
    dir.write("outside/secret", "secret");
    let outside = dir.join("outside");
    for (name, target) in [
        ("absolute", outside.join("secret")),
        ("relative", "../outside/secret".into()),
        ("directory", outside.clone()),
        ("chain", "relative".into()),
    ] {
        symlink(target, format!("{data}/{name}")).unwrap();
    }
    let before = picture(&outside);
    for name in
        ["absolute", "relative", "directory/secret", "chain", "empty/../../outside/secret", "directory/../secret"]
    {
        for op in ["read", "overwrite", "truncate_by_open", "stat", "append"] {
            let args = json!({"op": op, "path": format!("{data}/{name}"), "expect": "ok"});
            let ran = attempt(&dir, &args, &["--allow-write", &data]).exits_with(1);
            assert!(ran.json().get("content").is_none(), "{op} {name}: {ran}");
        }
    }
    assert_eq!(picture(&outside), before);
    // The allowed twin: the same links, with their target granted, too, under a common directory.
    let args = json!({"op": "read", "path": format!("{data}/relative"), "expect": "ok"});
    let common = dir.path().display().to_string();
    assert_eq!(attempt(&dir, &args, &["--allow-read", &common]).exits_with(0).json()["content"], "secret");
}

#[test]
fn a_guest_cannot_make_a_link_that_leads_out() {
    let dir = TestDir::new();
    let data = data(&dir);
    dir.write("outside/secret", "secret");
    let target = dir.join("outside/secret");
    let args = json!({"op": "symlink", "path": target, "to": format!("{data}/out"), "expect": "ok"});
    attempt(&dir, &args, &["--allow-write", &data]).exits_with(1);
    let args = json!({"op": "hard_link", "path": target, "to": format!("{data}/out"), "expect": "ok"});
    attempt(&dir, &args, &["--allow-write", &data]).exits_with(1);
    assert!(!Path::new(&data).join("out").exists());
}

#[test]
fn nothing_moves_between_a_read_only_and_a_writable_grant_but_copies() {
    let dir = TestDir::new();
    let data = data(&dir);
    let writable = dir.mkdir("writable").display().to_string();
    let options = ["--allow-read", &data, "--allow-write", &writable];
    let before = picture(Path::new(&data));
    for op in ["rename", "hard_link"] {
        let out = json!({"op": op, "path": format!("{data}/file"), "to": format!("{writable}/file"), "expect": "ok"});
        attempt(&dir, &out, &options).exits_with(1);
        fs::write(format!("{writable}/mine"), "mine").unwrap();
        let inwards =
            json!({"op": op, "path": format!("{writable}/mine"), "to": format!("{data}/mine"), "expect": "ok"});
        attempt(&dir, &inwards, &options).exits_with(1);
    }
    assert_eq!(picture(Path::new(&data)), before);
}

#[test]
fn the_arguments_cannot_be_changed() {
    for (op, path, to) in [
        ("unlink", "/args/args.json", ""),
        ("overwrite", "/args/args.json", ""),
        ("truncate_by_open", "/args/args.json", ""),
        ("rename", "/args/args.json", "/args/other"),
        ("rename", "/args/args.json", "/tmp/other"),
        ("hard_link", "/args/args.json", "/tmp/other"),
        ("set_times", "/args/args.json", ""),
        ("create", "/args/new", ""),
        ("mkdir", "/args/new", ""),
    ] {
        let dir = TestDir::new();
        let args = json!({"op": op, "path": path, "to": to, "expect": "PermissionDenied"});
        let ran = attempt(&dir, &args, &[]);
        let seen = ran.json()["seen"].as_str().unwrap().to_owned();
        // Renaming and linking across directories may fail for either side's reason.
        assert!(!seen.starts_with("ok"), "{op} {path} {to} saw `{seen}`");
        assert!(to.starts_with("/tmp") || seen.starts_with("PermissionDenied"), "{op} {path} {to} saw `{seen}`");
    }
}

#[test]
fn the_scratch_directory_is_private_and_can_be_used() {
    let dir = TestDir::new();
    for (op, path) in [("create", "/tmp/new"), ("mkdir", "/tmp/new")] {
        attempt(&dir, &json!({"op": op, "path": path, "expect": "ok"}), &[]).exits_with(0);
    }
    // A new run starts with an empty one.
    assert_eq!(
        attempt(&dir, &json!({"op": "list", "path": "/tmp", "expect": "ok"}), &[]).exits_with(0).json()["content"],
        ""
    );
    let ran = attempt(&dir, &json!({"op": "read", "path": "/tmp/../etc/passwd", "expect": "ok"}), &[]);
    ran.exits_with(1);
}

#[test]
fn a_grant_can_be_seen_elsewhere() {
    let dir = TestDir::new();
    let data = data(&dir);
    let mapped = format!("{data}::/srv/app");
    let read = |path: &str, expect: &str| {
        attempt(&dir, &json!({"op": "read", "path": path, "expect": expect}), &["--allow-read", &mapped]).exits_with(0)
    };
    assert_eq!(read("/srv/app/file", "ok").json()["content"], "host");
    read(&format!("{data}/file"), "PermissionDenied");
}

#[test]
fn a_relative_grant_is_relative_to_the_working_directory() {
    let dir = TestDir::new();
    let data = data(&dir);
    let args = json!({"op": "read", "path": format!("{data}/file"), "expect": "ok"});
    attempt(&dir, &args, &["--allow-read", "data"]).exits_with(0);
}

#[test]
fn a_grant_comes_from_a_policy_file_too() {
    let dir = TestDir::new();
    let data = data(&dir);
    let policy = dir.write("policy.yaml", format!("allow:\n  write: ['{data}']\n"));
    let args = json!({"op": "create", "path": format!("{data}/new"), "expect": "ok"});
    attempt(&dir, &args, &[]).exits_with(1);
    let report = Modbox::run_module(&dir, guest("files")).json_args(&args).arg("--policy").arg(policy).report().run();
    let report = report.exits_with(0).json();
    assert_eq!(report["grants"][0]["capability"], "write");
    assert_eq!(report["grants"][0]["subject"], data.as_str());
    assert_eq!(fs::read(format!("{data}/new")).unwrap(), b"guest");
}

#[test]
fn a_grant_comes_from_the_users_policy_file_too() {
    let dir = TestDir::new();
    let data = data(&dir);
    dir.write("home/.config/modbox/policy.yaml", format!("allow: {{read: ['{data}']}}\n"));
    attempt(&dir, &json!({"op": "read", "path": format!("{data}/file"), "expect": "ok"}), &[]).exits_with(0);
    attempt(&dir, &json!({"op": "unlink", "path": format!("{data}/file"), "expect": "PermissionDenied"}), &[])
        .exits_with(0);
}

#[test]
fn everything_is_granted_loudly() {
    let dir = TestDir::new();
    let args = json!({"op": "read", "path": "/etc/passwd", "expect": "ok"});
    let ran = attempt(&dir, &args, &["--allow-all"]).exits_with(0).says("--allow-all");
    assert!(ran.json()["content"].as_str().unwrap().contains("root:"), "{ran}");
    // Also for the host's `/tmp`, where a guest otherwise sees its private directory.
    let shared = tempfile::tempdir_in("/tmp").unwrap();
    let file = shared.path().join("file");
    let args = json!({"op": "create", "path": file, "expect": "ok"});
    attempt(&dir, &args, &["--allow-all"]).exits_with(0);
    assert!(file.is_file());
}

#[test]
fn a_grant_of_what_does_not_exist_is_an_error() {
    let dir = TestDir::new();
    let missing = dir.join("missing").display().to_string();
    let ran = attempt(&dir, &json!({"op": "stat", "path": "/tmp", "expect": "ok"}), &["--allow-read", &missing]);
    assert!(matches!(ran.status.code(), Some(2 | 3)), "{ran}");
    assert!(ran.stderr_text().contains(&missing), "{ran}");
}

#[test]
fn a_module_honours_check_mode_and_shows_a_difference() {
    let dir = TestDir::new();
    let data = data(&dir);
    let put = |options: &[&str]| {
        let args = json!({"path": format!("{data}/file"), "content": "guest"});
        let ran =
            Modbox::run_module(&dir, guest("put")).json_args(&args).args(["--allow-write", &data]).args(options).run();
        ran.exits_with(0).json()
    };
    let checked = put(&["--check", "--diff"]);
    assert_eq!((&checked["changed"], &checked["diff"]["after"]), (&json!(true), &json!("guest")));
    assert_eq!(fs::read(format!("{data}/file")).unwrap(), b"host");
    assert_eq!(put(&[])["changed"], true);
    assert_eq!(fs::read(format!("{data}/file")).unwrap(), b"guest");
    assert_eq!(put(&[])["changed"], false);
}
