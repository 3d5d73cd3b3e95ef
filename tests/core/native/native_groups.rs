//! Control groups of native modules: they are used where they can be created, are never required, and are always
//! removed.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::support::{children, copy_program, stretched, wait_for};

const USER: u32 = 12345;

const PATIENCE: Duration = Duration::from_secs(20);

const DONE: &str = "echo '{\"changed\": true}'";

/// Shell command that starts processes, each far below the memory limit, but together far above it.
const MANY: &str = "perl -e 'for (1..12) { fork or do { $x = \"x\" x 20_000_000; sleep 600 } } sleep 600'";

/// Shell command that uses memory that no process maps.
const UNSEEN: &str = "python3 -c 'import os, time
file = os.memfd_create(\"bomb\")
for _ in range(3000): os.write(file, bytes(1000000))
time.sleep(600)'";

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        for own in ["home", "tmp", "root"] {
            let own = dir.path().join(own);
            fs::create_dir(&own).unwrap();
            fs::set_permissions(own, fs::Permissions::from_mode(0o777)).unwrap();
        }
        copy_program(&dir.path().join("modbox"));
        Self { dir }
    }

    /// The command that runs a script as a module, and what makes it run elsewhere.
    fn command(&self, elsewhere: &[&str], script: &str, switches: &[&str]) -> Command {
        let module = self.dir.path().join("module");
        fs::write(&module, format!("#!/bin/sh\n# WANT_JSON\n{script}\n")).unwrap();
        let program = self.dir.path().join("modbox");
        let mut words = elsewhere.iter().map(PathBuf::from).chain([program]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg("run").arg(module).args(["--output", "report", "--timeout", "20s"]).args(switches);
        command.env_clear().env("HOME", self.dir.path().join("home")).env("TMPDIR", self.dir.path().join("tmp"));
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir(self.dir.path().join("home"));
        command.stderr(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, elsewhere: &[&str], script: &str, switches: &[&str]) -> Value {
        let output = self.command(elsewhere, script, switches).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    /// Returns the directory below which modbox creates control groups with a memory limit, as modbox reports it.
    fn parent(&self) -> Option<PathBuf> {
        let show = Command::new(self.dir.path().join("modbox")).args(["policy", "show", "--json"]).output().unwrap();
        let shown: Value = serde_json::from_slice(&show.stdout).unwrap();
        let groups = shown["native_control_groups"].as_array().unwrap().iter().flat_map(Value::as_str);
        let memory = groups.filter_map(|group| group.split_once(" below "));
        memory.filter(|(layers, _)| layers.contains("cgroup-memory")).map(|(_, parent)| parent.into()).next()
    }
}

fn rooted() -> bool {
    rustix::process::geteuid().is_root()
}

fn layers(report: &Value) -> Vec<&str> {
    let layers = report["confinement"]["layers"].as_array().unwrap().iter().flat_map(Value::as_str);
    layers.filter(|layer| layer.starts_with("cgroup-")).collect()
}

#[track_caller]
fn assert_ended_by_memory(report: &Value) {
    assert_eq!((&report["status"], &report["limit"]["kind"]), (&json!("limit"), &json!("memory")), "{report:#}");
    let wall = Duration::from_micros(report["usage"]["wall_us"].as_u64().unwrap());
    assert!(wall < stretched(Duration::from_secs(5)), "{report:#}");
}

/// Returns the groups of one launcher, or of all launchers that have ended.
fn groups(parent: &Path, of: Option<Pid>) -> Vec<String> {
    let names = fs::read_dir(parent).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let launcher = |name: &str| name.strip_prefix("modbox-")?.split('-').next()?.parse().ok().and_then(Pid::from_raw);
    let wanted = |launcher: Pid| match of {
        Some(pid) => pid == launcher,
        None => !Path::new(&format!("/proc/{launcher}")).exists(),
    };
    names.filter(|name| launcher(name).is_some_and(wanted)).collect()
}

#[test]
fn memory_of_all_processes_is_bounded_together() {
    let place = Place::new();
    let expect: &[&str] = if place.parent().is_some() { &["cgroup-memory"] } else { &[] };
    let report = place.run(&[], MANY, &["--max-memory", "100MiB"]);
    assert_ended_by_memory(&report);
    assert_eq!(layers(&report), expect);
    if let Some(parent) = place.parent() {
        let report = place.run(&[], UNSEEN, &["--max-memory", "100MiB"]);
        assert_ended_by_memory(&report);
        // Not much beyond the limit and what its `/tmp` may hold.
        assert!(report["usage"]["memory_bytes"].as_u64().unwrap() < 300 << 20, "{report:#}");
        assert!(wait_for(PATIENCE, || groups(&parent, None).is_empty()), "{:?}", groups(&parent, None));
    }
}

#[test]
fn files_in_memory_have_a_limit_of_their_own() {
    let place = Place::new();
    let script = format!("head -c 150000000 /dev/zero > /tmp/big && ls -l /tmp/big >&2 && {DONE}");
    let switches = ["--max-memory", "50MiB", "--max-tmp", "200MiB", "--max-disk", "200MiB"];
    let report = place.run(&[], &script, &switches);
    assert_eq!(report["status"], "changed", "{report:#}");
    if place.parent().is_some() {
        assert!(report["usage"]["memory_bytes"].as_u64().unwrap() > 150_000_000, "{report:#}");
    }
}

#[test]
fn what_reads_much_is_not_out_of_memory() {
    let place = Place::new();
    let data = place.dir.path().join("data");
    fs::write(&data, vec![b'x'; 150_000_000]).unwrap();
    let data = data.display().to_string();
    let script = format!("cat {data} {data} | wc -c >&2; {DONE}");
    let report = place.run(&[], &script, &["--max-memory", "40MiB", "--max-tmp", "1MiB", "--allow-read", &data]);
    assert_eq!(report["status"], "changed", "{report:#}");
}

/// Starts a module that sleeps, and returns modbox and its launcher.
fn sleeping(place: &Place) -> (Child, Pid) {
    let mut command = place.command(&[], "sleep 600", &[]);
    let modbox = command.stdout(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_child(&modbox);
    let first = || children(pid).into_iter().find(|launcher| !children(*launcher).is_empty());
    assert!(wait_for(PATIENCE, || first().is_some()), "the launcher has started nothing");
    (modbox, first().unwrap())
}

#[test]
fn no_group_is_left_of_what_is_killed() {
    let place = Place::new();
    let Some(parent) = place.parent() else { return };
    // The launcher notices that its host has ended.
    let (mut modbox, launcher) = sleeping(&place);
    assert!(wait_for(PATIENCE, || groups(&parent, Some(launcher)).len() == 1));
    modbox.kill().unwrap();
    modbox.wait().unwrap();
    assert!(wait_for(PATIENCE, || groups(&parent, Some(launcher)).is_empty()));
    // The next run removes what a launcher leaves behind.
    let (mut modbox, launcher) = sleeping(&place);
    assert!(wait_for(PATIENCE, || groups(&parent, Some(launcher)).len() == 1));
    rustix::process::kill_process(Pid::from_child(&modbox), Signal::STOP).unwrap();
    rustix::process::kill_process(launcher, Signal::KILL).unwrap();
    modbox.kill().unwrap();
    modbox.wait().unwrap();
    // While another one runs, too, whose group stays.
    let (mut other, others) = sleeping(&place);
    assert!(wait_for(PATIENCE, || groups(&parent, Some(others)).len() == 1));
    assert_eq!(place.run(&[], DONE, &[])["status"], "changed");
    assert!(groups(&parent, Some(launcher)).is_empty());
    assert_eq!(groups(&parent, Some(others)).len(), 1);
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(wait_for(PATIENCE, || groups(&parent, Some(others)).is_empty()));
}

#[test]
fn without_groups_all_is_as_ever() {
    let place = Place::new();
    if !rooted() {
        assert_eq!(layers(&place.run(&[], DONE, &[])).is_empty(), place.parent().is_none());
        return;
    }
    for change in [
        "umount -l /sys/fs/cgroup",
        "for mount in $(grep -o '/sys/fs/cgroup[^ ]*' /proc/self/mounts); do mount -o remount,bind,ro $mount; done",
    ] {
        let change = format!("{change} && exec \"$@\"");
        let elsewhere = ["unshare", "--mount", "sh", "-c", &change, "sh"];
        let report = place.run(&elsewhere, DONE, &[]);
        assert_eq!((&report["status"], layers(&report)), (&json!("changed"), vec![]), "{report:#}");
        assert_eq!(report["confinement"]["level"], 3, "{report:#}");
        assert_ended_by_memory(&place.run(&elsewhere, MANY, &["--max-memory", "100MiB"]));
    }
    let mut command = place.command(&[], DONE, &[]);
    let output = command.uid(USER).gid(USER).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["status"], layers(&report)), (&json!("changed"), vec![]), "{report:#}");
}

/// Control groups that an ordinary user owns; removed when dropped.
struct Handed(Vec<PathBuf>);

impl Handed {
    /// Creates one in each relevant hierarchy of version 1, and in that of version 2.
    fn new() -> Self {
        let groups = ["memory", "pids", "unified"].map(|name| Path::new("/sys/fs/cgroup").join(name));
        let group = |parent: PathBuf| {
            let group = parent.join(format!("modbox-test-{}", std::process::id()));
            fs::create_dir(&group).ok()?;
            chown(&group, Some(USER), Some(USER)).unwrap();
            chown(group.join("cgroup.procs"), Some(USER), Some(USER)).unwrap();
            Some(group)
        };
        Self(groups.into_iter().filter_map(group).collect())
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        let gone = || self.0.iter().all(|group| !group.exists() || fs::remove_dir(group).is_ok());
        assert!(wait_for(PATIENCE, gone) || std::thread::panicking(), "{:?}", self.0);
    }
}

#[test]
fn an_ordinary_user_uses_the_groups_that_it_was_handed() {
    let place = Place::new();
    if !rooted() {
        return;
    }
    let handed = Handed::new();
    if handed.0.len() < 3 {
        // This test does not support another arrangement of hierarchies.
        return;
    }
    let join = handed.0.iter().map(|group| format!("echo $$ > {}/cgroup.procs && ", group.display()));
    let join: String = join.collect();
    let user = format!("{join} exec setpriv --reuid {USER} --regid {USER} --clear-groups \"$@\"");
    let report = place.run(&["sh", "-c", &user, "sh"], UNSEEN, &["--max-memory", "100MiB"]);
    assert_ended_by_memory(&report);
    assert_eq!((&report["confinement"]["level"], layers(&report)), (&json!(3), vec!["cgroup-memory"]), "{report:#}");
    // Below another root the kernel gives an ordinary user no namespaces.
    let root = place.dir.path().join("root");
    let user = format!("{join} mount --rbind / {0} && exec chroot --userspec={USER}:{USER} {0} \"$@\"", root.display());
    let daemon = format!(
        "setsid sh -c '(echo > $TMPDIR/there; sleep 600) & exit' & while [ ! -s $TMPDIR/there ]; do sleep 0.01; done; {DONE}"
    );
    let report = place.run(&["unshare", "--mount", "sh", "-c", &user, "sh"], &daemon, &[]);
    let all = vec!["cgroup-kill", "cgroup-memory", "cgroup-pids"];
    let mut used = layers(&report);
    used.sort_unstable();
    assert_eq!((&report["confinement"]["level"], used), (&json!(2), all), "{report:#}");
    // The shell becomes `sleep`, or waits for it.
    assert_eq!(report["status"], "failed", "{report:#}");
    assert!(report["survivors"].as_array().unwrap().contains(&json!("sleep")), "{report:#}");
    let report = place.run(&["unshare", "--mount", "sh", "-c", &user, "sh"], UNSEEN, &["--max-memory", "100MiB"]);
    assert_ended_by_memory(&report);
    // Removing them succeeds only if they are empty.
    drop(handed);
}
