//! Native runs with real processes: what they return, what ends them, and that they leave nothing behind.
//!
//! The command line of each process contains a marker of its test, so that survivors are found in `/proc`. A process
//! that must be gone at the end first proves by a file that it was running.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_native::{NativeContext, NativeError, Step};
use modbox_vocabulary::{
    ConfinementLayer, Exit, InputFile, Invocation, LimitHit, LimitKind, Limits, NativeProgram, Outcome, Program, Unit,
};
use modbox_worker::Workers;

use crate::support::{stretched, wait_for};

/// Names the command for [`plays_the_host_when_asked`].
const PLAYED_COMMAND: &str = "MODBOX_TEST_PLAYED_COMMAND";

/// Time limit of each run, unless its test sets another limit.
const SOON: Duration = Duration::from_millis(500);

struct Room {
    tmp: tempfile::TempDir,
    marker: String,
    cx: NativeContext,
    limits: Limits,
    files: Vec<InputFile>,
}

impl Room {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let tmp = tempfile::tempdir().unwrap();
        let cx = NativeContext {
            leaves_processes: false,
            workers: Workers::new(env!("CARGO_BIN_EXE_modbox").into()),
            directory: tmp.path().to_owned(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            room_variables: None,
            user: None,
            cleanup: Cleanup::default(),
            confine: None,
        };
        let marker = format!("modbox-test-{}-{}-", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self {
            tmp,
            marker,
            cx,
            limits: Limits { timeout: Duration::from_secs(20), ..Limits::default() },
            files: vec![],
        }
    }

    fn with(limits: impl FnOnce(&mut Limits)) -> Self {
        let mut room = Self::new();
        limits(&mut room.limits);
        room
    }

    fn try_run(&self, command: &str) -> Result<Outcome, NativeError> {
        let command = format!(": {}; {command} && sleep 0", self.marker);
        let program = Program::Native(NativeProgram { command });
        let invocation =
            Invocation { program, files: self.files.clone(), stdin: Vec::new(), runtime_paths: Vec::new() };
        modbox_native::run(&self.cx, &invocation, self.tmp.path(), &self.limits)
    }

    #[track_caller]
    fn run(&self, command: &str) -> Outcome {
        let outcome = self.try_run(command).unwrap();
        self.assert_nothing_left();
        outcome
    }

    /// Asserts that a run ended by a limit, soon, and left nothing.
    #[track_caller]
    fn assert_limit(&self, command: &str, kind: LimitKind, allowed: u64) -> Outcome {
        let started = Instant::now();
        let outcome = self.run(command);
        assert_eq!(
            (&outcome.exit, outcome.limit),
            (&Exit::Killed, Some(LimitHit { kind, allowed, unit: kind.unit() })),
            "{outcome:?}"
        );
        assert!(started.elapsed() < stretched(Duration::from_secs(5)), "{:?}", started.elapsed());
        outcome
    }

    #[track_caller]
    fn assert_nothing_left(&self) {
        assert_eq!(marked(&self.marker), Vec::<String>::new());
    }

    #[track_caller]
    fn assert_pid_was_there_and_is_gone(&self, file: &str) {
        let status = self.status(file);
        assert!(is_gone(&status), "{status}");
    }

    /// Returns a description of the process whose id is in a file; an empty one if there is no process.
    fn status(&self, file: &str) -> String {
        let pid = fs::read_to_string(self.tmp.path().join(file)).unwrap();
        fs::read_to_string(Path::new("/proc").join(pid.trim()).join("status")).unwrap_or_default()
    }

    /// Script that starts a process in a new session and process group, orphaned twice, that ignores signals and holds
    /// the module's output; then waits until the process runs.
    fn daemon(&self) -> String {
        let marker = &self.marker;
        format!(
            "setsid sh -c '(trap \"\" TERM HUP INT; sh -c \"echo \\$\\$ > daemon.new; mv daemon.new daemon; \
             sleep 600; : {marker}\") & exit' & while [ ! -s daemon ]; do sleep 0.01; done"
        )
    }
}

/// An orphan that has ended may still wait for init to reap it.
fn is_gone(status: &str) -> bool {
    status.is_empty() || status.contains("State:\tZ")
}

/// Returns the command lines of living processes that hold the marker.
fn marked(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(marker) {
            found.push(line);
        }
    }
    found
}

#[track_caller]
fn wait_until(what: impl Fn() -> bool) {
    assert!(wait_for(Duration::from_secs(20), what), "it did not happen in time");
}

#[track_caller]
fn assert_took_less(outcome: &Outcome, than: Duration) {
    let took = Duration::from_micros(outcome.usage.wall_us);
    assert!(took < stretched(than), "{took:?}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_good_module_gets_its_files_directory_and_environment_and_nothing_else() {
    let mut room = Room::new();
    let script = "#!/bin/sh\npwd; cat args; cat | wc -c; env | sort; echo warn >&2";
    room.files = vec![
        InputFile { name: "module".into(), contents: script.as_bytes().into(), mode: 0o700 },
        InputFile { name: "args".into(), contents: (*b"{\"a\": 1}\n").into(), mode: 0o744 },
    ];
    room.cx.environment.push(("STAGE".into(), "test".into()));
    let outcome = room.run("./module");
    let directory = room.tmp.path().display();
    let expected =
        format!("{directory}\n{{\"a\": 1}}\n0\nPATH=/usr/local/bin:/usr/bin:/bin\nPWD={directory}\nSTAGE=test\n");
    // Some shells export `_` and others do not.
    let stdout: String = text(&outcome.stdout.bytes).split_inclusive('\n').filter(|l| !l.starts_with("_=")).collect();
    assert_eq!(stdout.replace("OLDPWD=\n", ""), expected);
    assert_eq!(text(&outcome.stderr.bytes), "warn\n");
    assert_eq!((outcome.exit, outcome.limit), (Exit::Code(0), None));
    assert_eq!((outcome.usage.files, outcome.usage.disk_bytes), (2, script.len() as u64 + 9));
    assert!(outcome.usage.wall_us > 0 && outcome.usage.cpu_us > 0 && outcome.usage.memory_bytes > 0);
    let layers = [ConfinementLayer::ProcessGroup, ConfinementLayer::Subreaper, ConfinementLayer::Rlimits];
    assert_eq!(outcome.confinement.layers, layers);
}

#[test]
fn an_exit_status_is_reported_as_a_shell_does() {
    for (command, code) in [("exit 3", 3), ("sh -c 'kill -9 $$'", 137), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        assert_eq!(Room::new().run(command).exit, Exit::Code(code), "{command}");
    }
}

#[test]
fn a_missing_interpreter_is_the_shells_message() {
    let outcome = Room::new().run("/nonexistent/python module");
    assert_eq!(outcome.exit, Exit::Code(127));
    assert!(text(&outcome.stderr.bytes).contains("/nonexistent/python"), "{}", text(&outcome.stderr.bytes));
}

#[test]
fn huge_output_on_both_streams_is_read_to_the_end_and_its_head_kept() {
    let room = Room::with(|limits| limits.max_output = 1 << 20);
    let outcome = room.run("(yes e | head -c 100000000 >&2) & yes o | head -c 300000000; wait");
    assert_eq!((outcome.stdout.total, outcome.stderr.total), (300_000_000, 100_000_000));
    assert_eq!((outcome.stdout.bytes.len(), outcome.stderr.bytes.len()), (1 << 20, 1 << 20));
    assert!(outcome.stdout.bytes.starts_with(b"o\no\n") && outcome.stderr.bytes.starts_with(b"e\ne\n"));
    assert_eq!(outcome.exit, Exit::Code(0));
    assert_eq!(outcome.limit, Some(LimitHit { kind: LimitKind::Stdout, allowed: 1 << 20, unit: Unit::Bytes }));
}

#[test]
fn the_time_ends_an_endless_writer() {
    let room = Room::with(|limits| (limits.timeout, limits.max_output) = (SOON, 1000));
    let outcome = room.assert_limit("yes", LimitKind::Wall, 500_000);
    assert!(outcome.stdout.is_truncated());
    assert_took_less(&outcome, Duration::from_millis(1500));
}

#[test]
fn the_time_ends_a_sleeper_that_ignores_signals() {
    let room = Room::with(|limits| limits.timeout = SOON);
    room.assert_limit("trap '' TERM INT HUP; echo on; sleep 600", LimitKind::Wall, 500_000);
}

#[test]
fn a_daemon_is_gone_when_the_module_exits() {
    let room = Room::new();
    let outcome = room.run(&room.daemon());
    assert_eq!(outcome.exit, Exit::Code(0));
    room.assert_pid_was_there_and_is_gone("daemon");
    assert_took_less(&outcome, Duration::from_secs(5));
}

#[test]
fn a_daemon_is_gone_when_the_time_is_over() {
    let room = Room::with(|limits| limits.timeout = SOON);
    room.assert_limit(&format!("{}; sleep 600", room.daemon()), LimitKind::Wall, 500_000);
    room.assert_pid_was_there_and_is_gone("daemon");
}

#[test]
fn a_stopped_child_is_gone_too() {
    let room = Room::new();
    let marker = &room.marker;
    room.run(&format!(
        "sh -c 'echo $$ > stopped; kill -STOP $$; : {marker}' & \
         until grep -q 'State:.T' /proc/$!/status; do sleep 0.01; done"
    ));
    room.assert_pid_was_there_and_is_gone("stopped");
}

#[test]
fn too_many_processes_end_the_run() {
    let room = Room::with(|limits| limits.max_processes = 20);
    let marker = &room.marker;
    for bomb in [
        format!("i=0; while [ $i -lt 300 ]; do sleep 600 & i=$((i+1)); done; wait; : {marker}"),
        format!("perl -e 'fork for 1..9; sleep 600; # {marker}'"),
        format!("perl -e 'use POSIX; for (1..9) {{ fork; POSIX::setsid() }} sleep 600; # {marker}'"),
        // Busy processes, which also keep the launcher from running. The pipe bounds them if the test fails.
        format!(
            "perl -e 'use POSIX; pipe(R, W); syswrite W, \"x\" x 200; close W; \
             while (sysread R, $_, 1) {{ fork; POSIX::setsid() }} 1 while 1; # {marker}'"
        ),
    ] {
        room.assert_limit(&bomb, LimitKind::Processes, 20);
    }
}

#[test]
fn processor_time_of_any_process_ends_the_run() {
    let room = Room::with(|limits| limits.cpu_time = Duration::from_millis(300));
    for command in ["while :; do :; done", "while :; do sh -c ': ; :'; done", "setsid sh -c 'while :; do :; done'"] {
        let outcome = room.assert_limit(command, LimitKind::Cpu, 300_000);
        assert!((200_000..2_000_000).contains(&outcome.usage.cpu_us), "{}", outcome.usage.cpu_us);
    }
}

#[test]
fn one_process_cannot_take_too_much_memory() {
    let room = Room::with(|limits| limits.max_memory = 100 << 20);
    let outcome = room.run("perl -e '$x = \"x\" x 1_000_000_000; print \"had it\"'");
    assert_ne!(outcome.exit, Exit::Code(0));
    assert_eq!(text(&outcome.stdout.bytes), "");
    assert!(outcome.usage.memory_bytes < 150 << 20, "{}", outcome.usage.memory_bytes);
}

#[test]
fn many_processes_together_cannot_take_too_much_memory() {
    let room = Room::with(|limits| limits.max_memory = 100 << 20);
    let command = "perl -e 'for (1..4) { fork or do { $x = \"x\" x 40_000_000; sleep 600 } } sleep 600'";
    room.assert_limit(command, LimitKind::Memory, 100 << 20);
}

#[test]
fn runs_at_the_same_time_do_not_disturb_each_other() {
    let one = Room::with(|limits| limits.timeout = SOON);
    let other = Room::new();
    std::thread::scope(|scope| {
        let timed_out = scope.spawn(|| one.assert_limit("yes", LimitKind::Wall, 500_000));
        let go = other.tmp.path().join("go");
        let waiting = scope.spawn(|| other.run("while [ ! -e go ]; do sleep 0.01; done; echo done; exit 7"));
        // The other run goes on when this one has ended.
        assert!(timed_out.join().unwrap().stdout.total > 5);
        fs::write(go, "").unwrap();
        let outcome = waiting.join().unwrap();
        assert_eq!((outcome.exit, text(&outcome.stdout.bytes)), (Exit::Code(7), "done\n".to_owned()));
    });
}

#[test]
fn a_module_finds_no_descriptor_of_the_host() {
    let room = Room::new();
    // `dup` makes a descriptor that is inherited, as a shell's `3<file` would.
    let _inherited = rustix::io::dup(fs::File::open("/etc/passwd").unwrap()).unwrap();
    // The fourth is the directory that `ls` reads.
    assert_eq!(text(&room.run("ls /proc/self/fd").stdout.bytes), "0\n1\n2\n3\n");
    assert_eq!(text(&room.run("[ /proc/self/fd/3 -ef /etc/passwd ] || echo no").stdout.bytes), "no\n");
}

#[test]
fn a_module_that_kills_its_launcher_ends_its_run() {
    let room = Room::new();
    let outcome = room.run("sh -c 'trap \"\" TERM; sleep 600' & kill -KILL $PPID; sleep 600");
    assert_eq!(outcome.exit, Exit::Code(137));
    assert_took_less(&outcome, Duration::from_secs(5));
}

#[test]
fn a_module_that_stops_its_launcher_is_ended_by_the_host() {
    let room = Room::with(|limits| limits.timeout = SOON);
    room.assert_limit(&format!("{}; kill -STOP $PPID; sleep 600", room.daemon()), LimitKind::Wall, 500_000);
    room.assert_pid_was_there_and_is_gone("daemon");
}

#[test]
fn undoing_ends_the_run_before_it_returns() {
    let room = Room::new();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| room.try_run(&format!("{}; sleep 600", room.daemon())));
        wait_until(|| room.tmp.path().join("daemon").exists());
        room.cx.cleanup.undo_all();
        room.assert_nothing_left();
        room.assert_pid_was_there_and_is_gone("daemon");
        let error = run.join().unwrap().unwrap_err();
        assert!(matches!(error, NativeError::Undone), "{error}");
    });
}

#[test]
fn what_hinders_the_launcher_is_an_error_that_says_so() {
    let mut room = Room::new();
    room.cx.directory = "/nonexistent".into();
    let error = room.try_run("true").unwrap_err();
    assert!(matches!(error, NativeError::Launch { step: Step::Directory, .. }), "{error}");
    room.cx.workers = Workers::new("/nonexistent".into());
    let error = room.try_run("true").unwrap_err();
    assert!(matches!(error, NativeError::StartLauncher { .. }), "{error}");
    room.cx.workers = Workers::new("/bin/false".into());
    let error = room.try_run("true").unwrap_err();
    assert!(
        matches!(error, NativeError::StartLauncher { .. } | NativeError::Vanished { .. } | NativeError::Instruct(_)),
        "{error}"
    );
}

/// Helper of [`nothing_is_left_when_the_host_is_killed`], which starts it in a separate process.
#[test]
fn plays_the_host_when_asked() {
    if let Ok(command) = std::env::var(PLAYED_COMMAND) {
        let mut room = Room::new();
        room.cx.directory = std::env::current_dir().unwrap();
        let _ = room.try_run(&command);
    }
}

#[test]
fn nothing_is_left_when_the_host_is_killed() {
    let room = Room::new();
    let mut host = Command::new(std::env::current_exe().unwrap())
        .arg("plays_the_host_when_asked")
        .env(PLAYED_COMMAND, format!("{}; : {}; sleep 600", room.daemon(), room.marker))
        .current_dir(room.tmp.path())
        // A killed process cannot remove its temporary directory, so that directory lies in this one.
        .env("TMPDIR", room.tmp.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until(|| room.tmp.path().join("daemon").exists());
    assert!(!marked(&room.marker).is_empty());
    host.kill().unwrap();
    host.wait().unwrap();
    wait_until(|| marked(&room.marker).is_empty());
    // A killed process loses its command line a moment before it has ended.
    wait_until(|| is_gone(&room.status("daemon")));
}
