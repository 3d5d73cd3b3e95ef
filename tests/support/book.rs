//! What builds the book: MkDocs with the Material theme, in a Python environment of its own under the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::install::{holding, tool};
use crate::markdown::BOOK;
use crate::{oracle, repository};

/// What the environment holds.
const PACKAGES: [&str; 1] = ["mkdocs-material==9.8.1"];

/// A build of all pages, on two busy cores.
const BUILD: Duration = Duration::from_secs(300);

/// Builds the book into a folder. Warnings, such as links that lead nowhere, are errors.
pub fn build_book(site: &Path) {
    let mut build = Command::new(python());
    build.args(["-m", "mkdocs", "build", "--strict", "--config-file"]).arg(repository().join(BOOK).join("mkdocs.yml"));
    tool(build.arg("--site-dir").arg(site), BUILD).unwrap_or_else(|error| panic!("{error}"));
}

/// Returns the interpreter that has MkDocs; it is installed first if need be.
fn python() -> PathBuf {
    let dir = holding("mkdocs", &PACKAGES.join("\n"), |dir| oracle::install(dir, &PACKAGES, "import material"));
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
}
