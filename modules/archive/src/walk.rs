//! Lists everything below the named paths, in the order of Python's `os.walk`: of each folder the folders in it, then the
//! other entries, as the file system lists them, and then what is in these folders.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use modbox_sdk::Failure;
use modbox_sdk::files;
use modbox_sdk::text_file::cannot;

use crate::item::{Item, Patterns};
use crate::place::ArchivePlace;

/// How deep folders may nest.
const MAX_DEPTH: usize = 256;

/// Lists everything to pack, except the archive itself where the original leaves it out.
///
/// # Errors
///
/// A path cannot be read, or would be the archive itself.
pub(crate) fn items(
    targets: &[String],
    root: &str,
    own: &ArchivePlace,
    patterns: &Patterns,
) -> Result<Vec<Item>, Failure> {
    let mut walk = Walk { root, own, patterns, items: Vec::new() };
    for target in targets {
        // A named link stands for the folder that it leads to.
        if Path::new(target).is_dir() {
            walk.below(target, 0)?;
        } else {
            let item = item(target.clone(), root, own)?;
            if own.overwrites(&item) {
                return Err(own.conflict(target));
            }
            walk.items.push(item);
        }
    }
    Ok(walk.items)
}

struct Walk<'w> {
    root: &'w str,
    own: &'w ArchivePlace,
    patterns: &'w Patterns,
    items: Vec<Item>,
}

impl Walk<'_> {
    fn below(&mut self, folder: &str, depth: usize) -> Result<(), Failure> {
        if depth > MAX_DEPTH {
            return Err(Failure::new(format!("`{folder}` is deeper than {MAX_DEPTH} folders")));
        }
        if let Some(path) = self.own.unmade_in(folder) {
            let name = name(&path, self.root);
            if !self.own.is_excluded(&path, &name, self.patterns)? {
                return Err(self.own.conflict(&path));
            }
        }
        let (mut folders, mut others) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(folder).map_err(cannot("list", folder.as_ref()))? {
            let path = entry?.path();
            let text = path.to_str().map(str::to_owned);
            let text = text.ok_or_else(|| Failure::new(format!("the name of `{}` is not UTF-8", path.display())))?;
            if path.is_dir() { folders.push(text) } else { others.push(text) }
        }
        for path in folders.iter().chain(&others) {
            if self.own.is_skipped(path) {
                continue;
            }
            let item = item(path.clone(), self.root, self.own)?;
            if self.own.overwrites(&item) && !self.own.is_excluded(path, &item.name, self.patterns)? {
                return Err(self.own.conflict(path));
            }
            self.items.push(item);
        }
        for path in &folders {
            if !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
                self.below(path, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn item(path: String, root: &str, own: &ArchivePlace) -> Result<Item, Failure> {
    let found = files::stat(&path, false).map_err(cannot("access", path.as_ref()))?;
    let modified = if own.is_made_in(&found) {
        SystemTime::now().into()
    } else {
        files::times(&path, false).map_err(cannot("access", path.as_ref()))?.modification
    };
    Ok(Item { name: name(&path, root), path, found, modified })
}

fn name(path: &str, root: &str) -> String {
    path.strip_prefix(root).unwrap_or(path).to_owned()
}
