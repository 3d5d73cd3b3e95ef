//! Packages of npm, below the target directory. Tests that need them say so where `node` or `npm` is missing.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::install::{once, tool};

/// Time limit for downloading hundreds of megabytes over a slow line.
const INSTALL: Duration = Duration::from_secs(900);

/// Returns the folder whose `node_modules` has a package, such as `name@1.2.3`. Installs it there if needed. Returns `None`, with a note
/// on stderr about what is not tested, if there is no `node` or no `npm`.
pub fn packages(folder: &'static str, package: &str, tested: &str) -> Option<PathBuf> {
    let answers = |name: &str| tool(Command::new(name).arg("--version"), INSTALL).is_ok();
    if !answers("node") || !answers("npm") {
        let _ = writeln!(std::io::stderr(), "{tested} are not tested: there is no `node` and `npm` in PATH");
        return None;
    }
    let installed = once(folder, |dir| {
        fs::write(dir.join("package.json"), "{\"private\": true}\n").map_err(|error| error.to_string())?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", package]).current_dir(dir);
        tool(&mut npm, INSTALL).map(drop)
    });
    Some(installed.unwrap_or_else(|error| panic!("{error}")))
}
