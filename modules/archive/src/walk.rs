//! Lists everything below the named paths, with folders before their contents.

use std::fs;
use std::path::{Path, PathBuf};

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_sdk::Failure;
use modbox_sdk::text_file::cannot;

/// How deep folders may nest.
const MAX_DEPTH: usize = 256;

/// A file, folder or link to pack.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) path: String,
    /// The name in the archive.
    pub(crate) name: String,
    /// Whether it is neither a file nor a folder nor a link.
    pub(crate) special: bool,
}

/// The patterns to exclude.
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(crate) fn new(globs: &[String]) -> Result<Self, Failure> {
        let pattern = |glob: &String| {
            Pattern::new(&format!(r"\A{}", glob_to_regex(glob)), Subject::Text, Flags::default())
                .map_err(|why| Failure::new(format!("failed to read the pattern `{glob}`: {why}")))
        };
        globs.iter().map(pattern).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn exclude(&self, text: &str) -> Result<bool, Failure> {
        for pattern in &self.0 {
            if pattern.search(text.as_bytes())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Lists everything to pack, except the archive itself.
pub(crate) fn items(targets: &[String], root: &str, own: &[&Path]) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    for target in targets.iter().filter(|target| !own.contains(&Path::new(target))) {
        // A named link stands for the folder that it leads to.
        if Path::new(target).is_dir() {
            below(target, root, own, 0, &mut items)?;
        } else {
            items.push(item(target.clone(), root)?);
        }
    }
    Ok(items)
}

fn item(path: String, root: &str) -> Result<Item, Failure> {
    let found = fs::symlink_metadata(&path).map_err(cannot("access", path.as_ref()))?;
    let special = !(found.is_file() || found.is_dir() || found.is_symlink());
    let name = path.strip_prefix(root).unwrap_or(&path).trim_start_matches('/').to_owned();
    Ok(Item { path, name, special })
}

fn below(folder: &str, root: &str, own: &[&Path], depth: usize, items: &mut Vec<Item>) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        return Err(Failure::new(format!("`{folder}` is deeper than {MAX_DEPTH} folders")));
    }
    let entries = fs::read_dir(folder).map_err(cannot("list", folder.as_ref()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path: PathBuf = entry.path();
        if own.contains(&&*path) {
            continue;
        }
        let text = path.to_str().map(str::to_owned);
        let text = text.ok_or_else(|| Failure::new(format!("the name of `{}` is not UTF-8", path.display())))?;
        names.push((text, entry.file_type()?.is_dir()));
    }
    names.sort();
    for (path, _) in &names {
        items.push(item(path.clone(), root)?);
    }
    for (path, _) in names.iter().filter(|(_, is_folder)| *is_folder) {
        below(path, root, own, depth + 1, items)?;
    }
    Ok(())
}
