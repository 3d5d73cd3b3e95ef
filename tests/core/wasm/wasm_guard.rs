//! Grants of single files, and what a guest sees around them. Each denied case has a permitted counterpart. Overlapping
//! grants are tested in `wasm_guard_runs.rs`, hostile environments in `wasm_guard_hostile.rs`, quotas and denials in
//! `wasm_guard_limits.rs`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, guest};

/// Runs operations under grants and returns what each saw.
#[track_caller]
pub(crate) fn drive(dir: &TestDir, grants: &[(&str, &Path)], ops: &Value) -> Vec<String> {
    let ran = run(dir, grants, ops).exits_with(0);
    dir.assert_nothing_left();
    seen(&ran.json())
}

pub(crate) fn run(dir: &TestDir, grants: &[(&str, &Path)], ops: &Value) -> RunOutput {
    prepare(dir, grants, ops).run()
}

/// Runs operations under grants and returns the report.
#[track_caller]
pub(crate) fn run_report(dir: &TestDir, grants: &[(&str, &Path)], ops: &Value) -> Value {
    prepare(dir, grants, ops).report().run().exits_with(0).json()
}

fn prepare(dir: &TestDir, grants: &[(&str, &Path)], ops: &Value) -> Modbox {
    let mut modbox = Modbox::run_module(dir, guest("drive")).json_args(&json!({"ops": ops}));
    for (switch, path) in grants {
        modbox = modbox.arg(switch).arg(path);
    }
    modbox
}

pub(crate) fn seen(result: &Value) -> Vec<String> {
    let seen = result["seen"].as_array().expect("the guest says what it saw");
    seen.iter().map(|seen| seen.as_str().unwrap().to_owned()).collect()
}

/// Creates a directory `etc` with a file to grant, `motd`, and another file.
pub(crate) fn etc(dir: &TestDir) -> (PathBuf, PathBuf) {
    let neighbour = dir.write("etc/neighbour", "secret");
    (dir.write("etc/motd", "old"), neighbour)
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_granted_file_is_there_and_its_neighbours_are_not() {
    let dir = TestDir::new();
    let (motd, neighbour) = etc(&dir);
    let parent = motd.parent().unwrap();
    let ops = json!([
        ["read", motd],
        ["stat", motd],
        ["list", parent],
        ["stat", parent],
        ["open_dir", parent],
        ["read", neighbour],
        ["stat", neighbour],
        ["lstat", neighbour],
        ["read", parent.join("../etc/motd")],
        ["list", parent.parent().unwrap()],
        ["read", format!("{}/", motd.display())],
        ["read", motd.join("below")],
        ["read_link", motd],
    ]);
    let expect = [
        "old",
        "file 3",
        "PermissionDenied",
        "dir 0",
        "dir 0",
        "PermissionDenied",
        "PermissionDenied",
        "PermissionDenied",
        "old",
        "PermissionDenied",
        "NotADirectory",
        "NotADirectory",
        "InvalidInput",
    ];
    for switch in ["--allow-read", "--allow-write"] {
        assert_eq!(drive(&dir, &[(switch, &motd)], &ops), expect, "{switch}");
    }
}

#[test]
fn a_root_that_grants_nothing_has_the_guests_own_directories() {
    let dir = TestDir::new();
    let ops = json!([
        ["list", "/"],
        ["list", "/args"],
        ["stat", "/args/args.json/"],
        ["read", "/args/other"],
        ["mkdir", "/new"],
        ["write", "/new", ""],
        ["rename", "/tmp", "/new"],
        ["unlink", "/args"],
        ["rmdir", "/args"],
        ["read", "/tmp/../etc/passwd"],
        ["read", "/../etc/passwd"],
        ["read", "/tmp/a\u{0}b"],
        ["read", "x".repeat(5000)],
    ]);
    let expect =
        ["PermissionDenied", "[args.json]", "NotADirectory", "NotFound", "PermissionDenied", "PermissionDenied"];
    let seen = drive(&dir, &[], &ops);
    assert_eq!(seen[..6], expect);
    for (index, seen) in seen.iter().enumerate().skip(6) {
        assert!(!seen.starts_with("ok") && !seen.contains("root:"), "{index}: {seen}");
    }
}

#[test]
fn nothing_is_changed_through_a_file_that_is_granted_for_reading() {
    let dir = TestDir::new();
    let (motd, neighbour) = etc(&dir);
    let before = (fs::read(&motd).unwrap(), fs::metadata(&motd).unwrap().mtime(), names(motd.parent().unwrap()));
    let ops = json!([
        ["write", motd, "new"],
        ["append", motd, "new"],
        ["overwrite", motd, ""],
        ["set_len_read_only", motd, "0"],
        ["times", motd],
        ["unlink", motd],
        ["rename", motd, "/tmp/motd"],
        ["rename", motd, neighbour],
        ["link", motd, "/tmp/motd"],
        ["create", motd.with_extension("tmp"), "new"],
        ["mkdir", neighbour],
        ["symlink", "x", motd.with_extension("link")],
        ["unlink", neighbour],
    ]);
    for (index, seen) in drive(&dir, &[("--allow-read", &motd)], &ops).iter().enumerate() {
        assert!(seen == "PermissionDenied" || index == 3 && seen == "InvalidInput", "{index}: {seen}");
    }
    let after = (fs::read(&motd).unwrap(), fs::metadata(&motd).unwrap().mtime(), names(motd.parent().unwrap()));
    assert_eq!(before, after);
}

#[test]
fn a_writable_file_can_be_changed_removed_and_made_again() {
    let dir = TestDir::new();
    let (motd, neighbour) = etc(&dir);
    let ops = json!([
        ["append", motd, "er"],
        ["read", motd],
        ["set_len", motd, "2"],
        ["read", motd],
        ["times", motd],
        ["unlink", motd],
        ["stat", motd],
        ["list", motd.parent()],
        ["create", motd, "again"],
        ["read", motd],
    ]);
    let expect = ["ok", "older", "ok", "ol", "ok", "ok", "NotFound", "PermissionDenied", "ok", "again"];
    assert_eq!(drive(&dir, &[("--allow-write", &motd)], &ops), expect);
    assert_eq!((fs::read(&motd).unwrap(), fs::read(&neighbour).unwrap()), (b"again".to_vec(), b"secret".to_vec()));
}

#[test]
fn a_writable_file_is_replaced_as_editors_do() {
    let dir = TestDir::new();
    let (motd, neighbour) = etc(&dir);
    fs::set_permissions(&motd, fs::Permissions::from_mode(0o640)).unwrap();
    let temporary = motd.with_file_name(".motd.swp");
    let ops = json!([
        ["create", temporary, "new"],
        ["list", motd.parent()],
        ["stat", temporary],
        ["append", temporary, "er"],
        ["read", temporary],
        ["rename", temporary, motd],
        ["stat", temporary],
        ["list", motd.parent()],
        ["read", motd],
        // One temporary file that is removed, one that is renamed in between, and one that stays.
        ["write", neighbour, "mine"],
        ["unlink", neighbour],
        ["write", temporary, "newest"],
        ["rename", temporary, motd.with_extension("b")],
        ["rename", motd.with_extension("b"), motd],
    ]);
    let expect = [
        "ok",
        "PermissionDenied",
        "file 3",
        "ok",
        "newer",
        "ok",
        "NotFound",
        "PermissionDenied",
        "newer",
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
    ];
    assert_eq!(drive(&dir, &[("--allow-write", &motd)], &ops), expect);
    assert_eq!(fs::read(&motd).unwrap(), b"newest");
    assert_eq!(fs::metadata(&motd).unwrap().mode() & 0o7777, 0o640, "the mode of the file that was replaced");
    assert_eq!(fs::read(&neighbour).unwrap(), b"secret", "a neighbour of the same name");
    assert_eq!(names(motd.parent().unwrap()), ["motd", "neighbour"], "nothing is left");
}

#[test]
fn a_file_that_is_left_beside_a_granted_one_is_removed_and_fails_the_run() {
    let dir = TestDir::new();
    let (motd, _) = etc(&dir);
    let copy = motd.with_file_name("motd.1234~");
    let ops = json!([["write", copy, "backup"]]);
    let report = prepare(&dir, &[("--allow-write", &*motd)], &ops).report().run().exits_with(1).json();
    assert_eq!((&report["status"], &report["lost"][0]["path"]), (&json!("failed"), &json!(copy)), "{report:#}");
    assert_eq!(names(motd.parent().unwrap()), ["motd", "neighbour"], "nothing is left");
}

#[test]
fn a_granted_name_can_be_made_and_a_new_file_has_the_mode_of_any_other() {
    let dir = TestDir::new();
    let (motd, _) = etc(&dir);
    let new = motd.with_file_name("new");
    let umask = fs::metadata(&motd).unwrap().mode();
    let ops = json!([
        ["stat", new],
        ["read", new],
        ["list", motd.parent()],
        ["write", new, "1"],
        ["unlink", new],
        ["write", new.with_extension("tmp"), "2"],
        ["rename", new.with_extension("tmp"), new],
    ]);
    let expect = ["NotFound", "NotFound", "PermissionDenied", "ok", "ok", "ok", "ok"];
    assert_eq!(drive(&dir, &[("--allow-write", &new)], &ops), expect);
    assert_eq!((fs::read(&new).unwrap(), fs::metadata(&new).unwrap().mode()), (b"2".to_vec(), umask));
}

#[test]
fn a_granted_name_can_become_a_directory() {
    let dir = TestDir::new();
    let new = dir.mkdir("srv").join("new");
    let ops = json!([
        ["mkdir", new],
        ["mkdir", new],
        ["write", new.join("a"), "1"],
        ["mkdir", new.join("sub")],
        ["list", new],
        ["rmdir", new.join("sub")],
        ["unlink", new.join("a")],
        ["rmdir", new],
        ["stat", new],
        ["mkdir", new],
        ["write", new.join("b"), "2"],
        ["write", new.with_extension("x"), "3"],
    ]);
    let expect =
        ["ok", "AlreadyExists", "ok", "ok", "[a sub/]", "ok", "ok", "ok", "NotFound", "ok", "ok", "PermissionDenied"];
    assert_eq!(drive(&dir, &[("--allow-write", &new)], &ops), expect);
    assert_eq!(names(&new), ["b"]);
}

#[test]
fn a_granted_file_is_not_moved_away_or_linked() {
    let dir = TestDir::new();
    let (motd, neighbour) = etc(&dir);
    let writable = dir.mkdir("writable");
    let (other, hard) = (writable.join("other"), writable.join("hard"));
    fs::write(&other, "other").unwrap();
    let ops = json!([
        ["rename", motd, motd.with_extension("old")],
        ["link", motd, motd.with_extension("old")],
        ["link", motd, hard],
        ["link", other, motd],
        ["rename", motd, writable.join("motd")],
        ["rename", other, motd],
        ["rename", other, neighbour],
        ["symlink", "neighbour", motd.with_extension("link")],
        ["symlink", "neighbour", motd],
    ]);
    let seen = drive(&dir, &[("--allow-write", &motd), ("--allow-write", &writable)], &ops);
    let (denied, crosses) = ("PermissionDenied", "CrossesDevices");
    let expect = [denied, denied, denied, denied, crosses, crosses, crosses, denied, "AlreadyExists"];
    assert_eq!(seen, expect);
    assert_eq!((fs::read(&motd).unwrap(), fs::metadata(&motd).unwrap().nlink()), (b"old".to_vec(), 1));
    assert_eq!(names(&writable), ["other"]);
}

#[test]
fn two_granted_files_can_take_each_others_place() {
    let dir = TestDir::new();
    let (motd, _) = etc(&dir);
    let backup = motd.with_extension("bak");
    let ops = json!([["rename", motd, backup], ["write", motd, "new"], ["read", backup]]);
    let seen = drive(&dir, &[("--allow-write", &motd), ("--allow-write", &backup)], &ops);
    assert_eq!(seen, ["ok", "ok", "old"]);
    assert_eq!((fs::read(&motd).unwrap(), fs::read(&backup).unwrap()), (b"new".to_vec(), b"old".to_vec()));
}

#[test]
fn a_file_can_be_seen_elsewhere() {
    let dir = TestDir::new();
    let (motd, _) = etc(&dir);
    let grant = PathBuf::from(format!("{}::/srv/deep/greeting", motd.display()));
    let ops = json!([
        ["read", "/srv/deep/greeting"],
        ["list", "/srv"],
        ["list", "/srv/deep"],
        ["read", motd],
        ["write", "/srv/deep/tmp", "new"],
        ["rename", "/srv/deep/tmp", "/srv/deep/greeting"],
    ]);
    let denied = "PermissionDenied";
    let expect = ["old", denied, denied, denied, "ok", "ok"];
    assert_eq!(drive(&dir, &[("--allow-write", &grant)], &ops), expect);
    assert_eq!(fs::read(&motd).unwrap(), b"new");
}
