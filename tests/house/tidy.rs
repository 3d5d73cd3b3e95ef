//! The house rules for files that a program can check. The rules for imports are in `house.rs`, those for documents in
//! `tidy_documents.rs`.
//!
//! The rules read text, not syntax trees. They remove comments and keep strings. That is precise enough: code does not
//! hide a path from them by accident.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use crate::support::{repository, tracked};

/// Longest `.rs` file, without its tests.
const MAX_LINES: usize = 400;

/// Files that may be longer, each with its reason.
const LONGER: [(&str, &str); 0] = [];

/// Generated files, which are not checked.
const WRITTEN: [&str; 1] = ["guest-sdk/host/bindings.rs"];

/// Files that may hold paths of a home directory, each with its reason.
const HOME_PATHS: [(&str, &str); 0] = [];

/// Files outside `cli` that use a stream of this process, each with its reason.
const STREAMS: [(&str, &str); 1] = [(
    "runner/core/native/src/watching/launcher.rs",
    "it is a program of its own, and its standard input is how it is spoken to",
)];

pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// Everything but comments.
    pub(crate) fn code(&self) -> String {
        let without_comment = |line: &str| match line.find("//") {
            Some(at) if !line[..at].ends_with(':') => line[..at].to_owned(),
            _ => line.to_owned(),
        };
        self.text.lines().map(without_comment).collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn every_rust_file_says_what_it_is() {
    check(rust_files(), |source| !source.text.starts_with("//! "), "does not open with `//! `");
}

#[test]
fn no_rust_file_is_too_long() {
    let too_long = |source: &Source| {
        let tests = source.text.find("#[cfg(test)]\nmod tests {").unwrap_or(source.text.len());
        let lines = source.text[..tests].lines().count();
        lines > MAX_LINES && !LONGER.iter().any(|(path, _)| *path == source.path)
    };
    check(rust_files(), too_long, "is longer than 400 lines; split it by concept");
}

#[test]
fn only_the_wasm_sandbox_names_wasmtime() {
    let names = ascii(r"\b(wasmtime|wasmtime_wasi)::|\buse wasmtime");
    // These benchmarks run a guest on bare Wasmtime, too, to measure against it.
    let measured = |path: &str| ["tests/bench/bare.rs", "tests/bench/guard.rs", "tests/bench/warm.rs"].contains(&path);
    let elsewhere = rust_files().into_iter();
    let elsewhere = elsewhere.filter(|source| !source.path.starts_with("runner/core/wasm/") && !measured(&source.path));
    check(elsewhere, |source| names.is_match(&source.code()), "names Wasmtime");
}

#[test]
fn only_the_command_line_prints_exits_and_reads_the_environment() {
    let ambient = ascii(
        r"\b(println|eprintln|print|eprint|dbg)!|\bprocess::exit\b|\benv::(var|args|temp_dir|current_dir)|\bio::(stdin|stdout|stderr)\(",
    );
    let is_of_runner = |path: &str| {
        path.starts_with("runner/") && path.contains("/src/") && !path.starts_with("runner/authoring/template/")
    };
    let other_layers = rust_files()
        .into_iter()
        .filter(|source| is_of_runner(&source.path) && !source.path.starts_with("runner/src/cli/"))
        .filter(|source| !STREAMS.iter().any(|(path, _)| *path == source.path));
    check(other_layers, |source| ambient.is_match(&source.code()), "prints, exits or reads the environment");
}

#[test]
fn guests_name_nothing_of_the_runner() {
    let runner = ascii(
        r"(?m)(^|[ (<&,])modbox(_(authoring|channel|cleanup|contract|kernel|kinds|native|policy|scratch|vocabulary|wasm))?::",
    );
    let guest_crate =
        |source: &Source| ["guest-sdk/", "modules/", "tests/guests/"].iter().any(|dir| source.path.starts_with(dir));
    check(rust_files().into_iter().filter(guest_crate), |source| runner.is_match(&source.code()), "names the runner");
}

#[test]
fn the_top_of_the_repository_stays_small() {
    let known =
        ["Cargo.toml", "Cargo.lock", "LICENSE", "runner", "guest-sdk", "modules", "tests", "README.md", "target"];
    let first = |path: &String| path.split('/').next().unwrap_or_default().to_owned();
    let top: BTreeSet<String> = tracked().iter().map(first).collect();
    let new: Vec<_> = top.iter().filter(|name| !name.starts_with('.') && !known.contains(&name.as_str())).collect();
    assert!(new.is_empty(), "{new:?} at the top of the repository");
}

#[test]
fn no_file_names_a_home_directory() {
    let home = ascii(r#"(?m)(?:^|[ "'`=(:])(?:/(?:home|Users)/[A-Za-z0-9._-]+|/root)/"#);
    for path in tracked().iter().filter(|path| !HOME_PATHS.iter().any(|(argued, _)| argued == path)) {
        let Ok(text) = fs::read_to_string(repository().join(path)) else { continue };
        // This file has the patterns.
        if path != "tests/house/tidy.rs" {
            assert!(!home.is_match(&text), "{path} names `{}`", home.find(&text).unwrap().as_str());
        }
    }
}

#[test]
fn the_changelog_knows_this_version() {
    let changelog = read("runner/CHANGELOG.md");
    let heading = format!("\n## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(changelog.contains(&heading), "no `{}` in runner/CHANGELOG.md", heading.trim());
}

/// The commands of modbox, as its help lists them.
pub(crate) fn subcommands() -> &'static [String] {
    static COMMANDS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let help = help("modbox", &["--help"]);
        let list = help.split_once("\nCommands:\n").expect("the help lists commands").1;
        let names = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help").map(str::to_owned).collect()
    });
    assert!(COMMANDS.len() >= 8, "only {:?} were found", *COMMANDS);
    &COMMANDS
}

pub(crate) fn help(program: &str, args: &[&str]) -> String {
    let program = match program {
        "modbox" => PathBuf::from(env!("CARGO_BIN_EXE_modbox")),
        _ => std::env::var_os("CARGO").map_or_else(|| program.into(), PathBuf::from),
    };
    let output = Command::new(&program).args(args).env("PAGER", "cat").env("MANPAGER", "cat").output();
    let output = output.unwrap_or_else(|error| panic!("failed to start `{}`: {error}", program.display()));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Asserts that no file is `wrong`.
#[track_caller]
pub(crate) fn check(sources: impl IntoIterator<Item = Source>, wrong: impl Fn(&Source) -> bool, what: &str) {
    let mut seen = 0;
    let all = sources.into_iter().inspect(|_| seen += 1);
    let found: Vec<String> = all.filter(|source| wrong(source)).map(|source| source.path).collect();
    assert!(found.is_empty(), "{found:#?} {what}");
    assert!(seen > 10, "only {seen} files were looked at");
}

/// A regular expression over ASCII; the crate's Unicode tables are left out.
pub(crate) fn ascii(pattern: &str) -> Regex {
    Regex::new(&format!("(?-u){pattern}")).unwrap_or_else(|error| panic!("{error}"))
}

/// The sources of the repository, without those that a tool has written.
pub(crate) fn rust_files() -> Vec<Source> {
    let paths = tracked().iter().filter(|path| path.ends_with(".rs") && !WRITTEN.contains(&path.as_str()));
    paths.map(|path| Source { path: path.clone(), text: read(path) }).collect()
}

pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}
