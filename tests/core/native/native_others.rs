//! Other processes of the user who runs a native module: the module neither reads nor changes nor signals them, and the
//! report names what it was refused. Without namespaces, where only Landlock and seccomp stand in between, and in them.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::{DONE, Place};
use crate::support::fixture;

/// Process of the user, with shared memory, semaphores and a queue.
struct Victim {
    child: Child,
    /// Its number and those of its objects.
    numbers: String,
}

impl Victim {
    fn new(place: &Place) -> Self {
        let mut command = Command::new("/usr/bin/python3");
        command.arg("-c").arg(std::fs::read_to_string(fixture("core/native/programs/victim.py")).unwrap());
        if let Some(user) = place.user {
            command.uid(user).gid(user);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut numbers = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut numbers).unwrap();
        Self { child, numbers: numbers.trim().to_owned() }
    }

    fn limits(&self) -> String {
        std::fs::read_to_string(format!("/proc/{}/limits", self.child.id())).unwrap()
    }

    /// Asserts that nothing has changed it.
    #[track_caller]
    fn assert_whole(mut self) {
        self.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

/// Runs a module that tries to reach a process of its user. Returns how its attempts went, and the report.
#[track_caller]
fn attacked(place: &Place, calls: &[(i64, i32)]) -> (Value, Value) {
    place.write("data/others.py", &std::fs::read_to_string(fixture("core/native/programs/others.py")).unwrap());
    let victim = Victim::new(place);
    let limits = victim.limits();
    let script = format!("exec python3 $d/data/others.py {}", victim.numbers);
    let report = place.run_without(calls, &script, &["--allow-read", &place.path("data")]).changed();
    assert_eq!(victim.limits(), limits, "{report:#}");
    victim.assert_whole();
    (report["result"]["tried"].clone(), report)
}

/// What a program does to itself, at every level.
const OWN: [&str; 7] = [
    "own limit",
    "own limit by number",
    "own priority",
    "own priority by number",
    "own processors by number",
    "own input priority by number",
    "own signal",
];

/// What a namespace contains, so that it works in one.
const CONTAINED: [&str; 4] = ["shmget", "semget", "msgget", "inotify_init1"];

#[test]
fn without_namespaces_others_are_out_of_reach() {
    Place::all().iter().for_each(assert_out_of_reach);
}

#[track_caller]
fn assert_out_of_reach(place: &Place) {
    let (tried, report) = attacked(place, NO_MOUNTS);
    assert_eq!(report["confinement"]["level"], 2, "{report:#}");
    // The call sets who is signalled; the victim says whether it was.
    let allowed = [OWN.as_slice(), &["stream pair", "signal by a descriptor"]].concat();
    for (what, outcome) in tried.as_object().unwrap() {
        let is_refused = outcome == "EPERM" || outcome == "EACCES";
        assert_eq!(!is_refused, allowed.contains(&what.as_str()), "{what}: {outcome}");
    }
    let denials = report["denials"].as_array().unwrap();
    for name in [
        "shmget",
        "shmat",
        "shmctl",
        "semget",
        "semop",
        "semctl",
        "msgget",
        "msgsnd",
        "msgrcv",
        "msgctl",
        "mq_open",
        "prlimit64",
        "setpriority",
        "ioprio_set",
        "sched_setaffinity",
        "sched_setscheduler",
        "sched_setparam",
        "sched_setattr",
        "inotify_init1",
        "socketpair",
        "prctl",
    ] {
        let is_it = |denial: &&Value| denial["subject"] == name && denial["operation"] == "call";
        let denial = denials.iter().find(is_it).unwrap_or_else(|| panic!("no {name} in {report:#}"));
        assert_eq!((&denial["capability"], &denial["allow"]), (&"confinement".into(), &"--allow-all".into()));
    }
}

#[test]
fn in_namespaces_others_do_not_exist() {
    for place in Place::all() {
        let (tried, report) = attacked(&place, &[]);
        assert_eq!(report["confinement"]["level"], 3, "{report:#}");
        for (what, outcome) in tried.as_object().unwrap() {
            let what = what.as_str();
            let works = OWN.contains(&what) || CONTAINED.contains(&what) || ["stream pair", "hide"].contains(&what);
            assert!(!works || outcome == "ok", "{what}: {outcome}");
            // Groups and users are those of the namespaces.
            let is_of_victim = what.contains("memory") || what.contains("queue") || what.contains("/proc/PID");
            assert!(!is_of_victim || outcome != "ok", "{what}: {outcome}");
        }
    }
}

#[test]
fn threads_and_children_set_their_own_priority() {
    // By numbers, as programs do; the last one is that of another process.
    let code = "import os, threading\n\
                failed = []\n\
                def change():\n\
                \x20   try: os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 5)\n\
                \x20   except OSError as error: failed.append(error)\n\
                thread = threading.Thread(target=change); thread.start(); thread.join()\n\
                if failed: raise failed[0]\n\
                child = os.fork()\n\
                if child == 0:\n\
                \x20   os.setpriority(os.PRIO_PROCESS, os.getpid(), 7); os._exit(0)\n\
                assert os.waitpid(child, 0)[1] == 0\n\
                try: os.setpriority(os.PRIO_PROCESS, os.getppid(), 9); raise SystemExit(1)\n\
                except PermissionError: pass\n";
    for place in Place::all() {
        place.write("data/own.py", code);
        let script = format!("python3 $d/data/own.py && nice -n 3 true && {DONE}");
        let report = place.run_without(NO_MOUNTS, &script, &["--allow-read", &place.path("data")]).changed();
        assert_eq!(report["confinement"]["level"], 2, "{report:#}");
    }
}

#[test]
fn pairs_of_sockets_reach_no_other_socket() {
    // A pair of datagram sockets can send to any name.
    let code = "import socket, sys\n\
                one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n\
                one.sendto(b'x', sys.argv[1])\n";
    for place in Place::all() {
        place.write("data/send.py", code);
        let path = place.at("data/socket");
        let socket = UnixDatagram::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        socket.set_nonblocking(true).unwrap();
        for calls in [&[], NO_MOUNTS] {
            let script = format!("python3 $d/data/send.py {}; {DONE}", path.display());
            let report = place.run_without(calls, &script, &["--allow-read", &place.path("data")]).changed();
            assert!(socket.recv(&mut [0; 8]).is_err(), "{report:#}");
            assert!(report["denials"].to_string().contains("socketpair"), "{report:#}");
        }
        // Where the module may use sockets, pairs are of every kind.
        let report = place.run(
            &format!("python3 -c 'import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)' && {DONE}"),
            &[],
        );
        assert_eq!(report.changed()["denials"], serde_json::json!([]));
    }
}
