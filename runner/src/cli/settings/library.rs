//! The folders in which modules are looked up by their names, outside of collections.

use std::path::PathBuf;

use modbox_run::library::Place;

use crate::cli::module_store::user_library;
use crate::cli::process::environment::Environment;

/// Name of the folder of modules in the working directory.
pub(crate) const WORKING_LIBRARY: &str = "./library";

/// Returns the folders of modules outside of collections, in the order of the search, with their origins.
pub(crate) fn library(environment: &Environment, module_path: &[PathBuf]) -> Vec<Place> {
    let place = |origin, absent, folders: &[PathBuf]| Place {
        origin,
        absent,
        folders: folders.iter().map(|folder| environment.absolute(folder)).collect(),
    };
    let mut places = vec![
        place(WORKING_LIBRARY, "none", &[PathBuf::from("library")]),
        place("--module-path", "none", module_path),
        place("$MODBOX_LIBRARY", "unset", &environment.library),
    ];
    let own = user_library(environment).filter(|folder| folder.is_dir());
    places.extend(own.map(|folder| place("the user's library", "none", &[folder])));
    let installed = environment.installed_library.iter();
    places.extend(installed.map(|folder| place("the installed library", "none", std::slice::from_ref(folder))));
    places
}
