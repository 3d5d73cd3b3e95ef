//! Copies entries of a view beside the names that they will have: a file, a link, or a directory with all below it.
//!
//! The copier does not trust the list of changes: it refuses devices, set-id bits and owners outside the grants itself.
//! It sets owner, extended attributes, mode and times in this order, since each can change a later one. This file does
//! not publish.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::Stat;
use rustix::io::Errno;

use crate::changes::change::{Entry, EntryType};
use crate::trees::file_holes::{has_holes, next_data};

use super::attributes::Attributes;
use super::disk_calls::DiskCalls;
use super::failure::{Context, Failure};
use super::inode::{self, Inode, look};
use super::plan::{LABEL, Owners, Reason, Refusal, is_ours, refuse_entry};

/// Upper bound of nested directories: each has an open descriptor.
pub(super) const MAX_DEPTH: usize = 128;

/// Bytes of one read where the kernel cannot copy by itself.
const BLOCK: usize = 256 << 10;

/// Answer of a kernel that does not copy.
const NO_COPY: rustix::io::Result<usize> = Err(Errno::OPNOTSUPP);

/// Names of files with several names, by their number in the view: where the first copy is.
type Links = BTreeMap<u64, (u64, u64, OwnedFd, OsString)>;

/// Copier of one view.
pub(super) struct PayloadCopy<'a> {
    pub(super) calls: DiskCalls<'a>,
    pub(super) owners: &'a Owners<'a>,
    links: Links,
    /// Whether the kernel labels files; unknown before the first copy.
    labels: Option<bool>,
    /// Whether the kernel clones files of the view.
    clones: bool,
    /// Whether the kernel copies files of the view.
    copies: bool,
}

/// An entry to copy.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
    /// Path on the machine, for messages.
    pub(super) path: &'a Path,
    /// The state before, if the entry replaces one.
    pub(super) before: Option<&'a Entry>,
}

/// Where the copy is made.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
}

impl<'a> PayloadCopy<'a> {
    pub(super) fn new(calls: DiskCalls<'a>, owners: &'a Owners<'a>) -> Self {
        Self { calls, owners, links: Links::new(), labels: None, clones: true, copies: true }
    }

    /// Checks that all names of each copied file were copied. A copy would not be linked to the others.
    pub(super) fn check_links(&self, path: &Path) -> Result<(), Failure> {
        let is_partial = self.links.values().any(|(names, made, ..)| made < names);
        if is_partial { Err(refused(path, Reason::Linked)) } else { Ok(()) }
    }

    /// Returns whether the kernel labels files, as the first copy shows.
    pub(super) fn has_labels(&mut self, copy: Target<'_>) -> rustix::io::Result<bool> {
        if let Some(known) = self.labels {
            return Ok(known);
        }
        let copy = match inode::open_entry(copy.dir, copy.name) {
            // Its new mode allows no reading; the next copy tells.
            Err(Errno::ACCESS) => return Ok(true),
            opened => opened?,
        };
        let has_label = inode::xattrs(copy)?.contains_key(LABEL);
        self.labels = Some(has_label);
        Ok(has_label)
    }

    /// Copies an entry. Returns the state of the copy.
    pub(super) fn copy(&mut self, from: Source<'_>, to: Target<'_>, depth: usize) -> Result<Inode, Failure> {
        let stat = look(from.dir, from.name).context("look at the new state of", from.path)?;
        let stat = stat.ok_or(Errno::NOENT).context("look at the new state of", from.path)?;
        match inode::entry_type(stat.st_mode) {
            EntryType::File => self.copy_file(from, to, &stat),
            EntryType::Directory => self.copy_directory(from, to, depth),
            EntryType::Symlink => self.copy_link(from, to, &stat),
            EntryType::Special => Err(refused(from.path, Reason::Special)),
        }
    }

    fn copy_file(&mut self, from: Source<'_>, to: Target<'_>, stat: &Stat) -> Result<Inode, Failure> {
        if stat.st_nlink > 1 && self.link_again(from, to, stat)? {
            return state(from, to);
        }
        let source = inode::open_entry(from.dir, from.name).context("read the new state of", from.path)?;
        let source = File::from(source);
        let stat = rustix::fs::fstat(&source).context("look at the new state of", from.path)?;
        let entry = self.check(from, &source, &stat)?;
        let copy = self.calls.make_file(to.dir, to.name).context("make a copy beside", from.path)?;
        self.copy_content(&source, &stat, &copy).context("write a copy beside", from.path)?;
        self.finish(from, &entry, &copy)
    }

    /// Gives the copy of a file with several names another name. Returns whether there was a copy.
    fn link_again(&mut self, from: Source<'_>, to: Target<'_>, stat: &Stat) -> Result<bool, Failure> {
        if let Some((_, made, dir, name)) = self.links.get_mut(&stat.st_ino) {
            self.calls.link(dir, name, to.dir, to.name).context("link a copy beside", from.path)?;
            *made += 1;
            return Ok(true);
        }
        let dir = rustix::io::fcntl_dupfd_cloexec(to.dir, 0).context("open the directory of", from.path)?;
        #[allow(clippy::useless_conversion, reason = "the type of the count depends on the architecture")]
        let names = u64::from(stat.st_nlink);
        self.links.insert(stat.st_ino, (names, 1, dir, to.name.to_owned()));
        Ok(false)
    }

    fn copy_link(&self, from: Source<'_>, to: Target<'_>, stat: &Stat) -> Result<Inode, Failure> {
        let target = rustix::fs::readlinkat(from.dir, from.name, Vec::new()).context("read the link", from.path)?;
        let owner = Entry { xattrs: BTreeMap::new(), ..entry(stat) };
        if let Some(reason) = refuse_entry(from.before, &owner, self.owners) {
            return Err(refused(from.path, reason));
        }
        let target = OsString::from_vec(target.into_bytes());
        self.calls.make_symlink(&target, to.dir, to.name).context("make a copy beside", from.path)?;
        let made = look(to.dir, to.name).context("look at the copy of", from.path)?;
        let is_owner = made.is_some_and(|made| (made.st_uid, made.st_gid) == (stat.st_uid, stat.st_gid));
        if !is_owner {
            let set = self.calls.set_owner(to.dir, to.name, stat.st_uid, stat.st_gid);
            set.context("set the owner of a copy beside", from.path)?;
        }
        let set = self.calls.set_modified(to.dir, to.name, Inode::of(stat).modified());
        set.context("set the time of a copy beside", from.path)?;
        state(from, to)
    }

    fn copy_directory(&mut self, from: Source<'_>, to: Target<'_>, depth: usize) -> Result<Inode, Failure> {
        if depth >= MAX_DEPTH {
            return Err(refused(from.path, Reason::Depth));
        }
        let source = inode::open_entry(from.dir, from.name).context("open", from.path)?;
        let stat = rustix::fs::fstat(&source).context("look at", from.path)?;
        let entry = self.check(from, &source, &stat)?;
        let made = self.calls.make_directory(to.dir, to.name).context("make a copy beside", from.path)?;
        for name in inode::names(&source).context("list", from.path)? {
            let path = from.path.join(&name);
            if is_ours(&name) {
                return Err(refused(&path, Reason::Name));
            }
            let below = Source { dir: source.as_fd(), name: &name, path: &path, before: None };
            self.copy(below, Target { dir: made.as_fd(), name: &name }, depth + 1)?;
        }
        self.finish(from, &entry, &made)
    }

    /// Looks at an opened entry of the view, and refuses what a commit does not make.
    fn check(&self, from: Source<'_>, source: impl AsFd, stat: &Stat) -> Result<Entry, Failure> {
        let xattrs = inode::xattrs(source).context("read the attributes of", from.path)?;
        let entry = Entry { xattrs, ..entry(stat) };
        match refuse_entry(from.before, &entry, self.owners) {
            Some(reason) => Err(refused(from.path, reason)),
            None => Ok(entry),
        }
    }

    /// Sets the attributes of a copy, and returns its state.
    fn finish(&self, from: Source<'_>, entry: &Entry, copy: impl AsFd) -> Result<Inode, Failure> {
        let set = Attributes::of(entry).set(self.calls, &copy);
        let set = set.and_then(|()| self.calls.set_file_modified(&copy, entry.modified));
        set.context("set the attributes of a copy beside", from.path)?;
        Ok(Inode::of(&rustix::fs::fstat(copy).context("look at the copy of", from.path)?))
    }

    fn copy_content(&mut self, from: &File, stat: &Stat, to: &File) -> rustix::io::Result<()> {
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if size == 0 || self.clone_content(from, to)? {
            return Ok(());
        }
        if !has_holes(stat) {
            return self.copy_extent(from, to, 0, size);
        }
        let mut position = 0;
        while let Some((start, end)) = next_data(from, position, size)? {
            self.copy_extent(from, to, start, end)?;
            position = end;
        }
        if position < size { self.calls.set_length(to, size) } else { Ok(()) }
    }

    /// Clones a file, if the kernel can. A view of which one file cannot be cloned is not asked again.
    fn clone_content(&mut self, from: &File, to: &File) -> rustix::io::Result<bool> {
        if self.clones {
            match self.calls.clone_content(from, to) {
                // What this says differs between file systems; the copy says what is wrong.
                Err(error) if !is_fatal(error) => self.clones = false,
                other => return other.map(|()| true),
            }
        }
        Ok(false)
    }

    fn copy_extent(&mut self, from: &File, to: &File, start: u64, end: u64) -> rustix::io::Result<()> {
        let mut position = start;
        while position < end {
            let range = if self.copies { self.calls.copy_range(from, to, position, end - position) } else { NO_COPY };
            let copied = match range {
                Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    self.copies = false;
                    self.copy_block(from, to, position, end - position)?
                }
                other => other?,
            };
            if copied == 0 {
                // The view is frozen, so a file that ends early is not what was listed.
                return Err(Errno::IO);
            }
            position += copied as u64;
        }
        Ok(())
    }

    fn copy_block(&self, from: &File, to: &File, position: u64, length: u64) -> rustix::io::Result<usize> {
        let mut buffer = vec![0; usize::try_from(length).unwrap_or(BLOCK).min(BLOCK)];
        let read = rustix::io::pread(from, buffer.as_mut_slice(), position)?;
        let mut written = 0;
        while written < read {
            let rest = buffer.get(written..read).unwrap_or_default();
            written += self.calls.write_at(to, rest, position + written as u64)?;
        }
        Ok(read)
    }
}

/// Gives a copy the label of the file before. A label of a layer is never taken.
pub(super) fn keep_label(calls: DiskCalls<'_>, old: impl AsFd, copy: Target<'_>) -> rustix::io::Result<()> {
    let labels = inode::xattrs(old)?;
    let Some(label) = labels.get(LABEL) else { return Ok(()) };
    let copy = match inode::open_entry(copy.dir, copy.name) {
        // An ordinary user cannot label a file that its mode does not let it read.
        Err(Errno::ACCESS) => return Ok(()),
        opened => opened?,
    };
    if inode::xattrs(&copy)?.get(LABEL) == Some(label) { Ok(()) } else { calls.set_xattr(copy, LABEL, label) }
}

/// Returns the state of a copy.
fn state(from: Source<'_>, to: Target<'_>) -> Result<Inode, Failure> {
    let made = look(to.dir, to.name).context("look at the copy of", from.path)?;
    Ok(Inode::of(&made.ok_or(Errno::NOENT).context("look at the copy of", from.path)?))
}

fn is_fatal(error: Errno) -> bool {
    matches!(error, Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::ROFS)
}

fn refused(path: &Path, reason: Reason) -> Failure {
    Failure::Refused(Refusal { path: path.to_path_buf(), reason })
}

/// Returns the state of an entry, without content and extended attributes.
fn entry(stat: &Stat) -> Entry {
    let inode = Inode::of(stat);
    let entry_type = inode.entry_type();
    Entry {
        entry_type,
        mode: inode.mode & 0o7777,
        uid: inode.uid,
        gid: inode.gid,
        size: if entry_type == EntryType::File { inode.size } else { 0 },
        modified: inode.modified(),
        target: None,
        digest: None,
        xattrs: BTreeMap::new(),
        links: 1,
    }
}
