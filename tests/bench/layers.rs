//! `cargo bench --bench layers`: what layers cost the jobs of a batch: the rate of jobs with them, compared with that of the
//! same jobs without.
//!
//! A job changes one line of a file. Rates depend on the machine; the ratios are what to compare. No test looks at them.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

use std::fmt::Write as _;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use support::{TestDir, module};

/// Enough that starting up is a small part.
const JOBS: u32 = 1000;

/// Turns of each; they take turns, so that what else the machine does falls on all.
const TURNS: usize = 5;

/// Lines of the file.
const LINES: u32 = 200;

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let lines: String = (0..LINES).map(|number| format!("key{number}=value\n")).collect();
    dir.write("tree/file", lines);
    let effects = ["direct", "preview", "transaction"];
    println!("{:<44} {:>9} {:>9}", "rate of jobs, compared with direct ones", "preview", "commit");
    for (granted, switch) in [("a single file", None), ("a directory", Some(dir.join("tree")))] {
        for workers in [1, 4] {
            let jobs = effects.map(|effect| jobs(&dir, effect));
            let mut rates = effects.map(|_| Vec::new());
            for _ in 0..TURNS {
                for (jobs, rates) in jobs.iter().zip(&mut rates) {
                    rates.push(batch(&dir, jobs, workers, switch.as_ref()));
                }
            }
            let [direct, preview, commit] = rates.map(median);
            let name = format!("{granted}, {workers} at a time ({direct:.0} direct jobs/s)");
            println!("{name:<44} {:>9.2} {:>9.2}", preview / direct, commit / direct);
        }
    }
}

/// Writes a file of jobs.
fn jobs(dir: &TestDir, effect: &str) -> PathBuf {
    let (mut lines, module, path) = (String::new(), module("lineinfile"), dir.join("tree/file"));
    for id in 0..JOBS {
        let args = format!(r#"{{"path": "{}", "regexp": "^key7=", "line": "key7={id}"}}"#, path.display());
        let _ = writeln!(
            lines,
            r#"{{"id": {id}, "module": "{}", "args": {args}, "effect": "{effect}"}}"#,
            module.display()
        );
    }
    dir.write(&format!("{effect}.jsonl"), lines)
}

/// Returns how many jobs a batch ran a second. Of transactions at the same time, some are conflicts.
fn batch(dir: &TestDir, jobs: &PathBuf, workers: u32, granted: Option<&PathBuf>) -> f64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_modbox"));
    command.args(["batch", "--jobs", &workers.to_string()]).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("HOME", dir.path()).env("TMPDIR", dir.path());
    command.args(granted.iter().flat_map(|granted| ["--allow-write".as_ref(), granted.as_os_str()]));
    command.stdin(File::open(jobs).expect("it was written")).stdout(Stdio::null());
    let started = Instant::now();
    command.status().expect("modbox starts");
    f64::from(JOBS) / started.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
