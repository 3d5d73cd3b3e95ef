//! How Python modules are put together and by what scripts are started: what was said, and what is taken from the
//! surroundings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::app::{PayloadForm, PythonConfig};
use crate::cli::args::{AnsiballzForm, parse_interpreter};
use crate::cli::environment::Environment;

/// Names one interpreter, as `--interpreter` does: for where nobody writes switches.
const INTERPRETER: &str = "MODBOX_INTERPRETER";

/// Resolves the switches.
///
/// # Errors
///
/// A folder that is none.
pub(crate) fn python(
    environment: &Environment,
    module_utils: &[PathBuf],
    form: AnsiballzForm,
) -> anyhow::Result<PythonConfig> {
    let folder = |from: &str, folder: &Path| {
        let path = environment.absolute(folder);
        anyhow::ensure!(path.is_dir(), "`{from}{}`: there is no such folder", folder.display());
        Ok(path)
    };
    let said = module_utils.iter().map(|path| folder("--module-utils ", path));
    let folders = said.chain(environment.module_utils.iter().map(|path| folder("MODBOX_MODULE_UTILS=", path)));
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

/// Returns what to start instead of interpreters: by the variable `MODBOX_INTERPRETER`, and by the switches, which count
/// more.
///
/// # Errors
///
/// A variable that names none.
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
