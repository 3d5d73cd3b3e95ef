//! Tests a module's file functions on real files: attributes, replacements, backups, facts of a result.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use modbox_sdk::files::AttributesDiff;
use modbox_sdk::json::{decode, encode};
use modbox_sdk::{Exit, Failure, Finished, Metadata, Module, ProcessEnvironment, Value, call};
use serde::de::IgnoredAny;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("modbox-sdk-files-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, content: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Calls a function as a module with Ansible's options for files.
fn with_module(arguments: &str, run: impl FnOnce(&mut Module) -> Result<Exit, Failure>) -> Finished {
    let spec = r#"{"path": {"type": "path"}, "mode": {"type": "raw"}, "owner": {}, "group": {}, "attributes": {}, "follow": {"type": "bool"}}"#;
    let metadata = format!(r#"{{"name": "m", "supports_check_mode": true, "argument_spec": {spec}}}"#);
    let metadata = Metadata::from_json(&metadata).unwrap();
    let arguments = decode(arguments).unwrap().as_dict().unwrap().clone();
    call(&metadata, arguments, &ProcessEnvironment, |_: IgnoredAny, module| run(module))
}

/// Sets the attributes of the arguments. Returns `changed` with the difference, or the message with details.
fn set(arguments: &str) -> String {
    let finished = with_module(arguments, |module| {
        let wanted = module.load_file_common_arguments(None)?.expect("there is a path");
        let mut diff = AttributesDiff::default();
        let changed = module.set_fs_attributes_if_different(&wanted, false, Some(&mut diff))?;
        Ok(Exit::new(changed).with("difference", diff.into_value()))
    });
    let shown = |key: &str| finished.result.get(key).map(encode).unwrap_or_default();
    if finished.failed {
        format!("{} {}", shown("msg"), shown("details"))
    } else {
        format!("{} {}", shown("changed"), shown("difference"))
    }
}

#[test]
fn attributes_are_set_when_they_differ() {
    let folder = Folder::new("set");
    let file = folder.file("f", "", 0o644);
    let path = file.display();
    let nothing = r#"false {"before": {}, "after": {}}"#;
    let changes = r#"true {"before": {"mode": "0644"}, "after": {"mode": "0640"}}"#;
    assert_eq!(set(&format!(r#"{{"path": "{path}"}}"#)), nothing);
    assert_eq!(set(&format!(r#"{{"path": "{path}", "mode": "o=", "_ansible_check_mode": true}}"#)), changes);
    assert_eq!(mode(&file), 0o644);
    assert_eq!(set(&format!(r#"{{"path": "{path}", "mode": "o="}}"#)), changes);
    assert_eq!(set(&format!(r#"{{"path": "{path}", "mode": 416}}"#)), nothing);
    assert_eq!(mode(&file), 0o640);
    let uid = fs::metadata(&file).unwrap().uid();
    assert_eq!(set(&format!(r#"{{"path": "{path}", "owner": "{uid}"}}"#)), nothing);
    for (more, expect) in [
        (r#""mode": "q""#, r#""mode must be in octal or symbolic form" "bad symbolic permission for mode: q""#),
        (r#""owner": "no-such""#, r#""chown failed: failed to look up user no-such" "#),
        (r#""group": "no-such""#, r#""chgrp failed: failed to look up group no-such" "#),
        (r#""attributes": "i""#, r#""the option `attributes` is not supported: a sandboxed module cannot set it" "#),
    ] {
        assert_eq!(set(&format!(r#"{{"path": "{path}", {more}}}"#)), expect);
    }
    let absent = folder.0.join("absent");
    let absent = format!(r#"{{"path": "{}", "mode": "600", "_ansible_check_mode": true}}"#, absent.display());
    assert_eq!(set(&absent), r#"true {"before": {}, "after": {}}"#);
}

#[test]
fn a_link_stands_for_what_it_leads_to_when_it_is_followed() {
    let folder = Folder::new("link");
    let file = folder.file("f", "", 0o644);
    let link = folder.0.join("l");
    std::os::unix::fs::symlink("f", &link).unwrap();
    let ask = |follow: bool| set(&format!(r#"{{"path": "{}", "mode": "600", "follow": {follow}}}"#, link.display()));
    assert!(ask(false).starts_with("false "), "a link has no mode");
    assert_eq!(mode(&file), 0o644);
    assert!(ask(true).starts_with("true "));
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn a_file_is_moved_with_the_attributes_of_the_one_it_replaces() {
    let folder = Folder::new("move");
    let dest = folder.file("dest", "old and longer", 0o604);
    for (keep, expect) in [(true, 0o604), (false, 0o600)] {
        let src = folder.file("src", "new", 0o600);
        let moved = with_module("{}", |module| {
            module.atomic_move(&src, &dest, false, keep)?;
            Ok(Exit::changed())
        });
        assert!(!moved.failed, "{moved:?}");
        assert_eq!((fs::read_to_string(&dest).unwrap().as_str(), mode(&dest)), ("new", expect));
        assert!(!src.exists());
    }
    let failed = with_module("{}", |module| {
        module.atomic_move(&folder.0.join("none"), &dest, false, true)?;
        Ok(Exit::changed())
    });
    assert!(failed.failed && encode(&failed.result["msg"]).contains("Could not replace file: "), "{failed:?}");
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_backup_is_made_of_what_is_there_and_not_in_check_mode() {
    let folder = Folder::new("backup");
    let file = folder.file("f", "x", 0o600);
    let back_up = |path: &Path, check: bool| {
        let mut copy = None;
        let finished = with_module(&format!(r#"{{"_ansible_check_mode": {check}}}"#), |module| {
            copy = module.backup_local(path)?;
            Ok(Exit::unchanged())
        });
        assert!(!finished.failed);
        copy
    };
    assert_eq!(back_up(&folder.0.join("none"), false), None);
    assert!(!back_up(&file, true).unwrap().exists());
    let copy = back_up(&file, false).unwrap();
    assert_eq!((fs::read_to_string(&copy).unwrap().as_str(), mode(&copy)), ("x", 0o600));
    let name = copy.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("f.{}.20", std::process::id())) && name.ends_with('~'), "{name}");
}

#[test]
fn a_result_has_facts_of_its_file_and_all_warnings() {
    let folder = Folder::new("facts");
    let file = folder.file("f", "12345", 0o640);
    let text = file.display().to_string();
    let result = |exit: Exit| {
        let finished = with_module("{}", |module| {
            module.warn("first");
            Ok(exit)
        });
        finished.result
    };
    let facts =
        result(Exit::unchanged().with("dest", text.as_str()).with("warnings", Value::from(vec!["first", "second"])));
    for (key, expect) in
        [("mode", r#""0640""#), ("state", r#""file""#), ("size", "5"), ("warnings", r#"["first", "second"]"#)]
    {
        assert_eq!(encode(&facts[key]), expect, "{key}");
    }
    assert_eq!(facts["uid"], Value::from(fs::metadata(&file).unwrap().uid()));
    fs::hard_link(&file, folder.0.join("g")).unwrap();
    assert_eq!(encode(&result(Exit::unchanged().with("path", text.as_str()))["state"]), r#""hard""#);
    let folder_text = folder.0.display().to_string();
    assert_eq!(encode(&result(Exit::unchanged().with("path", folder_text.as_str()))["state"]), r#""directory""#);
    let absent = result(Exit::unchanged().with("path", format!("{text}.absent")));
    assert!(!absent.contains_key("state"));
}
