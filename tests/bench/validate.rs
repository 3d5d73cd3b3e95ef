//! `cargo bench`: arguments against a large spec, beside ansible-core's own validator; and the sizes of the modules.
//!
//! `validate.json` has a spec of the size of the largest modules that people use, and arguments that fit it. Its times
//! depend on the machine; the ratio is what to compare.

#![expect(clippy::disallowed_methods, reason = "the harness of the tests starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use modbox_argument_spec::Question;
use modbox_python_json::decode;
use modbox_test_support as support;
use support::{module, oracle, repository};

/// Runs that are timed together: a clock takes a part of one.
const BATCH: u32 = 100;

const BATCHES: usize = 300;

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let file = repository().join("tests/bench/validate.json");
    let text = std::fs::read_to_string(&file).expect("the question is there");
    let question = decode(&text)
        .map_err(|error| error.to_string())
        .and_then(|value| Question::from_value(&value).map_err(|error| error.to_string()));
    let question = question.expect("the question is right");
    let ours = measure(&question);
    let peer = ansible(&file);
    let options = question.spec.options.len();
    println!("a spec of {options} options at its top, {} arguments", question.parameters.len());
    println!("{:<44} {ours:>9.1} µs", "modbox-argument-spec");
    println!("{:<44} {peer:>9.1} µs", "ansible-core's validator");
    println!("{:<44} {:>9.3} times", "ratio", ours / peer);
    sizes();
}

/// How large the modules are that carry such a validator with them.
fn sizes() {
    let folders = std::fs::read_dir(repository().join("modules")).expect("there are modules").flatten();
    let crates = folders.filter(|folder| folder.path().join("Cargo.toml").is_file());
    let mut names: Vec<String> = crates.map(|folder| folder.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    println!("\n{:<44} {:>9}", "modules as components", "kB");
    for name in names {
        let bytes = std::fs::metadata(module(&name)).expect("it was built").len();
        println!("{name:<44} {:>9}", bytes / 1000);
    }
}

/// The median, in microseconds.
fn measure(question: &Question) -> f64 {
    let environment = question.environment.clone().unwrap_or_default();
    let validated = question.spec.validate(&question.parameters, &environment);
    assert!(validated.errors.is_empty(), "{:?}", validated.errors);
    let mut times: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..BATCH {
                black_box(question.spec.validate(black_box(&question.parameters), &environment));
            }
            started.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[BATCHES / 2]
}

fn ansible(question: &Path) -> f64 {
    let script = repository().join("tests/bench/validate.py");
    let output = Command::new(oracle::python()).arg(script).arg(question).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("the script prints a number")
}
