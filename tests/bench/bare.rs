//! A peer: a host program of stock wasmtime and wasmtime-wasi. It maps compiled code and runs it, without contract,
//! grants or confinement. The benchmark starts itself again as this program, so it has the benchmark's profile.

use std::path::Path;
use std::process::Command;

use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::p2::bindings::sync::Command as Guest;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// First argument that makes the benchmark this program.
const WORD: &str = "bare-host";

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Compiles a component into `code`, as the peer's engine wants it, and returns the command that runs it. `args` is the
/// directory with its file of arguments, `args.json`.
pub(crate) fn command(component: &Path, code: &Path, args: &Path) -> Command {
    let compiled = Engine::new(&config()).and_then(|engine| engine.precompile_component(&std::fs::read(component)?));
    std::fs::write(code, compiled.expect("the engine takes the component")).expect("the disk has room");
    let mut command = Command::new(std::env::current_exe().expect("the benchmark has a file"));
    command.arg(WORD).args([code, args]).env_clear();
    command
}

/// Runs this program, if the benchmark was started as it.
pub(crate) fn run_if_asked() {
    let words: Vec<String> = std::env::args().collect();
    if let [_, word, code, args] = words.as_slice()
        && word == WORD
    {
        let ended = run(Path::new(code), args).expect("the guest runs");
        std::process::exit(i32::from(ended.is_err()));
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.concurrency_support(false);
    config
}

fn run(code: &Path, args: &str) -> wasmtime::Result<Result<(), ()>> {
    let engine = Engine::new(&config())?;
    #[expect(unsafe_code, reason = "the engine has no safe way to load compiled code")]
    // SAFETY: this benchmark has just compiled the file, and nothing changes it.
    let component = unsafe { Component::deserialize_file(&engine, code) }?;
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_sync(&mut linker)?;
    let mut wasi = WasiCtxBuilder::new();
    wasi.args(&["ping", "/args/args.json"]).inherit_stdout().inherit_stderr();
    wasi.preopened_dir(args, "/args", FsPerms::ReadOnly)?;
    let mut store = Store::new(&engine, State { wasi: wasi.build(), table: ResourceTable::new() });
    Guest::instantiate(&mut store, &component, &linker)?.wasi_cli_run().call_run(&mut store)
}
