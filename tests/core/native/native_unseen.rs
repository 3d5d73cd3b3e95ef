//! Links in granted directories that lead out of all grants: a native module finds nothing there, and its success says so. So does
//! the success of a module that names a file in its own `/tmp`, which is gone.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;

use crate::core::native::native_place::Place;

/// A place with a link `data/up` to the file `outside`.
fn place() -> Place {
    let place = Place::new(None);
    place.write("outside", "text\n");
    symlink("../outside", place.at("data/up")).unwrap();
    place
}

/// Returns the warnings of a run of Python code, and the operations of its denials of reading.
fn seen(place: &Place, code: &str, switches: &[&str]) -> (Vec<String>, Vec<Value>) {
    let ended = place.python(code, &[&["--allow-read", &place.path("data")], switches].concat());
    let report = ended.report;
    assert_eq!(report["status"], "changed", "{report:#}");
    let warnings = report["result"]["warnings"].as_array().cloned().unwrap_or_default();
    let warnings = warnings.iter().map(|warning| warning.as_str().unwrap().to_owned()).collect();
    let denials = report["denials"].as_array().unwrap().iter().filter(|denial| denial["capability"] == "read");
    (warnings, denials.map(|denial| denial["operation"].clone()).collect())
}

#[test]
fn a_success_after_a_link_out_of_a_grant_has_a_warning() {
    let place = place();
    let outside = place.path("outside");
    for code in [
        "result['found'] = os.path.isfile(d + '/data/up')",
        "os.path.getsize(d + '/data/up') if os.path.exists(d + '/data/up') else None",
        "try:\n    open(d + '/data/up')\nexcept OSError:\n    pass",
        "os.access(d + '/data/up', os.R_OK)",
        "os.chdir(d + '/data'); os.path.exists('up')",
    ] {
        let (warnings, denials) = seen(&place, code, &[]);
        assert!(
            warnings.len() == 1 && warnings[0].ends_with(&format!("did not see it: `{outside}`")),
            "{code}: {warnings:?}"
        );
        assert_eq!(denials, ["follow"], "{code}");
        // With a grant of the target, it is there.
        let (warnings, denials) = seen(&place, code, &["--allow-read", &outside]);
        assert_eq!((warnings, denials), (Vec::new(), Vec::new()), "{code}");
    }
}

#[test]
fn a_link_with_a_name_that_is_not_utf8_has_a_warning_too() {
    let place = Place::new(None);
    place.write("outside", "text\n");
    let (link, target) = (OsStr::from_bytes(b"data/l\xff"), OsStr::from_bytes(b"t\xff"));
    let root = place.at("");
    symlink("../outside", root.join(link)).unwrap();
    fs::write(root.join(target), "text\n").unwrap();
    symlink(Path::new("..").join(target), root.join("data/up")).unwrap();
    for (name, subject) in [("l\\xff", "outside"), ("up", "t\u{fffd}")] {
        let code = format!("result['found'] = os.path.exists(os.fsencode(d) + b'/data/{name}')");
        let (warnings, denials) = seen(&place, &code, &[]);
        let said = format!("did not see it: `{}`", place.path(subject));
        assert!(warnings.len() == 1 && warnings[0].ends_with(&said), "{code}: {warnings:?}");
        assert_eq!(denials, ["follow"], "{code}");
    }
    // A directory around it can be granted.
    let code = "result['found'] = os.path.exists(d + '/data/up')";
    assert_eq!(seen(&place, code, &["--allow-read", &place.path("")]).0, Vec::<String>::new());
}

#[test]
fn what_follows_no_link_has_none() {
    let place = place();
    fs::write(place.at("data/file"), "").unwrap();
    symlink("file", place.at("data/inside")).unwrap();
    symlink("/usr", place.at("data/system")).unwrap();
    symlink("gone", place.at("data/dangling")).unwrap();
    for code in [
        "result['found'] = os.listdir(d + '/data')",
        "os.lstat(d + '/data/up'); os.readlink(d + '/data/up')",
        "os.stat(d + '/data/inside'); os.stat(d + '/data/system'); os.path.exists(d + '/data/dangling')",
        // Searches for programs, and what an interpreter looks for, have nothing to do with the link.
        "import shutil, locale, subprocess; shutil.which('no-such-program'); subprocess.run('true')",
    ] {
        assert_eq!(seen(&place, code, &[]).0, Vec::<String>::new(), "{code}");
    }
}

#[test]
fn modules_without_such_links_are_not_watched() {
    let place = Place::new(None);
    place.write("outside", "text\n");
    let code = format!("os.path.exists({:?})", place.path("outside"));
    assert_eq!(seen(&place, &code, &[]), (Vec::new(), Vec::new()));
    // With one, all looks are in the report, and those through links alone are in the result.
    symlink("../outside", place.at("data/up")).unwrap();
    let (warnings, denials) = seen(&place, &code, &[]);
    assert!(warnings.is_empty() && denials.contains(&"look".into()), "{warnings:?} {denials:?}");
}

#[test]
fn a_result_that_names_a_file_in_the_modules_own_tmp_has_a_warning() {
    let place = place();
    let (warnings, _) = seen(&place, "import tempfile; result['path'] = tempfile.mkstemp()[1]", &[]);
    assert!(warnings.len() == 1 && warnings[0].contains("was made in a `/tmp` of the module's own"), "{warnings:?}");
    let data = place.path("data");
    let code = "import tempfile; result['path'] = tempfile.mkstemp(dir=d + '/data')[1]";
    assert_eq!(seen(&place, code, &["--allow-write", &data]).0, Vec::<String>::new());
}
