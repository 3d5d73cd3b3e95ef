//! Files of variables: those that a play names, and `group_vars` and `host_vars` of a folder.

use std::sync::Arc;

use modbox_template::Layer;
use modbox_yaml::{Map, Node, Source};

use crate::error::LoadError;
use crate::files::FileKind;
use crate::load::context::Loader;
use crate::load::{document, values};
use crate::paths;
use crate::vars::layer;

/// How deep folders of variables may nest.
const MAX_DEPTH: usize = 16;

/// Returns the mappings of a file of variables: one, or a list of them.
///
/// # Errors
///
/// The node is neither.
pub fn mappings(source: &Source) -> Result<Vec<&Map>, LoadError> {
    let wrong = |source| values::wrong_type(source, "variables", "a mapping, or a list of mappings");
    match source.node() {
        Node::Map(map) => Ok(vec![map]),
        Node::List(items) => items.iter().map(|item| item.as_map().ok_or_else(|| wrong(item))).collect(),
        _ => Err(wrong(source)),
    }
}

/// Reads a file of variables.
///
/// # Errors
///
/// The file cannot be read, is not YAML, or has no mapping.
pub fn read(loader: &Loader<'_>, path: &str) -> Result<Arc<Layer>, LoadError> {
    match document::read_variables(loader, path)? {
        Some(source) => Ok(layer::of_maps(mappings(&source)?, loader.settings.merges_mappings)),
        None => Ok(layer::empty()),
    }
}

/// Reads the variables of a group or a host, which lie in `group_vars` or `host_vars` of a folder, lowest first.
///
/// # Errors
///
/// A file cannot be read, is not YAML, or has no mapping.
pub fn of_name(loader: &Loader<'_>, folder: &str, kind: &str, name: &str) -> Result<Vec<Arc<Layer>>, LoadError> {
    let folder = paths::join(folder, kind);
    if name.contains('/') || !loader.files.is_folder(&folder) {
        return Ok(Vec::new());
    }
    named(loader, &paths::join(&folder, name)).iter().map(|path| read(loader, path)).collect()
}

/// Returns the files of variables with a name: the file itself, with an extension, or those of a folder.
fn named(loader: &Loader<'_>, name: &str) -> Vec<String> {
    for extension in ["", ".yml", ".yaml", ".json"] {
        let path = format!("{name}{extension}");
        match loader.files.kind(&path) {
            Ok(Some(FileKind::Folder)) => return of_folder(loader, &path, 0),
            Ok(Some(FileKind::File)) => return vec![path],
            _ => {}
        }
    }
    Vec::new()
}

fn of_folder(loader: &Loader<'_>, folder: &str, depth: usize) -> Vec<String> {
    let names = loader.files.list(folder).unwrap_or_default();
    let mut found = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with('.') && !name.ends_with('~')) {
        let path = paths::join(folder, name);
        if loader.files.is_folder(&path) {
            if depth < MAX_DEPTH && paths::extension(&path).is_empty() {
                found.extend(of_folder(loader, &path, depth + 1));
            }
        } else if matches!(paths::extension(&path), "" | ".yml" | ".yaml" | ".json") {
            found.push(path);
        }
    }
    found
}
