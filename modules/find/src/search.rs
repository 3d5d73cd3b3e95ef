//! Walks folders in the order of Python's `os.walk`: the entries of a folder before the folders in it, other entries
//! before folders, and otherwise as the file system lists them. With `limit`, that order decides what is found.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use modbox_sdk::files::{self, Times};
use modbox_sdk::fs::words;
use modbox_sdk::{Dict, Failure, Module, Value};

use crate::args::FindArgs;
use crate::filter::Filter;

/// The most matches. Each is a dict in the result.
const MAX_FILES: usize = 100_000;

/// How deep folders are searched, with links that form a circle.
const MAX_DEPTH: usize = 256;

/// A search and what it found so far.
pub(crate) struct Search<'a> {
    args: &'a FindArgs,
    filter: Filter<'a>,
    /// Whether a match has the blocks that it takes, as since ansible-core 2.21.
    tells_blocks: bool,
    /// The matches.
    pub(crate) files: Vec<Value>,
    /// The number of examined entries.
    pub(crate) examined: usize,
    /// Paths that could not be searched, with the reason.
    pub(crate) skipped: Dict,
    /// What is said at the end, unless there was a warning.
    pub(crate) message: &'static str,
    /// Whether there was a warning.
    pub(crate) has_warned: bool,
}

impl<'a> Search<'a> {
    pub(crate) fn new(args: &'a FindArgs, module: &Module) -> Result<Self, Failure> {
        Ok(Self {
            args,
            filter: Filter::new(args, module)?,
            tells_blocks: module.is_since(2, 21),
            files: Vec::new(),
            examined: 0,
            skipped: Dict::new(),
            message: "All paths examined",
            has_warned: false,
        })
    }

    /// Searches one of the paths. A path that cannot be searched is a warning.
    ///
    /// # Errors
    ///
    /// Too many files match.
    pub(crate) fn path(&mut self, path: &str, module: &mut Module) -> Result<(), Failure> {
        let searched = if modbox_sdk::fs::is_dir(path) {
            self.walk(path, module).map_err(|error| words(&error))
        } else {
            Err(format!("'{path}' is not a directory"))
        };
        if let Err(why) = searched {
            module.warn(format!("Skipped '{path}' path due to this access issue: {why}\n"));
            self.skip(path.into(), &why);
            self.has_warned = true;
        }
        if self.files.len() > MAX_FILES {
            return Err(Failure::new(format!("more than {MAX_FILES} files match; narrow the search, or set `limit`")));
        }
        Ok(())
    }

    fn walk(&mut self, top: &str, module: &mut Module) -> io::Result<()> {
        let mut left = vec![(PathBuf::from(top), 1)];
        while let Some((folder, depth)) = left.pop() {
            let (others, mut folders) = match entries(&folder) {
                Ok(entries) => entries,
                Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => {
                    self.skip(value(&folder), &python(&error, &folder));
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.examined += others.len() + folders.len();
            if self.folder(top, &folder, &others, &mut folders, module)? {
                return Ok(());
            }
            if depth > MAX_DEPTH || self.files.len() > MAX_FILES {
                return Ok(());
            }
            let inner = folders.into_iter().rev().map(|name| folder.join(name));
            let inner = inner.filter(|path| self.args.follow || !path.is_symlink());
            left.extend(inner.map(|path| (path, depth + 1)));
        }
        Ok(())
    }

    /// Looks at the entries of a folder. `folders` loses all if they are deeper than `depth`. Returns whether the search
    /// ends with this folder.
    fn folder(
        &mut self,
        top: &str,
        folder: &Path,
        others: &[PathBuf],
        folders: &mut Vec<PathBuf>,
        module: &mut Module,
    ) -> io::Result<bool> {
        for name in others.iter().cloned().chain(folders.clone()) {
            let path = normal(&folder.join(name));
            if self.is_too_deep(top, &path) {
                folders.clear();
                continue;
            }
            if self.filter.is_hidden(&path) {
                continue;
            }
            // Reading the contents changes the time of access.
            match fs::symlink_metadata(&path).and_then(|metadata| Ok((metadata, files::times(&path, false)?))) {
                Ok((metadata, times)) => {
                    if self.filter.fits(&path, &metadata, &times)? {
                        let found = self.describe(&path, &metadata, &times)?;
                        self.files.push(found);
                    }
                }
                Err(error) => {
                    let why = python(&error, &path);
                    module.warn(format!("Skipped entry '{}' due to access issue: {why}", path.display()));
                    self.skip(value(&path), &why);
                    self.has_warned = true;
                    continue;
                }
            }
            // As in ansible-core, a second path goes on where the first one has met the limit.
            if self.is_at_limit() {
                self.message = "Limit of matches reached";
                break;
            }
        }
        Ok(!self.args.recurse || self.is_at_limit())
    }

    fn is_at_limit(&self) -> bool {
        self.args.limit.is_some_and(|limit| usize::try_from(limit).is_ok_and(|limit| self.files.len() == limit))
    }

    fn is_too_deep(&self, top: &str, path: &Path) -> bool {
        let Some(most) = self.args.depth.filter(|most| *most != 0) else { return false };
        let slashes = |text: &[u8]| text.iter().filter(|byte| **byte == b'/').count();
        let start = slashes(top.trim_end_matches('/').as_bytes()) + 1;
        let depth = slashes(path.as_os_str().as_encoded_bytes()) + 1;
        i64::try_from(depth).unwrap_or(i64::MAX).saturating_sub(i64::try_from(start).unwrap_or(i64::MAX)) > most
    }

    fn skip(&mut self, path: Value, why: &str) {
        let name = modbox_sdk::json::str(&path);
        self.skipped.insert(name, Value::from(why));
    }

    fn describe(&self, path: &Path, metadata: &Metadata, times: &Times) -> io::Result<Value> {
        let mut entries = Dict::from_iter([
            entry("path", value(path)),
            entry("isdir", metadata.is_dir()),
            entry("isreg", metadata.is_file()),
            entry("islnk", metadata.is_symlink()),
            entry("size", metadata.len()),
            entry("pw_name", ""),
            entry("gr_name", ""),
        ]);
        // Without modes and owners where a host has none.
        if let Ok(attributes) = files::stat(path, false) {
            entries.extend(attributes.entries());
            if self.tells_blocks {
                entries
                    .extend([entry("blocks", attributes.blocks), entry("disk_usage_bytes", attributes.disk_usage())]);
            }
        }
        let named = [("mtime", times.modification), ("atime", times.access), ("ctime", times.change)];
        entries.extend(named.map(|(key, time)| entry(key, time.as_seconds())));
        if self.args.get_checksum && metadata.is_file() {
            entries.extend([entry("checksum", modbox_checksum::of_file(path, &self.args.checksum_algorithm)?)]);
        }
        Ok(Value::Dict(entries))
    }
}

/// Returns the names in a folder: those of other entries, and those of folders and of links to them.
fn entries(folder: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut others, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type().is_ok_and(|found| found.is_dir())
            || entry.file_type().is_ok_and(|found| found.is_symlink()) && entry.path().is_dir();
        let list = if is_folder { &mut folders } else { &mut others };
        list.push(PathBuf::from(entry.file_name()));
    }
    Ok((others, folders))
}

/// Returns a path without `.`, `..` and double slashes, as Python's `os.path.normpath` does by the letters.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if normal.file_name().is_some_and(|name| name != "..") => {
                normal.pop();
            }
            Component::ParentDir if normal.has_root() => {}
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

fn value(path: &Path) -> Value {
    modbox_sdk::fs::path_value(path)
}

/// Formats an error as Python does for a path.
fn python(error: &io::Error, path: &Path) -> String {
    let shown = modbox_sdk::json::repr(&value(path));
    match error.kind() {
        ErrorKind::NotFound => format!("[Errno 2] No such file or directory: {shown}"),
        ErrorKind::PermissionDenied => format!("[Errno 13] Permission denied: {shown}"),
        _ => format!("{}: {shown}", words(error)),
    }
}

fn entry(key: &str, value: impl Into<Value>) -> (String, Value) {
    (key.to_owned(), value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_in_python() {
        for (path, expect) in
            [("/a/./b//c", "/a/b/c"), ("/a/../b", "/b"), ("/../a", "/a"), ("../a/..", ".."), ("../../a", "../../a")]
        {
            assert_eq!(normal(Path::new(path)), Path::new(expect), "{path}");
        }
    }
}
