//! Reading the operator's inventory: files, folders of files, and lists of hosts.

use modbox_inventory::{Inventory, Origin, Problem, read_ini, read_list, read_yaml};

use crate::files::{FileKind, PlayFiles};
use crate::inventory::sources::{GivenInventory, SourceError};
use crate::paths;

/// How deep folders of inventories may nest.
const MAX_DEPTH: usize = 16;

/// Endings of files in a folder that are not inventories.
const IGNORED: [&str; 12] =
    [".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry"];

/// Names in a folder that are not inventories.
const IGNORED_NAMES: [&str; 3] = ["host_vars", "group_vars", "vars_plugins"];

/// Reads the sources of an inventory, in their order: absolute paths, and lists of hosts with commas. A source that does not exist is left out with a warning, as
/// Ansible does; each other one must be an inventory. `merges`: mappings that several places give to one variable become one.
///
/// # Errors
///
/// A source cannot be read, is neither YAML nor INI, or is a program.
pub fn read(files: &dyn PlayFiles, sources: &[String], merges: bool) -> Result<GivenInventory, SourceError> {
    let mut given = GivenInventory::default();
    given.inventory.set_merges(merges);
    for source in sources {
        given.sources.push(source.clone());
        // Paths are absolute, so this is none, and not looked for: it would be noted as a file that lacks a grant.
        if source.contains(',') && !source.starts_with('/') {
            read_list(&mut given.inventory, source)?;
            continue;
        }
        match files.kind(source) {
            Ok(Some(FileKind::Folder)) => {
                add_folder(&mut given.folders, source);
                folder(files, &mut given, source, 0)?;
            }
            Ok(Some(FileKind::File)) => {
                add_folder(&mut given.folders, paths::parent(source));
                file(files, &mut given, source)?;
            }
            _ if source.contains(',') => read_list(&mut given.inventory, source)?,
            Ok(None) => {
                let warning = format!("Unable to parse {source} as an inventory source: the file does not exist");
                given.warnings.push(warning);
            }
            Err(error) => return Err(error.into()),
        }
    }
    given.inventory.reconcile();
    Ok(given)
}

fn add_folder(folders: &mut Vec<String>, folder: &str) {
    if !folders.iter().any(|known| known == folder) {
        folders.push(folder.to_owned());
    }
}

/// Reads the files of a folder, in the order of their names.
fn folder(files: &dyn PlayFiles, given: &mut GivenInventory, path: &str, depth: usize) -> Result<(), SourceError> {
    if depth > MAX_DEPTH {
        return Err(SourceError::TooDeep { path: path.to_owned(), limit: MAX_DEPTH });
    }
    for name in files.list(path)? {
        let ignored = name.starts_with('.')
            || IGNORED_NAMES.contains(&name.as_str())
            || IGNORED.iter().any(|ending| name.ends_with(ending));
        if ignored {
            continue;
        }
        let inner = paths::join(path, &name);
        match files.kind(&inner)? {
            Some(FileKind::Folder) => folder(files, given, &inner, depth + 1)?,
            Some(FileKind::File) => file(files, given, &inner)?,
            None => {}
        }
    }
    Ok(())
}

/// Reads a file: as YAML if its name can be that of one, and otherwise as INI.
fn file(files: &dyn PlayFiles, given: &mut GivenInventory, path: &str) -> Result<(), SourceError> {
    let text = files.text(path)?;
    given.files.push(path.to_owned());
    if text.starts_with("#!") {
        return Err(SourceError::Program { path: path.to_owned() });
    }
    let extension = paths::extension(path);
    if extension == ".toml" {
        return Err(SourceError::Toml { path: path.to_owned() });
    }
    let origin = Origin::file(path);
    let mut failed = None;
    if matches!(extension, "" | ".yaml" | ".yml" | ".json") {
        let mut read = given.inventory.clone();
        match read_yaml(&mut read, &text, &origin) {
            Ok(warnings) => {
                given.inventory = read;
                given.warnings.extend(warnings);
                return Ok(());
            }
            // A file that configures a plugin is nothing else.
            Err(error) if matches!(error.problem, Problem::Plugin(_)) => return Err(error.into()),
            Err(error) => failed = Some(error),
        }
    }
    let mut read: Inventory = given.inventory.clone();
    match (read_ini(&mut read, &text, &origin), failed) {
        (Ok(()), _) => given.inventory = read,
        (Err(error), None) => return Err(error.into()),
        (Err(ini), Some(yaml)) => {
            return Err(SourceError::NoFormat { path: path.to_owned(), yaml: Box::new(yaml), ini: Box::new(ini) });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_files::MemoryFiles;

    fn hosts(given: &[(&str, &str)], sources: &[&str]) -> Result<String, String> {
        let files = MemoryFiles::new(given);
        let sources: Vec<String> = sources.iter().map(|source| (*source).to_owned()).collect();
        let given = read(&files, &sources, false).map_err(|error| error.to_string())?;
        let hosts: Vec<&str> = given.inventory.host_names().collect();
        Ok(format!("{} | {} | {}", hosts.join(" "), given.folders.join(" "), given.warnings.len()))
    }

    #[test]
    fn files_folders_and_lists_are_read() {
        let ini = ("/p/hosts", "[web]\na\nb\n");
        let yaml = ("/q/hosts.yml", "web: {hosts: {c: }}\n");
        assert_eq!(hosts(&[ini], &["/p/hosts"]).unwrap(), "a b | /p | 0");
        assert_eq!(hosts(&[ini, yaml], &["/p/hosts", "/q/hosts.yml", "x,y"]).unwrap(), "a b c x y | /p /q | 0");
        let folder = [ini, ("/p/sub/more", "d\n"), ("/p/group_vars/all", "x: 1\n"), ("/p/readme.md", "[\n")];
        assert_eq!(hosts(&folder, &["/p"]).unwrap(), "a b d | /p | 0");
        assert_eq!(hosts(&[ini], &["/p/none"]).unwrap(), " |  | 1");
    }

    #[test]
    fn other_files_are_refused() {
        let refused = |name: &str, text: &str, expect: &str| {
            let error = hosts(&[(name, text)], &[name]).unwrap_err();
            assert!(error.contains(expect), "{error}");
        };
        refused("/p/run.sh", "#!/bin/sh\n", "it is a program");
        refused("/p/a.toml", "[a]\n", "TOML");
        refused("/p/a.yml", "plugin: aws_ec2\n", "the inventory plugin `aws_ec2`");
        refused("/p/a.yml", "[a b]\n", "neither YAML nor INI");
        refused("/p/a.ini", "[a b]\n", "invalid section");
    }
}
