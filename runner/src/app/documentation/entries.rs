//! Finds the documentation of a module: in its text, or in a file beside it.

use std::borrow::Cow;
use std::path::Path;

use modbox_contract::{Dict, Value};

use crate::app::documentation::text::{Indentation, NAME, assigned, parse_dict, read_file};

/// Depth of nested options that are read.
pub(super) const MAX_DEPTH: usize = 8;

/// Returns the documentation of a module, and the text that has it: the module's own, or that of the Python file beside a
/// PowerShell module.
pub(super) fn read_entries<'a>(path: &Path, bytes: &'a [u8]) -> Option<(Dict, Cow<'a, [u8]>)> {
    if let Some(text) = assigned(bytes, NAME, Indentation::None) {
        return Some((parse_dict(&text)?, Cow::Borrowed(bytes)));
    }
    if path.extension().is_some_and(|extension| extension == "ps1")
        && let Some(beside) = read_file(&path.with_extension("py"))
        && let Some(text) = assigned(&beside, NAME, Indentation::None)
    {
        return Some((parse_dict(&text)?, Cow::Owned(beside)));
    }
    Some((read_sidecar(path)?, Cow::Borrowed(bytes)))
}

/// Returns the documentation in the file beside a module.
fn read_sidecar(path: &Path) -> Option<Dict> {
    let text = ["yml", "yaml"].iter().find_map(|extension| read_file(&path.with_extension(extension)))?;
    match parse_dict(str::from_utf8(&text).ok()?)?.get_mut(NAME)? {
        Value::Dict(documentation) => Some(std::mem::take(documentation)),
        Value::Str(text) => parse_dict(text),
        _ => None,
    }
}
