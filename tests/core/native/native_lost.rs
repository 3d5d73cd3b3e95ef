//! Changes of a native module that do not reach the machine: the run fails, whatever the module says of it. Result,
//! report and audit log have the reason.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use rustix::fs::IFlags;
use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::core::native::native_ladder::NO_LANDLOCK;
use crate::core::native::native_place::{DONE, Place, USER};
use crate::support::{children, prefixed};

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
fn a_directory_that_was_replaced_or_removed_meanwhile_gets_nothing() {
    for place in Place::all() {
        for again in [true, false] {
            fs::create_dir(place.at("data/sub")).unwrap();
            place.give("data/sub");
            let path = place.path("data/sub/file");
            let script = format!("echo mine > $d/data/sub/file; {DONE}");
            let ended = place.run_while(&script, &["--allow-write", &path], |place, _| {
                fs::rename(place.at("data/sub"), place.at("data/moved")).unwrap();
                if again {
                    fs::create_dir(place.at("data/sub")).unwrap();
                }
            });
            ended.lost(&path, if again { "replaced its directory" } else { "No such file" });
            assert!(place.names("data/sub").is_empty() && place.names("data/moved").is_empty());
            let _ = fs::remove_dir(place.at("data/sub"));
            fs::remove_dir(place.at("data/moved")).unwrap();
        }
    }
}

#[test]
fn rights_that_were_taken_away_meanwhile_fail_the_run() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(Some(USER));
    place.write("data/file", "old\n");
    let path = place.path("data/file");
    for script in ["echo mine > $d/data/file", "rm $d/data/file", "mv $d/data/file /tmp/x"] {
        let ended = place.run_while(&format!("{script}; {DONE}"), &["--allow-write", &path], |place, _| {
            chown(place.at("data"), Some(0), Some(0)).unwrap();
        });
        // The file itself still belongs to the user, who can write but not remove it.
        match script.starts_with("echo") {
            true => assert_eq!(
                (ended.changed()["status"].as_str(), place.read("data/file").as_str()),
                (Some("changed"), "mine\n")
            ),
            false => drop(ended.lost(&path, "Permission denied")),
        }
        place.give("data");
    }
    assert_eq!(place.read("data/file"), "mine\n");
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
fn either_all_files_are_taken_back_or_none() {
    for place in Place::all() {
        place.write("data/one", "old\n");
        place.write("data/two", "old\n");
        let (one, two, three) = (place.path("data/one"), place.path("data/two"), place.path("data/three"));
        let script = format!("for f in one two three; do echo new > $d/data/$f; done; {DONE}");
        let switches = ["--allow-write", &one, "--allow-write", &two, "--allow-write", &three];
        let report =
            place.run_while(&script, &switches, |place, _| place.write("data/two", "theirs\n")).lost(&two, CHANGED);
        assert_eq!(report["lost"].as_array().unwrap().len(), 3, "{report:#}");
        assert!(report["lost"].to_string().contains("could not be taken back, so this one was left"), "{report:#}");
        assert_eq!((place.read("data/one").as_str(), place.names("data").len()), ("old\n", 2));
        place.run(&script, &switches).changed();
        assert_eq!(place.read("data/one") + &place.read("data/two") + &place.read("data/three"), "new\nnew\nnew\n");
    }
}

#[test]
fn the_failure_of_the_module_itself_stays() {
    for place in Place::all() {
        let path = place.path("data/new");
        let script = "ln -s nowhere $d/data/new; echo '{\"failed\": true, \"msg\": \"mine\"}'";
        let report = place.run(script, &["--allow-write", &path]).report;
        assert_eq!((&report["status"], &report["result"]["msg"]), (&json!("failed"), &json!("mine")), "{report:#}");
        assert!(report["result"]["warnings"][0].as_str().unwrap().contains("has made a link of it"), "{report:#}");
        let allow = format!("--allow-write {}", place.path("data"));
        assert_eq!(report["lost"][0]["allow"], allow.as_str(), "{report:#}");
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

#[test]
fn without_conditional_renames_files_are_taken_back_all_the_same() {
    let no_conditions = [(libc::SYS_renameat2, libc::EINVAL)];
    for place in Place::all() {
        let path = place.path("data/file");
        for (script, expect) in [
            ("echo new > $d/data/file", "new\n"),
            ("echo more >> $d/data/file", "new\nmore\n"),
            ("rm $d/data/file", ""),
        ] {
            place.run_without(&no_conditions, &format!("{script}; {DONE}"), &["--allow-write", &path]).changed();
            assert_eq!(fs::read_to_string(&path).unwrap_or_default(), expect, "{script}");
        }
    }
}

/// Runs a module on a file of a file system that is made for it, in mount namespaces of the test. Returns the report and
/// the content of the file.
fn on_file_system(kind: &str, options: &str, python: &str) -> Option<(serde_json::Value, String)> {
    let place = Place::new(None);
    place.python("pass", &[]).changed();
    let module = place.read("module").replace("\npass\n", &format!("\n{python}\n"));
    fs::write(place.at("module"), module).unwrap();
    let (data, report) = (place.path("data"), place.path("home/report"));
    let run = place.command("module", &["--allow-write", &place.path("data/file")]);
    let script = format!(
        "mount -t {kind} -o {options} none {data} || exit 99; echo old > {data}/file; \"$@\" > {report}; cat {data}/file; ls -A {data} >&2"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    let output = prefixed(command, &run).current_dir(place.at("home")).output().unwrap();
    if output.status.code() == Some(99) || !rustix::process::geteuid().is_root() {
        return None;
    }
    assert_eq!(String::from_utf8_lossy(&output.stderr).trim(), "file", "{output:?}");
    let report = serde_json::from_str(&place.read("home/report")).unwrap();
    Some((report, String::from_utf8(output.stdout).unwrap()))
}

#[test]
fn a_file_of_a_lower_layer_is_written_in_place() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // The ordinary user may write the file, and not replace it. Opening it for writing copies it to the upper layer.
    let place = Place::new(Some(USER));
    place.write("theirs/file", "old\n");
    fs::create_dir(place.at("upper")).unwrap();
    fs::write(
        place.at("module"),
        format!("#!/bin/sh\n# WANT_JSON\necho new > {}\n{DONE}\n", place.path("theirs/file")),
    )
    .unwrap();
    let run = place.command("module", &["--allow-write", &place.path("theirs/file")]);
    let (upper, theirs) = (place.path("upper"), place.path("theirs"));
    let script = format!(
        "mount -t tmpfs none {upper} && mkdir {upper}/up {upper}/work && mount -t overlay -o \
         lowerdir={theirs},upperdir={upper}/up,workdir={upper}/work none {theirs} || exit 99; \
         setpriv --reuid {USER} --regid {USER} --clear-groups \"$@\"; cat {theirs}/file"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    let output = prefixed(command, &run).current_dir(place.at("home")).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.code() == Some(99) || stdout.contains("\"changed\"") && stdout.ends_with("new\n"),
        "{output:?}"
    );
}

#[test]
fn a_full_disk_fails_the_run_and_leaves_the_file_as_it_was() {
    let write = "open(d + '/data/file', 'w').write('new' * 100000)";
    let Some((report, content)) = on_file_system("tmpfs", "size=64k", write) else { return };
    assert_eq!((&report["status"], content.as_str()), (&json!("failed"), "old\n"), "{report:#}");
    assert!(report["result"]["msg"].as_str().unwrap().contains("No space left"), "{report:#}");
    let (report, content) = on_file_system("tmpfs", "size=64k", "open(d + '/data/file', 'w').write('new')").unwrap();
    assert_eq!((&report["status"], content.as_str()), (&json!("changed"), "new"), "{report:#}");
}

#[test]
fn attributes_that_the_file_system_cannot_hold_fail_the_run() {
    let attribute = "os.setxattr(d + '/data/file', 'user.new', b'1')";
    for code in [attribute.to_owned(), format!("open(d + '/data/file', 'a').write('more'); {attribute}")] {
        let Some((report, content)) = on_file_system("ramfs", "mode=755", &code) else { return };
        assert_eq!((&report["status"], content.as_str()), (&json!("failed"), "old\n"), "{report:#}");
        assert!(report["result"]["msg"].as_str().unwrap().contains("extended attribute `user.new`"), "{report:#}");
    }
    let (report, content) = on_file_system("ramfs", "mode=755", "open(d + '/data/file', 'a').write('more')").unwrap();
    assert_eq!((&report["status"], content.as_str()), (&json!("changed"), "old\nmore"), "{report:#}");
}

#[test]
fn a_name_in_shared_memory_is_taken_back() {
    for place in Place::all() {
        let file = tempfile::Builder::new().prefix("modbox-test-").tempfile_in("/dev/shm").unwrap();
        chown(file.path(), place.user, place.user).unwrap();
        let (path, new) = (file.path().display().to_string(), file.path().with_extension("new"));
        let switches = ["--allow-write", &path, "--allow-write", new.to_str().unwrap()];
        place.run(&format!("echo new > '{path}'; echo new > '{}'; {DONE}", new.display()), &switches).changed();
        let written = fs::read_to_string(file.path()).unwrap() + &fs::read_to_string(&new).unwrap();
        fs::remove_file(&new).unwrap();
        assert_eq!(written, "new\nnew\n");
    }
}

#[test]
fn a_path_whose_directory_is_missing_is_not_made_in_a_directory_of_the_modules_own() {
    for place in Place::all() {
        let unique = place.at("x").parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        place.write("data/file", "old\n");
        let data = place.path("data");
        for (above, level) in [("/tmp", 3), ("/dev/shm", 3), (data.as_str(), 3), ("/srv", 1), ("/dev", 1)] {
            let first = format!("{above}/missing{unique}");
            let path = format!("{first}/sub/file");
            let args = json!({"dest": path}).to_string();
            let calls = if level == 1 { NO_LANDLOCK } else { &[] };
            let switches = ["--designate", "dest:write", "--args", &args, "--allow-write", &place.path("data/file")];
            let switches = [&switches[..], &["--min-confinement", "1"]].concat();
            let make = format!("mkdir -p {first}/sub && echo new > {path} || exit 1; {DONE}");
            place.run_without(calls, &make, &switches).lost(&path, "does not exist on this machine");
            assert!(!Path::new(&first).exists());
            // A module that only looks, or removes what is missing, succeeds.
            let ended = place.run_without(calls, &format!("rm -rf {path}; ls {first} >&2; {DONE}"), &switches);
            assert_eq!(ended.changed()["confinement"]["level"], level);
        }
    }
}

#[test]
fn a_missing_name_behind_a_link_of_the_machine_does_not_count_as_made() {
    for place in Place::all() {
        let args = json!({"src": "/bin/no-such-program"}).to_string();
        let switches = ["--designate", "src:read", "--args", &args];
        place.run(&format!("ls /bin/no-such-program >&2; {DONE}"), &switches).changed();
    }
}
