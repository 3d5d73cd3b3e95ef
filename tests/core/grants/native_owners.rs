//! Owners are a grant at every door: a real run, a preview, a transaction and an observed run of a native module follow one rule, and
//! so does a component.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, chown};

use serde_json::{Value, json};

use crate::core::native::native_place::{DONE, Place};
use crate::support::{Modbox, TestDir, guest};

/// A user without an account, and one that has a file in the folder.
const STRANGER: u32 = 54321;
const NEIGHBOUR: u32 = 54322;

fn place() -> Option<Place> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let place = Place::new(None);
    place.write("data/file", "old");
    place.write("data/theirs", "old");
    chown(place.at("data/theirs"), Some(NEIGHBOUR), Some(NEIGHBOUR)).unwrap();
    Some(place)
}

fn owner(place: &Place, name: &str) -> (u32, u32) {
    let found = place.at(name).symlink_metadata().unwrap();
    (found.uid(), found.gid())
}

/// Runs a script at a door: without options, with `--preview` or with `--transaction`.
fn at_door(place: &Place, script: &str, door: Option<&str>, options: &[&str]) -> (String, Value) {
    let data = place.path("data");
    let options: Vec<&str> = ["--allow-write", &data].into_iter().chain(door).chain(options.iter().copied()).collect();
    let ended = place.run(script, &options);
    (ended.report["status"].as_str().unwrap().to_owned(), ended.report)
}

const DOORS: [Option<&str>; 3] = [None, Some("--preview"), Some("--transaction")];

#[test]
fn a_module_gives_files_to_those_who_are_granted() {
    let Some(place) = place() else { return };
    let calls = [
        format!("chown {STRANGER}:{STRANGER} $d/data/file"),
        format!("chown -h {STRANGER} $d/data/file"),
        format!("chgrp {STRANGER} $d/data/file"),
        format!("python3 -c 'import os; f = os.open(\"'$d'/data/file\", 0); os.fchown(f, {STRANGER}, -1)'"),
        format!("ln -s $d/data/file /tmp/link && chown {STRANGER} /tmp/link"),
        format!("cd $d/data && chown {STRANGER} ./file"),
        // In its own directory the module makes files of any owner.
        format!(
            "touch /tmp/own && chown {STRANGER} /tmp/own && ln -s $d/data/file /tmp/link && chown {STRANGER} /tmp/link"
        ),
    ];
    for call in &calls {
        for door in DOORS {
            let (status, report) = at_door(&place, &format!("{call} && {DONE}"), door, &[]);
            assert!(status == "failed" || status == "crashed", "{call} {door:?}: {report:#}");
            let denials = report["denials"].as_array().unwrap();
            let is_own = |denial: &&Value| denial["capability"] == "own" && denial["operation"] == "set-owner";
            let denial = denials.iter().find(is_own).unwrap_or_else(|| panic!("{call} {door:?}: {report:#}"));
            assert!(denial["allow"].as_str().unwrap().contains(&STRANGER.to_string()), "{denial}");
            assert_eq!(owner(&place, "data/file"), (0, 0), "{call} {door:?}");
        }
    }
    let granted = format!("{STRANGER}:{STRANGER}");
    for (door, expect) in [(Some("--preview"), 0), (Some("--transaction"), STRANGER), (None, STRANGER)] {
        let (status, report) = at_door(&place, &format!("{} && {DONE}", calls[0]), door, &["--allow-own", &granted]);
        assert_eq!(status, "changed", "{door:?}: {report:#}");
        assert_eq!(owner(&place, "data/file"), (expect, expect), "{door:?}");
        chown(place.at("data/file"), Some(0), Some(0)).unwrap();
    }
}

#[test]
fn a_file_that_is_named_in_an_unusual_way_needs_the_grant_too() {
    let Some(place) = place() else { return };
    let name = OsStr::from_bytes(b"n\xff");
    fs::write(place.at("data").join(name), "old").unwrap();
    let code = format!(
        "
seen = []
def give(file, by=os.chown):
    try:
        by(file, {STRANGER}, {STRANGER})
        seen.append('given')
    except OSError as error:
        seen.append(os.strerror(error.errno))
give(os.fsencode(d) + b'/data/n\\xff')
give('/proc/self/fd/%d' % os.open(d + '/data/file', os.O_RDONLY))
new = os.open(d + '/data', os.O_TMPFILE | os.O_WRONLY)
give(new, os.fchown)
give(d + '/data/gone')
give(os.pipe()[0], os.fchown)
result['seen'], result['owner'] = seen, os.fstat(new).st_uid"
    );
    let data = place.path("data");
    let report = place.python(&code, &["--allow-write", &data]).changed();
    let refused = "Operation not permitted";
    assert_eq!(
        report["result"]["seen"],
        json!([refused, refused, refused, "No such file or directory", "given"]),
        "{report:#}"
    );
    assert_eq!(report["result"]["owner"], 0, "{report:#}");
    for name in [name, OsStr::new("file")] {
        assert_eq!(place.at("data").join(name).metadata().unwrap().uid(), 0, "{}", name.display());
    }
    let report =
        place.python(&code, &["--allow-write", &data, "--allow-own", &format!("{STRANGER}:{STRANGER}")]).report;
    assert_eq!(report["result"]["seen"][0], "given", "{report:#}");
}

#[test]
fn a_link_that_changes_during_the_call_gives_no_other_file_away() {
    let Some(place) = place() else { return };
    let code = format!(
        "
import threading
own, theirs, link = '/tmp/own', d + '/data/file', '/tmp/link'
open(own, 'w').close()
os.symlink(own, link)
ended = threading.Event()
def swap():
    while not ended.is_set():
        for number, target in enumerate((theirs, own)):
            os.symlink(target, link + str(number))
            os.rename(link + str(number), link)
thread = threading.Thread(target=swap)
thread.start()
for _ in range(2000):
    try:
        os.chown(link, {STRANGER}, {STRANGER})
    except PermissionError:
        pass
ended.set()
thread.join()"
    );
    place.python(&code, &["--allow-write", &place.path("data")]).changed();
    assert_eq!(owner(&place, "data/file"), (0, 0));
}

#[test]
fn an_owner_that_is_there_already_needs_no_grant() {
    let Some(place) = place() else { return };
    for (script, name) in [
        // What Ansible's modules do with a file that they replace.
        (
            "echo new > $d/data/.new && chown --reference=$d/data/theirs $d/data/.new && mv $d/data/.new $d/data/theirs",
            "theirs",
        ),
        ("cp -a $d/data/theirs $d/data/copy", "copy"),
        ("mkdir $d/data/below && mv $d/data/theirs $d/data/below/moved", "below/moved"),
        ("chown --reference=$d/data/theirs $d/data/theirs", "theirs"),
        // The module's own files.
        ("cp -a $d/data/theirs /tmp/own", "theirs"),
    ] {
        for door in DOORS {
            fs::remove_dir_all(place.at("data")).unwrap();
            fs::create_dir(place.at("data")).unwrap();
            place.write("data/theirs", "old");
            chown(place.at("data/theirs"), Some(NEIGHBOUR), Some(NEIGHBOUR)).unwrap();
            let (status, report) = at_door(&place, &format!("{script} && {DONE}"), door, &[]);
            assert!(status == "changed" || status == "ok", "{script} {door:?}: {report:#}");
            assert_eq!(report["denials"], json!([]), "{script} {door:?}");
            if door != Some("--preview") {
                assert_eq!(owner(&place, &format!("data/{name}")), (NEIGHBOUR, NEIGHBOUR), "{script} {door:?}");
            }
        }
    }
}

#[test]
fn a_component_follows_the_same_rule() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = TestDir::new();
    let (file, theirs) = (dir.write("data/file", ""), dir.write("data/theirs", ""));
    chown(&theirs, Some(NEIGHBOUR), Some(NEIGHBOUR)).unwrap();
    let give = |to: u32| {
        let ops = json!({"ops": [["owner", file, to.to_string(), to.to_string()]]});
        let run = Modbox::run_module(&dir, guest("attributes")).json_args(&ops);
        run.arg("--allow-write").arg(dir.join("data")).run().json()["seen"][0].as_str().unwrap().to_owned()
    };
    assert_ne!(give(STRANGER), "ok");
    assert_eq!(file.metadata().unwrap().uid(), 0);
    assert_eq!(give(0), give(NEIGHBOUR), "neither is refused");
    assert_eq!(file.metadata().unwrap().uid(), NEIGHBOUR);
}
