//! `cargo bench`: one process, many runs, through the library: arguments in, a fresh instance, captured output, a parsed
//! result, a report.
//!
//! Times depend on the machine; the ratios are what to compare. No test looks at them.

#![expect(clippy::disallowed_methods, reason = "the harness of the tests starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "../support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the harness of the tests, of which a benchmark needs little")]
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use modbox::contract::{Dict, InternalArgs};
use modbox::run::{Arguments, Module, ModuleFile, RunRequest, Runner, RunnerConfig, Status};
use modbox::sandbox::limits::Limits;
use modbox::sandbox::policy::Policy;
use modbox::sandbox::wasm::{CompileCache, Instances};
use support::{TestDir, guest};

/// How long each set-up is measured.
const SPAN: Duration = Duration::from_secs(3);

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
    let args: Dict = [("name".to_owned(), "world".into())].into_iter().collect();
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
