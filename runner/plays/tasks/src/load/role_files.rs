//! The files of a role: the main file of each of its folders, or the one that is asked for.

use modbox_yaml::{Position, Source};

use crate::error::{LoadError, Problem};
use crate::load::context::Loader;
use crate::load::{document, values};
use crate::paths;

/// How deep folders of variables may nest.
const MAX_DEPTH: usize = 16;

/// A file of a role that is asked for.
#[derive(Debug)]
pub struct RoleFile<'a> {
    /// The folder of the role.
    pub role: &'a str,
    /// The folder in it, such as `tasks`.
    pub kind: &'a str,
    /// The name that is asked for instead of `main`.
    pub name: Option<&'a str>,
    /// Where it is asked for.
    pub position: &'a Position,
}

/// Reads the list of tasks or the mapping of a file.
///
/// # Errors
///
/// The file cannot be read, is not YAML, lies outside of the role, or is asked for by a name and does not exist.
pub fn read(loader: &Loader<'_>, wanted: &RoleFile<'_>) -> Result<Option<Source>, LoadError> {
    let Some(path) = find(loader, wanted)?.into_iter().find(|path| !loader.files.is_folder(path)) else {
        return missing(wanted, Ok(None));
    };
    check_inside(wanted, &path)?;
    document::read(loader, &path)
}

/// Reads mappings of variables: of one file, or of all files of a folder with its name.
///
/// # Errors
///
/// As [`read`], and if a file is not a mapping.
pub fn read_vars(loader: &Loader<'_>, wanted: &RoleFile<'_>) -> Result<Vec<Source>, LoadError> {
    let mut found = Vec::new();
    let paths = find(loader, wanted)?;
    if paths.is_empty() {
        return missing(wanted, Ok(found));
    }
    for path in paths {
        let files = if loader.files.is_folder(&path) { folder_files(loader, &path, 0)? } else { vec![path] };
        for file in files {
            check_inside(wanted, &file)?;
            let Some(source) = document::read_variables(loader, &file)? else { continue };
            values::map(&source, &format!("{}/main.yml", wanted.kind))?;
            found.push(source);
        }
    }
    Ok(found)
}

/// Returns the paths that exist under the name that is asked for, most preferred first.
fn find(loader: &Loader<'_>, wanted: &RoleFile<'_>) -> Result<Vec<String>, LoadError> {
    const EXTENSIONS: [&str; 3] = [".yml", ".yaml", ".json"];
    let folder = paths::join(wanted.role, wanted.kind);
    if !loader.files.is_folder(&folder) {
        return Ok(Vec::new());
    }
    let name = paths::join(&folder, wanted.name.unwrap_or("main"));
    let mut candidates: Vec<String> = EXTENSIONS.iter().map(|extension| format!("{name}{extension}")).collect();
    candidates.insert(if wanted.name.is_some() { 0 } else { candidates.len() }, name);
    let mut found = Vec::new();
    for path in candidates {
        let kind = loader.files.kind(&path);
        let kind = kind.map_err(|error| LoadError::new(wanted.position, Problem::File(error)))?;
        if kind.is_some() {
            found.push(path);
        }
    }
    let folders_count = matches!(wanted.kind, "vars" | "defaults");
    found.truncate(if folders_count { 1 } else { usize::MAX });
    Ok(found)
}

/// Returns the files of variables in a folder, in the order of their names.
fn folder_files(loader: &Loader<'_>, folder: &str, depth: usize) -> Result<Vec<String>, LoadError> {
    let failed = |problem| LoadError::new(&crate::error::beginning(folder), problem);
    if depth > MAX_DEPTH {
        return Err(failed(Problem::TooDeep { kind: "folders", limit: MAX_DEPTH }));
    }
    let names = loader.files.list(folder).map_err(|error| failed(Problem::File(error)))?;
    let mut files = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with('.') && !name.ends_with('~')) {
        let path = paths::join(folder, name);
        let extension = paths::extension(&path);
        if loader.files.is_folder(&path) {
            if extension.is_empty() {
                files.extend(folder_files(loader, &path, depth + 1)?);
            }
        } else if matches!(extension, "" | ".yml" | ".yaml" | ".json") {
            files.push(path);
        }
    }
    Ok(files)
}

fn check_inside(wanted: &RoleFile<'_>, path: &str) -> Result<(), LoadError> {
    let folder = paths::join(wanted.role, wanted.kind);
    if paths::is_inside(&paths::normalize(path), &paths::normalize(&folder)) {
        return Ok(());
    }
    let reason = format!("the file lies outside of `{folder}`");
    Err(LoadError::new(wanted.position, Problem::Refused { keyword: path.to_owned(), reason }))
}

/// Fails if a file that is asked for by its name is missing.
fn missing<T>(wanted: &RoleFile<'_>, otherwise: Result<T, LoadError>) -> Result<T, LoadError> {
    match wanted.name {
        None => otherwise,
        Some(name) => {
            let name = format!("{}/{name}", wanted.kind);
            let searched = vec![paths::join(wanted.role, &name)];
            Err(LoadError::new(wanted.position, Problem::NotFound { kind: "the file of the role", name, searched }))
        }
    }
}
