//! Finds the author's Rust, and ensures that it can build for WASI 0.2.
//!
//! The only change to the machine is that of `rustup target add wasm32-wasip2`: it adds Rust's standard library for
//! that target to the toolchain that the project uses. Rust and rustup are never updated, and files of a distribution's
//! package manager are not changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::context::AuthoringContext;
use crate::environment;
use crate::error::{BuildError, TargetMissing};
use crate::process::{self, Stderr, Tool, ToolResult};
use crate::program_search::find_program;

/// Target of modules.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// First Rust version whose rustup offers the target's standard library.
pub(crate) const LEAST_VERSION: &str = "1.82";

/// Number of checks after a failure, and the time between them. Another rustup may be adding the same target, and then
/// this one fails while the files are still arriving. One second in total is a short wait before a real failure.
const LOOKS_AFTER_FAILURE: (u32, Duration) = (5, Duration::from_millis(200));

/// Author's tools for one project.
#[derive(Debug)]
pub(crate) struct Toolchain {
    pub(crate) cargo: PathBuf,
    rustc: PathBuf,
    rustup: Option<PathBuf>,
    /// Environment of the tools.
    pub(crate) env: BTreeMap<OsString, OsString>,
    /// Time for an answer of the compiler; `None` waits.
    patience: Option<Duration>,
    /// Directory of the project; its `rust-toolchain.toml` decides which toolchain rustup uses.
    pub(crate) dir: PathBuf,
}

impl Toolchain {
    /// Finds cargo and rustc, and rustup if it is installed.
    pub(crate) fn find(cx: &AuthoringContext<'_>, dir: &Path) -> Result<Self, BuildError> {
        let cargo = find_program(cx, Path::new("cargo")).ok_or(BuildError::ToolMissing { tool: "cargo" })?;
        let rustc_name = cx.var("RUSTC").map_or_else(|| Path::new("rustc"), Path::new);
        let rustc = find_program(cx, rustc_name).ok_or(BuildError::ToolMissing { tool: "rustc" })?;
        let rustup = find_program(cx, Path::new("rustup"));
        let env = environment::for_children(&cx.env);
        Ok(Self { cargo, rustc, rustup, env, patience: None, dir: dir.to_owned() })
    }

    /// Bounds the time for each answer of the compiler.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Returns whether rustup is installed.
    pub(crate) fn has_rustup(&self) -> bool {
        self.rustup.is_some()
    }

    /// Ensures that the compiler has at least the version `least`, and that the standard library for the target is
    /// installed, by rustup if necessary. Returns the library's directory.
    pub(crate) fn ensure_target(&self, cx: &mut AuthoringContext<'_>, least: &str) -> Result<PathBuf, BuildError> {
        let (_, libraries) = self.target_libraries(cx, least)?;
        if has_standard_library(&libraries) {
            return Ok(libraries);
        }
        let missing = |reason| Err(BuildError::TargetMissing { reason });
        let Some(rustup) = &self.rustup else {
            return missing(TargetMissing::NoRustup { rustc: self.rustc.clone() });
        };
        // Rustup does not lock a toolchain, so two builds at the same time would both add to it.
        let _lock = lock_toolchain(&libraries);
        if has_standard_library(&libraries) {
            return Ok(libraries);
        }
        cx.say(&format!("adding target `{TARGET}` with rustup"));
        let ended = self.add_target(cx, rustup)?;
        if has_standard_library(&libraries) {
            Ok(libraries)
        } else if ended.status.success() {
            missing(TargetMissing::OtherToolchain { rustc: self.rustc.clone() })
        } else if arrives_soon(&libraries) {
            Ok(libraries)
        } else {
            missing(TargetMissing::Rustup { detail: gist(&ended.stderr) })
        }
    }

    /// Returns the call of one of the tools in the project.
    pub(crate) fn tool<'a>(&'a self, program: &'a Path, args: &'a [OsString], stderr: Stderr) -> Tool<'a> {
        Tool { program, args, dir: &self.dir, env: &self.env, stderr }
    }

    fn add_target(&self, cx: &AuthoringContext<'_>, rustup: &Path) -> Result<ToolResult, BuildError> {
        let args = ["target", "add", TARGET].map(OsString::from);
        process::run(&cx.cleanup, &self.tool(rustup, &args, Stderr::Captured), &mut |_| ())
            .map_err(|source| BuildError::Run { program: rustup.to_owned(), source })
    }

    /// Returns the compiler's version, and the directory of the standard library for the target, which may not exist.
    pub(crate) fn target_libraries(
        &self,
        cx: &AuthoringContext<'_>,
        least: &str,
    ) -> Result<(String, PathBuf), BuildError> {
        // The version comes first: a compiler without the target only prints an error text.
        let verbose = self.ask(cx, "version", &["-vV"])?;
        let version = verbose.lines().find_map(|line| line.strip_prefix("release: ")).unwrap_or_default();
        if parse_version(version).is_some_and(|version| parse_version(least).is_some_and(|least| version < least)) {
            return Err(BuildError::TooOld { version: version.to_owned(), least: least.to_owned() });
        }
        let libraries = self.ask(cx, "libraries", &["--print", "target-libdir", "--target", TARGET])?;
        Ok((version.to_owned(), PathBuf::from(libraries.trim_end_matches('\n'))))
    }

    fn ask(&self, cx: &AuthoringContext<'_>, question: &'static str, args: &[&str]) -> Result<String, BuildError> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let program = self.rustc.clone();
        let tool = self.tool(&self.rustc, &args, Stderr::Captured);
        let answer = match self.patience {
            Some(patience) => process::output_within(&cx.cleanup, &tool, patience),
            None => process::output(&cx.cleanup, &tool),
        };
        match answer {
            Ok((ended, answer)) if ended.status.success() => Ok(answer),
            Ok((ended, _)) => Err(BuildError::Question { program, question, detail: gist(&ended.stderr) }),
            Err(source) => Err(BuildError::Run { program, source }),
        }
    }
}

fn parse_version(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Returns the error and its causes from the output of rustup or rustc, on one line.
pub(crate) fn gist(said: &str) -> String {
    let told: Vec<&str> =
        said.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "Caused by:").collect();
    let is_error = |line: &&str| line.starts_with("error");
    let start = told.iter().position(is_error).unwrap_or(0);
    told[start..].iter().map(|line| plain(line)).collect::<Vec<_>>().join("; ")
}

/// Removes the prefix that marks a line as an error or numbers it as a cause.
fn plain(line: &str) -> &str {
    let numbered = line.split_once(": ").filter(|(number, _)| number.bytes().all(|digit| digit.is_ascii_digit()));
    numbered.map(|(_, rest)| rest).or_else(|| line.strip_prefix("error: ")).unwrap_or(line)
}

/// Returns whether the directory contains the libraries that every program links. A half-added target has at most one
/// of the two.
pub(crate) fn has_standard_library(libraries: &Path) -> bool {
    let Ok(entries) = fs::read_dir(libraries) else { return false };
    let names: Vec<OsString> = entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect();
    let has = |start: &str| {
        names.iter().filter_map(|name| name.to_str()).any(|name| name.starts_with(start) && name.ends_with(".rlib"))
    };
    has("libstd-") && has("libcore-")
}

fn arrives_soon(libraries: &Path) -> bool {
    let (looks, apart) = LOOKS_AFTER_FAILURE;
    (0..looks).any(|_| {
        thread::sleep(apart);
        has_standard_library(libraries)
    })
}

/// Locks the directory in which a toolchain keeps its targets, where the file system supports it. A lock file would
/// leave a file in a directory that does not belong to modbox.
fn lock_toolchain(libraries: &Path) -> Option<File> {
    let targets = File::open(libraries.parent()?.parent()?).ok()?;
    targets.lock().ok()?;
    Some(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_error_and_its_causes() {
        let said =
            "info: downloading\nerror: download failed\n\nCaused by:\n    0: no file\n    1: refused (os error 111)";
        assert_eq!(gist(said), "download failed; no file; refused (os error 111)");
        assert_eq!(gist("nothing to say"), "nothing to say");
        assert_eq!(gist(""), "");
    }

    #[test]
    fn reads_versions_of_every_channel() {
        assert_eq!(parse_version("1.95.0"), Some((1, 95)));
        assert_eq!(parse_version("1.82.0-beta.3"), Some((1, 82)));
        assert_eq!(parse_version("2.0-nightly"), None);
        assert_eq!(parse_version(""), None);
    }
}
