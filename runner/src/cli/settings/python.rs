//! How Python modules are put together: folders of theirs, and what is taken from the surroundings.

use std::path::PathBuf;

use crate::cli::environment::Environment;
use crate::cli::python::AnsiballzForm;
use crate::run::{PayloadForm, PythonConfig};

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
    let folders = module_utils.iter().map(|folder| {
        let path = environment.absolute(folder);
        anyhow::ensure!(path.is_dir(), "`--module-utils {}`: there is no such folder", folder.display());
        Ok(path)
    });
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
    })
}
