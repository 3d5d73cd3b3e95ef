//! Files of the play that tasks name without variables: sources of copies and templates, scripts, and files of variables.

use std::collections::HashSet;

use modbox_template::is_template;
use modbox_yaml::{Position, Source};

use crate::error::{LoadError, Problem};
use crate::files::FileError;
use crate::load::context::Loader;
use crate::load::document;
use crate::load::find;
use crate::load::findings::BadTemplate;
use crate::load::values;
use crate::model::task::{Task, is_builtin, short_name};
use crate::paths;
use crate::vars::magic::search_path;
use crate::words::first_word;

/// A file that a task names.
struct NamedFile {
    /// The folder for such files.
    folder: &'static str,
    name: String,
    position: Position,
    content: Content,
}

/// What a task does with the content of a file.
#[derive(PartialEq, Eq)]
enum Content {
    /// It reads it, decrypted.
    Decrypted,
    /// It takes it as it is, or only its name is checked here.
    Unread,
    /// It reads variables.
    Variables,
}

/// Checks the file that a task names. `is_reached` says whether every run comes to the task.
pub fn check(loader: &Loader<'_>, task: &Task, is_reached: bool) {
    let Some(wanted) = wanted(task) else { return };
    let add = |error| loader.templates.add(BadTemplate { error, is_certain: is_reached });
    let path = match find(loader, task, wanted.folder, &wanted.name) {
        Ok(Some(path)) => path,
        // What may not be looked at is denied when the task runs, with the switch that allows it.
        Ok(None) => return,
        Err(searched) => {
            let problem = Problem::NotFound { kind: "the file", name: wanted.name, searched };
            return add(LoadError::new(&wanted.position, problem));
        }
    };
    match wanted.content {
        Content::Decrypted if loader.files.is_encrypted(&path) => {
            if let Err(error @ (FileError::Denied { .. } | FileError::Other { .. })) = loader.files.bytes(&path) {
                add(LoadError::new(&wanted.position, Problem::File(error)));
            }
        }
        Content::Variables if !loader.files.is_folder(&path) => {
            if let Err(error) = document::read_variables(loader, &path).and_then(|source| is_mapping(&path, source)) {
                add(error);
            }
        }
        _ => {}
    }
}

fn is_mapping(path: &str, source: Option<Source>) -> Result<(), LoadError> {
    source.as_ref().map_or(Ok(()), |source| values::map(source, path).map(drop))
}

/// Checks the files that `vars_files` of a play names. The play leaves out what does not exist, with a warning.
pub fn check_play(loader: &Loader<'_>, files: &Source) {
    for entry in values::items(files) {
        let names = values::items(&entry);
        if names.iter().any(is_template) {
            continue;
        }
        let folder = loader.folder.borrow().clone();
        let search = [paths::parent(&entry.position().file).to_owned()];
        let places = names.iter().filter_map(Source::as_text);
        let mut places = places.flat_map(|name| find::stack(loader.files, &search, "vars", name, &folder));
        let Some(path) = places.find(|path| loader.files.exists(path)) else { continue };
        if let Err(error) = document::read_variables(loader, &path).and_then(|source| is_mapping(&path, source)) {
            loader.templates.add(BadTemplate { error, is_certain: true });
        }
    }
}

/// Says whether a name is that of a file of the play, whose place does not depend on anything else.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('~') && !name.contains("://")
}

/// Returns the template file that a task renders, if it names the file without variables, and no other delimiters.
pub fn template_of(loader: &Loader<'_>, task: &Task) -> Option<String> {
    let is_usual = is_builtin(task.action_text(), "template") && !changes_delimiters(task);
    let wanted = wanted(task).filter(|_| is_usual)?;
    find(loader, task, wanted.folder, &wanted.name).ok().flatten()
}

/// Says whether a task has its template read with other delimiters, which change what a template is.
fn changes_delimiters(task: &Task) -> bool {
    task.args.named.iter().any(|(name, _)| name.ends_with("_string"))
}

/// Returns the file that a name means for a task; `None` if a place may not be looked at.
///
/// # Errors
///
/// The places where nothing lies, which are all.
fn find(loader: &Loader<'_>, task: &Task, folder: &str, name: &str) -> Result<Option<String>, Vec<String>> {
    let places = places(loader, task, folder, name);
    for place in &places {
        match loader.files.kind(place) {
            Ok(Some(_)) => return Ok(Some(place.clone())),
            Ok(None) | Err(FileError::NotFound { .. }) => {}
            Err(_) => return Ok(None),
        }
    }
    Err(places)
}

/// Returns the places where a file of a task is looked for, each once.
pub fn places(loader: &Loader<'_>, task: &Task, folder: &str, name: &str) -> Vec<String> {
    let mut places = find::stack(loader.files, &search_path(task), folder, name, &loader.folder.borrow());
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// Returns the file of a task; `None` if there is none, or variables decide about it.
fn wanted(task: &Task) -> Option<NamedFile> {
    if task.args.whole.is_some() {
        return None;
    }
    let argument =
        |name: &str| task.args.named.iter().find(|(known, _)| &***known == name).map(|(_, found)| &found.value);
    // `None` where a template decides.
    let flag = |name: &str, default: bool| match argument(name) {
        None => Some(default),
        Some(value) if is_template(value) => None,
        Some(value) => values::boolean(value),
    };
    let is_local =
        |default: bool| Some(!flag("remote_src", default)? && flag("copy", true)?).filter(|is_local| *is_local);
    let (folder, source, content) = match short_name(task.action_text()) {
        "copy" => {
            is_local(false)?;
            let content = if flag("decrypt", true)? { Content::Decrypted } else { Content::Unread };
            ("files", argument("src").filter(|_| argument("content").is_none()), content)
        }
        "template" => ("templates", argument("src"), Content::Decrypted),
        "unarchive" => {
            is_local(false)?;
            ("files", argument("src"), Content::Unread)
        }
        "assemble" => {
            is_local(true)?;
            ("files", argument("src"), Content::Unread)
        }
        "script" => ("files", task.args.raw.as_ref().or_else(|| argument("cmd")), Content::Unread),
        "include_vars" => ("vars", argument("file").or(task.args.raw.as_ref()), Content::Variables),
        _ => return None,
    };
    let source = source.filter(|source| !is_template(source))?;
    let text = source.as_text()?;
    let name = match short_name(task.action_text()) {
        "script" => first_word(text)?,
        _ => text.trim_end_matches('\n').to_owned(),
    };
    is_plain(&name).then(|| NamedFile { folder, name, position: source.position().clone(), content })
}
