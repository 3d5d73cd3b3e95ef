//! Builds the book with MkDocs and the Material theme, in a Python environment below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::install::{holding, tool};
use crate::markdown::BOOK;
use crate::{oracle, repository};

/// Packages of the environment.
const PACKAGES: [&str; 1] = ["mkdocs-material==9.8.1"];

/// Time limit for building all pages, on two busy cores.
const BUILD: Duration = Duration::from_secs(300);

/// Builds the book into a folder. Warnings, such as those about broken links, are errors.
pub fn build_book(site: &Path) {
    let mut build = Command::new(python());
    build.args(["-m", "mkdocs", "build", "--strict", "--config-file"]).arg(repository().join(BOOK).join("mkdocs.yml"));
    tool(build.arg("--site-dir").arg(site), BUILD).unwrap_or_else(|error| panic!("{error}"));
}

/// Returns the Python interpreter with MkDocs. Installs the environment if needed.
fn python() -> PathBuf {
    let dir = holding("mkdocs", &PACKAGES.join("\n"), |dir| oracle::install(dir, &PACKAGES, "import material"));
    dir.unwrap_or_else(|error| panic!("{error}")).join("venv/bin/python")
}
