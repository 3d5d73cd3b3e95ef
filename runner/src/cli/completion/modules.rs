//! Names of modules for completion: those of the library, and modbox's own.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use modbox_run::library::names_in;

use super::line::{MAX_CANDIDATES, begins_with, context};
use crate::cli::settings;

/// Returns the names of modules that begin as the current word, and paths.
pub(super) fn candidates(current: &OsStr) -> Vec<CompletionCandidate> {
    let is_path = current.as_encoded_bytes().contains(&b'/') || current == ".";
    let names = if is_path { BTreeSet::new() } else { names() };
    let names = names.into_iter().filter(|name| begins_with(name, current)).take(MAX_CANDIDATES);
    names.map(CompletionCandidate::new).chain(PathCompleter::any().complete(current)).collect()
}

fn names() -> BTreeSet<String> {
    let Some(context) = context() else { return BTreeSet::new() };
    let places = settings::library(&context.environment, &[]);
    let folders = places.iter().flat_map(|place| &place.folders);
    let own = modbox_authoring::standard_names().into_iter().map(str::to_owned);
    folders.flat_map(|folder: &std::path::PathBuf| names_in(Path::new(folder))).chain(own).collect()
}
