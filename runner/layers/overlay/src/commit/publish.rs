//! Publishes the operations of a transaction, or takes them back, one rename each.
//!
//! The temporary alone tells whether an operation was made: it has a name of ours, and so no other process uses it. After
//! an exchange, what came out is looked at; if it is not what was expected, it goes back. Each function can be called
//! again after a crash at any point. This file does not decide the direction.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::rc::Rc;

use rustix::io::Errno;

use super::attributes::Attributes;
use super::conflict;
use super::directories::Directories;
use super::disk_calls::DiskCalls;
use super::failure::{Context, Failure, Why};
use super::inode::{self, Inode, look, number};
use super::journal::{Below, Operation, OperationKind};
use super::prepare::read_attributes;

/// Publisher of one transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Publisher<'a> {
    pub(super) calls: DiskCalls<'a>,
    pub(super) directories: &'a Directories<'a>,
    /// When the view was made.
    pub(super) since: i128,
}

/// An operation at its opened directory.
struct Place<'a> {
    dir: Rc<OwnedFd>,
    operation: &'a Operation,
    /// Second name of what has the name, where the file system has no exchange.
    second: OsString,
    path: PathBuf,
}

impl<'a> Publisher<'a> {
    /// Opens the directory of an operation by its path.
    fn place(self, operation: &'a Operation) -> Result<Place<'a>, Failure> {
        Ok(self.place_in(operation, self.directories.open(operation.directory)?))
    }

    fn place_in(self, operation: &'a Operation, dir: Rc<OwnedFd>) -> Place<'a> {
        let path = self.directories.path(operation.directory, &operation.name);
        Place { dir, operation, second: operation.second_temporary(), path }
    }

    /// Returns whether an operation was made, as its temporary says. Finishes an exchange that was interrupted.
    pub(super) fn is_made(self, operation: &'a Operation) -> Result<bool, Failure> {
        let place = self.place(operation)?;
        match &operation.kind {
            OperationKind::Create { new, .. } => {
                Ok(number(&place.dir, &operation.temporary).context("look at", &place.path)? != Some(new.number))
            }
            OperationKind::Replace { .. } => {
                self.finish_exchange(&place)?;
                place.holds_old()
            }
            OperationKind::Remove { .. } => place.holds_old(),
            OperationKind::Attributes { new, .. } => {
                let found = read_attributes(&place.dir).context("read the attributes of", &place.path)?;
                Ok(found == *new)
            }
        }
    }

    /// Checks that an operation that was not made can be made.
    pub(super) fn check_possible(self, operation: &'a Operation) -> Result<(), Failure> {
        Self::check_place(&self.place(operation)?)
    }

    fn check_place(place: &Place<'_>) -> Result<(), Failure> {
        let operation = place.operation;
        if let Some((new, _)) = operation.new_state()
            && number(&place.dir, &operation.temporary).context("look at", &place.path)? != Some(new.number)
        {
            return Err(Failure::conflict(&place.path, Why::Gone));
        }
        match &operation.kind {
            OperationKind::Create { new, .. } => check_free_or(place, new),
            OperationKind::Replace { old, .. } | OperationKind::Remove { old } => check_old(place, old),
            OperationKind::Attributes { old, new } => check_attributes(place, old, new),
        }
    }

    /// Makes an operation.
    pub(super) fn apply(self, operation: &'a Operation) -> Result<(), Failure> {
        let place = self.place_in(operation, self.directories.open_or_last(operation.directory)?);
        Self::check_place(&place)?;
        match &operation.kind {
            OperationKind::Create { new, .. } => self.create(&place, new),
            OperationKind::Replace { old, .. } => self.replace(&place, old),
            OperationKind::Remove { old } => self.remove(&place, old),
            OperationKind::Attributes { new, .. } => self.set(&place, new),
        }
    }

    fn create(self, place: &Place<'_>, new: &Inode) -> Result<(), Failure> {
        let operation = place.operation;
        if number(&place.dir, &operation.name).context("look at", &place.path)? == Some(new.number) {
            // Both names are there where a rename is a link and a removal.
            return self.calls.remove_file(&place.dir, &operation.temporary).context("publish", &place.path);
        }
        match self.calls.rename_free(&place.dir, &operation.temporary, &operation.name) {
            Err(Errno::EXIST) => Err(Failure::conflict(&place.path, Why::Taken)),
            made => made.context("publish", &place.path),
        }
    }

    fn replace(self, place: &Place<'_>, old: &Inode) -> Result<(), Failure> {
        self.swap(place)?;
        let looked = self.check_taken(place, old);
        if looked.is_err() {
            self.swap(place)?;
        }
        looked
    }

    fn remove(self, place: &Place<'_>, old: &Inode) -> Result<(), Failure> {
        let operation = place.operation;
        match self.calls.rename_free(&place.dir, &operation.name, &operation.temporary) {
            Err(Errno::NOENT) => return Err(Failure::conflict(&place.path, Why::Gone)),
            made => made.context("remove", &place.path)?,
        }
        let looked = self.check_taken(place, old);
        if looked.is_err() {
            self.give_back(place)?;
        }
        looked
    }

    fn set(self, place: &Place<'_>, attributes: &Attributes) -> Result<(), Failure> {
        let opened = inode::open_entry(&place.dir, ".".as_ref()).context("open", &place.path)?;
        attributes.set(self.calls, opened).context("set the attributes of", &place.path)
    }

    /// Checks that the directory is the recorded one, and that what was taken away is what was expected, with all below.
    pub(super) fn check_all_taken(self, operation: &'a Operation) -> Result<(), Failure> {
        let dir = self.directories.open_or_last(operation.directory)?;
        match operation.old_state() {
            Some(old) => self.check_taken(&self.place_in(operation, dir), old),
            None => Ok(()),
        }
    }

    fn check_taken(self, place: &Place<'_>, old: &Inode) -> Result<(), Failure> {
        let temporary = &place.operation.temporary;
        let found = look(&place.dir, temporary).context("look at the old state of", &place.path)?;
        if !found.is_some_and(|found| Inode::of(&found).is_same(old)) {
            return Err(Failure::conflict(&place.path, Why::Changed));
        }
        if old.is_directory() { conflict::check_below(&place.dir, temporary, &place.path, self.since) } else { Ok(()) }
    }

    /// Exchanges a name with its temporary, also where the file system has no such call.
    fn swap(self, place: &Place<'_>) -> Result<(), Failure> {
        let operation = place.operation;
        match self.calls.exchange(&place.dir, &operation.name, &operation.temporary) {
            Err(Errno::INVAL | Errno::NOSYS) => {}
            Err(Errno::NOENT) => return Err(Failure::conflict(&place.path, Why::Gone)),
            made => return made.context("exchange", &place.path),
        }
        if place.has_directory()? {
            self.move_twice(place)?;
            return self.finish_exchange(place);
        }
        match self.calls.link(&place.dir, &operation.name, &place.dir, &place.second) {
            Ok(()) => {
                let replaced = self.calls.replace(&place.dir, &operation.temporary, &operation.name);
                if let Err(cause) = replaced {
                    self.finish_exchange(place)?;
                    return Err(cause).context("replace", &place.path);
                }
            }
            Err(Errno::NOENT) => return Err(Failure::conflict(&place.path, Why::Gone)),
            Err(cause) => return Err(cause).context("replace", &place.path),
        }
        self.finish_exchange(place)
    }

    /// Exchanges by two renames: a directory has no second name, and does not replace a file.
    fn move_twice(self, place: &Place<'_>) -> Result<(), Failure> {
        let operation = place.operation;
        self.calls.rename_free(&place.dir, &operation.name, &place.second).context("replace", &place.path)?;
        let moved = self.calls.rename_free(&place.dir, &operation.temporary, &operation.name);
        match moved {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(Failure::conflict(&place.path, Why::Taken)),
            Err(cause) => {
                self.finish_exchange(place)?;
                Err(cause).context("replace", &place.path)
            }
        }
    }

    /// Brings an exchange that is made of several calls to an end, or back to its beginning.
    fn finish_exchange(self, place: &Place<'_>) -> Result<(), Failure> {
        let operation = place.operation;
        let Some(second) = number(&place.dir, &place.second).context("look at", &place.path)? else { return Ok(()) };
        if number(&place.dir, &operation.temporary).context("look at", &place.path)?.is_none() {
            let renamed = self.calls.rename_free(&place.dir, &place.second, &operation.temporary);
            return renamed.context("rename the old state of", &place.path);
        }
        match number(&place.dir, &operation.name).context("look at", &place.path)? {
            None => {
                let renamed = self.calls.rename_free(&place.dir, &place.second, &operation.name);
                renamed.context("rename the old state of", &place.path)
            }
            Some(found) if found == second => {
                self.calls.remove_file(&place.dir, &place.second).context("remove the second name of", &place.path)
            }
            Some(_) => Err(Failure::conflict(&place.path, Why::Changed)),
        }
    }

    /// Gives what was removed its name back.
    fn give_back(self, place: &Place<'_>) -> Result<(), Failure> {
        let operation = place.operation;
        match self.calls.rename_free(&place.dir, &operation.temporary, &operation.name) {
            Err(Errno::EXIST) => Err(Failure::conflict(&place.path, Why::Taken)),
            made => made.context("take back", &place.path),
        }
    }

    /// Checks that an operation can be taken back: what was published is still there, as it was published.
    pub(super) fn check_reversible(self, operation: &'a Operation) -> Result<(), Failure> {
        let place = self.place(operation)?;
        match &operation.kind {
            OperationKind::Create { new, below } | OperationKind::Replace { new, below, .. } => {
                check_published(&place, &operation.name, new, *below)
            }
            OperationKind::Remove { .. } => conflict::check_free(&place.dir, &operation.name, &place.path),
            OperationKind::Attributes { old, new } => check_attributes(&place, old, new),
        }
    }

    /// Takes an operation back, if it was made. What another process has made of it stays, and is a conflict.
    pub(super) fn revert(self, operation: &'a Operation) -> Result<(), Failure> {
        let place = self.place(operation)?;
        match &operation.kind {
            OperationKind::Create { new, below } => self.revert_create(&place, new, *below),
            OperationKind::Replace { new, below, .. } => self.revert_replace(&place, new, *below),
            OperationKind::Remove { .. } if place.holds_old()? => self.give_back(&place),
            OperationKind::Remove { .. } => Ok(()),
            OperationKind::Attributes { old, new } => {
                check_attributes(&place, old, new)?;
                self.set(&place, old)
            }
        }
    }

    fn revert_create(self, place: &Place<'_>, new: &Inode, below: Below) -> Result<(), Failure> {
        let operation = place.operation;
        let found = number(&place.dir, &operation.name).context("look at", &place.path)?;
        if found != Some(new.number) {
            return Ok(());
        }
        if number(&place.dir, &operation.temporary).context("look at", &place.path)? == Some(new.number) {
            return self.calls.remove_file(&place.dir, &operation.name).context("take back", &place.path);
        }
        let renamed = self.calls.rename_free(&place.dir, &operation.name, &operation.temporary);
        renamed.context("take back", &place.path)?;
        let looked = check_published(place, &operation.temporary, new, below);
        if looked.is_err() {
            self.give_back(place)?;
        }
        looked
    }

    fn revert_replace(self, place: &Place<'_>, new: &Inode, below: Below) -> Result<(), Failure> {
        self.finish_exchange(place)?;
        if !place.holds_old()? {
            return Ok(());
        }
        let operation = place.operation;
        check_published(place, &operation.name, new, below)?;
        self.swap(place)?;
        let looked = check_published(place, &operation.temporary, new, below);
        if looked.is_err() {
            self.swap(place)?;
        }
        looked
    }
}

impl Place<'_> {
    /// Returns whether one of both names has a directory.
    fn has_directory(&self) -> Result<bool, Failure> {
        let names = [&self.operation.name, &self.operation.temporary];
        let is_directory =
            |name| look(&self.dir, name).map(|found| found.is_some_and(|f| Inode::of(&f).is_directory()));
        let found: Result<Vec<bool>, Errno> = names.into_iter().map(|name| is_directory(name)).collect();
        Ok(found.context("look at", &self.path)?.contains(&true))
    }

    /// Returns whether the temporary is what had the name before.
    fn holds_old(&self) -> Result<bool, Failure> {
        let Some(old) = self.operation.old_state() else { return Ok(false) };
        Ok(number(&self.dir, &self.operation.temporary).context("look at", &self.path)? == Some(old.number))
    }
}

fn check_free_or(place: &Place<'_>, new: &Inode) -> Result<(), Failure> {
    match number(&place.dir, &place.operation.name).context("look at", &place.path)? {
        Some(found) if found != new.number => Err(Failure::conflict(&place.path, Why::Taken)),
        _ => Ok(()),
    }
}

fn check_old(place: &Place<'_>, old: &Inode) -> Result<(), Failure> {
    let found = look(&place.dir, &place.operation.name).context("look at", &place.path)?;
    let found = found.ok_or_else(|| Failure::conflict(&place.path, Why::Gone))?;
    if Inode::of(&found).is_same(old) { Ok(()) } else { Err(Failure::conflict(&place.path, Why::Changed)) }
}

/// Checks that a published entry is as it was published, with all below it.
fn check_published(place: &Place<'_>, name: &OsStr, new: &Inode, below: Below) -> Result<(), Failure> {
    let found = look(&place.dir, name).context("look at", &place.path)?;
    let found = found.ok_or_else(|| Failure::conflict(&place.path, Why::Gone))?;
    if !Inode::of(&found).is_same(new) {
        return Err(Failure::conflict(&place.path, Why::Changed));
    }
    if new.is_directory() && conflict::summarize(&place.dir, name, &place.path)? != below {
        return Err(Failure::conflict(&place.path, Why::ChangedBelow));
    }
    Ok(())
}

fn check_attributes(place: &Place<'_>, old: &Attributes, new: &Attributes) -> Result<(), Failure> {
    let found = read_attributes(&place.dir).context("read the attributes of", &place.path)?;
    if found.is_between(old, new) { Ok(()) } else { Err(Failure::conflict(&place.path, Why::Changed)) }
}
