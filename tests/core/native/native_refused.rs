//! Single files that are granted to a native module for writing, and that the user who runs modbox cannot write: the
//! module does not start.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::fs::IFlags;

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::{DONE, Place, USER};

/// Writes without looking at errors, and says that it has changed something.
const WRITE: &str = "echo new > $d/$f 2> /dev/null";

fn write(name: &str) -> String {
    format!("f={name}; {WRITE}; {DONE}")
}

#[test]
fn files_of_others_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    for name in ["theirs/file", "data/foreign", "data/secret"] {
        fs::write(place.at(name), "old\n").unwrap();
    }
    fs::set_permissions(place.at("data/secret"), fs::Permissions::from_mode(0o600)).unwrap();
    for (name, why) in [
        ("theirs/file", "neither write it (Permission denied"),
        ("theirs/new", "cannot make it in its directory"),
        ("data/foreign", "it would lose its owner"),
        ("data/secret", "cannot read it"),
    ] {
        for (calls, level) in [(&[][..], 3), (NO_MOUNTS, 2)] {
            let path = place.path(name);
            place.run_without(calls, &write(name), &["--allow-write", &path]).refused(&path, why);
            // A path in an argument is granted in the same way. In check mode, too: a run would be refused.
            let args = serde_json::json!({"path": path}).to_string();
            let switches = ["--designate", "path:write", "--check", "--args", &args];
            place.run_without(calls, &write(name), &switches).refused(&path, why);
            // With a grant for reading the module starts, and fails by itself.
            let failing = format!("echo new > $d/{name} || exit 1; {DONE}");
            if name.ends_with("file") || name.ends_with("foreign") {
                let ended = place.run_without(calls, &failing, &["--allow-read", &path]);
                assert_eq!((ended.exit, &ended.report["confinement"]["level"]), (Some(1), &level.into()));
            }
        }
    }
    assert_eq!((place.read("theirs/file"), place.read("data/foreign")), ("old\n".into(), "old\n".into()));
    assert_eq!(place.names("theirs"), ["file"]);
}

#[test]
fn files_of_others_that_the_user_may_write_are_written_and_keep_their_owner() {
    use std::os::unix::fs::MetadataExt;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    for name in ["theirs/file", "data/foreign"] {
        fs::write(place.at(name), "old\n").unwrap();
        fs::set_permissions(place.at(name), fs::Permissions::from_mode(0o666)).unwrap();
        for (calls, new) in [(&[][..], "one\n"), (NO_MOUNTS, "two\n")] {
            let script = format!("printf '{}' > $d/{name} && {DONE}", new.escape_default());
            place.run_without(calls, &script, &["--allow-write", &place.path(name)]).changed();
            assert_eq!((place.read(name).as_str(), place.at(name).metadata().unwrap().uid()), (new, 0));
        }
        // Replaced by the module, the file keeps its owner as well.
        let script =
            format!("echo three > $d/{name}.new && chmod 666 $d/{name}.new && mv $d/{name}.new $d/{name} && {DONE}");
        place.run(&script, &["--allow-write", &place.path(name)]).changed();
        assert_eq!((place.read(name).as_str(), place.at(name).metadata().unwrap().uid()), ("three\n", 0));
    }
}

#[test]
fn files_with_flags_against_changes_are_refused() {
    let place = Place::new(None);
    place.write("data/file", "old\n");
    let path = place.path("data/file");
    for flag in [IFlags::IMMUTABLE, IFlags::APPEND] {
        let file = fs::File::open(&path).unwrap();
        let flags = rustix::fs::ioctl_getflags(&file).unwrap_or(IFlags::empty());
        if rustix::fs::ioctl_setflags(&file, flags | flag).is_err() {
            // Only root may, and only on some file systems.
            return;
        }
        let ended = place.run(&write("data/file"), &["--allow-write", &path]);
        rustix::fs::ioctl_setflags(&file, flags).unwrap();
        ended.refused(&path, "its flags forbid changes");
        assert_eq!(place.read("data/file"), "old\n");
    }
}

#[test]
fn a_directory_that_is_granted_for_writing_holds_no_copies() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    fs::write(place.at("data/foreign"), "old\n").unwrap();
    let (data, path) = (place.path("data"), place.path("data/foreign"));
    // The module itself is refused, or replaces the file.
    let ended = place.run(
        &format!("echo new > $d/data/foreign || exit 1; {DONE}"),
        &["--allow-write", &data, "--allow-write", &path],
    );
    assert_eq!(ended.report["status"], "failed", "{:#}", ended.report);
}

#[test]
fn files_that_are_too_large_to_copy_are_written_in_place() {
    for place in Place::all() {
        place.write("data/one", &"1".repeat(100_000));
        place.write("signal/two", &"2".repeat(100_000));
        let (one, two) = (place.path("data/one"), place.path("signal/two"));
        let switches = ["--max-disk", "50KB", "--allow-write", &one, "--allow-write", &two];
        let report = place.run(&format!("printf x >> {one} && printf y >> {two} && {DONE}"), &switches).changed();
        assert!(report["notes"].to_string().contains("is written in place"), "{report:#}");
        assert!(place.read("data/one").ends_with("1x") && place.read("signal/two").ends_with("2y"));
    }
}

#[test]
fn new_files_are_made_in_directories_that_are_only_read_but_not_in_the_systems_own() {
    for place in Place::all() {
        let (data, path) = (place.path("data"), place.path("data/new"));
        let switches = ["--allow-read", &data, "--allow-write", &path];
        for old in [None, Some("old\n")] {
            old.iter().for_each(|old| place.write("data/new", old));
            place.run(&write("data/new"), &switches).changed();
            assert_eq!(place.read("data/new"), "new\n");
        }
        if place.is_root() {
            for path in ["/modbox-new", "/dev/modbox-new"] {
                let ended = place.run(&format!("echo new > {path}; {DONE}"), &["--allow-write", path]);
                ended.refused(path, "the module only reads its directory");
            }
        }
    }
}
