//! `cargo bench --bench plays`: plays by modbox and by ansible-playbook, as ratios.
//!
//! Each play runs on both sides in turns, so that what else the machine does falls on both. Figures are processor time of
//! the whole process tree, which depends less on other programs than the time that passes; both are printed. The first
//! round of each play fills caches and does not count.
//!
//! The last lines are plays of modbox alone with more and more facts: what a task costs, as the difference of a long play
//! and a short one. It must not grow with variables that the task does not use.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use modbox_test_support as support;

#[path = "builds.rs"]
mod builds;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use support::{TestDir, module, oracle};

/// Runs of modbox, of which the median counts.
const ROUNDS: usize = 5;

/// Runs of ansible-playbook, which takes many seconds each.
const ANSIBLE_ROUNDS: usize = 1;

/// modbox's own modules that the plays use.
const COMPONENTS: [&str; 6] = ["copy", "file", "lineinfile", "ping", "stat", "template"];

/// Processor time and time that passed, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Cost {
    processor: f64,
    wall: f64,
}

/// A play, and how many tasks it has.
struct Play {
    name: &'static str,
    tasks: String,
    count: u32,
    /// Whether Ansible's own modules run.
    classic: bool,
}

/// A module that returns as many bytes of facts as its argument says.
const FACTS: &str = "#!/usr/bin/python3\n# WANT_JSON\nimport json, sys\n\
    size = json.load(open(sys.argv[1]))['bytes']\n\
    print(json.dumps({'ansible_facts': {'f%d' % n: 'x' * 90 for n in range(size // 100)}}))\n";

/// Bytes of facts.
const SIZES: [(&str, u32); 3] = [("no facts", 0), ("100 kB of facts", 100_000), ("10 MB of facts", 10_000_000)];

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let library = dir.mkdir("modules");
    for name in COMPONENTS {
        fs::copy(module(name), library.join(format!("{name}.wasm"))).expect("the disk has room");
    }
    dir.write("t.j2", "n={{ n }} {% for i in range(3) %}{{ i }}{% endfor %}\n");
    let programs = builds::builds(&dir);
    println!(
        "{:<40} {:>10} {:>10} {:>10} {:>10} {:>8}",
        "ms of the processor", "modbox", "a task", "wall", "ansible", "ratio"
    );
    for play in plays() {
        let file = dir.write("play.yml", text(&play.tasks));
        for (build, program) in &programs {
            let ours = median(ROUNDS, || modbox(&dir, program, &library, &file, play.classic));
            let theirs = median(ANSIBLE_ROUNDS, || ansible(&dir, &file));
            let each = ours.processor / f64::from(play.count);
            println!(
                "{:<40} {:>10.0} {each:>10.2} {:>10.0} {:>10.0} {:>8.0}",
                format!("{build}: {}", play.name),
                ours.processor,
                ours.wall,
                theirs.processor,
                theirs.processor / ours.processor,
            );
        }
    }
    for (build, program) in &programs {
        println!("{build}");
        print_growth(&dir, program, &library);
    }
}

/// Prints what a task costs where the host has facts.
fn print_growth(dir: &TestDir, program: &Path, library: &Path) {
    dir.write("library/facts.py", FACTS);
    println!("{:<40} {:>10}", "a task, ms of the processor", "modbox");
    for (tasks, task) in [("debug", "debug: {msg: text}"), ("ping", "ping:")] {
        for (name, bytes) in SIZES {
            let of = |count: u32| {
                let tasks = format!("  - facts: {{bytes: {bytes}}}\n") + &repeat(count, &|_| task.to_owned());
                let file = dir.write("play.yml", text(&tasks));
                median(ROUNDS, || modbox(dir, program, library, &file, false)).processor
            };
            println!("{:<40} {:>10.2}", format!("{tasks}, {name}"), (of(1_050) - of(50)) / 1_000.0);
        }
    }
}

fn text(tasks: &str) -> String {
    format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{tasks}")
}

fn repeat(count: u32, task: &dyn Fn(u32) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "  - {}", task(number));
        text
    })
}

fn plays() -> Vec<Play> {
    let play = |name, count, tasks| Play { name, tasks, count, classic: false };
    let debug = repeat(50, &|n| format!("debug: {{msg: text {n}}}"));
    let facts = repeat(10, &|n| format!("set_fact: {{fact_{n}: {n}}}"));
    let pings = || repeat(50, &|_| "ping:".to_owned());
    let copy = repeat(200, &|n| format!("copy: {{content: text {n}, dest: \"{{{{ playbook_dir }}}}/made/copy{n}\"}}"));
    let line = repeat(200, &|n| {
        format!("lineinfile: {{path: \"{{{{ playbook_dir }}}}/made/lines\", line: line {n}, create: true}}")
    });
    let template = repeat(200, &|n| {
        format!("template: {{src: t.j2, dest: \"{{{{ playbook_dir }}}}/made/t{n}\"}}\n    vars: {{n: {n}}}")
    });
    vec![
        play("50 ping, components", 50, pings()),
        Play { classic: true, ..play("50 ping, Ansible's modules", 50, pings()) },
        play("50 debug, 10 set_fact", 60, debug + &facts),
        play("200 copy", 200, copy),
        play("200 lineinfile", 200, line),
        play("200 template", 200, template),
    ]
}

/// Runs a play by modbox in an empty folder of work.
fn modbox(dir: &TestDir, program: &Path, library: &Path, file: &Path, classic: bool) -> Cost {
    let mut command = Command::new(program);
    command.arg("play").arg(file).arg("--interpreter").arg(oracle::python()).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("HOME", dir.path()).env("TMPDIR", dir.path()).args(["--max-output", "64MiB"]);
    if classic {
        command.args(["--prefer", "classic"]);
    } else {
        command.env("MODBOX_LIBRARY", library);
    }
    run(dir, command)
}

fn ansible(dir: &TestDir, file: &PathBuf) -> Cost {
    let mut command = oracle::ansible(dir, "playbook");
    command.arg(file);
    run(dir, command)
}

fn run(dir: &TestDir, mut command: Command) -> Cost {
    let work = dir.join("made");
    if work.exists() {
        fs::remove_dir_all(&work).expect("it is a folder of this benchmark");
    }
    dir.mkdir("made");
    let (before, started) = (processor_time(), Instant::now());
    let output = command.stdin(Stdio::null()).output().expect("the program starts");
    let wall = started.elapsed().as_secs_f64() * 1e3;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    Cost { processor: processor_time() - before, wall }
}

/// Returns the processor time of the children that ended, in milliseconds. The kernel counts in hundredths of a second.
fn processor_time() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("the kernel says it");
    let fields = stat.rsplit_once(')').expect("the name is in brackets").1.split_whitespace();
    let ticks = fields.skip(13).take(2).map(|ticks| ticks.parse::<f64>().expect("it is a number"));
    ticks.sum::<f64>() * 10.0
}

/// Returns the median of several runs, after one that does not count.
fn median(rounds: usize, run: impl Fn() -> Cost) -> Cost {
    run();
    let mut costs: Vec<Cost> = (0..rounds).map(|_| run()).collect();
    costs.sort_by(|one, other| one.processor.total_cmp(&other.processor));
    costs[rounds / 2]
}
