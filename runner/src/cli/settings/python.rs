//! Resolves how Python modules are assembled and which interpreters run scripts, from switches and the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::app::{PayloadForm, PythonConfig};
use crate::cli::args::{AnsiballzForm, parse_interpreter};
use crate::cli::environment::Environment;

/// The variable that names one interpreter, as `--interpreter` does. It is for runs without switches, such as those
/// that Ansible starts.
const INTERPRETER: &str = "MODBOX_INTERPRETER";

/// Resolves the switches for Python modules.
///
/// # Errors
///
/// A named folder does not exist.
pub(crate) fn python(
    environment: &Environment,
    module_utils: &[PathBuf],
    form: AnsiballzForm,
) -> anyhow::Result<PythonConfig> {
    let folder = |from: &str, folder: &Path| {
        let path = environment.absolute(folder);
        anyhow::ensure!(path.is_dir(), "`{from}{}` is not a folder", folder.display());
        Ok(path)
    };
    let switches = module_utils.iter().map(|path| folder("--module-utils ", path));
    let folders = switches.chain(environment.module_utils.iter().map(|path| folder("MODBOX_MODULE_UTILS=", path)));
    let search_path = environment.variable("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>());
    let search_path = search_path.unwrap_or_default().into_iter().filter(|folder| folder.is_absolute());
    Ok(PythonConfig {
        cache: environment.cache_dir.as_ref().map(|dir| dir.join("python")),
        form: match form {
            AnsiballzForm::Cached => PayloadForm::Cached,
            AnsiballzForm::Zip => PayloadForm::Zip,
        },
        module_utils: folders.collect::<anyhow::Result<_>>()?,
        home: environment.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
        search_path: search_path.collect(),
        pyenv_version: environment.variable("PYENV_VERSION").and_then(|version| version.to_str()).map(str::to_owned),
    })
}

/// Returns the replacements for interpreters, from the variable `MODBOX_INTERPRETER` and the switches. Switches win.
///
/// # Errors
///
/// The variable has a wrong form.
pub(crate) fn interpreters(
    environment: &Environment,
    switches: &[(String, String)],
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut interpreters = BTreeMap::new();
    if let Some(value) = environment.variable(INTERPRETER).filter(|value| !value.is_empty()) {
        let pair = parse_interpreter(&value.to_string_lossy());
        interpreters.extend([pair.map_err(|reason| anyhow::anyhow!("`{INTERPRETER}={}`: {reason}", value.display()))?]);
    }
    interpreters.extend(switches.iter().cloned());
    Ok(interpreters)
}
