//! The home of a native module is that of its user, as under plain Ansible. Nothing in it is granted by its name: a write there is
//! refused, and is never lost with a success. What a module leaves in its own `/tmp` is told.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;

use serde_json::Value;

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::{DONE, Ended, Place};

/// Code that tells what the home is to Python.
const TELL: &str = "result['home'] = os.path.expanduser('~'); result['variable'] = os.environ['HOME']\n\
    result['is_there'] = os.path.isdir(os.path.expanduser('~'))";

/// Returns the denials of a run.
fn denials(ended: &Ended) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let denials = ended.report["denials"].as_array().unwrap().iter();
    denials.map(|denial| (text(&denial["subject"]), text(&denial["allow"]))).collect()
}

/// Returns the warnings of a result.
fn warnings(report: &Value) -> Vec<String> {
    let warnings = report["result"]["warnings"].as_array().cloned().unwrap_or_default();
    warnings.iter().map(|warning| warning.as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_home_is_that_of_the_user() {
    for place in Place::all() {
        let report = place.python(TELL, &[]).changed();
        let home = place.path("home");
        let result = &report["result"];
        assert_eq!(
            (&result["home"], &result["variable"]),
            (&home.as_str().into(), &home.as_str().into()),
            "{report:#}"
        );
        assert_eq!(result["is_there"], true, "{report:#}");
        // A variable that is granted has the value of the grant.
        let report = place.python(TELL, &["--allow-env", "HOME=/srv"]).changed();
        assert_eq!(report["result"]["home"], "/srv", "{report:#}");
    }
}

#[test]
fn a_write_in_the_home_is_refused_and_can_be_granted() {
    for place in Place::all() {
        let (file, folder) = (place.path("home/file"), place.path("home/own"));
        // A directory is made in one that is granted.
        for (script, path, allowed) in [
            ("echo text > ~/file", file.as_str(), file.as_str()),
            ("mkdir ~/own && echo text > ~/own/file", &folder, &place.path("home")),
        ] {
            let ended = place.run(&format!("({script}) || exit 1; {DONE}"), &[]);
            assert_eq!((&ended.report["status"], ended.exit), (&"failed".into(), Some(1)), "{:#}", ended.report);
            let expect = (path.to_owned(), format!("--allow-write {allowed}"));
            assert!(denials(&ended).contains(&expect), "{expect:?}: {:#}", ended.report);
        }
        assert_eq!(place.names("home"), Vec::<String>::new());
        place.run(&format!("echo text > ~/file; {DONE}"), &["--allow-write", &file]).changed();
        assert_eq!(place.read("home/file"), "text\n");
        fs::create_dir(place.at("home/own")).unwrap();
        place.give("home/own");
        place.run(&format!("echo text > ~/own/file; {DONE}"), &["--allow-write", &folder]).changed();
        assert_eq!(place.read("home/own/file"), "text\n");
        // A file that the module makes beside a granted one is lost, so the run fails and changes neither.
        place.run(&format!("cat ~/file >&2; {DONE}"), &["--allow-read", &file]).changed();
        let ended = place
            .run(&format!("echo more >> ~/file; echo text > ~/beside || exit 1; {DONE}"), &["--allow-write", &file]);
        assert_eq!(ended.report["status"], "failed", "{:#}", ended.report);
        assert_eq!(place.read("home/file"), "text\n");
        assert!(!place.at("home/beside").exists());
    }
}

#[test]
fn nothing_of_the_home_is_seen_without_a_grant() {
    let place = Place::new(None);
    place.write("home/secret", "text\n");
    let path = place.path("home/secret");
    let ended = place.run(&format!("cd ~ || exit 1; cat ~/secret; ls ~; test -e secret && exit 1; {DONE}"), &[]);
    assert!(denials(&ended).contains(&(path.clone(), format!("--allow-read {path}"))), "{:#}", ended.report);
    ended.changed();
}

#[test]
fn without_namespaces_it_is_the_same() {
    let place = Place::new(None);
    let path = place.path("home/file");
    place.write("home/file", "");
    let script = format!("echo text > ~/file || exit 1; {DONE}");
    let ended = place.run_without(NO_MOUNTS, &script, &["--min-confinement", "2"]);
    assert_eq!(ended.report["status"], "failed", "{:#}", ended.report);
    assert!(denials(&ended).contains(&(path.clone(), format!("--allow-write {path}"))), "{:#}", ended.report);
    place.run_without(NO_MOUNTS, &script, &["--min-confinement", "2", "--allow-write", &path]).changed();
    assert_eq!(place.read("home/file"), "text\n");
}

#[test]
fn what_is_left_in_the_modules_own_tmp_is_told() {
    let place = Place::new(None);
    for (script, said) in [
        ("echo text > /tmp/left", Some("`/tmp/left` was made in a `/tmp` of the module's own and is gone with it")),
        ("mkdir -p /tmp/a/b; touch /tmp/c /tmp/d /tmp/e", Some("`/tmp/a`, `/tmp/c`, `/tmp/d` and 1 more were made")),
        ("touch relative", Some("`/tmp/relative` was made")),
        ("echo text > /tmp/gone; rm /tmp/gone", None),
        ("echo text > $d/data/file", None),
    ] {
        let report =
            place.run(&format!("cd /tmp; {script}; {DONE}"), &["--allow-write", &place.path("data")]).changed();
        let warnings = warnings(&report);
        match said {
            Some(said) => assert!(warnings.len() == 1 && warnings[0].contains(said), "{said}: {warnings:?}"),
            None => assert_eq!(warnings, Vec::<String>::new(), "{script}"),
        }
    }
    // A granted file is not lost, and a result without a change says nothing of one.
    let path = place.path("data/file");
    let report = place.run(&format!("echo text > $d/data/file; {DONE}"), &["--allow-write", &path]).changed();
    assert_eq!(warnings(&report), Vec::<String>::new());
    let ended = place.run("echo text > /tmp/left; echo '{\"changed\": false}'", &[]);
    assert_eq!((&ended.report["status"], warnings(&ended.report)), (&"ok".into(), Vec::new()));
}
