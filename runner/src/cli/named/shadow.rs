//! A module of a `library` folder, of the working directory itself or of a collection beside a play, that stands in place of another one
//! of its name.
//!
//! Names of policies are plain names, so such a file also has the grants of the module that it hides. Whatever can write the
//! folder can put one there, so people are told which file runs, and which one does not. This file finds no module to run.

use std::io::Read;
use std::path::{Path, PathBuf};

use modbox_files::open_at_once;
use modbox_run::library::{FoundModule, Library, Located, is_path};

use crate::cli::context::Context;
use crate::cli::named::standard;
use crate::cli::printing::output;

/// Bytes of one comparison.
const BLOCK: u64 = 64 << 10;

/// Warns of a module that was found by `name`, if the first place of the library, or the working directory, has it in place of
/// another one that is there.
pub(crate) fn warn(context: &Context, library: &Library<'_>, name: &Path, found: &FoundModule) {
    if let Some(note) = note(context, library, name, found) {
        output::print_note(&note);
    }
}

/// Warns of a module of a collection beside a play, if an installed collection has another module of its name.
pub(crate) fn warn_of_collection(context: &Context, installed: &Library<'_>, found: &FoundModule) {
    let name = Path::new(&found.name);
    if let Ok(hidden) = installed.find_name(name)
        && hidden.path != found.path
        && !is_same(&found.path, &hidden.path)
    {
        output::print_note(&text(context, name, &found.path, &format!("`{}`", hidden.path.display())));
    }
}

fn note(context: &Context, library: &Library<'_>, name: &Path, found: &FoundModule) -> Option<String> {
    let is_near = library
        .folders
        .first()
        .is_some_and(|place| place.folders.iter().any(|folder| found.path.starts_with(folder)) || found.path == name);
    if is_path(name) || !is_near {
        return None;
    }
    let (hidden, shown) = hidden(context, library, name)?;
    if is_same(&found.path, &hidden) {
        return None;
    }
    Some(text(context, name, &found.path, &shown))
}

/// Returns the note that a file stands in place of another module, which is shown.
fn text(context: &Context, name: &Path, path: &Path, shown: &str) -> String {
    let path = path.strip_prefix(&context.environment.cwd).unwrap_or(path);
    let path = if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) };
    format!(
        "`{name}` is the file `{path}`, which stands in place of {shown} and has the grants of its name; write the path if this \
         file is meant, else remove it or rename it",
        name = name.display(),
        path = path.display(),
    )
}

/// Returns the module that the name has without the first place, and what people call it.
fn hidden(context: &Context, library: &Library<'_>, name: &Path) -> Option<(PathBuf, String)> {
    let others = Library { folders: library.folders.iter().skip(1).cloned().collect(), ..*library };
    match others.find_by_name(name).ok()? {
        Located::File(other) if other.name.contains('.') => Some((other.path, format!("`{}`", other.name))),
        Located::File(other) => Some((other.path.clone(), format!("`{}`", other.path.display()))),
        // One that is not built has not run under the name yet.
        Located::Own(own) => Some((standard::find(context, &own)?, format!("modbox's own module `{own}`"))),
        Located::Project(_) => None,
    }
}

/// Returns whether two files have the same content. One that cannot be read is another one.
fn is_same(one: &Path, other: &Path) -> bool {
    let (Ok((mut one, ours)), Ok((mut other, theirs))) = (open_at_once(one), open_at_once(other)) else { return false };
    if !ours.is_file() || !theirs.is_file() || ours.len() != theirs.len() {
        return false;
    }
    loop {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let read = one.by_ref().take(BLOCK).read_to_end(&mut ours);
        let other_read = other.by_ref().take(BLOCK).read_to_end(&mut theirs);
        if read.is_err() || other_read.is_err() || ours != theirs {
            return false;
        }
        if ours.is_empty() {
            return true;
        }
    }
}
