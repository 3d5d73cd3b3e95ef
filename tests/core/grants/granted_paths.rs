//! What a written grant of a path means. The module sees each link on the way as a link, and finds what is granted at its own place,
//! as a component and natively; a link that changes later grants nothing else. Two colons can be in a name.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::Place;
use crate::support::{Modbox, TestDir, guest};

/// Makes `real/file`, and links that lead to it: `folder -> real`, `file -> folder/file` by absolute paths.
fn linked(dir: &TestDir) {
    dir.write("real/file", "content");
    symlink(dir.join("real"), dir.join("folder")).unwrap();
    symlink(dir.join("folder/file"), dir.join("file")).unwrap();
}

#[test]
fn a_guest_sees_the_links_of_a_grant_and_what_they_lead_to() {
    let dir = TestDir::new();
    linked(&dir);
    let at = |name: &str| dir.join(name).display().to_string();
    let try_it = |op: &str, path: &str, switches: &[&str]| {
        let args = json!({"op": op, "path": at(path), "expect": "ok"});
        let result = Modbox::run_module(&dir, guest("files")).json_args(&args).args(switches).run().json();
        (result["content"].as_str().map(str::to_owned), result["msg"].to_string())
    };
    let (file, folder) = (at("file"), at("folder"));
    for grant in [&file, &at("folder/file")] {
        let grant = ["--allow-read", grant.as_str(), "--designated", "none"];
        for path in ["folder/file", "real/file"] {
            let (content, error) = try_it("read", path, &grant);
            assert_eq!(content.as_deref(), Some("content"), "{path}: {error}");
        }
        let (content, error) = try_it("read_link", "folder", &grant);
        assert_eq!(content, Some(at("real")), "{error}");
    }
    let by_file = ["--allow-read", file.as_str(), "--designated", "none"];
    assert_eq!(try_it("read", "file", &by_file).0.as_deref(), Some("content"));
    assert_eq!(try_it("read_link", "file", &by_file).0, Some(at("folder/file")));
    // The folder around the link is not granted, so the link is neither removed nor replaced.
    let by_folder = ["--allow-write", folder.as_str(), "--designated", "none"];
    assert_eq!(try_it("unlink", "folder", &by_folder).0, None);
    assert_eq!(try_it("overwrite", "folder/file", &by_folder).0.as_deref(), Some(""));
    assert_eq!(fs::read_to_string(dir.join("real/file")).unwrap(), "guestnt");
}

#[test]
fn a_link_that_is_changed_grants_nothing_else() {
    let dir = TestDir::new();
    linked(&dir);
    dir.write("secret/file", "secret");
    let policy = dir.write("policy.yml", format!("allow:\n  read:\n    - {}\n", dir.join("folder").display()));
    let args = json!({"op": "read", "path": dir.join("folder/file"), "expect": "ok"});
    let read = || {
        let run = Modbox::run_module(&dir, guest("files")).json_args(&args);
        run.args(["--policy", policy.to_str().unwrap(), "--designated", "none"]).run().json()
    };
    assert_eq!(read()["content"], "content");
    // The target of a mapped place does not follow a link inside of what is granted either.
    fs::remove_file(dir.join("real/file")).unwrap();
    symlink(dir.join("secret/file"), dir.join("real/file")).unwrap();
    let result = read();
    assert_eq!((&result["failed"], &result["content"]), (&json!(true), &json!(null)), "{result}");
}

#[test]
fn a_native_module_sees_the_links_of_a_grant() {
    for place in Place::all() {
        fs::create_dir_all(place.at("data/real")).unwrap();
        place.give("data/real");
        place.write("data/real/file", "content");
        symlink(place.at("data/real"), place.at("data/folder")).unwrap();
        symlink("folder/file", place.at("data/file")).unwrap();
        symlink("real/new", place.at("data/dangling")).unwrap();
        let look = "p = d + '/data/'\n\
                    result['seen'] = [os.readlink(p + 'file'), os.readlink(p + 'folder'), os.path.realpath(p + 'file'),\n\
                    open(p + 'file').read()]";
        let path = |name: &str| place.path(&format!("data/{name}"));
        let seen = place.python(look, &["--allow-read", &path("file")]).changed()["result"]["seen"].clone();
        assert_eq!(seen, json!(["folder/file", path("real"), path("real/file"), "content"]));
        // A link that leads to a name without a file grants this name.
        for (calls, new) in [(&[][..], "one\n"), (NO_MOUNTS, "two\n")] {
            let script =
                format!("printf '{}' > $d/data/dangling && echo '{{\"changed\": true}}'", new.escape_default());
            place.run_without(calls, &script, &["--allow-write", &path("dangling")]).changed();
            assert_eq!(place.read("data/real/new"), new);
            assert_eq!(fs::read_link(place.at("data/dangling")).unwrap().to_str(), Some("real/new"));
        }
    }
}

#[test]
fn the_option_of_a_denial_grants_that_path_also_if_it_has_colons() {
    let dir = TestDir::new();
    // A guest has its own `/tmp`, where a path that is not granted is missing. Elsewhere it is denied.
    let data = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::create_dir_all(data.path().join("a")).unwrap();
    fs::create_dir_all(data.path().join("odd::")).unwrap();
    for (path, text) in [("a::b", "a::b"), ("a/b", "a"), ("with space::", "with space::"), ("odd::/file", "odd::/file")]
    {
        fs::write(data.path().join(path), text).unwrap();
    }
    for name in ["a::b", "with space::", "odd::/file"] {
        let args = json!({"op": "read", "path": data.path().join(name), "expect": "ok"});
        let run = |options: &[String]| {
            let run = Modbox::run_module(&dir, guest("files")).json_args(&args).args(["--designated", "none"]);
            run.args(options).report().run().json()
        };
        let refused = run(&[]);
        let denial = &refused["denials"][0];
        let allow = denial["allow"].as_str().unwrap();
        let words = modbox_vocabulary::quoting::split(allow).unwrap();
        assert_eq!(run(&words)["result"]["content"], name, "{refused:#}");
    }
    // The other path that the text could mean.
    let args = json!({"op": "read", "path": "/b", "expect": "ok"});
    let mapped = format!("{}::/b", data.path().join("a/b").display());
    let ran = Modbox::run_module(&dir, guest("files")).json_args(&args).args(["--allow-read", &mapped]).run();
    assert_eq!(ran.json()["content"], "a");
}

#[test]
fn a_way_ends_in_a_directory_that_may_not_be_searched() {
    for place in Place::all().into_iter().filter(|place| !place.is_root()) {
        place.write("data/file", "content");
        fs::create_dir(place.at("data/closed")).unwrap();
        place.give("data/closed");
        fs::copy(guest("files"), place.at("guest.wasm")).unwrap();
        for (mode, content) in [(0o700, json!("content")), (0o600, Value::Null)] {
            fs::set_permissions(place.at("data/closed"), fs::Permissions::from_mode(mode)).unwrap();
            let args = json!({"op": "read", "path": place.at("data/closed/../file"), "expect": "ok"}).to_string();
            let ran = place.command("guest.wasm", &["--designate", "path:read", "--args", &args]).output().unwrap();
            let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
            assert_eq!(report["result"]["content"], content, "{mode:o}: {report:#}");
        }
    }
}
