//! The process's environment: variables, standard folders and the working directory. It is read here, once, and passed
//! down as values.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::{env, io};

use etcetera::BaseStrategy;

/// The environment of one invocation of modbox.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The folder for temporary files.
    pub(crate) temp_dir: PathBuf,
    /// The user's cache folder; `None` when the user has no home.
    pub(crate) cache_dir: Option<PathBuf>,
    /// The user's folder for data; `None` when the user has no home.
    pub(crate) data_dir: Option<PathBuf>,
    /// The policy files that apply to every run, the system's first.
    pub(crate) policy_files: Vec<PathBuf>,
    /// The folder of further policy files that apply to every run, beside the user's; `None` when the user has no home.
    pub(crate) policy_folder: Option<PathBuf>,
    /// Folders of `MODBOX_LIBRARY`.
    pub(crate) library: Vec<PathBuf>,
    /// Folder of the modules that are installed with modbox, if there is one.
    pub(crate) installed_library: Option<PathBuf>,
    /// Folders of `MODBOX_MODULE_UTILS`.
    pub(crate) module_utils: Vec<PathBuf>,
    /// All variables, in the order of the process.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Reads the environment of this process.
    ///
    /// # Errors
    ///
    /// The working directory does not exist any more.
    pub(crate) fn of_process() -> io::Result<Self> {
        let OwnFolders { cache, config, data } = own_folders(rustix::process::geteuid().as_raw());
        let config = config.map(|config| config.join("modbox"));
        let user_policy = config.as_ref().map(|config| config.join("policy.yaml"));
        let variables: Vec<(OsString, OsString)> = variables();
        // Skip empty entries: they would mean the working directory, which an empty variable is not meant to name.
        let folders = |variable: &str| {
            let given = variables.iter().find(|(name, _)| name == variable);
            let folders = given.into_iter().flat_map(|(_, value)| env::split_paths(value));
            folders.filter(|folder| !folder.as_os_str().is_empty()).collect()
        };
        let cwd = env::current_dir()?;
        Ok(Self {
            // Absolute, since a module may start in another directory.
            temp_dir: cwd.join(temp_dir()),
            cwd,
            cache_dir: cache.map(|cache| cache.join("modbox")),
            data_dir: data.map(|data| data.join("modbox")),
            policy_files: [PathBuf::from("/etc/modbox/policy.yaml")].into_iter().chain(user_policy).collect(),
            policy_folder: config.map(|config| config.join("policy.d")),
            library: folders("MODBOX_LIBRARY"),
            installed_library: env::current_exe().ok().and_then(|program| installed_library(&program)),
            module_utils: folders("MODBOX_MODULE_UTILS"),
            variables,
        })
    }

    /// Returns an environment that names no file of the host, for tests.
    #[cfg(test)]
    pub(crate) fn empty(dir: &Path) -> Self {
        Self {
            cwd: dir.to_owned(),
            temp_dir: dir.to_owned(),
            cache_dir: None,
            data_dir: None,
            policy_files: Vec::new(),
            policy_folder: None,
            library: Vec::new(),
            installed_library: None,
            module_utils: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Returns a variable's value.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// Returns the caller's home folder, as the variable `HOME` names it.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
    }

    /// Makes a path absolute and normalizes it, without accessing the disk.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        modbox_policy::normalize(&self.cwd.join(path))
    }
}

/// Folders of a user, if it has a home.
#[derive(Default)]
struct OwnFolders {
    cache: Option<PathBuf>,
    config: Option<PathBuf>,
    data: Option<PathBuf>,
}

/// Returns the folders for caches, configuration and data of a user.
///
/// After `sudo`, `HOME` and `XDG_CACHE_HOME` may still name folders of the login user. A cache there would be closed to that
/// user, and a policy file there is that user's own. A folder that `XDG_CONFIG_HOME` names is named on purpose.
fn own_folders(uid: u32) -> OwnFolders {
    let Ok(base) = etcetera::choose_base_strategy() else { return OwnFolders::default() };
    let (cache, config, data) = (base.cache_dir(), base.config_dir(), base.data_dir());
    let is_below_home = config == base.home_dir().join(".config");
    let home = || {
        let user = modbox_policy::find_user(&uid.to_string()).ok().flatten();
        user.map(|user| user.home).filter(|home| !is_of_another(home, uid))
    };
    let cache = if is_of_another(&cache, uid) { home().map(|home| home.join(".cache")) } else { Some(cache) };
    let own_data = || home().map(|home| home.join(".local/share"));
    let data = if is_of_another(&data, uid) { own_data() } else { Some(data) };
    let config = match is_below_home && is_of_another(base.home_dir(), uid) {
        true => home().map(|home| home.join(".config")),
        false => Some(config),
    };
    OwnFolders { cache, config, data }
}

/// Says whether what exists of a path is neither a user's nor root's.
fn is_of_another(path: &Path, uid: u32) -> bool {
    let existing = path.ancestors().find_map(|folder| folder.metadata().ok());
    existing.is_some_and(|folder| folder.uid() != uid && folder.uid() != 0)
}

/// Returns all variables of the environment.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(super) fn variables() -> Vec<(OsString, OsString)> {
    env::vars_os().collect()
}

/// Returns whether a variable has a value, for decisions before anything else of the environment is read.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(crate) fn has_value(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
fn temp_dir() -> PathBuf {
    let dir = env::temp_dir();
    // Treat an empty TMPDIR as not set.
    if dir.as_os_str().is_empty() { PathBuf::from("/tmp") } else { dir }
}

/// Returns the folder in which an installation has built modules: `share/modbox/library` beside the folder `bin` of the
/// program.
fn installed_library(program: &Path) -> Option<PathBuf> {
    let bin = program.parent().filter(|folder| folder.ends_with("bin"))?;
    let library = bin.parent()?.join("share/modbox/library");
    library.is_dir().then_some(library)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_are_of_a_user_or_of_root() {
        let home = tempfile::tempdir().unwrap();
        let uid = home.path().metadata().unwrap().uid();
        assert!(!is_of_another(&home.path().join(".cache/modbox"), uid));
        assert_eq!(is_of_another(&home.path().join(".cache/modbox"), uid + 1), uid != 0);
        assert!(!is_of_another(Path::new("/nowhere"), uid + 1));
    }

    #[test]
    fn an_installation_has_its_library_beside_bin() {
        let prefix = tempfile::tempdir().unwrap();
        let program = prefix.path().join("bin/modbox");
        assert_eq!(installed_library(&program), None);
        let library = prefix.path().join("share/modbox/library");
        fs::create_dir_all(&library).unwrap();
        assert_eq!(installed_library(&program), Some(library));
        assert_eq!(installed_library(&prefix.path().join("elsewhere/modbox")), None);
    }
}
