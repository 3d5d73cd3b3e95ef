//! Lists the entries of a view that a commit copies, as a file with changes holds them.
//!
//! A list of changes does not name what moves with a renamed directory, so trees are walked. What a commit would refuse
//! is refused here. This file writes nothing.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::changes::change::{Entry, EntryType};
use crate::changes::entry_reader::{self, FileId, FoundEntry};
use crate::commit::payload_copy::MAX_DEPTH;
use crate::commit::plan::{Action, Owners, Reason, Refusal, Step, is_kept, is_ours, refuse_entry};
use crate::commit::prepare::Granted;
use crate::tree_root::TreeRoot;
use crate::trees::file_holes::next_data;

use super::saved_manifest::Payload;

/// Upper bound of the entries of one list.
pub(super) const MAX_ENTRIES: usize = 1 << 20;

/// Upper bound of the parts of one file. The holes of a file with more parts are not kept.
const MAX_PARTS: usize = 1 << 12;

/// What ends a listing.
#[derive(Debug)]
pub(super) enum Unlisted {
    /// A commit does not make it.
    Refused(Refusal),
    /// It cannot be read.
    State(PathBuf, io::Error),
    /// There is more than the bound.
    TooMany,
}

/// List of the new state of one granted directory or name.
pub(super) struct PayloadListing<'a> {
    granted: &'a Granted<'a>,
    owners: &'a Owners<'a>,
    view: TreeRoot,
    /// Files with several names: the number of names, that of the names found, and the index of the first one.
    links: BTreeMap<FileId, (u64, u64, usize)>,
    entries: Vec<Payload>,
}

impl<'a> PayloadListing<'a> {
    /// Lists what these steps copy.
    pub(super) fn of(
        granted: &'a Granted<'a>,
        steps: &[Step<'_>],
        owners: &'a Owners<'a>,
    ) -> Result<Vec<Payload>, Unlisted> {
        let failed = |cause| Unlisted::State(granted.path.clone(), io::Error::from(cause));
        let view = rustix::io::fcntl_dupfd_cloexec(granted.view, 0).map_err(failed)?;
        let (links, entries) = (BTreeMap::new(), Vec::new());
        let mut listing = Self { granted, owners, view: TreeRoot::new(view), links, entries };
        for step in steps.iter().filter(|step| matches!(step.action, Action::Create | Action::Replace)) {
            listing.add_step(step)?;
        }
        // A copy would not be linked to the names that are not copied.
        if listing.links.values().any(|(names, found, _)| found < names) {
            return Err(listing.refused(Path::new(""), Reason::Linked));
        }
        Ok(listing.entries)
    }

    /// Returns the path in the view of an entry, which has another name if only a name is granted.
    pub(super) fn path_in_view<'b>(granted: &'b Granted<'_>, path: &'b Path) -> &'b Path {
        granted.only.as_ref().map_or(path, |only| Path::new(&only.staged))
    }

    fn add_step(&mut self, step: &Step<'_>) -> Result<(), Unlisted> {
        let index = self.entries.len();
        self.add(&step.path, step.before, 0)?;
        let is_listed = |made: &Payload| step.after.is_some_and(|after| is_as(&made.entry, after));
        match self.entries.get(index) {
            Some(made) if is_listed(made) => Ok(()),
            _ => Err(self.refused(&step.path, Reason::Contradiction)),
        }
    }

    fn add(&mut self, path: &Path, before: Option<&Entry>, depth: usize) -> Result<(), Unlisted> {
        if self.entries.len() >= MAX_ENTRIES {
            return Err(Unlisted::TooMany);
        }
        if depth > MAX_DEPTH {
            return Err(self.refused(path, Reason::Depth));
        }
        let FoundEntry { mut entry, id, .. } = self.read(path)?;
        if entry.entry_type == EntryType::Symlink {
            entry.xattrs.clear();
        }
        if let Some(reason) = refuse_entry(before, &entry, self.owners) {
            return Err(self.refused(path, reason));
        }
        entry.xattrs.retain(|name, _| is_kept(name));
        let link = self.link(&entry, id);
        let data = if link.is_none() { self.data(path, &entry)? } else { Vec::new() };
        let is_directory = entry.entry_type == EntryType::Directory;
        self.entries.push(Payload { path: path.to_owned(), entry, link, data });
        if is_directory { self.add_below(path, depth) } else { Ok(()) }
    }

    fn add_below(&mut self, path: &Path, depth: usize) -> Result<(), Unlisted> {
        let names = self.view.names(path).map_err(|cause| Unlisted::State(path.to_owned(), cause))?;
        for name in names {
            let below = path.join(&name);
            if is_ours(&name) {
                return Err(self.refused(&below, Reason::Name));
            }
            self.add(&below, None, depth + 1)?;
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<FoundEntry, Unlisted> {
        let found = entry_reader::read(&self.view, Self::path_in_view(self.granted, path));
        let found = found.and_then(|found| found.ok_or_else(|| io::ErrorKind::NotFound.into()));
        found.map_err(|cause| Unlisted::State(path.to_owned(), cause))
    }

    /// Returns the index of an earlier name of the same file, and counts this one.
    fn link(&mut self, entry: &Entry, id: FileId) -> Option<usize> {
        if entry.entry_type != EntryType::File || entry.links < 2 {
            return None;
        }
        let index = self.entries.len();
        let (_, found, first) = self.links.entry(id).or_insert((entry.links, 0, index));
        *found += 1;
        (*first != index).then_some(*first)
    }

    /// Returns the parts of a file that have blocks.
    fn data(&self, path: &Path, entry: &Entry) -> Result<Vec<(u64, u64)>, Unlisted> {
        if entry.entry_type != EntryType::File {
            return Ok(Vec::new());
        }
        let failed = |cause| Unlisted::State(path.to_owned(), cause);
        let file = File::from(self.view.open_file(Self::path_in_view(self.granted, path)).map_err(failed)?);
        let (mut parts, mut position) = (Vec::new(), 0);
        while position < entry.size {
            let Some((start, end)) = next_data(&file, position, entry.size).map_err(|e| failed(e.into()))? else {
                break;
            };
            if parts.len() >= MAX_PARTS {
                return Ok(vec![(0, entry.size)]);
            }
            parts.push((start, end.min(entry.size) - start));
            position = end;
        }
        Ok(parts)
    }

    fn refused(&self, path: &Path, reason: Reason) -> Unlisted {
        let is_root = path.as_os_str().is_empty();
        let path = if is_root { self.granted.path.clone() } else { self.granted.path.join(path) };
        Unlisted::Refused(Refusal { path, reason })
    }
}

/// Returns whether an entry of the view is the one that is listed.
fn is_as(found: &Entry, after: &Entry) -> bool {
    let is_file = found.entry_type == EntryType::File;
    let is_link = found.entry_type == EntryType::Symlink;
    found.entry_type == after.entry_type
        && (is_link || found.mode == after.mode)
        && (!is_link || found.target == after.target)
        && (!is_file || (found.size == after.size && found.modified == after.modified))
}
