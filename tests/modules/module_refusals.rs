//! What modbox's own modules cannot do here, they refuse before they change anything.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Modbox, RunOutput, TestDir, module};

fn run(dir: &TestDir, name: &str, args: &Value, options: &[&str]) -> RunOutput {
    let ran = Modbox::run_module(dir, module(name)).json_args(args).args(["--output", "report"]).args(options).run();
    dir.assert_nothing_left();
    ran
}

/// The names in a folder, in their order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_backup_that_cannot_be_left_is_refused_before_the_file_is_changed() {
    let dir = TestDir::new();
    let path = dir.write("data/f", "old = 1\n");
    let folder = path.parent().unwrap();
    dir.write("parts/a", "new\n");
    for (name, args) in [
        ("lineinfile", json!({"path": path, "line": "new"})),
        ("copy", json!({"dest": path, "content": "new\n"})),
        ("assemble", json!({"src": dir.path().join("parts"), "dest": path})),
    ] {
        let mut args = args;
        args["backup"] = true.into();
        for options in [&[][..], &["--check"]] {
            let report = run(&dir, name, &args, options).json();
            let said = report["result"]["msg"].as_str().unwrap();
            let remedy = format!("allow it with `--allow-write {}`", folder.display());
            assert!(report["result"]["failed"] == true && said.contains(&remedy), "{name} {options:?}: {said}");
            assert_eq!(
                (fs::read(&path).unwrap(), names(folder)),
                (b"old = 1\n".to_vec(), vec!["f".to_owned()]),
                "{name}"
            );
        }
        let granted = ["--allow-write", folder.to_str().unwrap()];
        let report = run(&dir, name, &args, &granted).exits_with(0).json();
        assert!(report["result"]["changed"] == true && names(folder).len() == 2, "{name}: {report}");
        for name in names(folder) {
            fs::remove_file(folder.join(name)).unwrap();
        }
        dir.write("data/f", "old = 1\n");
    }
}

#[test]
fn set_id_bits_are_refused_before_anything_is_made() {
    let dir = TestDir::new();
    let file = dir.write("data/f", "old = 1\n");
    let folder = file.parent().unwrap();
    let granted = ["--allow-write", folder.to_str().unwrap()];
    dir.write("parts/a", "new\n");
    for (name, args) in [
        ("file", json!({"path": folder.join("new"), "state": "touch", "mode": "4755"})),
        ("file", json!({"path": folder.join("new"), "state": "hard", "src": file, "mode": "4755"})),
        ("file", json!({"path": folder.join("new"), "state": "link", "src": "f", "mode": "4755"})),
        ("copy", json!({"dest": file, "content": "new\n", "mode": "2644"})),
        ("copy", json!({"dest": folder.join("new"), "content": "new\n", "mode": "u=rwxs"})),
        ("lineinfile", json!({"path": file, "line": "new", "mode": "6644", "backup": true})),
        ("assemble", json!({"src": dir.path().join("parts"), "dest": file, "mode": "4644"})),
    ] {
        let report = run(&dir, name, &args, &granted).json();
        let result = &report["result"];
        let said = result["details"].as_str().unwrap_or_default();
        assert!(result["failed"] == true && said.contains("+setid`, or leave them out of `mode`"), "{name}: {report}");
        assert_eq!((fs::read(&file).unwrap(), names(folder)), (b"old = 1\n".to_vec(), vec!["f".to_owned()]), "{name}");
    }
    // Those of directories need no grant of their own.
    for (path, mode, expect) in [("new", "2775", 0o2775), ("deep/er", "g+s", 0o2755)] {
        let args = json!({"path": folder.join(path), "state": "directory", "mode": mode});
        run(&dir, "file", &args, &granted).exits_with(0);
        assert_eq!(fs::metadata(folder.join(path)).unwrap().mode() & 0o7777, expect);
    }
    // A directory that has them already keeps them, and needs no change.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o2775)).unwrap();
    let args = json!({"path": folder, "state": "directory", "mode": "2775"});
    let report = run(&dir, "file", &args, &granted).exits_with(0).json();
    assert_eq!((&report["result"]["changed"], fs::metadata(folder).unwrap().mode() & 0o7777), (&json!(false), 0o2775));
}
