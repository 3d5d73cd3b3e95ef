//! Tests wait for a state, not for a time: a wait that suffices on an idle machine fails on a busy one. What a program can
//! check of that.
//!
//! A test waits with `wait_for` of `tests/support`. A program that a test starts may look at a state again and again, in a
//! loop on one line, or sleep until it is ended.

use std::sync::LazyLock;

use regex::Regex;

use crate::house::tidy::{Source, ascii, check, rust_files};
use crate::support::tracked;

/// Seconds from which a sleep is no wait: the test ends it.
const ENDLESS: f64 = 60.0;

/// Files with tests that sleep, each with its reason.
const SLEEPS: [(&str, &str); 11] = [
    ("tests/support/command.rs", "`wait_for`, the one loop that looks at a state"),
    ("tests/support/server.rs", "the pace of a slow server, which no test waits for"),
    ("tests/support/registry/answer.rs", "the pace of a slow registry, which no test waits for"),
    ("tests/guests/src/bin/drive.rs", "a guest that looks for a file again and again"),
    ("tests/guests/src/bin/fetch.rs", "a guest that never ends"),
    ("tests/guests/src/bin/sleep.rs", "a guest that sleeps until it is ended"),
    ("tests/core/native/native_folders.rs", "how long a swapped folder stays; all orders are right"),
    ("runner/layers/overlay/tests/commit_tests/edits.rs", "when a thread edits; all orders are right"),
    (
        "runner/core/cleanup/src/lib.rs",
        "how long undoing takes that others must wait for; a shorter time is right, too",
    ),
    (
        "runner/core/store/src/store_tests.rs",
        "how long one thread fills a tree that others wait for; a shorter time is right, too",
    ),
    ("runner/core/wasm/src/ticker.rs", "parts of a tick, since ticks are times; all are right"),
];

/// The same for tests of time itself.
const TIMED: [(&str, &str); 1] =
    [("runner/plays/template/src/processor_time.rs", "time in which nothing is done must not count as work")];

/// Files with short sleeps of shells and Python, each with its reason.
const SHORT: [(&str, &str); 8] = [
    ("tests/authoring/missing_tools.rs", "how long one of two builds takes; all orders are right"),
    ("tests/core/native/programs/hostile_worker.py", "when a hostile worker ends; all orders are right"),
    ("tests/oracle/modules/command.py", "a process that goes on behind its parent, which waits for it"),
    ("tests/plays/cases/failures/play.yml", "a command that its task ends before"),
    ("tests/oracle/web_server.py", "the pace of a slow server"),
    ("guest-sdk/python-host/tests/test_commands.py", "commands that a limit ends, and one that is waited for"),
    ("guest-sdk/python-host/tests/test_tls.py", "the pace of a slow server"),
    ("tests/support/network.sh", "a loop of several lines that looks at a state"),
];

static SHORT_SLEEP: LazyLock<Regex> =
    LazyLock::new(|| ascii(r"\bsleep ([0-9]+(?:\.[0-9]+)?)\b|\btime\.sleep\(([0-9]+(?:\.[0-9]+)?)\)"));

#[test]
fn tests_do_not_sleep() {
    let excused = |path: &str| SLEEPS.iter().chain(&TIMED).any(|(known, _)| *known == path);
    let tests = rust_files().into_iter().filter(|source| !excused(&source.path));
    check(tests, |source| sleeps(&tests_of(source)), "sleeps in a test; wait for a state with `wait_for`");
}

#[test]
fn programs_of_tests_do_not_wait_for_a_time() {
    let excused = |path: &str| SHORT.iter().any(|(known, _)| *known == path);
    for path in tracked().iter().filter(|path| is_of_tests(path) && !excused(path)) {
        let Ok(text) = std::fs::read_to_string(crate::support::repository().join(path)) else { continue };
        let waits = text.lines().find(|line| waits(line));
        assert!(waits.is_none(), "{path} waits for a time, not for a state: {}", waits.unwrap_or_default());
    }
}

#[test]
fn each_excuse_is_needed() {
    for (path, _) in SLEEPS.iter().chain(&TIMED) {
        let source = rust_files().into_iter().find(|source| source.path == *path);
        assert!(source.is_some_and(|source| sleeps(&tests_of(&source))), "{path} does not sleep in a test");
    }
    for (path, _) in SHORT {
        let text = std::fs::read_to_string(crate::support::repository().join(path)).unwrap_or_default();
        assert!(text.lines().any(waits), "{path} does not wait for a time");
    }
}

#[test]
fn waits_are_recognised() {
    let calls = ["thread::sleep(x)", "std::thread::sleep(PAUSE)", "    sleep(\n"];
    assert!(calls.into_iter().all(sleeps));
    assert!(!["asleep(&dir)", "fn sleep(&mut self)", "host.sleep(x)", "time.sleep(3)"].into_iter().any(sleeps));
    assert!(["sleep 0.2; echo", "time.sleep(1.5)", "(sleep 5)"].into_iter().all(waits));
    let others = ["sleep 600 &", "time.sleep(3600)", "while [ ! -e go ]; do sleep 0.05; done", "sleeping 3"];
    assert!(!others.into_iter().any(waits));
}

/// Returns the tests of a file: all of it, or the module of its tests. Benchmarks measure times and are no tests.
fn tests_of(source: &Source) -> String {
    let code = source.code();
    if source.path.starts_with("tests/bench/") || source.path == "tests/house/tidy_waits.rs" {
        return String::new();
    }
    match code.find("#[cfg(test)]\nmod tests {") {
        _ if is_of_tests(&source.path) => code,
        Some(at) => code[at..].to_owned(),
        None => String::new(),
    }
}

fn is_of_tests(path: &str) -> bool {
    let is_text = ["rs", "py", "sh", "c", "txt", "yml"].iter().any(|end| path.ends_with(&format!(".{end}")));
    let is_of_tests = path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs");
    is_text && is_of_tests && !path.starts_with("tests/bench/") && path != "tests/house/tidy_waits.rs"
}

/// Returns whether code calls `sleep`, and not a method of that name.
fn sleeps(code: &str) -> bool {
    code.match_indices("sleep(").any(|(at, _)| {
        let before = &code[..at];
        let is_name = before.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | '.'));
        !is_name && !before.ends_with("fn ")
    })
}

/// Returns whether a line of a program lets time pass, other than between two looks at a state.
fn waits(line: &str) -> bool {
    let is_loop = ["while ", "until "].iter().any(|word| line.contains(word));
    let seconds = |found: regex::Captures<'_>| {
        let number = found.get(1).or_else(|| found.get(2));
        number.and_then(|number| number.as_str().parse::<f64>().ok()).unwrap_or_default()
    };
    !is_loop && SHORT_SLEEP.captures_iter(line).map(seconds).any(|seconds| seconds > 0.0 && seconds < ENDLESS)
}
