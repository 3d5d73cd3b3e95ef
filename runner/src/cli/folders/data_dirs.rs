//! The data directories of libral, in whose folders `providers` the providers are.

use std::path::PathBuf;

use crate::cli::args::ProviderArgs;
use crate::cli::process::environment::Environment;

/// Data directories of libral where nothing else is said.
const DATA_DIRS: [&str; 2] = ["/usr/local/share/libral/data", "/usr/share/libral/data"];

/// The variable with data directories.
const VARIABLE: &str = "RALSH_DATA_DIR";

/// The variable with the folders of Augeas' lenses.
const LENSES: &str = "AUGEAS_LENS_LIB";

/// Returns the folders of lenses that the caller names.
pub(crate) fn lenses(environment: &Environment) -> Option<&str> {
    environment.variable(LENSES).and_then(|value| value.to_str())
}

/// Returns the data directories, in the order of the search: those of `--include`, `between`, those of `--data-dir` or of the
/// variable, and libral's own.
pub(crate) fn data_dirs(environment: &Environment, args: &ProviderArgs, between: &[PathBuf]) -> Vec<PathBuf> {
    let listed = args.data_dir.as_ref().or_else(|| environment.variable(VARIABLE));
    let listed = listed.into_iter().flat_map(std::env::split_paths).filter(|dir| !dir.as_os_str().is_empty());
    let included = args.include.iter().chain(between).cloned();
    let all = included.chain(listed).chain(DATA_DIRS.map(PathBuf::from));
    all.map(|dir| environment.absolute(&dir)).collect()
}
