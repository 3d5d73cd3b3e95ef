//! `modbox run --preview --save` and `modbox apply`: the previewed changes are made later, exactly these or none.

#![expect(clippy::disallowed_methods, reason = "tests read and damage files of their own making")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::layers::layers_runs::{Layered, Runs, runners};
use crate::support::module;

/// Changes of every kind: contents, hard links, renamed directories, modes, and much that is not text.
const MANY: &str = "
open('%/tree/file', 'a').write('three\\n')
os.mkdir('%/tree/new'); open('%/tree/new/made', 'w').write('made\\n'); os.chmod('%/tree/new/made', 0o640)
os.link('%/tree/new/made', '%/tree/new/twin'); os.symlink('made', '%/tree/new/link'); os.chmod('%/tree/new', 0o750)
os.remove('%/tree/link')
os.rename('%/tree/sub', '%/tree/moved')
open('%/tree/other', 'a').write('more\\n')
open('%/tree/large', 'wb').write(bytes(range(256)) * 20000)
open('%/single', 'w').write('new\\n')";

const SAVE: [&str; 3] = ["--preview", "--save", "%/saved"];
const APPLY: [&str; 2] = ["apply", "%/saved"];

/// Saves the changes that code makes, and returns the path of the file.
fn saved(case: &Layered, code: &str) -> PathBuf {
    let before = case.state();
    let effect = case.effect(code, &SAVE, 0);
    let path = case.dir.join("saved");
    assert_eq!(effect["commit"], json!({"state": "saved", "file": path.to_str().unwrap()}), "{effect}");
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(case.state(), before);
    path
}

/// Returns what a run has written, without times.
fn picture(case: &Layered) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for name in ["tree", "single", "outside"] {
        record(&case.dir.join(name), case.dir.path(), &mut found);
    }
    found
}

fn record(path: &Path, root: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let stat = path.symlink_metadata().unwrap();
    let content = match stat.file_type() {
        file if file.is_file() => fs::read(path).unwrap(),
        link if link.is_symlink() => fs::read_link(path).unwrap().into_os_string().into_encoded_bytes(),
        _ => Vec::new(),
    };
    let numbers = (stat.mode(), stat.uid(), stat.gid(), if stat.is_dir() { 0 } else { stat.nlink() });
    let name = path.strip_prefix(root).unwrap().to_owned();
    found.insert(name, format!("{numbers:?} {content:?}"));
    if stat.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            record(&entry.unwrap().path(), root, found);
        }
    }
}

#[test]
fn applied_changes_are_those_of_a_transaction() {
    for runs in runners() {
        let (direct, later) = (Layered::new(runs), Layered::new(runs));
        direct.effect(MANY, &["--transaction"], 0);
        saved(&later, MANY);
        later.command(&APPLY).run().exits_with(0).says("is applied");
        let (found, wanted) = (picture(&later), picture(&direct));
        let names = |picture: &BTreeMap<PathBuf, String>| picture.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(&wanted), "{runs:?}");
        for (path, state) in &wanted {
            assert!(found[path] == *state, "{runs:?}: {}: {:.300}", path.display(), found[path]);
        }
        let number = |name: &str| later.dir.join(name).metadata().unwrap().ino();
        assert_eq!(number("tree/new/made"), number("tree/new/twin"), "{runs:?}");
        later.assert_nothing_left();
    }
}

#[test]
fn a_second_apply_is_a_conflict() {
    for runs in runners() {
        let case = Layered::new(runs);
        saved(&case, MANY);
        case.command(&APPLY).args(["--durable"]).run().exits_with(0);
        let after = case.state();
        let again = case.command(&APPLY).args(["--json"]).run().exits_with(8).json();
        assert_eq!(again["state"], "conflict", "{again}");
        assert!(again["reasons"].to_string().contains("tree/file"), "{again}");
        assert_eq!(case.state(), after);
    }
}

#[test]
fn a_change_after_the_preview_is_a_conflict() {
    type Edit = fn(&Layered);
    let edits: [(&str, Edit); 5] = [
        ("tree/file", |case| fs::write(case.dir.join("tree/file"), "theirs\n").unwrap()),
        ("tree/new", |case| fs::create_dir(case.dir.join("tree/new")).unwrap()),
        ("tree/sub", |case| fs::write(case.dir.join("tree/sub/added"), "theirs\n").unwrap()),
        ("single", |case| fs::remove_file(case.dir.join("single")).unwrap()),
        // A link in the place of the granted directory, to one with the same files.
        ("tree", |case| {
            fs::rename(case.dir.join("tree"), case.dir.join("moved-tree")).unwrap();
            symlink(case.dir.join("moved-tree"), case.dir.join("tree")).unwrap();
        }),
    ];
    for (path, edit) in edits {
        let case = Layered::new(Runs::Self_);
        saved(&case, MANY);
        edit(&case);
        let before = case.state();
        let ran = case.command(&APPLY).run().exits_with(8);
        ran.says("after the preview").says(case.dir.join(path).to_str().unwrap());
        assert_eq!(case.state(), before, "{path}");
        case.assert_nothing_left();
    }
}

#[test]
fn a_planted_link_is_not_followed() {
    let case = Layered::new(Runs::Self_);
    saved(&case, "open('%/tree/sub/inner', 'w').write('new\\n'); open('%/tree/sub/added', 'w').write('new\\n')");
    let elsewhere = case.dir.join("elsewhere");
    fs::rename(case.dir.join("tree/sub"), &elsewhere).unwrap();
    symlink(&elsewhere, case.dir.join("tree/sub")).unwrap();
    case.command(&APPLY).run().exits_with(8).says("replaced its directory");
    assert_eq!(case.read("elsewhere/inner"), "inner\n");
    assert!(!elsewhere.join("added").exists());
}

#[test]
fn a_damaged_file_changes_nothing() {
    let case = Layered::new(Runs::Self_);
    let path = saved(&case, "open('%/single', 'w').write('new\\n' * 100)");
    let (whole, before) = (fs::read(&path).unwrap(), case.state());
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let manifest = whole.iter().skip(first + 1).position(|byte| *byte == b'\n').unwrap() + first + 1;
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let newer = [b"modbox saved changes, version 2", &whole[first..]].concat();
    for (bytes, said) in [
        (flipped(0), "not a file of saved changes"),
        (flipped(first / 2), "not a file of saved changes"),
        (newer, "its format has version 2"),
        (flipped(first + 20), "damaged"),
        (flipped(manifest + 5), "damaged"),
        (flipped(whole.len() - 1), "damaged"),
        (whole[..first].to_vec(), "not a file of saved changes"),
        (whole[..manifest - 3].to_vec(), "damaged"),
        (whole[..whole.len() - 1].to_vec(), "damaged"),
        ([&whole[..], b"\n"].concat(), "damaged"),
        (Vec::new(), "not a file of saved changes"),
    ] {
        fs::write(&path, bytes).unwrap();
        case.command(&APPLY).run().exits_with(3).says(said).says("saved").says("save the preview again");
        assert_eq!(case.state(), before, "{said}");
    }
    fs::remove_file(&path).unwrap();
    case.command(&APPLY).run().exits_with(3).says("No such file");
    fs::create_dir(&path).unwrap();
    case.command(&APPLY).run().exits_with(3).says("not a regular file");
}

#[test]
fn a_file_that_another_user_can_change_is_refused() {
    let case = Layered::new(Runs::Self_);
    let path = saved(&case, MANY);
    let before = case.state();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    case.command(&APPLY).run().exits_with(3).says("other users can write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(54_322), None).unwrap();
        case.command(&APPLY).run().exits_with(3).says("belongs to user 54322");
    }
    assert_eq!(case.state(), before);
}

#[test]
fn only_what_succeeded_and_was_seen_is_saved() {
    let case = Layered::new(Runs::Self_);
    fs::hard_link(case.dir.join("tree/file"), case.dir.join("twin")).unwrap();
    let partly = "open('%/tree/file', 'a').write('more\\n')";
    for (code, switches, status, state) in [
        (&*format!("{MANY}\nraise Exception('no')"), &[][..], 1, "discarded"),
        ("open('%/tree/large', 'wb').write(b'x' * (80 << 20))", &[], 5, "discarded"),
        (partly, &[], 8, "refused"),
        ("os.mkfifo('%/tree/pipe')", &[], 8, "refused"),
    ] {
        let effect = case.effect(code, &[&SAVE, switches].concat(), status);
        assert_eq!(effect["commit"]["state"], state, "{code}: {effect}");
        assert!(!case.dir.join("saved").exists(), "{code}");
    }
    let ran = case.run(partly, &SAVE).exits_with(8);
    assert!(ran.json()["msg"].as_str().unwrap().contains("the changes are not saved"), "{ran}");
    // A commit cannot change the other name, whatever is accepted.
    let effect = case.effect(partly, &[&SAVE[..], &["--incomplete-ok"]].concat(), 8);
    assert!(effect["commit"]["reasons"].to_string().contains("hard link"), "{effect}");
}

#[test]
fn a_preview_without_changes_has_nothing_to_apply() {
    for runs in runners() {
        let case = Layered::new(runs);
        saved(&case, "say({'changed': False})");
        let before = case.state();
        case.command(&APPLY).run().exits_with(0).says("nothing to commit");
        let told = case.command(&APPLY).args(["--json"]).run().exits_with(0).json();
        assert_eq!((&told["state"], &told["run"]), (&json!("nothing"), &Value::Null), "{told}");
        assert_eq!(case.state(), before);
    }
}

#[test]
fn applied_changes_are_undone() {
    for runs in runners() {
        let case = Layered::new(runs);
        let before = picture(&case);
        saved(&case, MANY);
        let told = case.command(&APPLY).args(["--keep-undo", "--json"]).run().exits_with(0).json();
        assert_eq!((&told["state"], &told["undo"]), (&json!("committed"), &json!(true)), "{told}");
        assert_ne!(picture(&case), before);
        case.command(&["undo", told["run"].as_str().unwrap()]).run().exits_with(0).says("is undone");
        assert_eq!(picture(&case), before, "{runs:?}");
    }
}

#[test]
fn a_guest_is_saved_like_a_native_module() {
    for runs in runners() {
        let case = Layered::new(runs);
        let lineinfile = module("lineinfile");
        let words = ["run", lineinfile.to_str().unwrap(), "path=%/single", "line=new"];
        let ran = case.command(&[&words[..], &SAVE].concat()).run().exits_with(0);
        let ran = ran.says("modbox apply");
        assert_eq!((&ran.json()["changed"], case.read("single").as_str()), (&json!(true), "single\n"), "{ran}");
        case.command(&APPLY).run().exits_with(0);
        assert_eq!(case.read("single"), "single\nnew\n");
    }
}

#[test]
fn a_wrong_use_is_told_before_the_module_starts() {
    let case = Layered::new(Runs::Self_);
    let marker = "open('%/outside', 'w').write('started')";
    for (switches, said) in [
        (&["--save", "%/saved"][..], "--preview"),
        (&["--transaction", "--save", "%/saved"], "cannot be used with"),
        (&["--preview", "--watch", "--save", "%/saved"], "cannot be used with"),
        (&["--preview", "--save", "%/single"], "it exists already"),
        (&["--preview", "--save", "%/none/saved"], "its directory does not exist"),
    ] {
        let ran = case.run(marker, switches).exits_with(2);
        assert!(ran.stderr_text().contains(said), "{said}: {ran}");
        assert_eq!((case.read("outside").as_str(), case.read("single").as_str()), ("outside\n", "single\n"));
        assert!(!case.dir.join("saved").exists());
    }
}

#[test]
fn commits_of_files_are_audited() {
    let case = Layered::new(Runs::Self_);
    saved(&case, "open('%/single', 'w').write('new\\n')");
    let audit = ["--audit", "%/audit.jsonl"];
    let lines = || {
        let text = fs::read_to_string(case.dir.join("audit.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let of_line = |line: &Value| {
        let effect = &line["effect"];
        json!([line["module"]["name"], line["status"], line["exit"], effect["mode"], effect["state"]])
    };
    case.command(&[&APPLY[..], &["--keep-undo"], &audit].concat()).run().exits_with(0);
    case.command(&[&APPLY[..], &audit].concat()).run().exits_with(8);
    let run = lines()[0]["effect"]["run"].as_str().unwrap().to_owned();
    case.dir.write("policy.yaml", format!("audit: {}\n", case.dir.join("audit.jsonl").display()));
    case.command(&["undo", &run, "--policy", "%/policy.yaml"]).run().exits_with(0);
    case.command(&["undo", &run, "--policy", "%/policy.yaml"]).run().exits_with(3);
    let expect = [
        json!(["modbox apply", "changed", 0, "apply", "committed"]),
        json!(["modbox apply", "failed", 8, "apply", "conflict"]),
        json!(["modbox undo", "changed", 0, "undo", "undone"]),
        json!(["modbox undo", "failed", 3, "undo", "failed"]),
    ];
    let found = lines();
    assert_eq!(found.iter().map(of_line).collect::<Vec<_>>(), expect);
    assert!(found[1]["error"].as_str().unwrap().contains("single"), "{}", found[1]);
    assert_eq!(found[2]["effect"]["run"], run.as_str());
    // Without a line, nothing is changed.
    let before = case.state();
    saved_again(&case);
    case.command(&["apply", "%/saved", "--audit", "%/none/audit.jsonl"]).run().exits_with(2);
    assert_eq!(case.state(), before);
}

/// Replaces the saved changes by those of another preview.
fn saved_again(case: &Layered) {
    fs::remove_file(case.dir.join("saved")).unwrap();
    saved(case, "open('%/single', 'w').write('other\\n')");
}
