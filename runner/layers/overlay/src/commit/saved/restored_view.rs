//! A new state that was saved, built again in a private directory, with exact contents, attributes, times and links.
//!
//! A commit reads it as it reads the view of a run. Each entry is made in the directory of its own path, which is reached
//! without links. This file trusts the order of the entries, which was checked.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::io::Errno;

use crate::changes::change::EntryType;
use crate::commit::attributes::Attributes;
use crate::commit::disk_calls::DiskCalls;
use crate::commit::fault::NoFault;
use crate::commit::inode;
use crate::quota::Quota;
use crate::tree_root::TreeRoot;
use crate::views::private_place::PrivatePlace;

use super::saved_error::SavedError;
use super::saved_manifest::Payload;

/// Bytes of one write.
const BLOCK: usize = 256 << 10;

/// Bytes that an entry needs beside its content.
const PER_ENTRY: u64 = 16 << 10;

/// New state of one granted directory or name. It is removed with this value.
#[derive(Debug)]
pub(super) struct RestoredView {
    view: TreeRoot,
    _place: PrivatePlace,
}

impl RestoredView {
    /// Builds a new state below a private directory of this user. `contents` are those of the entries, in their order.
    pub(super) fn new(payload: &[Payload], contents: &mut impl Read, scratch: &Path) -> Result<Self, SavedError> {
        let failed = |(_, cause)| SavedError::Build { path: scratch.to_owned(), cause };
        let (place, view) = PrivatePlace::new(quota(payload), scratch).map_err(failed)?;
        let calls = DiskCalls::new(&NoFault);
        for one in payload {
            make(&view, one, payload, contents, calls).map_err(|cause| build(one, cause))?;
        }
        // What is below a directory changes its time, and can be made only while its mode allows that.
        for one in payload.iter().rev() {
            finish(&view, one, calls).map_err(|cause| build(one, cause.into()))?;
        }
        Ok(Self { view, _place: place })
    }

    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.view.as_fd()
    }
}

fn build(one: &Payload, cause: io::Error) -> SavedError {
    SavedError::Build { path: one.path.clone(), cause }
}

/// Returns what a new state needs at most.
fn quota(payload: &[Payload]) -> Quota {
    let of_xattrs =
        |one: &Payload| one.entry.xattrs.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let of_data =
        |one: &Payload| one.data.iter().fold(0_u64, |sum, (_, length)| sum.saturating_add(length + PER_ENTRY));
    let bytes = payload.iter().map(|one| of_data(one).saturating_add(of_xattrs(one) as u64).saturating_add(PER_ENTRY));
    let names = payload.iter().map(|one| one.path.components().count() as u64 + 1);
    Quota {
        bytes: bytes.fold(1 << 20, u64::saturating_add).min(1 << 60),
        files: names.fold(1 << 10, u64::saturating_add),
    }
}

fn make(
    view: &TreeRoot,
    one: &Payload,
    payload: &[Payload],
    contents: &mut impl Read,
    calls: DiskCalls<'_>,
) -> io::Result<()> {
    let (directory, name) = (directory_of(view, &one.path, calls)?, name_of(&one.path)?);
    match one.entry.entry_type {
        EntryType::Directory => drop(calls.make_directory(&directory, name)?),
        EntryType::Symlink => {
            let target = one.entry.target.as_deref().ok_or(Errno::INVAL)?;
            calls.make_symlink(target.as_os_str(), &directory, name)?;
        }
        EntryType::File => match one.link {
            Some(first) => {
                let first = &payload.get(first).ok_or(Errno::INVAL)?.path;
                let from = inode::open_below(view, first.parent().unwrap_or_else(|| Path::new("")))?;
                calls.link(from, name_of(first)?, &directory, name)?;
            }
            None => fill(&calls.make_file(&directory, name)?, one, contents, calls)?,
        },
        EntryType::Special => return Err(Errno::INVAL.into()),
    }
    Ok(())
}

fn fill(file: &File, one: &Payload, contents: &mut impl Read, calls: DiskCalls<'_>) -> io::Result<()> {
    let mut buffer = vec![0; BLOCK];
    for (start, length) in &one.data {
        let (mut position, end) = (*start, start.saturating_add(*length));
        while position < end {
            let wanted = usize::try_from(end - position).unwrap_or(BLOCK).min(BLOCK);
            let block = buffer.get_mut(..wanted).unwrap_or_default();
            contents.read_exact(block)?;
            let mut rest = &*block;
            while !rest.is_empty() {
                let written = calls.write_at(file, rest, position)?;
                rest = rest.get(written..).unwrap_or_default();
                position += written as u64;
            }
        }
    }
    Ok(calls.set_length(file, one.entry.size)?)
}

/// Sets the attributes and the time of an entry.
fn finish(view: &TreeRoot, one: &Payload, calls: DiskCalls<'_>) -> rustix::io::Result<()> {
    if one.link.is_some() {
        return Ok(());
    }
    let directory = inode::open_below(view, one.path.parent().unwrap_or_else(|| Path::new("")))?;
    let (entry, name) = (&one.entry, name_of(&one.path)?);
    if entry.entry_type == EntryType::Symlink {
        let made = inode::look(&directory, name)?.ok_or(Errno::NOENT)?;
        if (made.st_uid, made.st_gid) != (entry.uid, entry.gid) {
            calls.set_owner(&directory, name, entry.uid, entry.gid)?;
        }
        return calls.set_modified(&directory, name, entry.modified);
    }
    let opened = inode::open_entry(&directory, name)?;
    Attributes::of(entry).set(calls, &opened)?;
    calls.set_file_modified(&opened, entry.modified)
}

/// Opens the directory of a path. Directories on the way are made.
fn directory_of(view: &TreeRoot, path: &Path, calls: DiskCalls<'_>) -> rustix::io::Result<OwnedFd> {
    let mut directory = inode::open_below(view, Path::new(""))?;
    for part in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(name) = part else { return Err(Errno::INVAL) };
        match calls.make_directory(&directory, name) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        directory = inode::open_below(&directory, Path::new(name))?;
    }
    Ok(directory)
}

fn name_of(path: &Path) -> rustix::io::Result<&OsStr> {
    path.file_name().ok_or(Errno::INVAL)
}
