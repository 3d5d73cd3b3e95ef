//! Failures to build a module or to make a project.
//!
//! Each message names the thing and, where the author can fix it, the command to type. Cargo's messages about the
//! author's code are not repeated: they went to standard error directly. Cargo is quoted only about a manifest that it
//! cannot read.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;

use crate::sdk::SdkError;

/// Failure to build a component from a directory.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The directory does not exist, or is a file.
    #[error(
        "failed to build `{}`: it is not a directory, nor the name of one of modbox's modules, which `modbox list` shows",
        dir.display()
    )]
    NotADirectory {
        /// Directory to build.
        dir: PathBuf,
    },
    /// The directory has neither a Rust package nor a project in another language.
    #[error(
        "failed to build `{}`: it has none of {}; `modbox new NAME` creates a module project",
        dir.display(),
        list(project_files)
    )]
    NoManifest {
        /// Directory to build.
        dir: PathBuf,
        /// Files that identify a project.
        project_files: &'static [&'static str],
    },
    /// The manifest is a workspace's, without its own package.
    #[error("failed to build `{}`: it is a workspace without a package; build one of its members: {}", dir.display(), list(members))]
    NoPackage {
        /// Directory to build.
        dir: PathBuf,
        /// Packages of the workspace.
        members: Vec<String>,
    },
    /// The package has no binary.
    #[error(
        "failed to build `{}`: the package `{package}` has no binary{}; a module is a program, so add a `src/main.rs`",
        dir.display(),
        if *.library { ", only a library" } else { "" }
    )]
    NoBinary {
        /// Directory to build.
        dir: PathBuf,
        /// Name of the package.
        package: String,
        /// Whether it builds a library.
        library: bool,
    },
    /// The package has several binaries and none was chosen.
    #[error("failed to build `{}`: it has several binaries; choose one with `--bin`: {}", dir.display(), list(binaries))]
    SeveralBinaries {
        /// Directory to build.
        dir: PathBuf,
        /// Names of the binaries.
        binaries: Vec<String>,
    },
    /// The chosen binary does not exist.
    #[error("failed to build `{}`: unknown binary `{binary}`; expected one of {}", dir.display(), list(binaries))]
    UnknownBinary {
        /// Directory to build.
        dir: PathBuf,
        /// Name that was chosen.
        binary: String,
        /// Names of the existing binaries.
        binaries: Vec<String>,
    },
    /// A program is not installed.
    #[error("failed to find `{tool}` in PATH; install Rust from https://rustup.rs")]
    ToolMissing {
        /// Name of the program.
        tool: &'static str,
    },
    /// A program could not be started, or its output not be read.
    #[error("failed to run `{}`", program.display())]
    Run {
        /// Path of the program.
        program: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The compiler did not answer a question about itself.
    #[error("failed to query the {question} of `{}`: {detail}", program.display())]
    Question {
        /// Path of the compiler.
        program: PathBuf,
        /// Subject of the question.
        question: &'static str,
        /// Output of the compiler.
        detail: String,
    },
    /// The compiler predates WASI 0.2.
    #[error(
        "failed to build for `wasm32-wasip2`: Rust {version} is too old, {least} or newer is needed; run `rustup update`"
    )]
    TooOld {
        /// Version of the compiler.
        version: String,
        /// Oldest version that is enough.
        least: String,
    },
    /// The standard library for WASI 0.2 is not installed and could not be added.
    #[error("failed to find the Rust target `wasm32-wasip2`{}", .reason.remedy())]
    TargetMissing {
        /// Reason why it could not be added.
        reason: TargetMissing,
    },
    /// Cargo could not read the package.
    #[error("failed to read the package in `{}`; the output of cargo:\n{detail}", dir.display())]
    Manifest {
        /// Directory to build.
        dir: PathBuf,
        /// Output of cargo, several lines.
        detail: String,
    },
    /// Cargo could not build the package.
    #[error("failed to build `{}`: cargo failed with {status}; see its messages", dir.display())]
    Cargo {
        /// Directory to build.
        dir: PathBuf,
        /// Exit status of cargo.
        status: ExitStatus,
    },
    /// Cargo's answer has an unknown format.
    #[error("failed to parse the output of cargo for `{}`", dir.display())]
    Answer {
        /// Directory to build.
        dir: PathBuf,
        /// Difference from the format that cargo documents.
        source: serde_json::Error,
    },
    /// Cargo reported no program after the build.
    #[error("failed to find the binary `{binary}` of `{}` in the output of cargo", dir.display())]
    NoArtifact {
        /// Directory to build.
        dir: PathBuf,
        /// Name of the binary.
        binary: String,
    },
    /// Cargo's output is not a component.
    #[error(
        "failed to build a component: `{}` is not one; check whether `linker` in `.cargo/config.toml` replaces `wasm-component-ld`",
        path.display()
    )]
    NotAComponent {
        /// Path of cargo's output.
        path: PathBuf,
    },
    /// The tools of another language are not installed.
    #[error("failed to find the tools that build a module in {language}: {remedy}")]
    ToolchainMissing {
        /// Name of the language.
        language: &'static str,
        /// Command or step that installs the tools.
        remedy: &'static str,
    },
    /// A tool of another language is too old.
    #[error("failed to build with `{}`: modules need {tool} {least} or newer, found {found}; install a newer {tool}, and put it first in PATH", program.display())]
    OldTool {
        /// Name of the tool.
        tool: &'static str,
        /// Oldest version that is enough.
        least: String,
        /// Version that was found.
        found: String,
        /// Path of the program.
        program: PathBuf,
    },
    /// A tool of another language failed.
    #[error("failed to build `{}`: `{}` failed with {status}; see its messages", dir.display(), program.display())]
    Tool {
        /// Directory to build.
        dir: PathBuf,
        /// Path of the tool.
        program: PathBuf,
        /// Exit status of the tool.
        status: ExitStatus,
    },
    /// The output of the tools is not a module.
    #[error("failed to build a module: the tools' output `{}` is not WebAssembly", path.display())]
    NotWasm {
        /// Path of the output.
        path: PathBuf,
    },
    /// The project's description of its module is invalid.
    #[error("failed to read `{}`", path.display())]
    Description {
        /// Path of the file.
        path: PathBuf,
        /// Error of the parser.
        source: Box<modbox_argument_spec::SpecError>,
    },
    /// The name of the module cannot be a file name.
    #[error(
        "failed to build `{}`: the module name `{name}` is invalid; set `name` in `module.json`, of letters, digits, `_`, `-` and `.`",
        dir.display()
    )]
    Nameless {
        /// Directory to build.
        dir: PathBuf,
        /// Name from the description or the directory.
        name: String,
    },
    /// The SDK that modbox carries cannot be used.
    #[error(transparent)]
    Sdk(#[from] SdkError),
    /// Crates that the project depends on are not on this machine.
    #[error(
        "failed to build `{}`: crates that it depends on are not on this machine, and cargo could not download them; connect to the \
         network for the first build, or set a mirror in `.cargo/config.toml`: {detail}",
        dir.display()
    )]
    Dependencies {
        /// Directory to build.
        dir: PathBuf,
        /// Output of cargo.
        detail: String,
    },
    /// A file could not be read or written.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// Verb of the operation.
        verb: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Reason why the target `wasm32-wasip2` could not be added.
#[derive(Debug)]
#[non_exhaustive]
pub enum TargetMissing {
    /// Rustup is not installed.
    NoRustup {
        /// Path of the compiler without the target.
        rustc: PathBuf,
    },
    /// Rustup failed, for example without a network.
    Rustup {
        /// Output of rustup.
        detail: String,
    },
    /// Rustup added it to another toolchain than the one in use.
    OtherToolchain {
        /// Path of the compiler in use, still without the target.
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

/// Failure to make a module project.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NewError {
    /// The name is invalid for a Rust package.
    #[error(
        "failed to create `{name}`: {problem}; a name is a lower-case letter followed by lower-case letters, digits, `_` and `-`, \
         64 characters at most"
    )]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it, as the end of the message.
        problem: &'static str,
    },
    /// Something other than an empty directory exists at the path.
    #[error("failed to create `{}`: it exists and is not an empty directory", path.display())]
    Exists {
        /// Path of the project.
        path: PathBuf,
    },
    /// The SDK that modbox carries cannot be used.
    #[error(transparent)]
    Carried(#[from] SdkError),
    /// The SDK is not at the given path.
    #[error("failed to find the SDK in `{}`; set `--sdk` to the directory with modbox-sdk's `Cargo.toml`", path.display())]
    Sdk {
        /// Path that was searched.
        path: PathBuf,
    },
    /// An SDK was chosen for a language that has none.
    #[error("`--sdk` is for projects in Rust; those in other languages have a helper of one file")]
    SdkOfOther,
    /// A path cannot be written into a manifest.
    #[error("failed to write `{}` into `Cargo.toml`: it is not UTF-8", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
    /// A file could not be written.
    #[error("failed to {verb} `{}`", path.display())]
    File {
        /// Verb of the operation.
        verb: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

fn list<T: Display>(names: &[T]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
