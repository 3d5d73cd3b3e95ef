//! The memory that a guest makes the host use is bounded, whatever it is for: handles, timers, streams, messages,
//! listings. The host's memory stays near that for an idle guest, and the report names the limit.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Modbox, RunOutput, TestDir, guest};

/// Memory that the host may use in addition to its base and the guest's memory.
const ALLOWANCE: u64 = 32 << 20;

/// Starts a command, and prints its peak memory to stderr.
const MEASURE: &str = "import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)";

/// Runs a guest that takes a resource. Returns the run and the peak memory of modbox in bytes, including the guest.
fn hoard(dir: &TestDir, what: &str, times: Option<u64>, options: &[&str]) -> (RunOutput, u64) {
    let args = json!({"what": what, "times": times}).to_string();
    let ran = Modbox::of(Path::new("python3"), dir)
        .args(["-c", MEASURE, env!("CARGO_BIN_EXE_modbox"), "run", "--output", "report", "--args", &args])
        .args(["--cpu-time", "300ms", "--max-memory", "16MiB"])
        .args(options)
        .arg(guest("hoard"))
        .run();
    let peak: u64 = ran.stderr_text().lines().last().unwrap().parse().unwrap();
    (ran, peak << 10)
}

#[test]
fn handles_without_end_end_at_their_limit() {
    let dir = TestDir::new();
    for what in ["timers", "streams", "inputs", "directories"] {
        let (ran, _) = hoard(&dir, what, None, &[]);
        let report = ran.json();
        assert_eq!(ran.status.code(), Some(5), "{what}: {ran}");
        assert_eq!(report["status"], "limit", "{what}: {ran}");
        assert_eq!(report["limit"], json!({"kind": "host-memory", "allowed": 10_000, "unit": "handles"}), "{ran}");
        assert_eq!(report["result"]["msg"], "the module held more handles than any may: 10000", "{ran}");
        // A module that stays below is not ended.
        hoard(&dir, what, Some(100), &[]).0.exits_with(0);
    }
}

#[test]
fn what_one_call_hands_over_is_bounded() {
    let dir = TestDir::new();
    let (ran, _) = hoard(&dir, "one_large_field", Some(1), &[]);
    let report = ran.exits_with(5).json();
    assert_eq!(report["limit"], json!({"kind": "host-memory", "allowed": 4 << 20, "unit": "bytes"}), "{report}");
    assert_eq!(
        report["result"]["msg"], "the module exchanged more with the host at once than any may: 4.0 MiB",
        "{report}"
    );
}

#[test]
fn whatever_a_guest_takes_the_host_stays_small() {
    let dir = TestDir::new();
    let granted = dir.mkdir("granted");
    for file in 0..20_000 {
        fs::write(granted.join(format!("{file:0200}")), "").unwrap();
    }
    // Run once before, so that the module is compiled.
    hoard(&dir, "random", Some(1), &[]);
    let (ran, usual) = hoard(&dir, "random", Some(1), &[]);
    ran.exits_with(0);
    let all = [
        ("timers", "host-memory"),
        ("streams", "host-memory"),
        ("inputs", "host-memory"),
        ("directories", "host-memory"),
        ("empty_writes", "cpu"),
        ("zeroes", "cpu"),
        ("listings", "cpu"),
        ("fields", "descriptors"),
        ("requests", "descriptors"),
        ("random", "cpu"),
        ("environment", "cpu"),
        ("polls", "cpu"),
        ("reads_of_directories", "cpu"),
        ("entries", "cpu"),
    ];
    for (what, limit) in all {
        let (ran, peak) = hoard(&dir, what, None, &["--max-output", "1MiB", "--allow-read", granted.to_str().unwrap()]);
        let report = ran.json();
        assert_eq!(report["limit"]["kind"], limit, "{what}: {ran}");
        assert_eq!(report["status"], "limit", "{what}: {ran}");
        let held = peak.saturating_sub(usual + report["usage"]["memory_bytes"].as_u64().unwrap());
        assert!(held < ALLOWANCE, "the host holds {held} bytes for {what}: {ran}");
    }
}

#[test]
fn more_random_bytes_than_a_call_gives_are_refused_before_they_are_made() {
    let dir = TestDir::new();
    let (ran, _) = hoard(&dir, "too_much_random", Some(1), &[]);
    let report = ran.json();
    assert_eq!(report["limit"], json!({"kind": "host-memory", "allowed": 4 << 20, "unit": "bytes"}), "{ran}");
    assert_eq!(
        report["result"]["msg"], "the module exchanged more with the host at once than any may: 4.0 MiB",
        "{ran}"
    );
    hoard(&dir, "random", Some(3), &[]).0.exits_with(0);
}
