//! What a file keeps that Ansible's modules replace in the sandbox: what belongs to its place, or else all of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::fs::XattrFlags;

use crate::python::oracle_python_places::{INSTALLED, modbox};
use crate::python::python_closure::package;
use crate::support::RunOutput;

/// Appends a line to a file by Ansible's `lineinfile` in the sandbox.
fn append(path: &Path, grants: &[&str]) -> RunOutput {
    let module = package(&INSTALLED.python).join("modules/lineinfile.py");
    let run = modbox(&INSTALLED.python, &INSTALLED.dir).arg("run").arg(module).report().args(["--python", "wasm"]);
    run.args(grants).arg(format!("path={}", path.display())).arg("line=last").run()
}

#[test]
fn a_replaced_file_keeps_owner_mode_and_attributes_without_a_grant_of_the_owner() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "first\n").unwrap();
    // Only root can give a file away.
    let is_root = chown(&file, Some(1000), Some(33)).is_ok();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    let has_attributes = rustix::fs::setxattr(&file, "user.test", b"1", XattrFlags::empty()).is_ok();
    let grant = folder.path().display().to_string();
    for grants in [&[][..], &["--allow-write", &grant]] {
        fs::write(&file, "first\n").unwrap();
        let report = append(&file, grants).exits_with(0).json();
        assert_eq!(fs::read_to_string(&file).unwrap(), "first\nlast\n");
        let found = fs::metadata(&file).unwrap();
        assert_eq!(found.mode() & 0o7777, 0o640, "{report}");
        assert!(!is_root || (found.uid(), found.gid()) == (1000, 33), "{report}");
        let mut value = [0; 8];
        assert_eq!(rustix::fs::getxattr(&file, "user.test", &mut value).is_ok(), has_attributes, "{report}");
        assert_eq!(report["result"].get("warnings"), None, "{report}");
        assert_eq!(report["denials"].as_array().map(Vec::len), Some(0), "{report}");
    }
}

#[test]
fn what_a_replaced_file_could_not_keep_is_a_warning() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "first\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o4755)).unwrap();
    let report = append(&file, &[]).exits_with(0).json();
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o755);
    let warning = report["result"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("the set-user-id and set-group-id bits of `"), "{report}");
}

#[test]
fn a_limit_that_is_met_half_way_leaves_the_old_file() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = folder.path().join("file");
    let old = "key = value\n".repeat(80_000);
    fs::write(&file, &old).unwrap();
    // It is enough for the copy in /tmp, and not for another one beside the file.
    let report = append(&file, &["--max-disk", "1500KiB"]).exits_with(5).json();
    assert_eq!(report["limit"]["kind"], "disk", "{report}");
    assert!(fs::read_to_string(&file).unwrap() == old);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file"]);
}
