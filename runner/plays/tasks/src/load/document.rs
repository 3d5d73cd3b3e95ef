//! Reading a file of YAML of a play's tree.

use modbox_yaml::{Node, Source, Warning, load_play_file};

use crate::error::{HIDDEN_MISTAKE, LoadError, Problem, beginning};
use crate::files::FileError;
use crate::load::context::{Loader, OnDuplicate};
use crate::load::findings::BadTemplate;

/// The beginning of a file that is encrypted.
const VAULT_HEADER: &str = "$ANSIBLE_VAULT;";

/// Reads a file of tasks, plays or the like. Returns `None` if the file has no content. Warnings are recorded.
///
/// # Errors
///
/// The file cannot be read, or is not YAML.
pub fn read(loader: &Loader<'_>, path: &str) -> Result<Option<Source>, LoadError> {
    parsed(loader, path, loader.files.source_text(path))
}

fn parsed(loader: &Loader<'_>, path: &str, text: Result<String, FileError>) -> Result<Option<Source>, LoadError> {
    let text = text.map_err(|error| LoadError::new(&beginning(path), Problem::File(error)))?;
    if text.starts_with(VAULT_HEADER) {
        return Err(LoadError::new(&beginning(path), Problem::Encrypted));
    }
    let document = load_play_file(&text, path).map_err(|error| {
        let position = error.position().clone();
        match loader.files.is_encrypted(path) {
            true => LoadError::new(&position, Problem::Other(HIDDEN_MISTAKE.to_owned())),
            false => LoadError::new(&position, Problem::Yaml(error)),
        }
    })?;
    for warning in document.warnings {
        let is_duplicate = matches!(warning, Warning::DuplicateKey { .. });
        match loader.settings.on_duplicate {
            OnDuplicate::Fail if is_duplicate => {
                return Err(LoadError::new(warning.position(), Problem::Other(warning.to_string())));
            }
            OnDuplicate::Ignore if is_duplicate => {}
            _ => loader.warn(warning.to_string()),
        }
    }
    check_vaults(loader, &document.root);
    Ok(Some(document.root).filter(|root| !root.is_null()))
}

/// Reports the encrypted values that cannot be decrypted. A run may never use them, as where each has a password of its own.
fn check_vaults(loader: &Loader<'_>, source: &Source) {
    match source.node() {
        Node::Vault(text) => {
            if let Some(reason) = loader.engine.undecryptable(text) {
                let error = LoadError::new(source.position(), Problem::Vault(reason));
                loader.templates.add(BadTemplate { error, is_certain: false });
            }
        }
        Node::List(items) => items.iter().for_each(|item| check_vaults(loader, item)),
        Node::Map(map) => map.iter().for_each(|(_, entry)| check_vaults(loader, &entry.value)),
        _ => {}
    }
}

/// Reads a file of variables. One that was written since the run began may be made of what a module returned, so nothing in
/// it is a template.
///
/// # Errors
///
/// The same as for [`read`].
pub fn read_variables(loader: &Loader<'_>, path: &str) -> Result<Option<Source>, LoadError> {
    let Some(source) = parsed(loader, path, loader.files.text(path))? else { return Ok(None) };
    let is_new = loader.files.is_new(path).map_err(|error| LoadError::new(source.position(), Problem::File(error)))?;
    Ok(Some(if is_new { source.as_data() } else { source }))
}

/// Reads a file of YAML. Returns `None` if there is no such file, or if it has no content.
///
/// # Errors
///
/// The file cannot be read although it exists, or is not YAML.
pub fn read_if_present(loader: &Loader<'_>, path: &str) -> Result<Option<Source>, LoadError> {
    match read(loader, path) {
        Err(LoadError { problem: Problem::File(FileError::NotFound { .. }), .. }) => Ok(None),
        result => result,
    }
}
