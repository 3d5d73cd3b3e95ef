//! Finds, before anything is written, which members cannot take their places.
//!
//! `tar` replaces an entry of another kind, and of folders only empty ones. `unzip` replaces neither folders nor files by folders,
//! and keeps a link to a folder in a folder's place. The members are followed in their order, since earlier ones change what is there.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use modbox_sdk::{Failure, files};

use crate::dest::Dest;
use crate::member::{Kind, Member};

/// What a path is, as far as members are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Nothing,
    Folder,
    /// A link to a folder.
    LinkToFolder,
    Other,
}

/// The paths below `dest`, after some members.
pub(crate) struct Plan<'d> {
    dest: &'d Dest,
    is_zip: bool,
    /// What members have made. Below a new folder, nothing else is there.
    made: HashMap<PathBuf, Entry>,
}

impl<'d> Plan<'d> {
    pub(crate) fn new(dest: &'d Dest, is_zip: bool) -> Self {
        Self { dest, is_zip, made: HashMap::new() }
    }

    /// Adds a member that is written.
    ///
    /// # Errors
    ///
    /// It cannot take its place.
    pub(crate) fn add(&mut self, member: &Member) -> Result<(), Failure> {
        let folders: Vec<&Path> = member.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        for folder in folders.into_iter().rev() {
            match self.at(folder) {
                Entry::Folder => {}
                Entry::LinkToFolder if self.dest.holds(&folder.join("x")) => {}
                Entry::LinkToFolder => return Err(conflict(member, folder, "is a link that leads out of dest")),
                Entry::Nothing => self.make(folder, Entry::Folder),
                Entry::Other => return Err(conflict(member, folder, "is not a folder")),
            }
        }
        if member.path.as_os_str().is_empty() {
            return Ok(());
        }
        let path = &member.path;
        if let Kind::Hard(target) = &member.kind
            && (!self.dest.holds(target) || matches!(self.at(target), Entry::Nothing | Entry::Folder))
        {
            return Err(conflict(member, target, "is not a file in dest, so that it cannot become a hard link to it"));
        }
        match (self.at(path), member.kind == Kind::Directory) {
            (Entry::Folder, true) => {}
            (Entry::LinkToFolder, true) if self.is_zip => match self.dest.holds(&path.join("x")) {
                true => {}
                false => return Err(conflict(member, path, "is a link that leads out of dest")),
            },
            (Entry::Other, true) if self.is_zip => return Err(conflict(member, path, "is not a folder")),
            (_, true) => self.make(path, Entry::Folder),
            (Entry::Folder, false) if self.is_zip || !self.is_empty(path) => {
                return Err(conflict(member, path, "is a folder in its place"));
            }
            (_, false) => self.make(path, Entry::Other),
        }
        Ok(())
    }

    fn make(&mut self, path: &Path, entry: Entry) {
        self.made.insert(path.to_owned(), entry);
    }

    fn at(&self, path: &Path) -> Entry {
        if let Some(entry) = self.made.get(path) {
            return *entry;
        }
        if self.is_below_fresh(path) {
            return Entry::Nothing;
        }
        let path = self.dest.path.join(path);
        match files::stat(&path, false) {
            Err(_) => Entry::Nothing,
            Ok(found) if found.directory => Entry::Folder,
            Ok(found) if found.target.is_some() && path.is_dir() => Entry::LinkToFolder,
            Ok(_) => Entry::Other,
        }
    }

    fn is_empty(&self, folder: &Path) -> bool {
        let has_made = self.made.keys().any(|path| path.parent() == Some(folder));
        let is_empty =
            || std::fs::read_dir(self.dest.path.join(folder)).is_ok_and(|mut entries| entries.next().is_none());
        !has_made && (self.made.contains_key(folder) || is_empty())
    }

    fn is_below_fresh(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|folder| self.made.get(folder) == Some(&Entry::Folder))
    }
}

fn conflict(member: &Member, path: &Path, what: &str) -> Failure {
    let place = path.display();
    Failure::new(format!(
        "the member `{}` cannot be unpacked: `{place}` {what}; remove it first, or use `exclude`",
        member.name
    ))
}
