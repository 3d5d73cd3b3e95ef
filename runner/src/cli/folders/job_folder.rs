//! The folder of jobs: from a switch, a variable, or Ansible's default.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::cli::process::environment::Environment;

/// The folder in which Ansible keeps the files of jobs (`async_dir`).
const DEFAULT_FOLDER: &str = "~/.ansible_async";

/// Returns the folder of jobs: the named one, that of the variable, or the default.
///
/// # Errors
///
/// The folder is below the home folder, which is not known.
pub(crate) fn job_folder(named: Option<&Path>, environment: &Environment) -> anyhow::Result<PathBuf> {
    let variable = environment.variable("ANSIBLE_ASYNC_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = named.map(Path::to_owned).or(variable).unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER));
    let Ok(below_home) = folder.strip_prefix("~") else { return Ok(environment.absolute(&folder)) };
    let home = environment.variable("HOME").filter(|home| !home.is_empty());
    let home = home.context("failed to find the home folder for `~`; name the folder of jobs with `--async-dir`")?;
    Ok(environment.absolute(&Path::new(home).join(below_home)))
}
