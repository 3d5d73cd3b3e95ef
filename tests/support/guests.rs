//! Guests: Rust programs from `tests/guests`, C programs, and modules written as text.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use serde_json::Value;

use crate::install::{Prepared, locked, tool};
use crate::{TestDir, fixture, oracle, profile, repository, temporary};

const TARGET: &str = "wasm32-wasip2";

/// Time limit for building many programs with their dependencies, on two busy cores.
const BUILD: Duration = Duration::from_secs(900);

/// Returns the component of a program in `tests/guests/src/bin`. Builds all of them first if needed.
pub fn guest(name: &str) -> PathBuf {
    static DIR: LazyLock<Prepared> = LazyLock::new(|| build_guests("guests", &["test-guests".to_owned()]));
    let path = DIR.as_ref().unwrap_or_else(|error| panic!("{error}")).join(format!("{name}.wasm"));
    assert!(path.exists(), "there is no guest `{name}`");
    path
}

/// Returns the component of one of modbox's own modules, built by cargo. `modbox build` would make a smaller component,
/// but take ten times as long.
pub fn module(name: &str) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !built.contains_key(name) {
        // Build several together: building a single one keeps only one processor busy.
        let names = alike(name);
        let packages: Vec<_> = names.iter().map(|name| format!("modbox-module-{name}")).collect();
        let dir = build_guests("modules", &packages).unwrap_or_else(|error| panic!("{error}"));
        built.extend(names.into_iter().map(|name| (name.clone(), dir.join(format!("{name}.wasm")))));
    }
    built[name].clone()
}

/// Returns the component of the example of a provider in Rust.
pub fn example_provider() -> PathBuf {
    static DIR: LazyLock<Prepared> =
        LazyLock::new(|| build_guests("providers", &["modbox-example-provider".to_owned()]));
    DIR.as_ref().unwrap_or_else(|error| panic!("{error}")).join("line.wasm")
}

/// Returns the component of an example module in Rust, from `guest-sdk/examples/rust`.
pub fn example_module(name: &str) -> PathBuf {
    let dir = build_guests("examples", &[format!("modbox-example-{name}")]);
    dir.unwrap_or_else(|error| panic!("{error}")).join(format!("{name}.wasm"))
}

/// Returns the modules that use the same features of the SDK as this one. Only those are built together, since cargo
/// would unify the features of all modules in one build.
fn alike(name: &str) -> Vec<String> {
    let modules = repository().join("modules");
    let sdk = |name: &str| {
        let manifest = fs::read_to_string(modules.join(name).join("Cargo.toml")).ok()?;
        manifest.lines().find(|line| line.starts_with("modbox-sdk")).map(str::to_owned)
    };
    let wanted = sdk(name).unwrap_or_else(|| panic!("there is no module `{name}`"));
    let entries = fs::read_dir(&modules).expect("the repository has modules").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| sdk(name).is_some_and(|sdk| sdk == wanted)).collect()
}

/// Builds modbox's own modules as native programs, as Ansible runs them, and returns their folder.
pub fn native_modules(names: &[&str]) -> PathBuf {
    // With an example, dependencies have the features that tests ask for, with which they are built.
    native_programs(names.iter().map(|name| format!("--bin={name}")).chain(["--example=load".to_owned()]))
}

/// Builds a program of `tests/guests/src/bin` for this machine, and returns its path.
pub fn native_guest(name: &str) -> PathBuf {
    natively(["--package=test-guests".to_owned(), format!("--bin={name}")]).join(name)
}

/// Builds an example program of one of modbox's packages, and returns its path.
pub fn example_program(name: &str) -> PathBuf {
    native_programs([format!("--example={name}")]).join("examples").join(name)
}

/// Builds programs of modbox's packages for this machine, and returns their folder.
fn native_programs(targets: impl IntoIterator<Item = String>) -> PathBuf {
    // The packages that `cargo test` builds have the features that it built their dependencies with.
    natively(["--workspace".to_owned(), "--exclude=test-guests".to_owned()].into_iter().chain(targets))
}

/// Builds programs for this machine beside the running test, and returns their folder.
fn natively(words: impl IntoIterator<Item = String>) -> PathBuf {
    let profile = profile();
    let target = profile.parent().expect("a profile lies in the target directory");
    let mut cargo = cargo();
    cargo.args(["build", "--locked", "--target-dir"]).arg(target).current_dir(repository());
    if profile.ends_with("release") {
        cargo.arg("--release");
    }
    cargo.args(words);
    tool(&mut cargo, BUILD).unwrap_or_else(|error| panic!("{error}"));
    profile
}

/// Builds the programs of packages for WebAssembly, and returns the folder `folder` with them. Packages of several folders
/// share their dependencies, but may have programs of the same name.
fn build_guests(folder: &str, packages: &[String]) -> Prepared {
    let dir = locked("wasm", |dir| {
        ensure_target()?;
        let mut cargo = cargo();
        cargo
            .args(["build", "--locked", "--release", "--bins", "--target", TARGET])
            .args(["--message-format=json-render-diagnostics"])
            .args(packages.iter().map(|package| format!("--package={package}")))
            // For many small programs, size and compile time matter more than speed.
            .args(["--config", "profile.release.opt-level=\"s\""])
            .arg("--target-dir")
            .arg(dir.join("target"))
            .current_dir(repository());
        let messages = tool(&mut cargo, BUILD)?;
        let programs = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let programs = programs.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
        keep(&dir.join(folder), programs).map_err(|error| error.to_string())
    })?;
    Ok(dir.join(folder))
}

/// Keeps files in a folder, under their names. A file that another test reads is not written to.
fn keep(dir: &Path, files: impl Iterator<Item = PathBuf>) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for file in files {
        let unfinished = dir.join("unfinished");
        fs::copy(&file, &unfinished)?;
        fs::rename(&unfinished, dir.join(file.file_name().expect("a program has a name")))?;
    }
    Ok(())
}

/// Adds the wasm target to the toolchain if it is missing.
fn ensure_target() -> Result<(), String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut rustc = Command::new(rustc);
    let libraries = tool(rustc.args(["--print", "target-libdir", "--target", TARGET]), BUILD)?;
    if Path::new(libraries.trim()).is_dir() {
        return Ok(());
    }
    let mut rustup = Command::new("rustup");
    tool(rustup.args(["target", "add", TARGET]), BUILD)
        .map(drop)
        .map_err(|error| format!("{error}\nguests need the Rust target {TARGET}: run `rustup target add {TARGET}`"))
}

/// Returns a cargo command without the variables that the outer cargo set for this test. They would change how a guest
/// is built.
fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let kept = ["CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_NET_", "CARGO_REGISTR", "CARGO_HTTP_", "CARGO_TERM_"];
    let environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for name in environment.keys() {
        let text = name.to_string_lossy();
        let of_cargo = text.starts_with("CARGO") && !kept.iter().any(|kept| text.starts_with(kept));
        if of_cargo || text == "RUSTFLAGS" {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Writes the component of a text in WebAssembly's text format.
pub fn component(dir: &TestDir, name: &str, text: &str) -> PathBuf {
    dir.write(name, wat::parse_str(text).unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Writes the core module of fields in WebAssembly's text format. Adds a memory if there is none, since WASI requires
/// one.
pub fn core_module(dir: &TestDir, name: &str, fields: &str) -> PathBuf {
    let memory = if fields.contains("(memory") { "" } else { r#"(memory (export "memory") 1)"# };
    // Imports come before everything else in a module's text.
    component(dir, name, &format!("(module {fields} {memory})"))
}

/// Writes a minimal module with the result `{"changed": false, "small": true}`, which compiles in an instant.
pub fn small_module(dir: &TestDir, name: &str) -> PathBuf {
    printing_module(dir, name, r#"{"changed": false, "small": true}"#)
}

/// Writes a minimal module that prints a JSON text of one line.
pub fn printing_module(dir: &TestDir, name: &str, result: &str) -> PathBuf {
    let (data, length) = (result.replace('\\', "\\\\").replace('"', "\\\""), result.len() + 1);
    let text = format!(
        r#"
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 16) "{data}\n")
        (func (export "_start")
            (i32.store (i32.const 0) (i32.const 16))
            (i32.store (i32.const 4) (i32.const {length}))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))"#
    );
    core_module(dir, name, &text)
}

/// Compiles a C program of `tests/` to a core module for WASI 0.1, with the compiler in the oracle's environment.
pub fn c_core(source: &str) -> PathBuf {
    compiled(source, "wasm", |output| {
        let cache = temporary().join("zig-cache");
        let mut zig = Command::new(oracle::python());
        zig.args(["-m", "ziglang", "cc", "-target", "wasm32-wasi", "-Os", "-s", "-o"])
            .arg(output)
            .arg(fixture(source))
            .env("ZIG_GLOBAL_CACHE_DIR", &cache)
            .env("ZIG_LOCAL_CACHE_DIR", &cache);
        zig
    })
}

/// Compiles a C program of `tests/` for this machine.
pub fn native_c(source: &str) -> PathBuf {
    compiled(source, "native", |output| {
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-o"]).arg(output).arg(fixture(source));
        cc
    })
}

/// Compiles a C file of `tests/` to a library that a program of this machine can be started with.
pub fn native_library(source: &str) -> PathBuf {
    compiled(source, "library", |output| {
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-shared", "-fPIC", "-pthread", "-o"]).arg(output).arg(fixture(source));
        cc
    })
}

fn compiled(source: &str, what: &str, command: impl FnOnce(&Path) -> Command) -> PathBuf {
    let name = format!("{}-{what}", source.replace(['/', '.'], "-"));
    let dir = locked(&name, |dir| {
        fs::create_dir_all(dir).map_err(|error| error.to_string())?;
        let output = dir.join(&name);
        let written = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
        if written(&output) > written(&fixture(source)) {
            return Ok(());
        }
        // Link to another name and rename, so that an interrupted compiler leaves no file that looks complete.
        let unfinished = dir.join("unfinished");
        tool(&mut command(&unfinished), BUILD)?;
        fs::rename(&unfinished, &output).map_err(|error| error.to_string())
    });
    dir.unwrap_or_else(|error| panic!("{error}")).join(name)
}
