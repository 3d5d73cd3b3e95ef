//! Native modules that do not end by themselves: each is ended within a second of its limit, with a well-formed result,
//! and leaves nothing behind. Confined, as root and as an ordinary user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::support::{copy_program, stretched, wait_for};

const USER: u32 = 12345;

/// Time limit, far above what is needed, for a busy machine.
const GRACE: Duration = Duration::from_secs(1);

struct Place {
    dir: tempfile::TempDir,
    user: Option<u32>,
    marker: String,
}

impl Place {
    fn all() -> Vec<Self> {
        let rooted = rustix::process::geteuid().is_root();
        if rooted { vec![Self::new(None), Self::new(Some(USER))] } else { vec![Self::new(None)] }
    }

    fn new(user: Option<u32>) -> Self {
        let dir = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
        for own in ["home", "tmp", "data"] {
            let own = dir.path().join(own);
            fs::create_dir(&own).unwrap();
            std::os::unix::fs::chown(&own, user, user).unwrap();
        }
        copy_program(&dir.path().join("modbox"));
        let marker = format!("marker-{}", dir.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.'));
        Self { dir, user, marker }
    }

    fn data(&self) -> String {
        self.dir.path().join("data").display().to_string()
    }

    fn command(&self, script: &str, switches: &[&str]) -> Command {
        let module = self.dir.path().join("module");
        fs::write(&module, format!("#!/bin/bash\n# WANT_JSON\n: {}\n{script}\n", self.marker)).unwrap();
        let mut command = Command::new(self.dir.path().join("modbox"));
        command.env_clear().env("HOME", self.dir.path().join("home")).env("TMPDIR", self.dir.path().join("tmp"));
        command.env("PATH", "/usr/bin:/bin").current_dir(self.dir.path().join("home")).stderr(Stdio::null());
        command.arg("run").arg(module).args(["--output", "report", "--allow-write", &self.data()]).args(switches);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Runs a script to its end, and returns the report and how long it took.
    #[track_caller]
    fn run(&self, script: &str, switches: &[&str]) -> (Value, Duration) {
        let started = Instant::now();
        let output = self.command(script, switches).output().unwrap();
        let elapsed = started.elapsed();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(report["confinement"]["level"], 3, "{report:#}");
        self.assert_nothing_left();
        (report, elapsed)
    }

    /// Runs a script that a limit ends.
    #[track_caller]
    fn limited(&self, script: &str, switches: &[&str], kind: &str, within: Duration) -> Value {
        let (report, elapsed) = self.run(script, switches);
        assert_eq!((&report["limit"]["kind"], &report["status"]), (&json!(kind), &json!("limit")), "{report:#}");
        assert_eq!(report["result"]["failed"], true, "{report:#}");
        // Measured from the first instruction; the limit does not include the start of modbox.
        let wall = Duration::from_micros(report["usage"]["wall_us"].as_u64().unwrap());
        assert!(
            wall < stretched(within + GRACE) && elapsed < stretched(within + 5 * GRACE),
            "{wall:?}, {elapsed:?}: {report:#}"
        );
        report
    }

    #[track_caller]
    fn assert_nothing_left(&self) {
        let living = || {
            let mut found = Vec::new();
            for entry in fs::read_dir("/proc").unwrap().flatten() {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                if line.contains(&self.marker) || line.contains(self.dir.path().to_str().unwrap()) {
                    found.push(line);
                }
            }
            found
        };
        assert!(wait_for(stretched(GRACE), || living().is_empty()), "{:?}", living());
        let roots = fs::read_dir(self.dir.path().join("tmp")).unwrap().flatten();
        let left: Vec<_> = roots.flat_map(|root| fs::read_dir(root.path()).unwrap().flatten()).collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// Script that detaches a process as far as possible: two forks, a new session, all signals ignored.
    fn daemon(&self) -> String {
        let (data, marker) = (self.data(), &self.marker);
        format!(
            "setsid bash -c '(trap \"\" TERM HUP INT; bash -c \"echo there > {data}/there; sleep 600; : {marker}\") & \
             exit' & while [ ! -s {data}/there ]; do sleep 0.01; done"
        )
    }
}

#[test]
fn a_module_that_ignores_signals_ends_at_the_time() {
    for place in Place::all() {
        let limit = stretched(Duration::from_millis(700));
        place.limited("trap '' TERM INT HUP; sleep 600", &["--timeout", &milliseconds(limit)], "wall", limit);
    }
}

#[test]
fn a_daemon_ends_with_the_module_and_at_the_time() {
    for place in Place::all() {
        let daemon = place.daemon();
        let (report, _) = place.run(&format!("{daemon}; echo '{{\"changed\": true}}'"), &["--timeout", "20s"]);
        assert_eq!(
            (&report["status"], &report["survivors"]),
            (&json!("failed"), &json!(["bash", "sleep"])),
            "{report:#}"
        );
        assert!(fs::remove_file(format!("{}/there", place.data())).is_ok(), "it was never there");
        // Long enough for the daemon to start on a busy machine.
        let limit = stretched(Duration::from_secs(5));
        place.limited(&format!("{daemon}; sleep 600"), &["--timeout", &milliseconds(limit)], "wall", limit);
        assert!(fs::remove_file(format!("{}/there", place.data())).is_ok(), "it was never there");
    }
}

#[test]
fn the_confinement_is_known_of_a_launcher_that_does_not_answer() {
    let place = Place::new(None);
    // Long enough for the module to start on a busy machine.
    let limit = stretched(Duration::from_secs(5));
    let script = format!("{}; sleep 600", place.daemon());
    let mut command = place.command(&script, &["--timeout", &milliseconds(limit)]);
    let modbox = command.stdout(Stdio::piped()).spawn().unwrap();
    let there = std::path::PathBuf::from(place.data()).join("there");
    assert!(wait_for(limit, || there.exists()), "the module never ran");
    for launcher in children(modbox.id()) {
        rustix::process::kill_process(launcher, rustix::process::Signal::STOP).unwrap();
    }
    let output = modbox.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!((&report["status"], &report["limit"]["kind"]), (&json!("limit"), &json!("wall")), "{report:#}");
    assert_eq!(report["confinement"]["level"], 3, "{report:#}");
    assert!(report["confinement"]["layers"].to_string().contains("landlock"), "{report:#}");
    assert!(report["notes"].to_string().contains("what it was denied is not known"), "{report:#}");
    place.assert_nothing_left();
}

fn milliseconds(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

fn children(process: u32) -> Vec<Pid> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    let found: Vec<_> = text.split_whitespace().map(|id| Pid::from_raw(id.parse().unwrap()).unwrap()).collect();
    assert!(!found.is_empty(), "{process} has no child");
    found
}

#[test]
fn a_fork_bomb_ends() {
    for place in Place::all() {
        for bomb in [
            "bomb() { bomb | bomb & }; bomb; sleep 600",
            "perl -e 'fork while 1'",
            "perl -e 'use POSIX; while (1) { fork; POSIX::setsid() }'",
        ] {
            let switches = ["--max-processes", "30", "--timeout", "10s", "--cpu-time", "10s"];
            place.limited(bomb, &switches, "processes", GRACE);
        }
    }
}

#[test]
fn endless_output_is_drained_and_ended() {
    for place in Place::all() {
        let limit = stretched(Duration::from_secs(2));
        let switches = ["--timeout", &milliseconds(limit), "--max-output", "64KiB"];
        let report = place.limited("yes & yes >&2", &switches, "wall", limit);
        for stream in ["stdout_bytes", "stderr_bytes"] {
            assert!(report["usage"][stream].as_u64().unwrap() > 64 << 10, "{report:#}");
        }
    }
}

#[test]
fn a_disk_filler_ends() {
    for place in Place::all() {
        let data = place.data();
        let switches = ["--max-disk", "20MiB", "--max-tmp", "15MiB", "--timeout", "20s"];
        for (script, kind, allowed) in [
            (format!("while :; do head -c 1000000 /dev/zero >> {data}/big; done"), "disk", 20 << 20),
            (format!("i=0; while :; do i=$((i+1)); head -c 4000000 /dev/zero > {data}/$i; done"), "disk", 20 << 20),
            ("while :; do head -c 1000000 /dev/zero >> /tmp/big; done".to_owned(), "tmp", 15 << 20),
            ("while :; do head -c 1000000 /dev/zero >> /dev/shm/big; done".to_owned(), "tmp", 15 << 20),
            // So quick that it ends by itself before it is checked.
            (format!("head -c 25000000 /dev/zero > {data}/big; echo '{{}}'"), "disk", 20 << 20),
            ("head -c 15900000 /dev/zero > /tmp/big; echo '{}'".to_owned(), "tmp", 15 << 20),
        ] {
            let report = place.limited(&script, &switches, kind, Duration::from_secs(3));
            assert_eq!(report["limit"]["allowed"], allowed, "{report:#}");
            let size = |entry: fs::DirEntry| entry.metadata().unwrap().len();
            let left: u64 = fs::read_dir(&data).unwrap().flatten().map(size).sum();
            assert!(left < 600 << 20, "{left} bytes are left of {script}");
            fs::read_dir(&data).unwrap().flatten().for_each(|entry| fs::remove_file(entry.path()).unwrap());
        }
    }
}

#[test]
fn a_maker_of_files_ends() {
    for place in Place::all() {
        let script = "i=0; while :; do i=$((i+1)); : > /tmp/$i; done";
        place.limited(script, &["--max-files", "100", "--timeout", "20s"], "files", GRACE);
    }
}

#[test]
fn a_memory_bomb_ends() {
    for place in Place::all() {
        let switches = ["--max-memory", "100MiB", "--timeout", "20s"];
        let one = "perl -e '$x .= \"x\" x 10_000_000 while 1'";
        let (report, elapsed) = place.run(one, &switches);
        assert_eq!(report["result"]["failed"], true, "{report:#}");
        assert!(report["usage"]["memory_bytes"].as_u64().unwrap() < 150 << 20, "{report:#}");
        assert!(elapsed < stretched(Duration::from_secs(5)), "{elapsed:?}");
        let many = "perl -e 'for (1..4) { fork or do { $x = \"x\" x 40_000_000; sleep 600 } } sleep 600'";
        place.limited(many, &switches, "memory", GRACE);
    }
}

#[test]
fn a_busy_loop_ends_in_every_process() {
    for place in Place::all() {
        for script in ["while :; do :; done", "setsid bash -c 'while :; do :; done'"] {
            let switches = ["--cpu-time", "400ms", "--timeout", "20s"];
            // On a busy machine, processor time passes more slowly than wall-clock time.
            place.limited(script, &switches, "cpu", Duration::from_secs(5));
        }
    }
}

#[test]
fn nothing_is_left_when_modbox_is_killed() {
    for place in Place::all() {
        let there = format!("{}/there", place.data());
        let script = format!("{}; sleep 600; : {}", place.daemon(), place.marker);
        let mut modbox = place.command(&script, &["--timeout", "60s"]).stdout(Stdio::null()).spawn().unwrap();
        assert!(wait_for(Duration::from_secs(20), || fs::metadata(&there).is_ok()), "it was never there");
        modbox.kill().unwrap();
        modbox.wait().unwrap();
        // The next run sweeps the directory of this one.
        let (report, _) = place.run("echo '{}'", &[]);
        assert_eq!(report["status"], "ok", "{report:#}");
    }
}
