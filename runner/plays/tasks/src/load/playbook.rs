//! Reading a playbook: a file of plays with the playbooks that it imports, or a plain list of tasks.

use std::sync::Arc;

use modbox_yaml::Source;

use crate::error::{LoadError, LoadErrors, Problem, beginning};
use crate::keywords::{Keyword, Place};
use crate::load::context::Loader;
use crate::load::play::{self, PlayImport};
use crate::load::{document, task, values};
use crate::model::frame::{Frame, FrameKind};
use crate::model::keywords::KeywordValues;
use crate::model::play::{Play, Playbook};
use crate::paths;
use crate::vars::{layer, stack};

/// How deep playbooks may import each other.
const MAX_DEPTH: usize = 32;

const IMPORTS: [&str; 3] = ["import_playbook", "ansible.builtin.import_playbook", "ansible.legacy.import_playbook"];

/// Reads a playbook.
///
/// # Errors
///
/// The file or one that it imports is not a playbook that modbox can run; all errors that were found.
pub fn read(loader: &Loader<'_>, file: &str) -> Result<Playbook, LoadErrors> {
    let mut plays = Vec::new();
    if let Err(error) = read_file(loader, file, &PlayImport::default(), 0, &mut plays) {
        loader.report(error);
    }
    loader.finish()?;
    Ok(Playbook { file: file.to_owned(), plays })
}

fn read_file(
    loader: &Loader<'_>,
    file: &str,
    import: &PlayImport,
    depth: usize,
    plays: &mut Vec<Play>,
) -> Result<(), LoadError> {
    let other = |text: &str| LoadError::new(&beginning(file), Problem::Other(text.to_owned()));
    if depth > MAX_DEPTH {
        return Err(LoadError::new(&beginning(file), Problem::TooDeep { kind: "playbooks", limit: MAX_DEPTH }));
    }
    let source =
        document::read(loader, file)?.ok_or_else(|| other("the playbook is empty; write a list of plays or tasks"))?;
    let entries =
        source.as_list().ok_or_else(|| values::wrong_type(&source, "playbook", "a list of plays or tasks"))?;
    if entries.is_empty() {
        return Err(other(&format!("A playbook must contain at least one play: {file}")));
    }
    let around = loader.folder.replace(paths::parent(file).to_owned());
    if depth > 0 {
        // Modules lie beside an imported playbook as in a role.
        loader.names.folder_found(paths::parent(file));
    }
    loader.vars.borrow_mut().magic = layer::of_texts([("playbook_dir", paths::parent(file))]);
    if depth == 0 && entries.iter().all(is_task) {
        plays.push(play::of_tasks(loader, &source));
    } else {
        for entry in entries {
            let _read = loader.check(read_entry(loader, entry, import, depth, plays));
        }
    }
    loader.folder.replace(around);
    Ok(())
}

/// Says whether an entry of a file is a task: a mapping that is neither a play nor an import of plays.
fn is_task(entry: &Source) -> bool {
    entry.as_map().is_some_and(|map| map.get("hosts").is_none() && IMPORTS.iter().all(|key| map.get(key).is_none()))
}

fn read_entry(
    loader: &Loader<'_>,
    entry: &Source,
    import: &PlayImport,
    depth: usize,
    plays: &mut Vec<Play>,
) -> Result<(), LoadError> {
    let map = values::map(entry, "play")?;
    let Some((key, file)) = IMPORTS.iter().find_map(|key| Some((*key, map.get(key)?))) else {
        plays.push(play::read(loader, entry, import)?);
        return Ok(());
    };
    let keywords = task::read_keywords(loader, Place::PlaybookImport, map, &[key, "vars"]);
    let vars = values::vars(loader, map.get("vars"));
    let mut known = loader.vars.borrow().clone();
    known.play = vec![Arc::clone(&vars)];
    known.roles.clear();
    let name = loader.text(file, &stack::before_play(&known))?;
    let path = find_import(loader, &name).map_err(|searched| {
        LoadError::new(file.position(), Problem::NotFound { kind: "the playbook", name, searched })
    })?;
    let mut inner = import.clone();
    inner.vars.insert(0, vars);
    inner.frame = Some(Arc::new(import_frame(entry, &keywords, import)));
    read_file(loader, &path, &inner, depth + 1, plays)
}

/// Finds a playbook that another one imports: in the folder of that one, or in a collection by its full name. Returns where it was
/// looked for otherwise.
fn find_import(loader: &Loader<'_>, name: &str) -> Result<String, Vec<String>> {
    let beside = paths::normalize(&paths::join(&loader.folder.borrow(), name));
    let mut candidates = vec![beside];
    let parts: Vec<&str> = name.splitn(3, '.').collect();
    if let [namespace, collection, playbook] = parts.as_slice()
        && [namespace, collection].iter().all(|part| values::is_variable_name(part))
        && playbook.split(['.', '/']).all(|part| !part.is_empty() && part != "..")
    {
        let adjacent = paths::join(&loader.folder.borrow(), "collections");
        for root in std::iter::once(&adjacent).chain(&loader.settings.collections_path) {
            let folder = format!("{root}/ansible_collections/{namespace}/{collection}/playbooks");
            let own = paths::join(&folder, playbook);
            candidates.extend(["", ".yml", ".yaml"].map(|extension| format!("{own}{extension}")));
        }
    }
    match candidates.iter().find(|path| loader.files.exists(path) && !loader.files.is_folder(path)) {
        Some(path) => Ok(path.clone()),
        None => Err(candidates),
    }
}

/// Returns the frame with what an import of a playbook gives to the plays: conditions and tags.
fn import_frame(entry: &Source, keywords: &KeywordValues, import: &PlayImport) -> Frame {
    let mut given = KeywordValues::default();
    for keyword in [Keyword::When, Keyword::Tags] {
        if let Some(value) = keywords.get(keyword) {
            given.set(keyword, value.clone());
        }
    }
    Frame {
        kind: FrameKind::Block,
        keywords: given,
        vars: layer::empty(),
        outer: import.frame.clone(),
        position: entry.position().clone(),
    }
}
