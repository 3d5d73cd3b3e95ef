//! Finds the documentation of a module: in its text, or in a file beside it.

use std::borrow::Cow;
use std::path::Path;

use modbox_closure::Part;
use modbox_contract::{Dict, Value};

use crate::modules::documentation::text::{Indentation, NAME, assigned, parse_dict, read_file};

/// Depth of nested options that are read.
pub(super) const MAX_DEPTH: usize = 8;

/// Returns the documentation of a module, and the text that has it: the module's own, or that of the Python file beside a
/// PowerShell module. Adds the file beside the module to `parts` if it was read.
pub(super) fn read_entries<'a>(path: &Path, bytes: &'a [u8], parts: &mut Vec<Part>) -> Option<(Dict, Cow<'a, [u8]>)> {
    if let Some(text) = assigned(bytes, NAME, Indentation::None) {
        return Some((parse_dict(&text)?, Cow::Borrowed(bytes)));
    }
    if path.extension().is_some_and(|extension| extension == "ps1")
        && let Some(beside) = read_file(&path.with_extension("py"))
        && let Some(text) = assigned(&beside, NAME, Indentation::None)
    {
        parts.push(beside_part(&path.with_extension("py"), &beside));
        return Some((parse_dict(&text)?, Cow::Owned(beside)));
    }
    Some((read_sidecar(path, parts)?, Cow::Borrowed(bytes)))
}

fn beside_part(file: &Path, bytes: &[u8]) -> Part {
    Part::of(file.file_name().unwrap_or_default().to_string_lossy(), bytes)
}

/// Returns the documentation in the file beside a module.
fn read_sidecar(path: &Path, parts: &mut Vec<Part>) -> Option<Dict> {
    let beside = ["yml", "yaml"].map(|extension| path.with_extension(extension));
    let (file, text) = beside.into_iter().find_map(|file| read_file(&file).map(|text| (file, text)))?;
    parts.push(beside_part(&file, &text));
    match parse_dict(str::from_utf8(&text).ok()?)?.get_mut(NAME)? {
        Value::Dict(documentation) => Some(std::mem::take(documentation)),
        Value::Str(text) => parse_dict(text),
        _ => None,
    }
}
