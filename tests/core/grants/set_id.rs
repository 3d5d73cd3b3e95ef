//! Set-id bits are a grant at every door: real runs, previews and transactions of native modules and of components follow one
//! rule. What is left out in a success is a warning.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::{Value, json};

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::{DONE, Place, USER};
use crate::support::{Modbox, TestDir, guest};

const DOORS: [Option<&str>; 3] = [None, Some("--preview"), Some("--transaction")];

/// Gives a new file the mode of the one that it replaces, as Ansible's `atomic_move` does, and ignores `EPERM`.
const REPLACE: &str = "
f = d + '/data/file'
open('/tmp/new', 'w').write('new')
try:
    os.chmod('/tmp/new', os.stat(f).st_mode & 0o7777)
except PermissionError:
    pass
try:
    os.rename('/tmp/new', f)
except OSError:
    open(d + '/data/.new', 'w').write('new')
    os.chmod(d + '/data/.new', os.stat('/tmp/new').st_mode & 0o7777)
    os.rename(d + '/data/.new', f)
    os.remove('/tmp/new')
";

fn mode(place: &Place, name: &str) -> u32 {
    place.at(name).metadata().unwrap().mode() & 0o7777
}

fn with_file(place: Place, mode: u32) -> Place {
    place.write("data/file", "old");
    fs::set_permissions(place.at("data/file"), fs::Permissions::from_mode(mode)).unwrap();
    place
}

fn owner(place: &Place) -> u32 {
    place.at("data/file").metadata().unwrap().uid()
}

#[test]
fn a_native_module_sets_the_bits_of_owners_that_are_granted_with_them() {
    for place in Place::all() {
        let place = with_file(place, 0o644);
        let (data, own) = (place.path("data"), format!("{}+setid", owner(&place)));
        let script = format!("chmod 4755 $d/data/file && {DONE}");
        for door in DOORS {
            let run = |script: &str, more: &[&str]| {
                let switches: Vec<&str> =
                    ["--allow-write", &data].into_iter().chain(door).chain(more.iter().copied()).collect();
                place.run(script, &switches).report
            };
            let report = run(&script, &[]);
            assert_ne!(report["status"], "changed", "{door:?}: {report:#}");
            let is_it = |denial: &&Value| denial["operation"] == "set-id";
            let denial = report["denials"].as_array().unwrap().iter().find(is_it).unwrap();
            assert_eq!(denial["subject"], place.path("data/file"), "{door:?}");
            assert_eq!(denial["allow"], format!("--allow-own {own}"), "{door:?}");
            // A grant of a user does not hold for the group.
            let report = run(&script.replace("4755", "2755"), &["--allow-own", &own]);
            assert_ne!(report["status"], "changed", "{door:?}: {report:#}");
            assert_eq!(mode(&place, "data/file"), 0o644, "{door:?}");
            let report = run(&script, &["--allow-own", &own]);
            assert_eq!(report["status"], "changed", "{door:?}: {report:#}");
            assert_eq!(mode(&place, "data/file"), if door == DOORS[1] { 0o644 } else { 0o4755 }, "{door:?}");
            fs::set_permissions(place.at("data/file"), fs::Permissions::from_mode(0o644)).unwrap();
            // Those of directories need no more than the grant to write.
            let report = run(&format!("mkdir $d/data/sub && chmod 3775 $d/data/sub && {DONE}"), &[]);
            assert_eq!(report["status"], "changed", "{door:?}: {report:#}");
            if door != DOORS[1] {
                assert_eq!(mode(&place, "data/sub"), 0o3775, "{door:?}");
                fs::remove_dir(place.at("data/sub")).unwrap();
            }
        }
    }
}

#[test]
fn a_directory_that_may_only_be_read_gets_no_bits() {
    for place in Place::all() {
        let place = with_file(place, 0o644);
        let (data, own) = (place.path("data"), format!("{}+setid", owner(&place)));
        let switches = ["--allow-read", &data, "--allow-own", &own];
        let script = "chmod 2775 $d/data; chmod 4755 $d/data/file; echo '{\"changed\": true}'";
        place.run(script, &switches);
        assert_eq!((mode(&place, "data"), mode(&place, "data/file")), (0o755, 0o644));
    }
}

#[test]
fn a_replaced_file_has_its_bits_or_a_warning_says_that_it_has_not() {
    for place in Place::all() {
        place.write("data/file", "old");
        let (data, file, own) = (place.path("data"), place.path("data/file"), format!("{}+setid", owner(&place)));
        let again = || {
            place.write("data/file", "old");
            fs::set_permissions(place.at("data/file"), fs::Permissions::from_mode(0o4755)).unwrap();
        };
        for granted in [&data, &file] {
            again();
            let report = place.python(REPLACE, &["--allow-write", granted, "--allow-own", &own]).changed();
            assert_eq!((mode(&place, "data/file"), place.read("data/file").as_str()), (0o4755, "new"), "{report:#}");
            assert_eq!(report["result"]["warnings"], Value::Null, "{report:#}");
            again();
            let report = place.python(REPLACE, &["--allow-write", granted]).changed();
            assert_eq!(mode(&place, "data/file") & 0o6000, 0, "{report:#}");
            let said = report["result"]["warnings"][0].as_str().unwrap();
            assert!(said.contains(&format!("`{file}`; allow them with `--allow-own {own}`")), "{said}");
        }
    }
}

/// Ways to write a file in its place, and one more that lets it be.
const WRITES: [&str; 6] = [
    "open(f, 'a').write('more')",
    "open(f, 'w').close()",
    "os.truncate(f, 1)",
    "os.symlink(f, '/tmp/link'); open('/tmp/link', 'a').write('more')",
    "open(f, 'a').write('more'); os.rename(f, f + '.old'); os.rename(f + '.old', f)",
    // The bits are there only after it is opened.
    "os.chmod(f, 0o755); o = open(f, 'a'); os.chmod(f, 0o4755); o.write('more'); o.close()",
];

/// Changes after which a file has the mode that the module gives it.
const KEEPS: [&str; 4] = [
    "open(f).read(); os.utime(f)",
    "os.chmod(f, 0o755)",
    "open(f, 'a').write('more'); os.chmod(f, 0o4755)",
    "open(f, 'a').write('more'); os.unlink(f); open(f, 'w').write('new')",
];

#[test]
fn a_file_that_root_writes_in_its_place_has_its_bits_or_a_warning_says_that_it_has_not() {
    for place in Place::all() {
        let place = with_file(place, 0o644);
        let (data, own) = (place.path("data"), format!("{}+setid", owner(&place)));
        for (code, loses) in WRITES.iter().map(|code| (code, true)).chain(KEEPS.iter().map(|code| (code, false))) {
            place.write("data/file", "old");
            fs::set_permissions(place.at("data/file"), fs::Permissions::from_mode(0o4755)).unwrap();
            let code = format!("f = d + '/data/file'\n{code}");
            let report = place.python(&code, &["--allow-write", &data, "--allow-own", &own]).changed();
            assert!(!loses || mode(&place, "data/file") & 0o6000 == 0, "{code}: {report:#}");
            let said = report["result"]["warnings"].to_string();
            let file = place.path("data/file");
            let says = said.contains("bits were refused, and are not set") && said.contains(&format!("`{file}`"));
            // Linux takes the bits from another user's write, too.
            assert_eq!(says, loses && place.is_root(), "{code}: {report:#}");
            assert!(!says || said.contains("--allow-all"), "{said}");
        }
    }
}

#[test]
fn a_name_that_is_not_utf8_keeps_its_bits_or_a_warning_says_that_it_has_not() {
    for place in Place::all() {
        let place = with_file(place, 0o644);
        let (data, own) = (place.path("data"), format!("{}+setid", owner(&place)));
        let code = "
f = os.fsencode(d) + b'/data/n\\xff'
open(f, 'w').write('new')
os.chmod(f, 0o4755)
result['mode'] = oct(os.stat(f).st_mode)
if result['changed']: open(f, 'a').write('more')";
        let report = place.python(code, &["--allow-write", &data, "--allow-own", &own]).changed();
        assert_eq!(report["result"]["mode"], "0o104755", "{report:#}");
        let said = report["result"]["warnings"].to_string();
        assert_eq!(said.contains("bits were refused"), place.is_root(), "{report:#}");
        assert_eq!(place.at("data").metadata().unwrap().mode() & 0o7777, 0o755);
    }
}

#[test]
fn without_namespaces_the_rule_is_the_same() {
    let place = Place::new(Some(USER));
    if rustix::process::geteuid().is_root() && place.user.is_none() {
        return;
    }
    let place = with_file(place, 0o644);
    let (data, own) = (place.path("data"), format!("{}+setid", owner(&place)));
    let script = format!("chmod 4755 $d/data/file && mkdir $d/data/sub && chmod 2775 $d/data/sub && {DONE}");
    place.run_without(NO_MOUNTS, &script, &["--allow-write", &data, "--allow-own", &own]).changed();
    assert_eq!((mode(&place, "data/file"), mode(&place, "data/sub")), (0o4755, 0o2775));
    let report = place.run_without(NO_MOUNTS, &script, &["--allow-write", &data]).report;
    assert!(report["denials"].to_string().contains(&format!("--allow-own {own}")), "{report:#}");
}

#[test]
fn a_component_sets_the_bits_of_owners_that_are_granted_with_them() {
    let dir = TestDir::new();
    let file = dir.write("data/file", "old");
    let data = file.parent().unwrap().to_owned();
    let own = format!("{}:{}+setid", file.metadata().unwrap().uid(), file.metadata().unwrap().gid());
    let seen = |ops: &Value, options: &[&str]| {
        let ran = Modbox::run_module(&dir, guest("attributes")).json_args(&json!({"ops": ops}));
        let ran = ran.args(["--output", "report", "--allow-write"]).arg(&data).args(options);
        let report = ran.run().exits_with(0).json();
        (report["result"]["seen"].clone(), report["denials"].clone())
    };
    let at = |name: &str| data.join(name);
    let mode = |name: &str| at(name).metadata().unwrap().mode() & 0o7777;
    fs::create_dir(at("sub")).unwrap();
    let ops = json!([["special", file, "6755"], ["special", at("sub"), "3775"], ["special", file, "1755"]]);
    let (refused, denials) = seen(&ops, &[]);
    assert_eq!(refused, json!(["PermissionDenied", "ok", "ok"]));
    assert_eq!(denials[0]["allow"], format!("--allow-own {own}"), "{denials}");
    assert_eq!((mode("file"), mode("sub")), (0o1755, 0o3775));
    let ops = json!([
        ["special", file, "6755"],
        ["write", at("new"), "new"],
        ["replace", at("new"), file],
        ["mode", at("sub"), "755"],
    ]);
    let (done, denials) = seen(&ops, &["--allow-own", &own]);
    assert_eq!((done, denials), (json!(["ok", "ok", false, "ok"]), json!([])));
    assert_eq!((mode("file"), fs::read(&file).unwrap()), (0o6755, b"new".to_vec()));
    // Without the grant the new file has no bits, and the guest learns it.
    let ops = json!([["write", at("new"), "newer"], ["replace", at("new"), file]]);
    assert_eq!(seen(&ops, &[]).0, json!(["ok", true]));
    assert_eq!(mode("file"), 0o755);
    // In a transaction, too.
    let ops = json!([["special", file, "6755"]]);
    assert_eq!(seen(&ops, &["--allow-own", &own, "--transaction"]).0, json!(["ok"]));
    assert_eq!(mode("file"), 0o6755);
    dir.assert_nothing_left();
}

#[test]
fn a_file_that_a_component_of_root_writes_in_its_place_has_a_warning() {
    let dir = TestDir::new();
    let file = dir.write("data/file", "old");
    let own = format!("{}:{}+setid", file.metadata().unwrap().uid(), file.metadata().unwrap().gid());
    let warnings = |ops: Value| {
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
        let ran = Modbox::run_module(&dir, guest("attributes")).json_args(&json!({"ops": ops}));
        let ran = ran.args(["--output", "report", "--allow-own", &own, "--allow-write"]).arg(file.parent().unwrap());
        let report = ran.run().exits_with(0).json();
        (report["result"]["warnings"].to_string(), file.metadata().unwrap().mode() & 0o7777)
    };
    let (said, mode) = warnings(json!([["write", file, "new"]]));
    assert_eq!(mode, 0o755);
    // Linux takes the bits from another user's write, too.
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(
        said.contains(&format!("bits were refused, and are not set: `{}`\"", file.display())),
        is_root,
        "{said}"
    );
    let (said, mode) = warnings(json!([["write", file, "new"], ["special", file, "4755"]]));
    assert_eq!((&*said, mode), ("null", 0o4755));
}

#[test]
fn the_words_for_them_follow_an_owner() {
    let dir = TestDir::new();
    dir.write("policy.yaml", "allow:\n  own: ['0:0+setid', '+setid']\n");
    let ran = Modbox::new(&dir).args(["policy", "check", "policy.yaml"]).run().exits_with(2);
    let said = format!("{ran}");
    assert!(said.contains("policy.yaml:2:") && said.contains("`+setid` follows an owner"), "{said}");
    dir.write("policy.yaml", "allow:\n  own: ['0:0+setid']\n");
    let shown = Modbox::new(&dir).args(["policy", "show", "--policy", "policy.yaml"]).run().exits_with(0);
    assert!(shown.stdout_text().contains("0:0+setid"), "{shown}");
}
