//! The confinement of native modules on kernels with fewer features, and that it is never weaker than the accepted
//! level.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::{fs, thread};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
use serde_json::{Value, json};

use crate::support::{copy_program, missing};

const USER: u32 = 12345;

struct Place {
    dir: tempfile::TempDir,
    user: Option<u32>,
}

impl Place {
    fn new(user: Option<u32>) -> Self {
        let user = user.filter(|_| rustix::process::geteuid().is_root());
        let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        let place = Self { dir, user };
        for own in ["home", "tmp", "data", "other"] {
            fs::create_dir(place.at(own)).unwrap();
            std::os::unix::fs::chown(place.at(own), user, user).unwrap();
        }
        for file in ["data/file", "other/file"] {
            fs::write(place.at(file), "content").unwrap();
            std::os::unix::fs::chown(place.at(file), user, user).unwrap();
        }
        copy_program(&place.at("modbox"));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a script on a kernel that refuses these calls, and returns the report.
    fn without(&self, calls: &[(i64, i32)], script: &str, switches: &[&str]) -> Value {
        let module = self.at("module");
        fs::write(&module, format!("#!/bin/sh\n# WANT_JSON\ncd {}\n{script}\n", self.at("data").display())).unwrap();
        let mut command = Command::new(self.at("modbox"));
        command.env_clear().env("HOME", self.at("home")).env("TMPDIR", self.at("tmp")).current_dir(self.at("home"));
        command.env("PATH", "/usr/bin:/bin").arg("run").arg(&module).args(["--output", "report"]).args(switches);
        if !switches.contains(&"--timeout") {
            command.args(["--timeout", "20s"]);
        }
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let output = behind(calls, || command.output().unwrap());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }
}

/// Runs an action as if on a kernel that answers some calls with an error.
pub(crate) fn behind<T: Send>(calls: &[(i64, i32)], run: impl FnOnce() -> T + Send) -> T {
    let programs: Vec<BpfProgram> = calls
        .iter()
        .map(|(call, errno)| {
            let action = SeccompAction::Errno(errno.cast_unsigned());
            let rules = BTreeMap::from([(*call, Vec::new())]);
            let architecture = std::env::consts::ARCH.try_into().unwrap();
            SeccompFilter::new(rules, SeccompAction::Allow, action, architecture).unwrap().try_into().unwrap()
        })
        .collect();
    let refused = || {
        programs.iter().for_each(|program| seccompiler::apply_filter(program).unwrap());
        run()
    };
    thread::scope(|scope| scope.spawn(refused).join().unwrap())
}

/// Calls refused as in a container: namespaces work, but mounting in them fails.
pub(crate) const NO_MOUNTS: &[(i64, i32)] = &[(libc::SYS_mount, libc::EPERM)];
pub(crate) const NO_LANDLOCK: &[(i64, i32)] = &[(libc::SYS_landlock_create_ruleset, libc::ENOSYS)];
/// Calls refused as in a container with an older seccomp filter.
const NEITHER: &[(i64, i32)] = &[NO_MOUNTS[0], NO_LANDLOCK[0]];

const DONE: &str = "echo '{\"changed\": true}'";

#[test]
fn an_ordinary_user_gets_the_walls_of_the_kernel_without_namespaces() {
    let place = Place::new(Some(USER));
    if rustix::process::geteuid().is_root() && place.user.is_none() {
        return;
    }
    let data = place.at("data").display().to_string();
    let report =
        place.without(NO_MOUNTS, &format!("cat file >&2 && echo new > made && {DONE}"), &["--allow-write", &data]);
    assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("changed"), &json!(2)), "{report:#}");
    let layers = report["confinement"]["layers"].to_string();
    assert!(layers.contains("landlock") && layers.contains("seccomp") && !layers.contains("namespace"), "{report:#}");
    assert!(report["notes"].to_string().contains("mount in a namespace"), "{report:#}");
    assert!(place.at("data/made").exists());
    // Operations that Landlock refuses, and operations that Landlock does not know.
    let other = place.at("other/file").display().to_string();
    for refused in [
        format!("cat {other}"),
        format!("echo x > {other}"),
        format!("chmod 600 {other}"),
        format!("touch -d yesterday {other}"),
        format!("ln -s {other} link && chmod 600 link"),
        "chmod 4755 file".to_owned(),
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'".to_owned(),
        "python3 -c 'import socket; socket.socket()'".to_owned(),
        "kill -9 $PPID && sleep 600; kill -0 1".to_owned(),
    ] {
        let script = format!("{refused} || exit 3; {DONE}");
        let report = place.without(NO_MOUNTS, &script, &["--allow-write", &data]);
        assert_ne!(report["status"], "changed", "{refused}: {report:#}");
    }
    let report = place.without(NO_MOUNTS, &format!("cat {other} || exit 3"), &[]);
    assert!(missing(&report).any(|missing| missing["allow"] == format!("--allow-read {other}")), "{report:#}");
    assert_eq!(fs::read(other).unwrap(), b"content");
}

/// Sets modes and times by every call that the C library and Python have, below a link, and by a descriptor.
const SETS_ATTRIBUTES: &str = r#"python3 -c '
import os
os.chmod("file", 0o640)
os.mkdir("d"); os.symlink("d", "l"); open("l/x", "w").close()
os.chmod("l/x", 0o600); os.chmod("l", 0o1750)
with open("new", "w") as new:
    os.fchmod(new.fileno(), 0o604); os.utime(new.fileno(), ns=(5, 7))
at = os.open("d", os.O_RDONLY)
os.chmod("x", 0o611, dir_fd=at); os.utime("x", (1, 2), dir_fd=at)
os.utime("file", (3, 4)); os.utime("l", (5, 6), follow_symlinks=False)
os.chown("file", os.getuid(), -1)
for refused in [lambda: os.chown("file", os.getuid(), 0), lambda: os.chmod("none", 0o600), lambda: os.fchmod(99, 0o600)]:
    try:
        refused()
    except OSError:
        continue
    raise SystemExit(1)
'"#;

#[test]
fn without_namespaces_a_module_sets_modes_and_times_of_what_it_may_write() {
    let place = Place::new(Some(USER));
    if rustix::process::geteuid().is_root() && place.user.is_none() {
        return;
    }
    let data = place.at("data").display().to_string();
    let report = place.without(NO_MOUNTS, &format!("{SETS_ATTRIBUTES} && {DONE}"), &["--allow-write", &data]);
    assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("changed"), &json!(2)), "{report:#}");
    let denied: Vec<&Value> = report["denials"].as_array().unwrap().iter().map(|denial| &denial["subject"]).collect();
    assert_eq!(denied, [&json!("chown")], "{report:#}");
    let stat = |name: &str| {
        let meta = fs::symlink_metadata(place.at("data").join(name)).unwrap();
        (meta.permissions().mode() & 0o7777, meta.mtime())
    };
    assert_eq!([stat("file"), stat("new"), stat("d/x")], [(0o640, 4), (0o604, 0), (0o611, 2)]);
    assert_eq!((stat("d").0, stat("l").1), (0o1750, 6));
    // What is only granted for reading keeps its mode, and the report says what would allow the change.
    let other = place.at("other").display().to_string();
    let report = place.without(NO_MOUNTS, &format!("chmod 600 {other}/file || exit 3"), &["--allow-read", &other]);
    let allow = format!("--allow-write {other}/file");
    assert!(missing(&report).any(|missing| missing["allow"] == allow), "{report:#}");
    assert_eq!(fs::metadata(place.at("other/file")).unwrap().permissions().mode() & 0o777, 0o644);
}

/// Makes system calls with these numbers, and fails if one of them does not.
const REFUSED_CALLS: &str = "perl -e 'for my $call (@ARGV) { exit 1 if syscall($call, 0x20000, 0) >= 0 }'";

#[test]
fn a_refused_call_is_named() {
    let named = ["io_uring_setup", "unshare", "bpf"];
    let numbers = [libc::SYS_io_uring_setup, libc::SYS_unshare, libc::SYS_bpf].map(|call| call.to_string()).join(" ");
    for (user, calls, level) in
        [(None, &[][..], 3), (None, NO_MOUNTS, 2), (Some(USER), &[][..], 3), (Some(USER), NO_MOUNTS, 2)]
    {
        let place = Place::new(user);
        if level == 2 && rustix::process::geteuid().is_root() && place.user.is_none() {
            continue;
        }
        let report = place.without(calls, &format!("{REFUSED_CALLS} {numbers} && {DONE}"), &[]);
        assert_eq!(
            (&report["status"], &report["confinement"]["level"]),
            (&json!("changed"), &json!(level)),
            "{report:#}"
        );
        let denials = report["denials"].as_array().unwrap();
        let denials: Vec<&Value> = denials.iter().filter(|denial| denial["operation"] == "call").collect();
        for name in named {
            let denial =
                json!({"capability": "confinement", "subject": name, "operation": "call", "allow": "--allow-all"});
            assert!(denials.contains(&&denial), "no {name} in {report:#}");
        }
        assert_eq!(denials.len(), named.len(), "{report:#}");
    }
}

#[test]
fn looking_up_a_name_is_not_a_denial() {
    let place = Place::new(None);
    let look_up = "python3 -c 'import socket; socket.getaddrinfo(\"localhost\", 80)'";
    let report = place.without(
        &[],
        &format!("{look_up} && {DONE}"),
        &["--allow-net", "*:80+any", "--allow-read", &place.at("data").display().to_string()],
    );
    assert_eq!((&report["status"], &report["denials"]), (&json!("changed"), &json!([])), "{report:#}");
}

/// Shell command that prints the command lines of modbox's processes above a module, and which of their files in
/// `/proc` the module can open.
const LOOK_UP: &str = r#"python3 -c '
import json, os
seen, pid = {"opened": [], "cmdlines": []}, os.getpid()
while pid > 1:
    try:
        pid = int(open(f"/proc/{pid}/stat").read().rsplit(") ")[-1].split()[1])
        cmdline = open(f"/proc/{pid}/cmdline").read().replace(chr(0), " ").strip()
    except OSError:
        break
    if "modbox" not in cmdline.split(" ")[0]:
        continue
    seen["cmdlines"].append(cmdline)
    for name in ["mem", "environ", "maps", "auxv", "fd/0"]:
        try:
            open(f"/proc/{pid}/{name}", "rb").close()
            seen["opened"].append(f"{cmdline}: {name}")
        except OSError:
            pass
print(json.dumps(seen))
'"#;

/// A module cannot read the memory of modbox's processes. This matters since the first process of its sandbox is a copy
/// of modbox, including the memory.
#[test]
fn the_processes_above_a_module_keep_their_memory_to_themselves() {
    for (user, calls, level) in
        [(None, &[][..], 3), (None, NO_MOUNTS, 2), (Some(USER), &[][..], 3), (Some(USER), NO_MOUNTS, 2)]
    {
        let place = Place::new(user);
        if user.is_some() && place.user.is_none() && rustix::process::geteuid().is_root() {
            continue;
        }
        let report = place.without(calls, LOOK_UP, &["--args", r#"{"secret": "in the command line"}"#]);
        if report["confinement"]["level"] != level {
            assert!(user.is_none(), "a machine without namespaces confines others: {report:#}");
            continue;
        }
        let result = &report["result"];
        assert_eq!(result["opened"], json!([]), "{report:#}");
        // Without namespaces all processes are listed, the host's own among them.
        let cmdlines = &result["cmdlines"];
        assert!(level == 2 || cmdlines.as_array().unwrap().len() == 1, "{report:#}");
    }
}

#[test]
fn a_daemon_is_gone_without_namespaces_too() {
    let place = Place::new(Some(USER));
    let data = place.at("data").display().to_string();
    if rustix::process::geteuid().is_root() && place.user.is_none() {
        return;
    }
    let daemon = "setsid sh -c '(trap \"\" TERM; sh -c \"echo \\$\\$ > there; sleep 600\") & exit' & \
                  while [ ! -s there ]; do sleep 0.01; done";
    for (script, switches) in [(format!("{daemon}; {DONE}"), "20s"), (format!("{daemon}; sleep 600"), "1500ms")] {
        let report = place.without(NO_MOUNTS, &script, &["--allow-write", &data, "--timeout", switches]);
        assert_eq!(report["confinement"]["level"], 2, "{report:#}");
        let pid = fs::read_to_string(place.at("data/there")).unwrap();
        let status = fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
        assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
        fs::remove_file(place.at("data/there")).unwrap();
    }
}

#[test]
fn root_keeps_its_rights_where_it_is_let() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::new(None);
    let data = place.at("data").display().to_string();
    let own = USER.to_string();
    let script = format!("chown {USER} file && chmod 600 file && cat file >&2 && {DONE}");
    let report = place.without(&[], &script, &["--min-confinement", "3", "--allow-own", &own, "--allow-write", &data]);
    assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("changed"), &json!(3)), "{report:#}");
    assert_eq!(fs::metadata(place.at("data/file")).unwrap().uid(), USER);
}

#[test]
fn without_landlock_namespaces_are_all_there_is_and_have_to_be_accepted() {
    for user in [None, Some(USER)] {
        let place = Place::new(user);
        let report = place.without(NO_LANDLOCK, DONE, &[]);
        assert_eq!(report["status"], "denied", "{report:#}");
        assert_eq!(report["denials"][0]["allow"], "--min-confinement 1", "{report:#}");
        let report = place.without(NO_LANDLOCK, &format!("cat /etc/shadow; {DONE}"), &["--min-confinement", "1"]);
        assert_eq!((&report["status"], &report["confinement"]["level"]), (&json!("changed"), &json!(1)), "{report:#}");
        // Without both, nothing confines a module.
        let report = place.without(NEITHER, &format!("touch made; {DONE}"), &["--min-confinement", "0"]);
        assert_eq!((&report["status"], &report["denials"][0]["allow"]), (&json!("denied"), &json!("--allow-all")));
        assert!(!place.at("data/made").exists());
    }
}
