//! `fileglob`: files of one folder that match a pattern.

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_template::{LookupError, Value};

use super::call::{Call, of_file};
use super::options::failed;
use crate::files::FileKind;
use crate::paths;

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut found = Vec::new();
    for term in call.texts()? {
        let pattern = paths::name(term);
        for folder in folders(call, term)? {
            let files = matching(call, &folder, pattern)?;
            if !files.is_empty() {
                found.extend(files.into_iter().map(Value::from));
                break;
            }
        }
    }
    Ok(found)
}

/// Returns the folders in which a term's files may be, most preferred first.
fn folders(call: &Call<'_>, term: &str) -> Result<Vec<String>, LookupError> {
    if term.contains('/') {
        return Ok(call.find("files", paths::parent(term))?.into_iter().collect());
    }
    let both = |folder: String| [paths::join(&folder, "files"), folder];
    Ok(call.search_path().into_iter().flat_map(both).collect())
}

/// Returns the files of a folder that match, sorted. As in a shell, a leading dot must be named.
fn matching(call: &Call<'_>, folder: &str, pattern: &str) -> Result<Vec<String>, LookupError> {
    if call.kind(folder)? != Some(FileKind::Folder) {
        return Ok(Vec::new());
    }
    let regex = Pattern::new(&glob_to_regex(pattern), Subject::Text, Flags::default());
    let regex = regex.map_err(|error| failed(format!("invalid pattern `{pattern}`: {error}")))?;
    let mut found = Vec::new();
    for name in call.files.list(folder).map_err(of_file)? {
        if name.starts_with('.') && !pattern.starts_with('.') {
            continue;
        }
        let matched = regex.search(name.as_bytes()).map_err(|error| failed(error.to_string()))?;
        let is_match = matched.is_some_and(|matched| matched.span(0).is_some_and(|(start, _)| start == 0));
        let path = paths::join(folder, &name);
        // A link that leads out of the play's tree is not one of its files.
        if is_match && matches!(call.files.kind(&path), Ok(Some(FileKind::File))) {
            found.push(path);
        }
    }
    Ok(found)
}
