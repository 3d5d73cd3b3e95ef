//! Files in memory, for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::files::{FileDetails, FileError, FileKind, PlayFiles};
use crate::paths;

/// Files in memory, by their paths. Paths below `/denied` may not be looked at.
#[derive(Debug, Default)]
pub(crate) struct MemoryFiles {
    files: BTreeMap<String, Vec<u8>>,
    links: BTreeMap<String, String>,
}

impl MemoryFiles {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::of_bytes(&files.iter().map(|(path, content)| (*path, content.as_bytes())).collect::<Vec<_>>())
    }

    pub(crate) fn of_bytes(files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(path, content)| ((*path).to_owned(), content.to_vec())).collect();
        Self { files, links: BTreeMap::new() }
    }

    /// Adds a symbolic link with an absolute target.
    pub(crate) fn with_link(mut self, path: &str, target: &str) -> Self {
        self.links.insert(path.to_owned(), target.to_owned());
        self
    }

    /// Returns the path without links.
    fn real(&self, path: &str) -> Result<String, FileError> {
        let path = paths::normalize(path);
        if paths::is_inside(&path, "/denied") {
            let remedy = format!("allow it with `--allow-read {path}`");
            return Err(FileError::Denied { path, reason: "it is outside of the play's folders".to_owned(), remedy });
        }
        let link = self.links.iter().find(|(link, _)| paths::is_inside(&path, link));
        Ok(link.map_or_else(|| path.clone(), |(link, target)| format!("{target}{}", &path[link.len()..])))
    }
}

impl PlayFiles for MemoryFiles {
    fn bytes(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let found = self.files.get(&self.real(path)?);
        found.cloned().ok_or_else(|| FileError::NotFound { path: path.to_owned() })
    }

    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        let path = self.real(path)?;
        if self.files.contains_key(&path) {
            return Ok(Some(FileKind::File));
        }
        let is_folder = self.files.keys().chain(self.links.keys()).any(|file| paths::is_inside(file, &path));
        Ok(is_folder.then_some(FileKind::Folder))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileError> {
        let folder = self.real(folder)?;
        let inside = |file: &String| {
            let rest = file.strip_prefix(&folder)?.strip_prefix('/')?;
            rest.split('/').next().map(str::to_owned)
        };
        let names: BTreeSet<String> = self.files.keys().chain(self.links.keys()).filter_map(inside).collect();
        Ok(names.into_iter().collect())
    }

    fn details(&self, path: &str) -> Result<FileDetails, FileError> {
        let mode = match self.kind(path)? {
            Some(FileKind::File) => 0o640,
            Some(FileKind::Folder) => 0o755,
            None => return Err(FileError::NotFound { path: path.to_owned() }),
        };
        Ok(FileDetails { mode, modified: Duration::from_secs(1_700_000_000), owner: "root".to_owned() })
    }

    fn link(&self, path: &str) -> Result<Option<String>, FileError> {
        match self.links.get(&paths::normalize(path)) {
            Some(target) => Ok(Some(target.clone())),
            None if self.kind(path)?.is_none() => Err(FileError::NotFound { path: path.to_owned() }),
            None => Ok(None),
        }
    }
}
