//! `cargo bench`: one process, many runs, through the library: arguments in, a fresh instance, captured output, a parsed
//! result, a report. Then what an instance takes of the machine's memory while it lives.
//!
//! Times depend on the machine; the ratios are what to compare. No test looks at them.

#![expect(clippy::disallowed_methods, reason = "the harness of the tests starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the harness of the tests, of which a benchmark needs little")]
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use modbox::contract::{Dict, InternalArgs, Value};
use modbox::run::{Arguments, Module, ModuleFile, RunRequest, Runner, RunnerConfig, Status};
use modbox::sandbox::limits::Limits;
use modbox::sandbox::policy::Policy;
use modbox::sandbox::wasm::{CompileCache, Instances};
use support::{TestDir, guest};

/// How long each set-up is measured.
const SPAN: Duration = Duration::from_secs(3);

/// How long guests live whose memory is looked at.
const ASLEEP: Duration = Duration::from_secs(4);

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    let wasm = std::fs::read(guest("hello")).expect("the guest was built");
    println!("{:<44} {:>9} {:>9} {:>9} {:>11}", "one process, many runs", "p50 µs", "p99 µs", "threads", "runs/s");
    for instances in [Instances::OnDemand, Instances::Pooled] {
        for threads in [1, 2] {
            let runner = runner(dir.path(), instances);
            let module = Module::new(ModuleFile { path: "hello.wasm".into(), bytes: wasm.clone().into() }, None);
            run(&runner, &module);
            let started = Instant::now();
            let mut times: Vec<Duration> = std::thread::scope(|scope| {
                let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| measure(&runner, &module))).collect();
                workers.into_iter().flat_map(|worker| worker.join().expect("no run fails")).collect()
            });
            let rate = times.len() as f64 / started.elapsed().as_secs_f64();
            times.sort();
            let at = |part: usize| times[times.len() * part / 100].as_secs_f64() * 1e6;
            println!("{:<44} {:>9.1} {:>9.1} {threads:>9} {rate:>11.0}", format!("{instances:?}"), at(50), at(99));
        }
    }
    println!("\n{:<44} {:>9} {:>9} {:>9}", "one process, many instances alive", "instances", "KiB each", "RSS each");
    // A pool has room for eight.
    for (instances, alive) in [(Instances::OnDemand, 32), (Instances::Pooled, 8)] {
        let (own, mapped) = resident(dir.path(), instances, alive);
        println!("{:<44} {alive:>9} {own:>9} {mapped:>9}", format!("{instances:?}"));
    }
}

/// Returns how many KiB a guest that sleeps takes: its share of what is resident, and all that is mapped for it. Each
/// has a thread, which has run another guest before, so that what a thread takes is not counted.
fn resident(dir: &Path, instances: Instances, alive: u32) -> (u64, u64) {
    let runner = runner(dir, instances);
    let module = |name: &str| {
        let bytes = std::fs::read(guest(name)).expect("the guest was built").into();
        Module::new(ModuleFile { path: name.into(), bytes }, None)
    };
    let (before, sleeping) = (module("hello"), module("sleep"));
    runner.load(&sleeping, &Limits::default()).expect("it loads");
    let ready = std::sync::Barrier::new(alive as usize + 1);
    std::thread::scope(|scope| {
        for _ in 0..alive {
            scope.spawn(|| {
                run(&runner, &before);
                ready.wait();
                ready.wait();
                run_with(&runner, &sleeping, "seconds", ASLEEP.as_secs().into());
            });
        }
        ready.wait();
        let (own, mapped) = (kilobytes("Pss:"), kilobytes("Rss:"));
        ready.wait();
        std::thread::sleep(ASLEEP / 2);
        let each = |field: &str, idle: u64| kilobytes(field).saturating_sub(idle) / u64::from(alive);
        (each("Pss:", own), each("Rss:", mapped))
    })
}

/// Reads a figure of this process's memory.
fn kilobytes(field: &str) -> u64 {
    let all = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux says what a process takes");
    let line = all.lines().find(|line| line.starts_with(field)).expect("it is there");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number of kilobytes")
}

fn measure(runner: &Runner, module: &Module) -> Vec<Duration> {
    let mut times = Vec::new();
    let started = Instant::now();
    while started.elapsed() < SPAN {
        let run_started = Instant::now();
        run(runner, module);
        times.push(run_started.elapsed());
    }
    times
}

fn run(runner: &Runner, module: &Module) {
    run_with(runner, module, "name", "world".into());
}

fn run_with(runner: &Runner, module: &Module, key: &str, value: Value) {
    let args: Dict = [(key.to_owned(), value)].into_iter().collect();
    let report = runner.run(
        module,
        &RunRequest::new(
            "hello",
            Arguments::Task { args, internal: Box::new(InternalArgs::new("hello")) },
            &Policy::default(),
            &Limits::default(),
        ),
    );
    assert!(matches!(report.status, Status::Ok | Status::Changed), "{report:?}");
}

fn runner(dir: &Path, instances: Instances) -> Runner {
    Runner::new(RunnerConfig {
        cache: Some(CompileCache::new(dir.join("cache"))),
        instances,
        ..RunnerConfig::new(dir.to_owned())
    })
}
