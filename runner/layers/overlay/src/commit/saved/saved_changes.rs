//! Saves the changes of layers in a file, and commits what a file says: exactly that, or nothing.
//!
//! This file does not decide whether a preview is saved, and whose files are trusted.

use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom, Write};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::changes::change::Change;
use crate::commit::failure::{Conflict, Failure, Why};
use crate::commit::plan::{Owners, Refusal, Step};
use crate::commit::prepare::{Granted, Only};
use crate::commit::transaction::{Committed, Settings, check_places, commit, placed, plan_all};
use crate::tree_root::TreeRoot;

use super::manifest_check;
use super::new_file::NewFile;
use super::payload_listing::{PayloadListing, Unlisted};
use super::preconditions;
use super::restored_view::RestoredView;
use super::saved_error::SavedError;
use super::saved_manifest::{Manifest, Payload, SavedGrant};
use super::saved_tree::{self, SavedTree};
use super::sealed_file::{self, MAX_MANIFEST, SealedWriter, Unsealed};

/// Result of saving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saving {
    /// The file has all changes.
    Saved,
    /// The list has changes that a commit does not make. There is no file.
    Refused(Vec<Refusal>),
}

/// What may not be shown where saved changes are listed or committed.
#[derive(Clone, Copy)]
pub struct Hidden<'a> {
    /// Secrets in names.
    pub names: &'a [String],
    /// Returns whether the lines of the file with this path on the machine may not be shown.
    pub has_hidden_lines: &'a dyn Fn(&Path) -> bool,
}

impl std::fmt::Debug for Hidden<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hidden").finish_non_exhaustive()
    }
}

/// Saves the changes of granted directories and names as a new file.
///
/// # Errors
///
/// A changed entry cannot be read, or the file exists or cannot be written.
pub fn save(
    path: &Path,
    grants: &[Granted<'_>],
    owners: &Owners<'_>,
    hidden: Hidden<'_>,
) -> Result<Saving, SavedError> {
    let write = |cause: io::Error| match cause.kind() {
        io::ErrorKind::AlreadyExists => SavedError::Exists(path.to_owned()),
        _ => SavedError::Write { path: path.to_owned(), cause },
    };
    let mut saved = Vec::new();
    for granted in grants {
        match save_grant(granted, owners, hidden) {
            Ok(grant) => saved.push(grant),
            Err(Unsaved::Refused(refusals)) => return Ok(Saving::Refused(refusals)),
            Err(Unsaved::TooMany) => return Err(SavedError::TooMany(path.to_owned())),
            Err(Unsaved::State(path, cause)) => return Err(SavedError::State { path, cause }),
        }
    }
    let manifest = Manifest { grants: saved, hidden: hidden.names.to_vec() };
    let text = serde_json::to_string(&manifest).map_err(|error| write(error.into()))?;
    if text.len() as u64 >= MAX_MANIFEST {
        return Err(SavedError::TooMany(path.to_owned()));
    }
    let new = NewFile::create(path).map_err(write)?;
    let mut sealed = SealedWriter::new(&new.file, &text).map_err(write)?;
    for (grant, granted) in manifest.grants.iter().zip(grants) {
        for one in &grant.payload {
            copy_content(granted, one, &mut sealed, path)?;
        }
    }
    sealed.finish().map_err(write)?;
    new.publish().map_err(write)?;
    Ok(Saving::Saved)
}

/// Returns what a commit of these changes would refuse, without keeping anything of them.
#[must_use]
pub fn refused(grants: &[Granted<'_>], owners: &Owners<'_>) -> Vec<Refusal> {
    let hidden = Hidden { names: &[], has_hidden_lines: &|_| false };
    let of_grant = |granted| match save_grant(granted, owners, hidden) {
        Err(Unsaved::Refused(refusals)) => refusals,
        Ok(_) | Err(Unsaved::State(..) | Unsaved::TooMany) => Vec::new(),
    };
    grants.iter().flat_map(of_grant).collect()
}

/// What keeps a grant from being saved.
enum Unsaved {
    Refused(Vec<Refusal>),
    State(PathBuf, io::Error),
    TooMany,
}

fn save_grant(granted: &Granted<'_>, owners: &Owners<'_>, hidden: Hidden<'_>) -> Result<SavedGrant, Unsaved> {
    let changes = vec![placed(granted)];
    let planned = plan_all(std::slice::from_ref(granted), &changes, owners).map_err(refusals)?;
    let steps: Vec<Step<'_>> = planned.into_iter().flatten().collect();
    let payload = PayloadListing::of(granted, &steps, owners).map_err(|unlisted| match unlisted {
        Unlisted::Refused(refusal) => Unsaved::Refused(vec![refusal]),
        Unlisted::State(path, cause) => Unsaved::State(granted.path.join(path), cause),
        Unlisted::TooMany => Unsaved::TooMany,
    })?;
    let failed = |cause: rustix::io::Errno| Unsaved::State(granted.path.clone(), cause.into());
    let root = granted.only.as_ref().map_or_else(|| granted.path.clone(), |only| granted.path.join(&only.name));
    let has_hidden_lines = |(_, change): &(usize, &Change)| (hidden.has_hidden_lines)(&change.path_below(&root));
    let hidden_lines = granted.changes.iter().enumerate().filter(has_hidden_lines).map(|(index, _)| index).collect();
    Ok(SavedGrant {
        path: granted.path.clone(),
        name: granted.only.as_ref().map(|only| PathBuf::from(&only.name)),
        start: granted.start,
        directories: preconditions::directories(granted.real, &steps).map_err(failed)?,
        contents: preconditions::contents(granted.real, &steps),
        payload,
        changes: granted.changes.clone(),
        hidden_lines,
    })
}

fn refusals(failures: Vec<Failure>) -> Unsaved {
    let refused = failures.into_iter().filter_map(|failure| match failure {
        Failure::Refused(refusal) => Some(refusal),
        _ => None,
    });
    Unsaved::Refused(refused.collect())
}

/// Copies the content of an entry of the view, part by part.
fn copy_content(granted: &Granted<'_>, one: &Payload, sealed: &mut impl Write, path: &Path) -> Result<(), SavedError> {
    if one.data.is_empty() {
        return Ok(());
    }
    let state = |cause: io::Error| SavedError::State { path: granted.path.join(&one.path), cause };
    let view = rustix::io::fcntl_dupfd_cloexec(granted.view, 0).map_err(|errno| state(errno.into()))?;
    let opened = TreeRoot::new(view).open_file(PayloadListing::path_in_view(granted, &one.path)).map_err(state)?;
    let mut file = File::from(opened);
    let mut buffer = vec![0; 256 << 10];
    for (start, length) in &one.data {
        file.seek(SeekFrom::Start(*start)).map_err(state)?;
        let mut left = *length;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let block = buffer.get_mut(..wanted).unwrap_or_default();
            file.read_exact(block).map_err(state)?;
            let write = |cause| SavedError::Write { path: path.to_owned(), cause };
            sealed.write_all(block).map_err(write)?;
            left -= wanted as u64;
        }
    }
    Ok(())
}

/// A file with changes, whose digest and manifest are right.
#[derive(Debug)]
pub struct SavedChanges {
    path: PathBuf,
    file: File,
    /// State of the file when it was read.
    state: Metadata,
    manifest: Manifest,
    position: u64,
    length: u64,
}

/// Granted directories that have changes, opened.
type OpenedGrants<'a> = Vec<(&'a SavedGrant, TreeRoot)>;

impl SavedChanges {
    /// Reads a file that was opened. `path` is its name in messages.
    ///
    /// # Errors
    ///
    /// It cannot be read, or it is not as it was saved.
    pub fn read(path: &Path, file: File) -> Result<Self, SavedError> {
        let damaged = |reason: String| SavedError::Damaged { path: path.to_owned(), reason };
        let read = |cause| SavedError::Read { path: path.to_owned(), cause };
        let state = file.metadata().map_err(read)?;
        if !state.is_file() {
            return Err(damaged("it is not a regular file".to_owned()));
        }
        let sealed = sealed_file::open(&file).map_err(|unsealed| match unsealed {
            Unsealed::Read(cause) => read(cause),
            Unsealed::Damaged(reason) => damaged(reason),
        })?;
        let manifest: Manifest = serde_json::from_slice(&sealed.manifest)
            .map_err(|error| damaged(format!("its manifest is not understood: {error}")))?;
        manifest_check::check(&manifest, sealed.length).map_err(damaged)?;
        let path = path.to_owned();
        Ok(Self { path, file, state, manifest, position: sealed.position, length: sealed.length })
    }

    /// Returns secrets in names of the changes.
    #[must_use]
    pub fn hidden(&self) -> &[String] {
        &self.manifest.hidden
    }

    /// Returns the changes of each granted directory and name.
    #[must_use]
    pub fn trees(&self) -> Vec<SavedTree<'_>> {
        let mut position = self.position;
        let mut trees = Vec::new();
        for grant in &self.manifest.grants {
            trees.push(SavedTree { file: &self.file, grant, position });
            position += grant.payload.iter().map(saved_tree::length).sum::<u64>();
        }
        trees
    }

    /// Returns what keeps a commit from being made now, as far as that is known before it is tried: changes by other
    /// processes since. Nothing is changed.
    ///
    /// # Errors
    ///
    /// The files that the changes are about cannot be compared.
    pub fn conflicts(&self, owners: &Owners<'_>) -> Result<Vec<Conflict>, SavedError> {
        let (opened, conflicts) = self.open_all()?;
        if !conflicts.is_empty() {
            return Ok(conflicts);
        }
        // Places are checked without the new state.
        let grants: Vec<_> = opened.iter().map(|(grant, real)| granted(grant, real.as_fd(), real.as_fd())).collect();
        match check_places(&grants, owners) {
            Ok(Committed::Conflict(conflicts)) => Ok(conflicts),
            Ok(_) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Commits the changes: all of them, if everything that they touch is as it was when they were saved, or none.
    /// `scratch` is a private directory of this user for the new state.
    ///
    /// # Errors
    ///
    /// A call fails, or the file is changed meanwhile. Nothing is committed then.
    pub fn commit(&self, scratch: &Path, settings: Settings<'_>) -> Result<Committed, SavedError> {
        let (opened, conflicts) = self.open_all()?;
        if !conflicts.is_empty() {
            return Ok(Committed::Conflict(conflicts));
        }
        let views = self.restore(opened.iter().map(|(grant, _)| *grant), scratch)?;
        let opened = opened.iter().zip(&views);
        let grants: Vec<_> =
            opened.map(|((grant, real), view)| granted(grant, real.as_fd(), view.directory())).collect();
        Ok(commit(&grants, settings)?)
    }

    /// Opens the granted directories that have changes, and compares them.
    fn open_all(&self) -> Result<(OpenedGrants<'_>, Vec<Conflict>), SavedError> {
        let (mut opened, mut conflicts) = (Vec::new(), Vec::new());
        for grant in self.manifest.grants.iter().filter(|grant| !grant.changes.is_empty()) {
            match self.open(grant, &mut conflicts)? {
                Some(real) => opened.push((grant, real)),
                None => conflicts.push(Conflict { path: grant.path.clone(), why: Why::Directory }),
            }
        }
        Ok((opened, conflicts))
    }

    /// Opens a granted directory and compares it; `None` if there is none any more.
    fn open(&self, grant: &SavedGrant, conflicts: &mut Vec<Conflict>) -> Result<Option<TreeRoot>, SavedError> {
        let failed = |cause| SavedError::Compare { path: grant.path.clone(), cause };
        let real = match TreeRoot::open(&grant.path) {
            Ok(real) => real,
            Err(error) if is_elsewhere(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        conflicts.extend(preconditions::conflicts(grant, real.as_fd()).map_err(failed)?);
        Ok(Some(real))
    }

    /// Builds the new state of each grant that has changes. Others have none.
    fn restore<'a>(
        &self,
        grants: impl Iterator<Item = &'a SavedGrant>,
        scratch: &Path,
    ) -> Result<Vec<RestoredView>, SavedError> {
        let read = |cause| SavedError::Read { path: self.path.clone(), cause };
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.position)).map_err(read)?;
        let mut contents = BufReader::new(file.take(self.length));
        let views: Result<Vec<_>, _> =
            grants.map(|grant| RestoredView::new(&grant.payload, &mut contents, scratch)).collect();
        let views = views?;
        self.check_unchanged()?;
        Ok(views)
    }

    /// Checks that the file is the one whose digest was right: what was read of it since is what was checked.
    ///
    /// # Errors
    ///
    /// The file was changed, or cannot be looked at.
    pub fn check_unchanged(&self) -> Result<(), SavedError> {
        let state =
            |state: &Metadata| (state.len(), state.mtime(), state.mtime_nsec(), state.ctime(), state.ctime_nsec());
        let now = self.file.metadata().map_err(|cause| SavedError::Read { path: self.path.clone(), cause })?;
        if state(&now) == state(&self.state) {
            return Ok(());
        }
        let reason = "it was changed while it was read".to_owned();
        Err(SavedError::Damaged { path: self.path.clone(), reason })
    }
}

fn granted<'a>(grant: &SavedGrant, real: BorrowedFd<'a>, view: BorrowedFd<'a>) -> Granted<'a> {
    let only = grant.name.as_ref().map(|name| Only { name: name.clone().into(), staged: name.clone().into() });
    let changes: Vec<Change> = grant.changes.clone();
    Granted { path: grant.path.clone(), real, view, only, changes, start: grant.start }
}

fn is_elsewhere(error: &io::Error) -> bool {
    let codes = [rustix::io::Errno::NOENT, rustix::io::Errno::NOTDIR, rustix::io::Errno::LOOP];
    codes.iter().any(|code| error.raw_os_error() == Some(code.raw_os_error()))
}
