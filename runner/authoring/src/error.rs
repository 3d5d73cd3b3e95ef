//! Why a module could not be built, or a project not be made.
//!
//! Each message names the thing and, where the author can mend it, what to type. What cargo itself says about
//! the author's code is not repeated here: it went to standard error as it came. Cargo is quoted only about a
//! manifest that it cannot read.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;

/// Why a directory did not become a component.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The directory is not there, or is a file.
    #[error("failed to build `{}`: it is not a directory", dir.display())]
    NotADirectory {
        /// What was asked for.
        dir: PathBuf,
    },
    /// The directory holds no Rust package, and no project in another language.
    #[error(
        "failed to build `{}`: it has none of {}; `modbox new NAME` makes a module project",
        dir.display(),
        list(project_files)
    )]
    NoManifest {
        /// What was asked for.
        dir: PathBuf,
        /// The files by which a project is told.
        project_files: &'static [&'static str],
    },
    /// The manifest is a workspace's, without a package of its own.
    #[error("failed to build `{}`: it is a workspace and no package; build one of its members: {}", dir.display(), list(members))]
    NoPackage {
        /// What was asked for.
        dir: PathBuf,
        /// The packages of the workspace.
        members: Vec<String>,
    },
    /// The package has a library at most.
    #[error(
        "failed to build `{}`: the package `{package}` has no binary{}; a module is a program, so give it a `src/main.rs`",
        dir.display(),
        if *.library { ", only a library" } else { "" }
    )]
    NoBinary {
        /// What was asked for.
        dir: PathBuf,
        /// The package's name.
        package: String,
        /// Whether it builds a library.
        library: bool,
    },
    /// The package has several binaries and none was chosen.
    #[error("failed to build `{}`: it has several binaries; choose one with `--bin`: {}", dir.display(), list(binaries))]
    SeveralBinaries {
        /// What was asked for.
        dir: PathBuf,
        /// Their names.
        binaries: Vec<String>,
    },
    /// The chosen binary is not there.
    #[error("failed to build `{}`: it has no binary `{binary}`, but: {}", dir.display(), list(binaries))]
    UnknownBinary {
        /// What was asked for.
        dir: PathBuf,
        /// The name that was chosen.
        binary: String,
        /// The names there are.
        binaries: Vec<String>,
    },
    /// A program is not installed.
    #[error("failed to find `{tool}` in PATH: install Rust, as https://rustup.rs tells")]
    ToolMissing {
        /// Its name.
        tool: &'static str,
    },
    /// A program could not be started or listened to.
    #[error("failed to run `{}`", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The compiler did not answer a question about itself.
    #[error("failed to ask `{}` for its {question}: {detail}", program.display())]
    Question {
        /// The compiler.
        program: PathBuf,
        /// What was asked.
        question: &'static str,
        /// What it said.
        detail: String,
    },
    /// The compiler predates WASI 0.2.
    #[error(
        "failed to build for `wasm32-wasip2`: Rust {version} is too old, 1.82 is the least; `rustup update` brings a newer one"
    )]
    TooOld {
        /// Its version.
        version: String,
    },
    /// The standard library for WASI 0.2 is not installed and could not be.
    #[error("failed to find the Rust target `wasm32-wasip2`{}", .reason.remedy())]
    TargetMissing {
        /// Why it could not be added.
        reason: TargetMissing,
    },
    /// Cargo could not read the package.
    #[error("failed to read the package in `{}`, cargo said:\n{detail}", dir.display())]
    Manifest {
        /// What was asked for.
        dir: PathBuf,
        /// What cargo said, on several lines.
        detail: String,
    },
    /// Cargo could not build the package.
    #[error("failed to build `{}`: cargo ended with {status}, see its messages", dir.display())]
    Cargo {
        /// What was asked for.
        dir: PathBuf,
        /// How cargo ended.
        status: ExitStatus,
    },
    /// Cargo answered something that cannot be understood.
    #[error("failed to understand cargo's answer about `{}`", dir.display())]
    Answer {
        /// What was asked for.
        dir: PathBuf,
        /// Where it departs from what cargo documents.
        source: serde_json::Error,
    },
    /// Cargo built, and named no program.
    #[error("failed to find what cargo built for the binary `{binary}` of `{}`", dir.display())]
    NoArtifact {
        /// What was asked for.
        dir: PathBuf,
        /// The binary.
        binary: String,
    },
    /// Cargo built something else than a component.
    #[error(
        "failed to build a component: `{}` is none; does a `linker` in `.cargo/config.toml` replace `wasm-component-ld`?",
        path.display()
    )]
    NotAComponent {
        /// What cargo built.
        path: PathBuf,
    },
    /// The tools of another language are not installed.
    #[error("failed to find the tools that build a module in {language}: {remedy}")]
    ToolchainMissing {
        /// The language.
        language: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A tool of another language failed.
    #[error("failed to build `{}`: `{}` ended with {status}, see its messages", dir.display(), program.display())]
    Tool {
        /// What was asked for.
        dir: PathBuf,
        /// The tool.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
    /// What the tools made is no module.
    #[error("failed to build a module: what the tools made, `{}`, is no WebAssembly", path.display())]
    NotWasm {
        /// What they made.
        path: PathBuf,
    },
    /// What a project says about its module is wrong.
    #[error("failed to read `{}`", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<modbox_argument_spec::SpecError>,
    },
    /// The module has no name that a file can have.
    #[error(
        "failed to build `{}`: `{name}` is no name for a module; `name` in `module.json` says another, of letters, digits, `_`, `-` and `.`",
        dir.display()
    )]
    Nameless {
        /// What was asked for.
        dir: PathBuf,
        /// The name that it would have.
        name: String,
    },
    /// A file could not be read or written.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Why the target `wasm32-wasip2` could not be added.
#[derive(Debug)]
#[non_exhaustive]
pub enum TargetMissing {
    /// There is no rustup to add it.
    NoRustup {
        /// The compiler that lacks it.
        rustc: PathBuf,
    },
    /// Rustup failed, for example for want of a network.
    Rustup {
        /// What rustup said.
        detail: String,
    },
    /// Rustup added it to another toolchain than the one in use.
    OtherToolchain {
        /// The compiler in use, which still lacks it.
        rustc: PathBuf,
    },
}

impl TargetMissing {
    fn remedy(&self) -> String {
        match self {
            Self::NoRustup { rustc } => format!(
                " for `{}`, and there is no rustup to add it: install Rust with rustup (https://rustup.rs) and run \
                 `rustup target add wasm32-wasip2`, or install your distribution's package of Rust's standard \
                 library for `wasm32-wasip2`, if it has one",
                rustc.display()
            ),
            Self::Rustup { detail } => format!(
                ", and rustup could not add it: with a network connection, run `rustup target add wasm32-wasip2`; \
                 rustup said: {detail}"
            ),
            Self::OtherToolchain { rustc } => format!(
                ": rustup added it, but to another toolchain than that of `{}`; put rustup's `cargo` and `rustc` \
                 first in PATH, or install your distribution's package of Rust's standard library for \
                 `wasm32-wasip2`, if it has one",
                rustc.display()
            ),
        }
    }
}

/// Why no module project was made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NewError {
    /// The name does not do for a Rust package.
    #[error(
        "failed to make `{name}`: {problem}; a name is a lower-case letter followed by lower-case letters, digits, `_` and `-`, \
         64 characters at most"
    )]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Something is in the way.
    #[error("failed to make `{}`: it exists and is not an empty directory", path.display())]
    Exists {
        /// Where the project would be.
        path: PathBuf,
    },
    /// The SDK is not where it was said to be.
    #[error("failed to find the SDK in `{}`: `--sdk` names the directory with modbox-sdk's `Cargo.toml`", path.display())]
    Sdk {
        /// Where it was sought.
        path: PathBuf,
    },
    /// A path cannot be written into a manifest.
    #[error("failed to write `{}` into `Cargo.toml`: it is not UTF-8", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// A file could not be written.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// What was tried.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

fn list<T: Display>(names: &[T]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
