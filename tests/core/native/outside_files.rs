//! Files around commands outside: those of the room that a program gets, those that the module could change, and those of the
//! machine that a command changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::core::native::native_outside::{program, words};
use crate::core::native::native_place::Place;
use crate::support::prefixed;

#[test]
fn a_file_of_the_room_reaches_the_program_as_a_private_copy() {
    for place in Place::all() {
        let tool = program(
            &place,
            "tool",
            "echo \"$1\" > $d/data/name; stat -c %a:%u \"$1\" > $d/data/mode; cat \"$1\"; read line; cat \"$1\" > $d/data/content",
        );
        let code = format!(
            "import subprocess\nopen('/tmp/table', 'w').write('a\\n')\nos.symlink('/tmp/table', '/tmp/link')\n\
             p = subprocess.Popen([{tool:?}, '/tmp/link'], stdin=-1, stdout=-1)\np.stdout.read(2)\nopen('/tmp/table', 'w').write('other')\n\
             p.stdin.close()\n\
             result['end'] = p.wait()"
        );
        let switches = ["--allow-outside", &format!("{tool} <input>")];
        let report = place.python(&code, &switches).changed();
        assert_eq!((place.read("data/content").as_str(), &report["result"]["end"]), ("a\n", &json!(0)), "{report:#}");
        let name = place.read("data/name");
        assert!(name.starts_with(&place.path("tmp")) && name.ends_with("-link\n"), "{name}");
        let own = place.user.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        assert_eq!(place.read("data/mode"), format!("600:{own}\n"));
        // It is gone with the command; `Place` looks for the rest.
        for file in [
            "os.mkfifo('/tmp/file')",
            "os.symlink('/dev/zero', '/tmp/file')",
            "os.symlink('/proc/self/status', '/tmp/file')",
            "os.symlink(d + '/data/name', '/tmp/file')",
            "os.mkdir('/tmp/file')",
            "os.truncate(os.open('/tmp/file', os.O_CREAT | os.O_RDWR), (16 << 20) + 1)",
            "pass",
        ] {
            let code = format!(
                "import subprocess\n{file}\nresult['end'] = subprocess.run([{tool:?}, '/tmp/file']).returncode"
            );
            let report = place.python(&code, &[&switches[..], &["--max-disk", "64MiB"]].concat()).changed();
            assert_eq!((&report["result"]["end"], words(&place).len()), (&json!(126), 1), "{file}: {report:#}");
            let note = report["notes"].to_string();
            assert!(note.contains("/theirs/tool` was not started outside: its argument 1: "), "{file}: {note}");
        }
    }
}

#[test]
fn settings_are_judged_line_by_line() {
    let place = Place::new(None);
    let tool = program(&place, "tool", "cat \"$1\" > $d/data/settings");
    let run = |text: &str| {
        let code = format!(
            "import subprocess\nopen('/tmp/settings', 'w').write({text:?})\nresult['end'] = subprocess.run([{tool:?}, '/tmp/settings']).returncode"
        );
        let report = place.python(&code, &["--allow-outside", &format!("{tool} <settings>")]).changed();
        report["result"]["end"].as_i64().unwrap()
    };
    assert_eq!(run("# plain\nvm.swappiness = 10\n"), 0);
    assert_eq!(place.read("data/settings"), "# plain\nvm.swappiness = 10\n");
    for refused in ["vm.swappiness = 10\nkernel.core_pattern = |/tmp/x\n", "no setting\n"] {
        assert_eq!(run(refused), 126, "{refused}");
    }
    assert_eq!(words(&place).len(), 1);
}

#[test]
fn what_the_module_could_change_is_not_started() {
    let place = Place::new(None);
    let tool = program(&place, "tool", "");
    place.write("data/mine", "");
    let path = |name: &str| place.path(name);
    fs::create_dir(place.at("theirs/home")).unwrap();
    std::os::unix::fs::symlink(place.at("data"), place.at("theirs/way")).unwrap();
    let own_script = place.at("theirs/script");
    fs::write(&own_script, format!("#!{}\n", path("data/mine"))).unwrap();
    fs::set_permissions(&own_script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = own_script.display().to_string();
    for (rule, call, write, starts) in [
        (tool.clone(), tool.clone(), "signal", true),
        (tool.clone(), tool.clone(), "theirs", false),
        (tool.clone(), tool.clone(), "theirs/tool", false),
        (script.clone(), script, "data", false),
        (format!("{tool} <path>"), format!("{tool} {}", path("theirs/home")), "data", true),
        (format!("{tool} <path>"), format!("{tool} {}", path("data/new/home")), "data", false),
        (format!("{tool} <path>"), format!("{tool} {}", path("theirs/way/x")), "data", false),
    ] {
        let script = format!("{call}; echo \"{{\\\"changed\\\": true, \\\"status\\\": $?}}\"");
        let report = place.run(&script, &["--allow-outside", &rule, "--allow-write", &path(write)]).changed();
        let status = report["result"]["status"].as_i64();
        let is_told = report["notes"].to_string().contains("was not started outside: the module may write");
        assert_eq!((status == Some(126), is_told), (!starts, !starts), "{call} {write}: {report:#}");
    }
}

/// Runs a command where `/etc` is a copy, which goes with it.
const OWN_ETC: &str = "mkdir $0/etc && cp -a /etc/. $0/etc && mount --bind $0/etc /etc && exec \"$@\"";

/// A module that makes a group and a user, and removes the user. It tells what it saw before, between and after.
const MAKES_USERS: &str = r#"#!/bin/sh
# WANT_JSON
l() { getent passwd outsider | cut -d: -f1,3,6; getent group outsiders | cut -d: -f1,3; }
before=$(l)
groupadd -g 23456 outsiders && useradd -u 23457 -g outsiders -d /srv/outsider -M outsider
after=$(l | tr '\n' ' ')
userdel outsider
left=$(l)
echo "{\"changed\": true, \"seen\": [\"$before\", \"$after\", \"$left\"], \"mode\": \"$(stat -c %a /etc/passwd)\"}"
"#;

#[test]
fn a_module_sees_the_users_that_its_commands_have_made() {
    let place = Place::new(None);
    if !place.is_root() {
        return;
    }
    fs::write(place.at("module"), MAKES_USERS).unwrap();
    place.write("home/policy", "modules: {module: {profiles: [{manage-users: [outsider, outsiders]}]}}\n");
    let modbox = place.command("module", &["--policy", &place.path("home/policy")]);
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", OWN_ETC, &place.path("theirs")]);
    let output = prefixed(command, &modbox).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let seen = json!(["", "outsider:23457:/srv/outsider outsiders:23456 ", "outsiders:23456"]);
    assert_eq!((&report["result"]["seen"], &report["result"]["mode"]), (&seen, &json!("644")), "{report:#}");
    let ends: Vec<&Value> = report["outside"].as_array().unwrap().iter().map(|ran| &ran["end"]).collect();
    assert_eq!(ends, [&json!({"exit": 0}); 3], "{report:#}");
    // The machine that the test runs on is as it was.
    assert!(!fs::read_to_string("/etc/group").unwrap().contains("outsiders"));
}
