//! Lists the ansible-core with its packages and the Python interpreters that runs would use, without starting any.

use std::path::{Path, PathBuf};

use crate::python::config::PythonConfig;
use crate::python::controller::ControllerPackages;
use crate::python::folders::{ansible_package, known_site_folders, program};
use crate::python::install::{self, Install};
use crate::python::interpreter;

/// Packages that the controller half imports, besides its own.
const PACKAGES: [&str; 4] = ["jinja2", "markupsafe", "packaging", "yaml"];

/// A file that only the controller half has.
const OF_CONTROLLER: &str = "plugins/loader.py";

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

/// Returns the package `ansible` that Python modules are combined with, and its version. Starts no program, and looks for no more
/// than that: each run does so. Arguments are those of [`PythonSurvey::of`].
#[must_use]
pub fn installed_core(config: &PythonConfig, interpreter: Option<&str>, directory: &Path) -> Option<(PathBuf, String)> {
    let root = ansible_package(config, Path::new(""), interpreter, directory)?;
    let install = Install::at(&root).ok().flatten()?;
    Some((install.root, install.core.version))
}

impl PythonSurvey {
    /// Looks for ansible-core and for interpreters. `interpreter` is the Python that the caller has chosen; programs are
    /// looked up as from `directory`.
    #[must_use]
    pub fn of(config: &PythonConfig, interpreter: Option<&str>, directory: &Path) -> Self {
        let core = installed_core(config, interpreter, directory);
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
        Self { core, interpreters }
    }
}

/// Finds the packages of an ansible-core that a Python runs.
///
/// # Errors
///
/// What is missing, in words.
pub fn controller_packages(config: &PythonConfig, python: &Path, ansible: &Path) -> Result<ControllerPackages, String> {
    if !ansible.join(OF_CONTROLLER).is_file() {
        return Err(format!("`{}` has no controller half", ansible.display()));
    }
    let mut folders: Vec<PathBuf> = ansible.parent().map(Path::to_owned).into_iter().collect();
    folders.extend(install::site_folders(Some(python), config.home.as_deref()));
    folders.extend(known_site_folders(config));
    let found = |name: &str| {
        let mut places = folders.iter().map(|folder| folder.join(name));
        let folder = places.find(|folder| folder.join("__init__.py").is_file());
        folder.map(|folder| (name.to_owned(), folder)).ok_or_else(|| format!("the package `{name}` is missing"))
    };
    let packages = PACKAGES.into_iter().map(found).collect::<Result<_, _>>()?;
    Ok(ControllerPackages { ansible: ansible.to_owned(), packages })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let packages = dir.path().join("lib/python3.11/site-packages");
        let (ansible, python) = (packages.join("ansible"), dir.path().join("bin/python3"));
        let write = |path: &str| {
            let path = packages.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        let find = || controller_packages(&PythonConfig::default(), &python, &ansible);
        write("ansible/release.py");
        assert!(find().unwrap_err().contains("has no controller half"));
        write("ansible/plugins/loader.py");
        PACKAGES.iter().for_each(|name| write(&format!("{name}/__init__.py")));
        let found = find().unwrap();
        assert_eq!(found.packages[0], ("jinja2".to_owned(), packages.join("jinja2")));
        assert_eq!(found.ansible, ansible);
    }
}
