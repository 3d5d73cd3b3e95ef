//! Lists the ansible-core and the Python interpreters that runs would use, without starting any.

use std::path::{Path, PathBuf};

use crate::python::config::PythonConfig;
use crate::python::folders::{ansible_package, program};
use crate::python::install::Install;
use crate::python::interpreter;

/// What Python modules would run with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PythonSurvey {
    /// The package `ansible`, and its version.
    pub core: Option<(PathBuf, String)>,
    /// The interpreters, in the order in which they are tried, each once.
    pub interpreters: Vec<PathBuf>,
}

/// Returns the Python that runs where none is named: the chosen one, or the first that is found. Starts no program.
#[must_use]
pub fn usual_python(config: &PythonConfig, chosen: Option<&str>, directory: &Path) -> Option<PathBuf> {
    let candidates = match chosen {
        Some(chosen) => vec![chosen.to_owned()],
        None => interpreter::candidates(&config.search_path),
    };
    candidates.iter().find_map(|name| program(config, name, directory))
}

impl PythonSurvey {
    /// Looks for ansible-core and for interpreters. `interpreter` is the Python that the caller has chosen; programs are
    /// looked up as from `directory`.
    #[must_use]
    pub fn of(config: &PythonConfig, interpreter: Option<&str>, directory: &Path) -> Self {
        let root = ansible_package(config, Path::new(""), interpreter, directory);
        let core = root.and_then(|root| Install::at(&root).ok().flatten());
        let candidates = match interpreter {
            Some(chosen) => vec![chosen.to_owned()],
            None => interpreter::candidates(&config.search_path),
        };
        let mut interpreters: Vec<PathBuf> = Vec::new();
        let mut seen = Vec::new();
        for found in candidates.iter().filter_map(|name| program(config, name, directory)) {
            let file = found.canonicalize().unwrap_or_else(|_| found.clone());
            if !seen.contains(&file) {
                seen.push(file);
                interpreters.push(found);
            }
        }
        Self { core: core.map(|install| (install.root, install.core.version)), interpreters }
    }
}
