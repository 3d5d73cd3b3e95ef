//! Native modules that use memory, disks and processes in ways that the kernel does not count by itself: each ends at its
//! limit, or is refused. By an ordinary user, who has no control group here, with namespaces and without.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::core::native::native_ladder::NO_MOUNTS;
use crate::core::native::native_place::{DONE, Place, USER};
use crate::support::stretched;

/// Calls refused at level 3, and at level 2.
const LEVELS: [(u64, &[(i64, i32)]); 2] = [(3, &[]), (2, NO_MOUNTS)];

/// A place of an ordinary user, where there can be one.
fn place() -> Option<Place> {
    let place = Place::new(Some(USER));
    (!place.is_root()).then_some(place)
}

/// Runs some Python, which may read and write `data`.
#[track_caller]
fn python(place: &Place, calls: &[(i64, i32)], code: &str, switches: &[&str]) -> Value {
    let start = "import ctypes, errno, json, mmap, os, socket, sys, time\n\
                 d = os.path.dirname(sys.argv[0])\nlibc = ctypes.CDLL(None, use_errno=True)\n";
    place.write("data/code.py", &format!("{start}{code}\n"));
    let data = place.path("data");
    let switches = [&["--allow-write", &data], switches].concat();
    place.run_without(calls, &format!("python3 {data}/code.py && {DONE}"), &switches).report
}

fn is_counted(report: &Value) -> bool {
    report["confinement"]["layers"].to_string().contains("cgroup-memory")
}

#[track_caller]
fn assert_limit(report: &Value, level: u64, kind: &str) {
    assert_eq!((&report["status"], &report["limit"]["kind"]), (&json!("limit"), &json!(kind)), "{report:#}");
    assert_eq!(report["confinement"]["level"], level, "{report:#}");
}

#[test]
fn memory_of_no_process_is_refused_or_counted() {
    let Some(place) = place() else { return };
    for (_, calls) in LEVELS {
        for (call, code) in [
            ("memfd_create", "file = os.memfd_create('x')\nfor _ in range(3000): os.write(file, bytes(1 << 20))"),
            ("memfd_secret", "assert libc.syscall(447, 0) >= 0"),
            ("vmsplice", "assert libc.syscall({'x86_64': 278}.get(os.uname().machine, 75), 0, None, 0, 0) == 0"),
        ] {
            let report = python(&place, calls, code, &["--max-memory", "64MiB"]);
            assert!(is_counted(&report) || report["denials"].to_string().contains(call), "{report:#}");
            assert_ne!(report["status"], "changed", "{report:#}");
            assert!(report["usage"]["memory_bytes"].as_u64().unwrap() < 300 << 20, "{report:#}");
        }
    }
}

#[test]
fn memory_that_is_shared_counts_when_it_is_made() {
    let Some(place) = place() else { return };
    let keep = "libc.shmat.restype = ctypes.c_void_p\n\
                for _ in range(3000):\n\
                \x20   id = libc.shmget(0, 1 << 20, 0o1600)\n\
                \x20   if id < 0: raise SystemExit(errno.errorcode[ctypes.get_errno()])\n\
                \x20   at = libc.shmat(id, None, 0); ctypes.memset(at, 1, 1 << 20); libc.shmdt(ctypes.c_void_p(at))";
    // A process gives up its view, and the memory stays.
    let drop = "keep = []\n\
                for _ in range(3000):\n\
                \x20   keep.append(mmap.mmap(-1, 1 << 20)); keep[-1].write(b'x' * (1 << 20)); keep[-1].madvise(4)";
    let zero = "file = os.open('/dev/zero', os.O_RDWR)\n\
                keep = [mmap.mmap(file, 1 << 20) for _ in range(3000)]\n\
                for one in keep: one.write(b'x' * (1 << 20)); one.madvise(4)";
    let others =
        "while libc.semget(0, 32000, 0o1600) >= 0: pass\nraise SystemExit(errno.errorcode[ctypes.get_errno()])";
    for (level, calls) in LEVELS {
        for code in [keep, drop, zero, others] {
            let report = python(&place, calls, code, &["--max-memory", "64MiB"]);
            if is_counted(&report) {
                continue;
            }
            let is_refused = code == zero || level == 2 && code != drop;
            if is_refused {
                assert_eq!(report["status"], "failed", "{code}: {report:#}");
            } else {
                assert_limit(&report, level, "memory");
            }
        }
        // Less than the limit is allowed.
        let little = "one = mmap.mmap(-1, 1 << 20); one.write(b'x' * (1 << 20)); os.open('/dev/zero', os.O_RDONLY)";
        let report = python(&place, calls, little, &["--max-memory", "64MiB"]);
        assert_eq!((&report["status"], &report["denials"]), (&json!("changed"), &json!([])), "{report:#}");
    }
}

#[test]
fn sockets_and_pipes_hold_no_more_than_memory() {
    let Some(place) = place() else { return };
    let fill = "import resource\n\
                def fill():\n\
                \x20   keep = []\n\
                \x20   for _ in range(100):\n\
                \x20       pair = socket.socketpair(); keep.append(pair)\n\
                \x20       for one in pair:\n\
                \x20           one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20); one.setblocking(False)\n\
                \x20           try:\n\
                \x20               while True: one.send(bytes(1 << 16))\n\
                \x20           except BlockingIOError: pass\n\
                \x20   time.sleep(600)\n\
                for _ in range(20):\n\
                \x20   if os.fork() == 0: fill()\n\
                time.sleep(600)";
    for (level, calls) in LEVELS {
        let report = python(&place, calls, fill, &["--max-memory", "64MiB"]);
        assert_limit(&report, level, "memory");
        // The size of a buffer is advice. One process with as many pairs as it may have goes on.
        let one = fill.replace("range(20)", "range(1)").replace("time.sleep(600)", "os._exit(0)");
        let one = one.trim_end_matches("os._exit(0)").to_owned() + "assert os.wait()[1] == 0";
        let report = python(&place, calls, &one, &["--max-memory", "64MiB"]);
        assert_eq!(report["status"], "changed", "{report:#}");
    }
    let pipes = "import fcntl\n\
                 size = 0; keep = []\n\
                 for _ in range(100):\n\
                 \x20   reader, writer = os.pipe(); keep.append((reader, writer))\n\
                 \x20   try: fcntl.fcntl(writer, 1031, 1 << 20)\n\
                 \x20   except OSError: pass\n\
                 \x20   os.set_blocking(writer, False)\n\
                 \x20   try:\n\
                 \x20       while True: size += os.write(writer, bytes(4096))\n\
                 \x20   except BlockingIOError: pass\n\
                 assert size < 80 << 20, size";
    // The kernel bounds the pipes of each user.
    let report = python(&place, &[], pipes, &[]);
    assert_eq!(report["status"], "changed", "{report:#}");
}

#[test]
fn space_on_a_disk_is_not_reserved() {
    let Some(place) = place() else { return };
    let code = "file = os.open(d + '/big', os.O_RDWR | os.O_CREAT | os.O_TRUNC)\n\
                libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]\n\
                for mode in [0, 1, 3, 0x10]:\n\
                \x20   assert libc.fallocate(file, mode, 0, 1 << 30) == -1 and ctypes.get_errno() == errno.EOPNOTSUPP, mode\n\
                request = ctypes.create_string_buffer(bytes(16) + (1 << 30).to_bytes(8, 'little') + bytes(24))\n\
                for number in [0x40305828, 0x4030582a, 0x40305839]:\n\
                \x20   assert libc.ioctl(file, ctypes.c_ulong(number), request) == -1 and ctypes.get_errno() == errno.EPERM\n\
                assert os.fstat(file).st_blocks == 0\n";
    // The C library then writes, which is counted.
    let small = "os.posix_fallocate(file, 0, 1 << 20)\nassert os.fstat(file).st_size == 1 << 20";
    let large = "os.posix_fallocate(file, 0, 1 << 30); time.sleep(600)";
    for (level, calls) in LEVELS {
        let switches = ["--max-disk", "20MiB"];
        let report = python(&place, calls, &format!("{code}{small}"), &switches);
        assert_eq!(report["status"], "changed", "{report:#}");
        let report = python(&place, calls, &format!("{code}{large}"), &switches);
        assert_limit(&report, level, "disk");
    }
}

#[test]
fn every_way_to_write_is_counted() {
    let Some(place) = place() else { return };
    let before = "big = os.open(d + '/big', os.O_RDWR | os.O_CREAT | os.O_TRUNC)\n\
                  zero = os.open(d + '/source', os.O_RDWR | os.O_CREAT | os.O_TRUNC)\nos.ftruncate(zero, 600 << 20)\n";
    for code in [
        "os.ftruncate(big, 600 << 20); view = mmap.mmap(big, 600 << 20)\n\
         for at in range(0, 600 << 20, 4096): view[at] = 1",
        "while os.copy_file_range(zero, big, 1 << 20): pass",
        "while os.sendfile(big, zero, None, 1 << 20): pass",
        "reader, writer = os.pipe()\nwhile os.splice(zero, writer, 1 << 16): os.splice(reader, big, 1 << 16)",
        "for n in range(600): os.write(os.open(d + '/other', os.O_RDWR | os.O_CREAT | os.O_TRUNC), bytes(1 << 20))",
    ] {
        for (level, calls) in LEVELS {
            let switches = ["--max-disk", "20MiB"];
            let report = python(&place, calls, &format!("{before}{code}"), &switches);
            assert_limit(&report, level, "disk");
        }
    }
}

/// Program of Perl that is sixteen processes at a time: the others end when the first one has heard of all and has ended.
const SIXTEEN: &str = "pipe R, W; pipe S, T; $first = $$; fork for 1..4; \
    if ($$ != $first) { close W; syswrite T, x; sysread R, $end, 1; exit } sysread S, $told, 1 for 1..15";

#[test]
fn a_fork_bomb_ends_at_the_count_without_namespaces() {
    let Some(place) = place() else { return };
    for bomb in [
        "perl -e 'fork while 1'",
        "bash -c 'bomb() { bomb | bomb & }; bomb; sleep 600'",
        "perl -e 'use POSIX; while (1) { fork; POSIX::setsid() }'",
        "python3 -c 'import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(600,)).start()'",
    ] {
        let begun = Instant::now();
        let switches = ["--max-processes", "100", "--max-memory", "1GiB", "--cpu-time", "30s"];
        let report = place.run_without(NO_MOUNTS, bomb, &switches).report;
        assert_limit(&report, 2, "processes");
        let wall = Duration::from_micros(report["usage"]["wall_us"].as_u64().unwrap());
        let within = stretched(Duration::from_secs(1));
        assert!(wall < within && begun.elapsed() < 3 * within, "{wall:?}, {:?}: {bomb}", begun.elapsed());
    }
    // As many as are allowed, one after the other and at a time.
    let script = format!("for n in $(seq 300); do /bin/true; done; perl -e '{SIXTEEN}' && {DONE}");
    place.run_without(NO_MOUNTS, &script, &["--max-processes", "20"]).changed();
}

#[test]
fn its_own_directory_is_bounded_without_namespaces() {
    let Some(place) = place() else { return };
    let switches = ["--max-disk", "1GiB", "--max-tmp", "15MiB", "--max-files", "100"];
    for (script, kind) in [
        ("while :; do head -c 1000000 /dev/zero >> $TMPDIR/big; done", "tmp"),
        ("i=0; while :; do i=$((i+1)); : > $TMPDIR/$i; done", "files"),
        ("i=0; while :; do i=$((i+1)); mkdir $TMPDIR/$i; done", "files"),
        // What cannot be listed could hold anything.
        ("(umask 0777; mkdir $TMPDIR/hidden); sleep 600", "files"),
        // So quick that it ends by itself before it is checked.
        ("head -c 16000000 /dev/zero > $TMPDIR/big; echo '{}'", "tmp"),
    ] {
        let report = place.run_without(NO_MOUNTS, script, &switches).report;
        assert_limit(&report, 2, kind);
    }
    let script = format!("head -c 1000000 /dev/zero > $TMPDIR/file && truncate -s 1G $TMPDIR/sparse && {DONE}");
    let report = place.run_without(NO_MOUNTS, &script, &switches).changed();
    let usage = |key: &str| report["usage"][key].as_u64().unwrap();
    assert!((1_000_000..4 << 20).contains(&usage("tmp_bytes")) && usage("files") >= 2, "{report:#}");
}

#[test]
fn tables_of_pages_count() {
    let Some(place) = place() else { return };
    // Memory that is only read has no pages of its own, and tables all the same.
    let code = "size = 100 << 30\n\
                libc.mmap.restype = ctypes.c_void_p\n\
                private, length = 0x4022, ctypes.c_size_t(size)\n\
                at = libc.mmap(None, length, 1, private, -1, ctypes.c_long(0))\n\
                libc.madvise(ctypes.c_void_p(at), length, 15)\n\
                for page in range(at, at + size, 2 << 20): ctypes.c_char.from_address(page).value\n\
                time.sleep(600)";
    for (level, calls) in LEVELS {
        let report = python(&place, calls, code, &["--max-memory", "64MiB"]);
        if !is_counted(&report) {
            assert_limit(&report, level, "memory");
        }
    }
}
