//! `cargo bench --bench guard`: what the guard around the file system costs, as ratios to wasmtime-wasi without it. The
//! same guest, in the same kind of directory, measures itself.
//!
//! Each side compiles the guest once, with the settings of its own engine, and then both run it in turns, so that a machine
//! that slows down for a second slows down both. What the settings alone cost is the line `compute`: the guest's own code,
//! without a call of the host.
//!
//! Times depend on the machine and on its file system; the ratios are what to compare. No test looks at them.

#![expect(clippy::disallowed_methods, reason = "the harness of the tests starts processes")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::BTreeMap;
use std::path::Path;

use modbox_contract::args::decode_file;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_run::{Arguments, Module, ModuleFile, RunRequest, Runner, RunnerConfig};
use modbox_test_support as support;
use modbox_vocabulary::{GrantSource, Limits};
use serde_json::{Value, json};
use support::{TestDir, guest};
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::p2::bindings::CommandPre;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Rounds in one run of the guest, of which the best counts.
const ROUNDS: u32 = 4;

/// Runs of each side, of which the best counts, too.
const RUNS: u32 = 25;

struct Bare {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Bare {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

fn main() {
    // `cargo test --benches` and the like only want to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let (mut guarded, mut bare) = (BTreeMap::new(), BTreeMap::new());
    let (with_guard, without_guard) = (WithGuard::new(), WithoutGuard::new().expect("the guest compiles"));
    for _ in 0..RUNS {
        keep_best(&mut guarded, &with_guard.run());
        keep_best(&mut bare, &without_guard.run());
    }
    println!("{:<12} {:>12} {:>12} {:>8}", "operation", "bare ns", "guarded ns", "ratio");
    for (name, bare) in bare {
        let guarded = guarded[&name];
        println!("{name:<12} {bare:>12} {guarded:>12} {:>8.2}", guarded as f64 / bare as f64);
    }
}

fn keep_best(best: &mut BTreeMap<String, u64>, result: &Value) {
    for (name, took) in result["nanoseconds"].as_object().expect("the guest prints its figures") {
        let took = took.as_u64().expect("a number of nanoseconds");
        best.entry(name.clone()).and_modify(|best| *best = took.min(*best)).or_insert(took);
    }
}

struct WithGuard {
    runner: Runner,
    module: Module,
    limits: Limits,
    dir: TestDir,
}

impl WithGuard {
    fn new() -> Self {
        let (dir, wasm) = (TestDir::new(), guest("file_speed"));
        let runner = Runner::new(RunnerConfig::new(dir.join("tmp")));
        let bytes = std::fs::read(&wasm).expect("the guest was built").into();
        let module = Module::new(ModuleFile { path: wasm, bytes }, None);
        // Each write counts, also one over another.
        let limits = Limits { max_disk: 1 << 40, max_files: 1 << 20, ..Limits::default() };
        runner.load(&module, &limits).expect("the guest compiles");
        Self { runner, module, limits, dir }
    }

    fn run(&self) -> Value {
        let data = self.dir.mkdir("data");
        let mut policy = Policy::default();
        let (host, shown) = (data.clone(), data.display().to_string());
        let (shape, access, source) = (Shape::Directory, Access::Write, GrantSource::named(""));
        policy.allow_path(PathGrant { host, shape, guest: shown, access, source }).expect("there is no other grant");
        let args = json!({"dir": data, "rounds": ROUNDS}).to_string();
        let arguments = Arguments::Complete(decode_file(args.as_bytes()).expect("it is an object"));
        let report = self.runner.run(&self.module, &RunRequest::new("file_speed", arguments, &policy, &self.limits));
        assert!(!report.result.failed(), "{report:?}");
        serde_json::from_str(&report.result.to_json()).expect("a result is JSON")
    }
}

struct WithoutGuard {
    engine: Engine,
    command: CommandPre<Bare>,
    dir: TestDir,
}

impl WithoutGuard {
    fn new() -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config.epoch_interruption(true).concurrency_support(false);
        let engine = Engine::new(&config)?;
        let mut linker = Linker::<Bare>::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        let component = Component::from_file(&engine, guest("file_speed"))?;
        let command = CommandPre::new(linker.instantiate_pre(&component)?)?;
        Ok(Self { engine, command, dir: TestDir::new() })
    }

    fn run(&self) -> Value {
        let (data, args) = (self.dir.mkdir("data"), self.dir.mkdir("args"));
        self.dir.write("args/args.json", json!({"dir": data, "rounds": ROUNDS}).to_string());
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime can be made");
        runtime.block_on(self.run_in(&data, &args)).expect("the guest runs")
    }

    async fn run_in(&self, data: &Path, args: &Path) -> wasmtime::Result<Value> {
        let stdout = MemoryOutputPipe::new(1 << 20);
        let mut wasi = WasiCtxBuilder::new();
        wasi.allow_blocking_current_thread(true).args(&["file_speed", "/args/args.json"]).stdout(stdout.clone());
        wasi.preopened_dir(args, "/args", FsPerms::ReadOnly)?;
        wasi.preopened_dir(data, data.to_string_lossy(), FsPerms::ReadWrite)?;
        let mut store = Store::new(&self.engine, Bare { wasi: wasi.build(), table: ResourceTable::new() });
        store.set_epoch_deadline(u64::MAX / 2);
        let command = self.command.instantiate_async(&mut store).await?;
        let ended = command.wasi_cli_run().call_run(&mut store).await?;
        assert!(ended.is_ok(), "the guest failed");
        Ok(serde_json::from_slice(&stdout.contents())?)
    }
}
