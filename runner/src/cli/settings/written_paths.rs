//! The paths of grants as policy files have them. Once resolved, a grant does not say which links led to it.

use std::iter::once;
use std::path::{Path, PathBuf};

use modbox_policy::{PolicyFile, granted_host};

use crate::cli::process::environment::Environment;

/// Returns the paths that a policy file grants, or lets a person be asked for, to every module and to single ones.
pub(super) fn of(environment: &Environment, file: &PolicyFile) -> Vec<PathBuf> {
    let rules = once(&file.rules).chain(file.modules.iter().map(|(_, rules)| rules));
    let sections = rules.flat_map(|rules| once(&rules.allow).chain(&rules.ask));
    let paths = sections.flat_map(|allow| allow.read.iter().chain(&allow.write));
    paths.map(|path| environment.absolute(Path::new(granted_host(&path.value)))).collect()
}
