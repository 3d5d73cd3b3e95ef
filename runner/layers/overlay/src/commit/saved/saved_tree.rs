//! What a file with changes says of one granted directory or name, for those who show it before it is committed.
//!
//! Contents are read from where a commit reads them: new ones from the file, old ones from the machine. This file shows
//! and commits nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use crate::changes::change::{Change, ChangeKind, Entry, EntryType};
use crate::changes::change_list::{ChangeList, Totals};
use crate::commit::inode;
use crate::tree_root::TreeRoot;

use super::saved_error::SavedError;
use super::saved_manifest::{Payload, SavedGrant};

/// Changes of one granted directory or name, as they were saved.
#[derive(Debug)]
pub struct SavedTree<'a> {
    pub(super) file: &'a File,
    pub(super) grant: &'a SavedGrant,
    /// Position of its contents in the file.
    pub(super) position: u64,
}

impl SavedTree<'_> {
    /// Returns the path on the machine of the granted directory or name.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.grant.name.as_ref().map_or_else(|| self.grant.path.clone(), |name| self.grant.path.join(name))
    }

    /// Returns the changes. Their paths are relative to that path.
    #[must_use]
    pub fn changes(&self) -> ChangeList {
        let mut totals = Totals::default();
        self.grant.changes.iter().for_each(|change| totals.count(change));
        ChangeList { changes: self.grant.changes.clone(), totals, ..ChangeList::default() }
    }

    /// Returns the paths on the machine of files whose lines may not be shown.
    #[must_use]
    pub fn hidden_lines(&self) -> Vec<PathBuf> {
        let hidden = self.grant.hidden_lines.iter().filter_map(|index| self.grant.changes.get(*index));
        hidden.map(|change| change.path_below(&self.path())).collect()
    }

    /// Returns the content of a changed entry before and after: that of a file, and nothing for other types. More than
    /// `bound` bytes are cut to one byte more.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or the one on the machine is not the one that was there at the preview.
    pub fn contents(&self, change: &Change, bound: u64) -> io::Result<[Vec<u8>; 2]> {
        let old = match &change.kind {
            ChangeKind::Renamed { from } => from,
            _ => &change.path,
        };
        let name = self.grant.name.as_deref();
        let (old, new) = (name.unwrap_or(old), name.unwrap_or(&change.path));
        Ok([self.old(old, change.before.as_ref(), bound)?, self.new_content(new, change.after.as_ref(), bound)?])
    }

    /// Checks that new contents are those that the first `count` changes show, as far as they are shown: those of up to `bound`
    /// bytes.
    ///
    /// # Errors
    ///
    /// A content is another one, or cannot be read.
    pub fn check_contents(&self, count: usize, bound: u64) -> Result<(), SavedError> {
        for change in self.grant.changes.iter().take(count) {
            let path = self.grant.name.as_deref().unwrap_or(&change.path);
            let is_copied = self.grant.payload.iter().any(|one| one.path == path);
            let checked =
                if is_copied { self.new_content(path, change.after.as_ref(), bound).map(drop) } else { Ok(()) };
            checked.map_err(|cause| SavedError::Damaged {
                path: change.path_below(&self.path()),
                reason: cause.to_string(),
            })?;
        }
        Ok(())
    }

    fn old(&self, path: &Path, entry: Option<&Entry>, bound: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let Some(entry) = entry.filter(|entry| entry.entry_type == EntryType::File) else { return Ok(bytes) };
        let changed = || io::Error::other("it was changed after the preview");
        let root = TreeRoot::open(&self.grant.path)?;
        // Opening another type, such as a device, can have effects.
        let parent = inode::open_below(&root, path.parent().unwrap_or_else(|| Path::new("")))?;
        let found = inode::look(&parent, path.file_name().unwrap_or_default())?.ok_or(Errno::NOENT)?;
        if inode::entry_type(found.st_mode) != EntryType::File {
            return Err(changed());
        }
        File::from(root.open_file(path)?).take(bound.saturating_add(1)).read_to_end(&mut bytes)?;
        if is_another(&bytes, entry, bound) { Err(changed()) } else { Ok(bytes) }
    }

    fn new_content(&self, path: &Path, entry: Option<&Entry>, bound: u64) -> io::Result<Vec<u8>> {
        let Some(entry) = entry.filter(|entry| entry.entry_type == EntryType::File) else { return Ok(Vec::new()) };
        let payload = &self.grant.payload;
        let index = payload.iter().position(|one| one.path == path).ok_or(Errno::NOENT)?;
        let index = payload.get(index).and_then(|one| one.link).unwrap_or(index);
        let one = payload.get(index).ok_or(Errno::NOENT)?;
        let before: u64 = payload.iter().take(index).map(length).sum();
        let wanted = one.entry.size.min(bound.saturating_add(1));
        let mut bytes = vec![0; usize::try_from(wanted).map_err(|_| Errno::FBIG)?];
        let mut position = self.position + before;
        for (start, length) in &one.data {
            let end = start.saturating_add(*length).min(wanted);
            // What is between the parts has no blocks, and consists of zeros.
            let part = (usize::try_from(*start).unwrap_or(usize::MAX), usize::try_from(end).unwrap_or(usize::MAX));
            let Some(block) = bytes.get_mut(part.0..part.1) else { break };
            self.file.read_exact_at(block, position)?;
            position += length;
        }
        if is_another(&bytes, entry, bound) {
            return Err(io::Error::other("its digest is not that of its content"));
        }
        Ok(bytes)
    }
}

/// Returns whether a content is not that of an entry. More than `bound` bytes are not compared, and not shown.
fn is_another(bytes: &[u8], entry: &Entry, bound: u64) -> bool {
    bytes.len() as u64 <= bound && entry.digest != Some(Sha256::digest(bytes).into())
}

/// Returns the length of an entry's content in the file.
pub(super) fn length(one: &Payload) -> u64 {
    one.data.iter().map(|(_, length)| length).sum()
}
