//! Single files that a native module may write in a folder that it only reads: the module makes, replaces and removes
//! them as careful programs do, and changes nothing else there. Also grants that are odd: devices, names that are not
//! UTF-8, and paths that change while the run starts.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::core::native::native_programs::Place;
use crate::support::missing;

pub(crate) const DONE: &str = "echo '{\"changed\": true}'";

/// Makes a folder with entries of several kinds.
pub(crate) fn folder(place: &Place) -> PathBuf {
    place.write("conf/app.ini", "old");
    place.write("conf/other.ini", "other");
    place.write("conf/sub/inner", "inner");
    symlink("other.ini", place.at("conf/link")).unwrap();
    for own in ["conf", "conf/sub"] {
        chown(place.at(own), place.user, place.user).unwrap();
    }
    place.at("conf")
}

/// Runs a script of the shell with a folder to read and files in it to write.
#[track_caller]
pub(crate) fn script(place: &Place, script: &str, writes: &[&str]) -> Value {
    let folder = place.path("conf");
    let files: Vec<String> = writes.iter().map(|name| format!("{folder}/{name}")).collect();
    let grants = files.iter().flat_map(|file| ["--allow-write", file]);
    let text = format!("#!/bin/sh\n# WANT_JSON\nset -e\ncd {folder}\n{script}\n{DONE}\n");
    place.module(&text, &["--allow-read", &folder].into_iter().chain(grants).collect::<Vec<_>>())
}

/// Returns the names and contents of the folder on the machine.
fn content(place: &Place) -> Vec<(OsString, String)> {
    let entries = fs::read_dir(place.at("conf")).unwrap().map(|entry| entry.unwrap().path());
    let mut content: Vec<(OsString, String)> = entries
        .map(|path| {
            let text = path.read_link().map(|target| target.display().to_string());
            let text = text.unwrap_or_else(|_| {
                fs::read(&path).map(|text| String::from_utf8_lossy(&text).into()).unwrap_or_default()
            });
            (path.file_name().unwrap().to_owned(), text)
        })
        .collect();
    content.sort();
    content
}

fn expect(app: Option<&str>, new: Option<&str>) -> Vec<(OsString, String)> {
    let entry = |name: &str, text: &str| (OsString::from(name), text.to_owned());
    let others = [entry("link", "other.ini"), entry("other.ini", "other"), entry("sub", "")];
    let files = app.map(|text| entry("app.ini", text)).into_iter().chain(new.map(|text| entry("new.ini", text)));
    let mut all: Vec<_> = others.into_iter().chain(files).collect();
    all.sort();
    all
}

#[test]
fn a_folder_on_the_way_to_a_grant_is_entered_and_not_listed() {
    for place in Place::all() {
        // Below `/tmp`, the way is in the module's own.
        let mode = fs::Permissions::from_mode(0o755);
        let outside = tempfile::Builder::new().permissions(mode).tempdir_in("/var/tmp").unwrap();
        let conf = outside.path().join("conf");
        let (folder, file) = (conf.display().to_string(), conf.join("app.ini"));
        fs::create_dir(&conf).unwrap();
        fs::write(&file, "old").unwrap();
        chown(&folder, place.user, place.user).unwrap();
        chown(&file, place.user, place.user).unwrap();
        let file = file.display().to_string();
        let run = |script: String, grant: &str| {
            place.module(&format!("#!/bin/sh\n# WANT_JSON\ncd {folder} && {script} && {DONE}\n"), &[grant, &file])
        };
        for grant in ["--allow-read", "--allow-write"] {
            let report = run("cat app.ini >/dev/null && ! ls >/dev/null 2>&1".to_owned(), grant);
            assert_eq!(report["status"], "changed", "{report:#}");
        }
        let report = run(format!("ls {folder}"), "--allow-read");
        let hints = report["hints"].as_array().into_iter().chain(report["denials"].as_array()).flatten();
        let allow: Vec<&Value> = hints.map(|hint| &hint["allow"]).collect();
        assert_eq!(allow, [&json!(format!("--allow-read {folder}"))], "{report:#}");
    }
}

#[test]
fn a_link_to_what_is_granted_has_its_times() {
    for place in Place::all() {
        let (conf, link) = (folder(&place), place.path("conf/link"));
        let made = std::process::Command::new("touch").args(["-h", "-d", "@1500000000"]).arg(&link).status().unwrap();
        assert!(made.success());
        let code = format!("print(json.dumps({{'time': os.lstat('{link}').st_mtime, 'text': open('{link}').read()}}))");
        let text = format!("#!/usr/bin/python3\n# WANT_JSON\nimport json, os\n{code}\n");
        let grants = ["--allow-read".to_owned(), conf.join("link").display().to_string()];
        let report = place.module(&text, &grants.each_ref().map(String::as_str));
        let seen = (&report["result"]["time"], &report["result"]["text"]);
        assert_eq!(seen, (&json!(1_500_000_000.0), &json!("other")), "{report:#}");
    }
}

#[test]
fn a_file_is_made_replaced_and_removed_in_a_folder_that_is_read() {
    // Without namespaces nothing can be made there.
    for place in Place::all().into_iter().filter(|place| place.level == 3) {
        folder(&place);
        let reads = "test \"$(cat other.ini sub/inner link)\" = otherinnerother && ls | grep -q link";
        let report = script(
            &place,
            &format!("{reads} && cat app.ini > tmp1 && echo new >> tmp1 && mv tmp1 app.ini"),
            &["app.ini"],
        );
        assert_eq!(report["status"], "changed", "{report:#}");
        assert_eq!(content(&place), expect(Some("oldnew\n"), None), "{report:#}");
        let report = script(&place, "echo made > tmp1 && mv tmp1 new.ini && rm app.ini", &["app.ini", "new.ini"]);
        assert_eq!(report["status"], "changed", "{report:#}");
        assert_eq!(content(&place), expect(None, Some("made\n")), "{report:#}");
    }
}

#[test]
fn a_folder_with_a_granted_name_has_the_mode_and_times_of_the_machine() {
    for place in Place::all().into_iter().filter(|place| place.level == 3) {
        let conf = folder(&place);
        fs::set_permissions(&conf, fs::Permissions::from_mode(0o2751)).unwrap();
        let made = std::process::Command::new("touch").args(["-d", "@1500000000"]).arg(&conf).status().unwrap();
        assert!(made.success());
        let report = script(&place, "test \"$(stat -c '%a %Y %u' .)\" = \"2751 1500000000 $(id -u)\"", &["app.ini"]);
        assert_eq!(report["status"], "changed", "{report:#}");
        // The owner of a folder that is root's needs no permission.
        if place.user.is_none() && rustix::process::geteuid().is_root() {
            fs::set_permissions(&conf, fs::Permissions::from_mode(0o400)).unwrap();
            let change = "test $(stat -c %a .) = 400; echo more > tmp; mv tmp app.ini";
            let report = script(&place, change, &["app.ini"]);
            assert_eq!(report["status"], "changed", "{report:#}");
            assert_eq!(fs::read_to_string(conf.join("app.ini")).unwrap(), "more\n");
        }
    }
}

#[test]
fn nothing_else_in_the_folder_becomes_writable() {
    for place in Place::all().into_iter().filter(|place| place.level == 3) {
        folder(&place);
        for refused in [
            "echo x > other.ini",
            "rm other.ini",
            "mv other.ini away",
            "chmod 600 other.ini",
            "echo x > sub/inner",
            "touch sub/more",
            "mv sub away",
            "echo x > link",
            "ln -f other.ini hard",
        ] {
            let report = script(&place, &format!("! ({refused}) || exit 7"), &["app.ini"]);
            assert_eq!(report["status"], "changed", "{refused}: {report:#}");
            assert_eq!(content(&place), expect(Some("old"), None), "{refused}");
        }
        let other = place.path("conf/other.ini");
        let report = script(&place, "! (echo x > other.ini)", &["app.ini"]);
        assert!(report["denials"].to_string().contains(&format!("--allow-write {other}")), "{report:#}");
        // What would be lost fails the run.
        for lost in ["cp app.ini backup; echo x > app.ini", "mkdir stray", "ln -sf app.ini link", "rm link"] {
            let report = script(&place, lost, &["app.ini"]);
            assert_eq!(report["status"], "failed", "{lost}: {report:#}");
            assert!(report["lost"][0]["reason"].as_str().unwrap().contains("for reading alone"), "{lost}: {report:#}");
            assert_eq!(content(&place), expect(Some("old"), None), "{lost}");
        }
    }
}

#[test]
fn a_folder_with_too_many_entries_is_shown_as_it_is() {
    for place in Place::all().into_iter().filter(|place| place.level == 3) {
        folder(&place);
        for number in 0..1100 {
            fs::write(place.at(&format!("conf/{number}")), "").unwrap();
        }
        let report = script(&place, "echo more >> app.ini", &["app.ini"]);
        assert_eq!(report["status"], "changed", "{report:#}");
        assert_eq!(fs::read_to_string(place.at("conf/app.ini")).unwrap(), "oldmore\n");
        let denied = {
            let module = place.program("module", &format!("#!/bin/sh\n# WANT_JSON\n{DONE}\n")).display().to_string();
            let (folder, new) = (place.path("conf"), place.path("conf/new.ini"));
            place.run(&["run", &module, "--output", "report", "--allow-read", &folder, "--allow-write", &new])
        };
        assert!(
            denied["status"] == "denied" && denied["result"]["msg"].to_string().contains("too many entries"),
            "{denied:#}"
        );
    }
}

#[test]
fn an_existing_file_is_written_in_place_without_namespaces() {
    for place in Place::all().into_iter().filter(|place| place.level == 2) {
        folder(&place);
        let report = script(&place, "echo more >> app.ini; ! (echo x > other.ini); ! (echo x > stray)", &["app.ini"]);
        assert_eq!(report["status"], "changed", "{report:#}");
        assert_eq!(content(&place), expect(Some("oldmore\n"), None));
    }
}

#[test]
fn a_directory_of_a_granted_name_needs_the_one_around_it_without_namespaces() {
    for place in Place::all().into_iter().filter(|place| place.level == 2) {
        folder(&place);
        let report = script(&place, "mkdir new", &["new"]);
        let denial = missing(&report).find(|denial| denial["subject"] == *place.path("conf/new"));
        let denial = denial.unwrap_or_else(|| panic!("{report:#}"));
        assert_eq!(denial["allow"], format!("--allow-write {}", place.path("conf")));
    }
}

#[test]
fn a_device_that_every_module_has_can_be_granted() {
    let text = format!(
        "#!/bin/sh\n# WANT_JSON\nset -e\ncat /dev/null; echo x > /dev/null; head -c 4 /dev/zero > /dev/null\n{DONE}\n"
    );
    for place in Place::all() {
        for grants in [
            &["--allow-read", "/dev/null"][..],
            &["--allow-write", "/dev/null"],
            &["--allow-read", "/dev/zero", "--allow-write", "/dev/full", "--allow-read", "/dev/urandom"],
            &["--allow-read", "/dev"],
        ] {
            let report = place.module(&text, grants);
            assert_eq!(report["status"], "changed", "{grants:?} {report:#}");
        }
    }
}

#[test]
fn a_path_that_is_not_utf_8_is_granted_under_another_name() {
    for place in Place::all() {
        let name = OsString::from_vec(b"data/\xff\xfe".to_vec());
        let folder = place.at("").join(&name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file"), "content").unwrap();
        let odd = folder.join(OsStr::from_bytes(b"\xfd"));
        fs::write(&odd, "odd").unwrap();
        [&folder, &odd].into_iter().for_each(|path| chown(path, place.user, place.user).unwrap());
        let module =
            place.program("module", "#!/bin/sh\n# WANT_JSON\necho \"{\\\"got\\\": \\\"$(cat /shown/file)\\\"}\"\n");
        let words = |spec: OsString| {
            [
                OsString::from("run"),
                module.clone().into(),
                "--output".into(),
                "report".into(),
                "--allow-read".into(),
                spec,
            ]
        };
        let mut mapped = folder.clone().into_os_string();
        mapped.push("::/shown");
        let (report, status) = place.run_with(words(mapped.clone()));
        match place.level {
            3 => assert_eq!((&report["result"]["got"], status), (&json!("content"), Some(0)), "{report:#}"),
            // Nothing is shown elsewhere without namespaces.
            _ => assert!(report["notes"].to_string().contains("cannot be shown at"), "{report:#}"),
        }
        let guest = place.path("command.wasm");
        let words =
            ["run", &guest, "--output", "report", "--args", r#"{"commands": []}"#, "--allow-read"].map(OsString::from);
        let (report, status) = place.run_with(words.into_iter().chain([mapped]));
        assert_eq!(status, Some(0), "{report:#}");
        let files = ["--allow-write"].map(OsString::from).into_iter().chain([{
            let mut file = folder.join(OsStr::from_bytes(b"\xfd")).into_os_string();
            file.push("::/one");
            file
        }]);
        let text = format!("#!/bin/sh\n# WANT_JSON\necho new > /one\n{DONE}\n");
        let module = place.program("module", &text);
        let words = [OsString::from("run"), module.into(), "--output".into(), "report".into()];
        let (report, status) = place.run_with(words.into_iter().chain(files));
        if place.level == 3 {
            assert_eq!((&report["status"], status), (&json!("changed"), Some(0)), "{report:#}");
            assert_eq!(fs::read_to_string(folder.join(OsStr::from_bytes(b"\xfd"))).unwrap(), "new\n");
        }
    }
}

#[test]
fn a_grant_that_is_swapped_meanwhile_is_a_denial() {
    for place in Place::all() {
        fs::create_dir_all(place.at("data/granted")).unwrap();
        fs::create_dir_all(place.at("data/secret")).unwrap();
        let (granted, away) = (place.at("data/granted"), place.at("data/away"));
        let module = place.program("module", &format!("#!/bin/sh\n# WANT_JSON\n{DONE}\n")).display().to_string();
        let guest = place.path("command.wasm");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _ = fs::rename(&granted, &away);
                    let _ = symlink("secret", &granted);
                    std::thread::sleep(std::time::Duration::from_micros(300));
                    let _ = fs::remove_file(&granted);
                    let _ = fs::rename(&away, &granted);
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
            });
            for number in 0..60 {
                let path = granted.display().to_string();
                let module = if number % 2 == 0 { &module } else { &guest };
                let words = ["run", module, "--output", "report", "--allow-read", &path];
                let status = place.status(&words);
                // Before the first look it is a mistake of usage, after it a denial.
                assert!(matches!(status, Some(0 | 1 | 2 | 4)), "{status:?}");
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Locks a file in several ways, and prints which of them failed.
const LOCKING: &str = r#"#!/usr/bin/python3
# WANT_JSON
import fcntl, json, os, sys
def fails(call):
    try:
        call()
    except PermissionError:
        return True
    return False
seen = {}
for name, path in (('read', READ), ('written', WRITTEN), ('own', os.environ['TMPDIR'] + '/own')):
    if name == 'own':
        open(path, 'w').close()
    with open(path) as file:
        seen[name] = [fails(lambda: fcntl.flock(file, how)) for how in (fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_EX | fcntl.LOCK_NB)]
        fcntl.flock(file, fcntl.LOCK_UN)
        seen[name].append(fails(lambda: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)))
print(json.dumps({'seen': seen}))
"#;

#[test]
fn a_file_that_is_only_read_is_not_locked_exclusively() {
    for place in Place::all() {
        let read = place.path("data/file");
        let written = place.write("other/file", "").display().to_string();
        chown(place.at("other"), place.user, place.user).unwrap();
        let text = LOCKING.replace("READ", &format!("{read:?}")).replace("WRITTEN", &format!("{written:?}"));
        let report = place.module(&text, &["--allow-read", &read, "--allow-write", &written]);
        let all = [false; 4];
        let expect = json!({"read": [false, true, true, true], "written": all, "own": all});
        assert_eq!(report["result"]["seen"], expect, "level {}: {report:#}", place.level);
        assert!(report["denials"].to_string().contains(&format!("--allow-write {read}")), "{report:#}");
    }
}
