//! `cargo bench`: one process, many runs, through the library: arguments in, a fresh instance, captured output, a parsed
//! result, a report; and beside it the engine with its stock WASI alone. Then what an instance takes of the machine's memory while it lives.
//!
//! Times depend on the machine; the ratios are what to compare. No test looks at them.

#![expect(clippy::disallowed_methods, reason = "the harness of the tests starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use modbox_contract::{Dict, InternalArgs, ModuleArgs, Value};
use modbox_policy::Policy;
use modbox_run::{Arguments, Module, ModuleFile, RunRequest, Runner, RunnerConfig, Status};
use modbox_test_support as support;
use modbox_vocabulary::Limits;
use modbox_wasm::{CompileCache, Instances};
use support::{TestDir, guest};
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Enabled, Engine, PoolingAllocationConfig, Store};
use wasmtime_wasi::p2::bindings::sync::CommandPre;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// How long one turn of a set-up takes. All of them take turns, so that what else the machine does falls on each.
const TURN: Duration = Duration::from_millis(200);

/// Turns of each set-up.
const TURNS: usize = 15;

/// How long guests live whose memory is looked at.
const ASLEEP: Duration = Duration::from_secs(4);

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let dir = TestDir::new();
    compare(dir.path());
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

/// Prints what a run takes, by set-up, with the peer that has no modbox around the engine.
fn compare(dir: &Path) {
    let wasm = std::fs::read(guest("hello")).expect("the guest was built");
    let module = || Module::new(ModuleFile { path: "hello.wasm".into(), bytes: wasm.clone().into() }, None);
    let args = dir.join("args");
    std::fs::create_dir(&args).expect("the directory is new");
    std::fs::write(args.join("args.json"), arguments_file()).expect("it can be written");
    let (on_demand, pooled) = (runner(dir, Instances::OnDemand), runner(dir, Instances::Pooled));
    let (first, second) = (module(), module());
    let (bare_on_demand, bare_pooled) = (Bare::new(false, &args), Bare::new(true, &args));
    let set_ups: [(&str, &(dyn Fn() + Sync)); 4] = [
        ("bare wasmtime-wasi, on demand", &|| bare_on_demand.run()),
        ("modbox, on demand", &|| run(&on_demand, &first)),
        ("bare wasmtime-wasi, pooled", &|| bare_pooled.run()),
        ("modbox, pooled", &|| run(&pooled, &second)),
    ];
    println!(
        "{:<32} {:>7} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "one process, many runs", "threads", "p50 µs", "p99 µs", "runs/s", "best", "to bare"
    );
    for threads in [1, 2] {
        let mut all: [Turns; 4] = Default::default();
        for (_, run) in &set_ups {
            run();
        }
        for _ in 0..TURNS {
            for ((_, run), turns) in set_ups.iter().zip(&mut all) {
                turns.take(threads, run);
            }
        }
        let medians = all.each_mut().map(|turns| turns.at(50));
        for (at, ((name, _), turns)) in set_ups.iter().zip(&mut all).enumerate() {
            let ratio = medians[at] / medians[at / 2 * 2];
            let (p99, (rate, best)) = (turns.at(99), turns.rates());
            println!("{name:<32} {threads:>7} {:>9.1} {p99:>9.1} {rate:>9.0} {best:>9.0} {ratio:>8.2}", medians[at]);
        }
    }
}

/// What was measured of one set-up.
#[derive(Default)]
struct Turns {
    times: Vec<Duration>,
    /// Runs a second, in each turn.
    rates: Vec<f64>,
}

impl Turns {
    /// Runs for one turn, on so many threads at once.
    fn take(&mut self, threads: usize, run: &(dyn Fn() + Sync)) {
        let before = self.times.len();
        let started = Instant::now();
        let measure = || {
            let mut times = Vec::new();
            while started.elapsed() < TURN {
                let run_started = Instant::now();
                run();
                times.push(run_started.elapsed());
            }
            times
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(measure)).collect();
            for worker in workers {
                self.times.extend(worker.join().expect("no run fails"));
            }
        });
        self.rates.push((self.times.len() - before) as f64 / started.elapsed().as_secs_f64());
    }

    /// Returns the microseconds that so many of a hundred runs do not exceed.
    fn at(&mut self, percent: usize) -> f64 {
        self.times.sort();
        self.times[self.times.len() * percent / 100].as_secs_f64() * 1e6
    }

    /// Returns the median of the turns' rates, and the best.
    fn rates(&mut self) -> (f64, f64) {
        self.rates.sort_by(f64::total_cmp);
        (self.rates[self.rates.len() / 2], self.rates[self.rates.len() - 1])
    }
}

/// The peer: the engine and its stock WASI, with what makes them fast and nothing of modbox. Each run has a store, a
/// context and a directory of its own; the guest reads its arguments from a file, and what it prints is kept.
struct Bare {
    engine: Engine,
    command: CommandPre<BareState>,
    args: PathBuf,
}

struct BareState {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for BareState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Bare {
    fn new(pooled: bool, args: &Path) -> Self {
        let make = || -> wasmtime::Result<Self> {
            let mut config = Config::new();
            config.concurrency_support(false);
            if pooled {
                let mut pool = PoolingAllocationConfig::new();
                pool.linear_memory_keep_resident(4 << 20).table_keep_resident(4 << 20);
                if PoolingAllocationConfig::is_pagemap_scan_available() {
                    pool.pagemap_scan(Enabled::Yes);
                }
                config.allocation_strategy(pool);
            }
            let engine = Engine::new(&config)?;
            let mut linker = Linker::new(&engine);
            wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
            let component = Component::from_file(&engine, guest("hello"))?;
            let command = CommandPre::new(linker.instantiate_pre(&component)?)?;
            Ok(Self { engine, command, args: args.to_owned() })
        };
        make().expect("the engine takes the guest")
    }

    fn run(&self) {
        let stdout = MemoryOutputPipe::new(1 << 20);
        let run = || -> wasmtime::Result<Result<(), ()>> {
            let mut wasi = WasiCtxBuilder::new();
            wasi.allow_blocking_current_thread(true).args(&["hello", "/args/args.json"]).stdout(stdout.clone());
            wasi.preopened_dir(&self.args, "/args", FsPerms::ReadOnly)?;
            let mut store = Store::new(&self.engine, BareState { wasi: wasi.build(), table: ResourceTable::new() });
            let command = self.command.instantiate(&mut store)?;
            command.wasi_cli_run().call_run(&mut store)
        };
        let ended = run().expect("the guest runs");
        assert!(ended.is_ok() && stdout.contents().starts_with(b"{"), "the guest failed");
    }
}

/// Returns the arguments of a run as modbox gives them to the guest.
fn arguments_file() -> Vec<u8> {
    let args = [("name".to_owned(), "world".into())].into_iter().collect();
    ModuleArgs::Task { args: &args, internal: &InternalArgs::new("hello"), tmpdir: "/tmp/" }.to_file()
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
