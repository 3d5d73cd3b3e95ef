//! What a layer gives to those who show or commit its changes: the contents of changed files, and the parts of a commit.
//!
//! This file compares nothing and commits nothing.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::path::Path;

use crate::changes::change::{Change, ChangeKind, Entry, EntryType};
use crate::commit::{Granted, Only, Start};
use crate::tree_root::TreeRoot;
use crate::views::layers::{Content, Layer};

impl Layer {
    /// Returns the content of a changed entry before and after: that of a file, and nothing for other types. More than
    /// `bound` bytes are cut to one byte more.
    ///
    /// # Errors
    ///
    /// A file cannot be read. The real one may have changed meanwhile.
    pub fn contents(&self, change: &Change, bound: u64) -> io::Result<[Vec<u8>; 2]> {
        let (real, view, name) = match &self.content {
            Content::Overlay(content) => (&content.real, content.overlay.view(), None),
            Content::Copy { copy, real, .. } => (real, &copy.view, None),
            Content::Stage(stage) => (stage.real(), stage.directory(), Some(Path::new(stage.name()))),
        };
        let old = match &change.kind {
            ChangeKind::Renamed { from } => from,
            _ => &change.path,
        };
        let (old, new) = (name.unwrap_or(old), name.unwrap_or(&change.path));
        Ok([content(real, old, change.before.as_ref(), bound)?, content(view, new, change.after.as_ref(), bound)?])
    }

    /// Returns the layer's part of a commit of these changes. `start` is a moment before the layer was made.
    #[must_use]
    pub fn granted(&self, changes: Vec<Change>, start: Start) -> Granted<'_> {
        let granted = |real, view| Granted { path: self.path.clone(), real, view, only: None, changes, start };
        match &self.content {
            Content::Overlay(content) => granted(content.real.as_fd(), content.overlay.view().as_fd()),
            Content::Copy { copy, real, .. } => granted(real.as_fd(), copy.view.as_fd()),
            Content::Stage(stage) => {
                let name = stage.name().to_owned();
                let parent = self.path.parent().unwrap_or_else(|| Path::new("/")).to_owned();
                let whole = granted(stage.real().as_fd(), stage.directory().as_fd());
                Granted { path: parent, only: Some(Only { staged: name.clone(), name }), ..whole }
            }
        }
    }
}

fn content(root: &TreeRoot, path: &Path, entry: Option<&Entry>, bound: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if entry.is_some_and(|entry| entry.entry_type == EntryType::File) {
        let file = std::fs::File::from(root.open_file(path)?);
        file.take(bound.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
