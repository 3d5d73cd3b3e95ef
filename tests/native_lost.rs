//! Changes of a native module that do not reach the machine: the run fails, whatever the module says of it. Result,
//! report and audit log have the reason.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::IFlags;
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::native_place::{DONE, Place};
use crate::support::children;

const CHANGED: &str = "another process has changed it";

#[test]
fn changes_of_other_processes_stay_and_fail_the_run() {
    type Interference = fn(&Path);
    let interferences: [(&str, Interference, &str); 6] = [
        ("theirs\n", |file| fs::write(file, "theirs\n").unwrap(), CHANGED),
        ("theirs\n", |file| replace(file, "theirs\n"), CHANGED),
        ("old\n", |file| fs::set_permissions(file, fs::Permissions::from_mode(0o604)).unwrap(), CHANGED),
        ("", |file| fs::remove_file(file).unwrap(), CHANGED),
        ("", |file| link(file), CHANGED),
        ("", |file| make_directory(file), CHANGED),
    ];
    for place in Place::all() {
        for (expect, interfere, why) in interferences {
            for script in ["echo mine > $d/data/file", "rm $d/data/file", "chmod 600 $d/data/file"] {
                place.write("data/file", "old\n");
                let path = place.path("data/file");
                let script = format!("{script}; {DONE}");
                let ended =
                    place.run_while(&script, &["--allow-write", &path], |place, _| interfere(&place.at("data/file")));
                ended.lost(&path, why);
                assert_eq!(fs::read_to_string(&path).unwrap_or_default(), expect, "{script}");
                let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            }
        }
    }
}

fn replace(file: &Path, content: &str) {
    fs::write(file.with_extension("new"), content).unwrap();
    fs::rename(file.with_extension("new"), file).unwrap();
}

fn link(file: &Path) {
    fs::remove_file(file).unwrap();
    symlink("/dev/null", file).unwrap();
}

fn make_directory(file: &Path) {
    fs::remove_file(file).unwrap();
    fs::create_dir(file).unwrap();
}

#[test]
fn a_new_file_is_not_put_over_one_that_was_made_meanwhile() {
    for place in Place::all() {
        let path = place.path("data/new");
        let script = format!("echo mine > $d/data/new; {DONE}");
        let ended = place.run_while(&script, &["--allow-write", &path], |place, _| place.write("data/new", "theirs\n"));
        ended.lost(&path, CHANGED);
        assert_eq!(place.read("data/new"), "theirs\n");
    }
}

#[test]
fn a_file_of_others_does_not_matter_to_a_module_that_leaves_it_alone() {
    for place in Place::all() {
        place.write("data/file", "old\n");
        let script = format!("cat $d/data/file >&2; {DONE}");
        let ended = place
            .run_while(&script, &["--allow-write", &place.path("data/file")], |place, _| place.write("data/file", "x"));
        ended.changed();
    }
}

#[test]
fn a_file_that_became_immutable_meanwhile_fails_the_run() {
    let place = Place::new(None);
    place.write("data/file", "old\n");
    let (path, file) = (place.path("data/file"), fs::File::open(place.at("data/file")).unwrap());
    let flags = rustix::fs::ioctl_getflags(&file).unwrap_or(IFlags::empty());
    if rustix::fs::ioctl_setflags(&file, flags | IFlags::IMMUTABLE).is_err() {
        return;
    }
    rustix::fs::ioctl_setflags(&file, flags).unwrap();
    let script = format!("echo mine > $d/data/file; {DONE}");
    let ended = place.run_while(&script, &["--allow-write", &path], |_, _| {
        rustix::fs::ioctl_setflags(&file, flags | IFlags::IMMUTABLE).unwrap();
    });
    rustix::fs::ioctl_setflags(&file, flags).unwrap();
    ended.lost(&path, "");
    assert_eq!(place.read("data/file"), "old\n");
}

#[test]
fn the_failure_of_the_module_itself_stays() {
    for place in Place::all() {
        let path = place.path("data/new");
        let script = "mkdir $d/data/new; echo '{\"failed\": true, \"msg\": \"mine\"}'";
        let report = place.run(script, &["--allow-write", &path]).report;
        assert_eq!((&report["status"], &report["result"]["msg"]), (&json!("failed"), &json!("mine")), "{report:#}");
        assert!(report["result"]["warnings"][0].as_str().unwrap().contains("something else than a file"), "{report:#}");
    }
}

#[test]
fn a_launcher_that_is_killed_fails_the_run() {
    for place in Place::all() {
        place.write("data/file", "old\n");
        let path = place.path("data/file");
        let script = format!("echo mine > $d/data/file; {DONE}");
        let ended = place.run_while(&script, &["--allow-write", &path], |_, modbox| {
            for child in children(Pid::from_raw(modbox.cast_signed()).unwrap()) {
                rustix::process::kill_process(child, Signal::KILL).unwrap();
            }
        });
        ended.lost(&path, "the launcher was killed");
        assert_eq!(place.read("data/file"), "old\n");
    }
}
