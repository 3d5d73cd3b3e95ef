//! The files, folders and links below a folder of the play's tree, as `copy` copies them.

use crate::files::{FileError, FileKind, PlayFiles};
use crate::paths;

/// How many entries a folder may have, at all depths.
const MAX_ENTRIES: usize = 100_000;

/// How deep folders may nest.
const MAX_DEPTH: usize = 64;

/// A file or a folder, and its path in the copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEntry {
    /// Where it is; for a link, what it leads to.
    pub source: String,
    /// The path in the copy.
    pub name: String,
}

/// What is below a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LocalTree {
    /// Files.
    pub files: Vec<LocalEntry>,
    /// Folders.
    pub folders: Vec<LocalEntry>,
    /// Links that are copied as links.
    pub links: Vec<LocalEntry>,
}

/// Collects what is below a folder. Names in the copy begin with the folder's own name, unless the path ends in a slash.
///
/// With `follow`, a link is what it leads to. One that leads to nothing, or to a folder that it is in, stays a link.
///
/// # Errors
///
/// A folder cannot be read, or has too much in it.
pub fn walk(files: &dyn PlayFiles, folder: &str, follow: bool) -> Result<LocalTree, FileError> {
    let top = paths::normalize(folder);
    let name = if folder.ends_with('/') { "" } else { paths::name(&top) };
    let mut walk = Walk { files, follow, tree: LocalTree::default() };
    walk.folder(&top, name, &mut vec![top.clone()])?;
    Ok(walk.tree)
}

struct Walk<'a> {
    files: &'a dyn PlayFiles,
    follow: bool,
    tree: LocalTree,
}

impl Walk<'_> {
    /// Adds what is in a folder. `open` are the real paths of the folders around it.
    fn folder(&mut self, path: &str, name: &str, open: &mut Vec<String>) -> Result<(), FileError> {
        let error = |reason: String| FileError::Other { path: path.to_owned(), reason };
        if open.len() > MAX_DEPTH {
            return Err(error(format!("its folders are nested more than {MAX_DEPTH} levels deep")));
        }
        let mut inner = Vec::new();
        for entry in self.files.list(path)? {
            let (source, copy) = (paths::join(path, &entry), paths::join(name, &entry));
            let count = self.tree.files.len() + self.tree.folders.len() + self.tree.links.len();
            if count >= MAX_ENTRIES {
                return Err(error(format!("it has more than {MAX_ENTRIES} entries")));
            }
            let target = self.files.link(&source)?;
            match (target, self.kind(&source)?) {
                (Some(target), None) => self.tree.links.push(LocalEntry { source: target, name: copy }),
                (Some(target), _) if !self.follow => self.tree.links.push(LocalEntry { source: target, name: copy }),
                (Some(target), Some(FileKind::Folder)) => {
                    let real = paths::normalize(&paths::join(path, &target));
                    if open.iter().any(|folder| paths::is_inside(folder, &real)) {
                        self.tree.links.push(LocalEntry { source: target, name: copy });
                    } else {
                        inner.push((real, copy));
                    }
                }
                (None, Some(FileKind::Folder)) => inner.push((source, copy)),
                (_, Some(FileKind::File)) => self.tree.files.push(LocalEntry { source, name: copy }),
                (None, None) => return Err(FileError::NotFound { path: source }),
            }
        }
        for (source, copy) in inner {
            self.tree.folders.push(LocalEntry { source: source.clone(), name: copy.clone() });
            open.push(source.clone());
            self.folder(&source, &copy, open)?;
            open.pop();
        }
        Ok(())
    }

    /// Returns what a path leads to. Without following links, it does not matter where they lead.
    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        match self.files.kind(path) {
            Err(_) if !self.follow => Ok(None),
            found => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_files::MemoryFiles;

    fn names(entries: &[LocalEntry]) -> String {
        entries.iter().map(|entry| format!("{}={}", entry.name, entry.source)).collect::<Vec<_>>().join(" ")
    }

    fn check(folder: &str, follow: bool, files: &str, folders: &str, links: &str) {
        let tree = MemoryFiles::new(&[("/p/d/a", ""), ("/p/d/s/b", ""), ("/p/o/c", "")])
            .with_link("/p/d/l", "/p/o")
            .with_link("/p/d/loop", "/p/d")
            .with_link("/p/d/lost", "/p/none")
            .with_link("/p/d/z", "/p/o/c");
        let found = walk(&tree, folder, follow).unwrap();
        assert_eq!(names(&found.files), files);
        assert_eq!(names(&found.folders), folders);
        assert_eq!(names(&found.links), links);
    }

    #[test]
    fn a_folder_has_its_name_unless_it_ends_in_a_slash() {
        check("/p/o", true, "o/c=/p/o/c", "", "");
        check("/p/o/", true, "c=/p/o/c", "", "");
    }

    #[test]
    fn links_are_followed_unless_they_go_round() {
        let files = "a=/p/d/a z=/p/d/z l/c=/p/o/c s/b=/p/d/s/b";
        check("/p/d/", true, files, "l=/p/o s=/p/d/s", "loop=/p/d lost=/p/none");
        let links = "l=/p/o loop=/p/d lost=/p/none z=/p/o/c";
        check("/p/d/", false, "a=/p/d/a s/b=/p/d/s/b", "s=/p/d/s", links);
    }
}
