//! The `/tmp` of a guest, which its commands share, and commands of an ordinary user's guest.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::core::native::native_ladder::{NO_MOUNTS, behind};
use crate::core::wasm::wasm_commands::{modbox, sh};
use crate::support::{TestDir, copy_program, guest};

#[test]
fn a_command_shares_the_modules_temporary_files_and_starts_nothing_there() {
    let dir = TestDir::new();
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let open = outside.path().display().to_string();
    let script = "cat /tmp/given; echo from a command > /tmp/made; mkdir /tmp/dir && echo deep > /tmp/dir/file; \
                  chmod 755 /tmp/given; echo $HOME; pwd; echo own > $HOME/own; ls /tmp; /tmp/given";
    let args = json!({
        "write": {"/tmp/given": "#!/bin/sh\necho started\n"},
        "commands": [sh(&dir, script), sh(&dir, "cat /tmp/made"), sh(&dir, "cd /tmp && pwd")],
        "read": ["/tmp/made", "/tmp/dir/file"],
    });
    let elsewhere = ["--allow-write", &open];
    for grants in [&["--allow-run", "sh -c *"][..], &[&["--allow-run", "sh -c *"][..], &elsewhere].concat()] {
        let ran = modbox(&dir, grants, &args).run().exits_with(0);
        let (seen, result) = (&ran.json()["result"]["seen"], &ran.json()["result"]);
        // The home is that of the caller, and nothing in it is granted.
        let home = dir.join("home");
        let stdout = format!("#!/bin/sh\necho started\n{}\n/dev/shm\ndir\ngiven\nmade\n", home.display());
        assert_eq!((&seen[0]["stdout"], &seen[0]["end"]), (&json!(stdout), &json!(126)), "{ran}");
        for refused in [&format!("{}/own: Permission denied", home.display()), "/tmp/given: Permission denied"] {
            assert!(seen[0]["stderr"].as_str().unwrap().contains(refused), "{ran}");
        }
        assert_eq!(seen[1]["stdout"], "from a command\n", "{ran}");
        assert_eq!(seen[2]["stdout"], "/tmp\n");
        assert_eq!(result["read"], json!(["from a command\n", "deep\n"]));
        assert!(ran.json()["notes"].as_array().is_none_or(Vec::is_empty), "{ran}");
        dir.assert_nothing_left();
    }
}

#[test]
fn a_path_that_is_granted_in_the_temporary_directory_separates_commands_and_the_report_says_so() {
    let dir = TestDir::new();
    let granted = tempfile::tempdir_in("/tmp").unwrap();
    let path = granted.path().display().to_string();
    // The directory of the tests may lie in `/tmp`, too, so the command names no path of it.
    let sh = |script: &str| json!({"argv": ["sh", "-c", script]});
    let run = |args: Value| {
        let ran = modbox(&dir, &["--allow-run", "sh -c *", "--allow-write", &path], &args).run().exits_with(0);
        dir.assert_nothing_left();
        ran.json()
    };
    let script = format!("ls /tmp/given; echo $HOME; echo made > {path}/made; echo lost > /tmp/lost");
    let report = run(json!({"write": {"/tmp/given": ""}, "commands": [sh(&script)], "read": ["/tmp/lost"]}));
    assert_eq!(report["result"]["seen"][0]["stdout"], format!("{}\n", dir.join("home").display()), "{report:#}");
    assert_eq!(
        (&report["result"]["read"], fs::read(granted.path().join("made")).unwrap()),
        (&json!([null]), b"made\n".to_vec())
    );
    let note = format!("commands do not see the module's files in `/tmp`, since `{path}`");
    assert!(report["notes"].to_string().contains(&note), "{report:#}");
    let report = run(json!({"commands": [sh("true")]}));
    assert!(!report["notes"].to_string().contains("do not see"), "nothing is hidden: {report:#}");
    assert_eq!(fs::read_dir(granted.path()).unwrap().count(), 1);
}

#[test]
fn what_commands_leave_in_the_temporary_directory_counts_together() {
    let dir = TestDir::new();
    let fill = |name: &str| format!("head -c 700000 /dev/zero > /tmp/{name}; sync /tmp/{name}");
    // The second one stays until the limit ends it.
    let commands = [sh(&dir, &fill("one")), sh(&dir, &format!("{}; sleep 600", fill("two")))];
    let args = json!({"commands": commands, "fail": 1});
    let switches = ["--allow-run", "sh -c *", "--max-tmp", "1MiB", "--timeout", "60s"];
    let report = modbox(&dir, &switches, &args).run().exits_with(5).json();
    assert_eq!(report["limit"]["kind"], "tmp", "{report:#}");
    dir.assert_nothing_left();
}

/// An ordinary user's module.
struct Ordinary {
    place: tempfile::TempDir,
    /// The user, if the tests can become one.
    user: Option<u32>,
}

impl Ordinary {
    fn new() -> Self {
        let user = rustix::process::geteuid().is_root().then_some(12345);
        let place =
            tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir_in("/var/tmp").unwrap();
        let ordinary = Self { place, user };
        copy_program(&ordinary.at("modbox"));
        fs::copy(guest("command"), ordinary.at("command.wasm")).unwrap();
        for own in ["home", "tmp", "granted"] {
            fs::create_dir(ordinary.at(own)).unwrap();
            chown(ordinary.at(own), user, user).unwrap();
        }
        ordinary
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Runs the module, which may write the folder `granted`, as if on a kernel that refuses these calls.
    fn without(&self, calls: &[(i64, i32)], args: &Value) -> Value {
        let mut command = Command::new(self.at("modbox"));
        command.env_clear().env("HOME", self.at("home")).env("TMPDIR", self.at("tmp"));
        command.current_dir(self.at("granted")).arg("run").arg(self.at("command.wasm"));
        command.args(["--output", "report", "--allow-write", ".", "--allow-run", "sh -c *"]);
        command.args(["--args", &args.to_string()]);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let output = behind(calls, || command.output().unwrap());
        let left = fs::read_dir(self.at("tmp")).unwrap().flatten();
        let left = left.flat_map(|root| fs::read_dir(root.path()).unwrap()).count();
        assert_eq!(left, 0, "the directory of the run is gone");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }
}

#[test]
fn without_namespaces_a_command_has_no_temporary_files_of_its_module_and_the_report_says_so() {
    let ordinary = Ordinary::new();
    let command = json!({"argv": ["sh", "-c", "cat /tmp/given; echo made > made"],
                         "directory": ordinary.at("granted")});
    let args = json!({"write": {"/tmp/given": "given\n"}, "commands": [command]});
    let seen = |report: &Value| report["result"]["seen"][0].clone();
    let report = ordinary.without(&[], &args);
    assert_eq!((&seen(&report)["stdout"], &seen(&report)["end"]), (&json!("given\n"), &json!(0)), "{report:#}");
    let report = ordinary.without(NO_MOUNTS, &args);
    assert_eq!(seen(&report)["end"], 0, "{report:#}");
    assert!(seen(&report)["stderr"].as_str().unwrap().contains("/tmp/given"), "{report:#}");
    let note = "without namespaces a command does not see the files in its module's `/tmp`";
    assert!(report["notes"].as_array().unwrap().contains(&json!(note)), "{report:#}");
}

#[test]
fn an_ordinary_users_commands_are_confined_too() {
    let ordinary = Ordinary::new();
    let at = |name: &str| ordinary.at(name);
    fs::write(at("secret"), "secret").unwrap();
    let script =
        format!("echo made > made; cat made; cat '{}' 2>/dev/null || echo hidden; id -u", at("secret").display());
    let args = json!({"commands": [{"argv": ["sh", "-c", script], "directory": at("granted")}]});
    let report = ordinary.without(&[], &args);
    let id = ordinary.user.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    assert_eq!(report["result"]["seen"][0]["stdout"], format!("made\nhidden\n{id}\n"), "{report:#}");
}
