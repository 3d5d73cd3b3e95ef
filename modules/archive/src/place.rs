//! The archive as one of the files to pack.
//!
//! The original opens the archive before it lists the files, so that it finds the archive in a folder that it packs. Python's
//! `tarfile` leaves it out if the path is the same by its letters; `xz` archives are written at the end. In all other cases
//! the original packs an archive that it has just emptied, which is refused here.

use std::path::{Path, PathBuf};

use modbox_sdk::files::{self, Attributes};
use modbox_sdk::text_file::cannot;
use modbox_sdk::{Failure, fs};

use crate::args::Format;
use crate::item::{Item, Patterns};

/// A device and an inode.
type Identity = (u64, u64);

/// The archive that is written.
#[derive(Debug)]
pub(crate) struct ArchivePlace {
    /// The path in the arguments.
    named: PathBuf,
    /// The path of the file, which a link at `named` leads to.
    pub(crate) file: PathBuf,
    format: Format,
    is_compressed_only: bool,
    /// The file that is there.
    there: Option<Identity>,
    /// The folder that it is in.
    folder: Option<Identity>,
}

impl ArchivePlace {
    /// Looks at the place of an archive. `is_compressed_only` is set for one file that is not packed.
    ///
    /// # Errors
    ///
    /// Links form a circle.
    pub(crate) fn new(dest: &Path, format: Format, is_compressed_only: bool) -> Result<Self, Failure> {
        let file = fs::follow_links(dest).map_err(cannot("write", dest))?;
        let folder = file.parent().and_then(identity);
        let there = identity(&file);
        Ok(Self { named: dest.to_owned(), file, format, is_compressed_only, there, folder })
    }

    /// Returns whether an item is the file that the archive overwrites before it is read.
    pub(crate) fn overwrites(&self, item: &Item) -> bool {
        if self.is_written_last() {
            return false;
        }
        let reads_target = self.format == Format::Zip || self.is_compressed_only;
        let id = match &item.found.target {
            Some(_) if reads_target => identity(Path::new(&item.path)),
            _ => Some((item.found.device, item.found.inode)),
        };
        self.there.is_some() && id == self.there
    }

    /// Returns whether the original makes the archive in a folder before it packs that.
    pub(crate) fn is_made_in(&self, folder: &Attributes) -> bool {
        self.there.is_none() && !self.is_written_last() && self.folder == Some((folder.device, folder.inode))
    }

    /// Returns the path at which the original finds the new archive in a folder that it packs, unless it leaves it out.
    pub(crate) fn unmade_in(&self, folder: &str) -> Option<String> {
        if self.there.is_some() || self.is_written_last() || self.folder.is_none() {
            return None;
        }
        if identity(Path::new(folder)) != self.folder {
            return None;
        }
        let path = Path::new(folder).join(self.file.file_name()?).to_str()?.to_owned();
        (!self.is_skipped(&path)).then_some(path)
    }

    /// Returns whether the original leaves a path out, since it is the archive.
    pub(crate) fn is_skipped(&self, path: &str) -> bool {
        let by_tarfile = matches!(self.format, Format::Tar | Format::Gz | Format::Bz2) && !self.is_compressed_only;
        by_tarfile && modbox_sdk::fs::by_letters(Path::new(path)) == modbox_sdk::fs::by_letters(&self.named)
    }

    /// Returns whether the archive is excluded where it is found.
    pub(crate) fn is_excluded(&self, path: &str, name: &str, patterns: &Patterns) -> Result<bool, Failure> {
        patterns.exclude(if self.format == Format::Zip { path } else { name })
    }

    pub(crate) fn conflict(&self, path: &str) -> Failure {
        let dest = self.named.display();
        Failure::new(format!("`{path}` would be packed and is the archive `{dest}` itself; choose another `dest`"))
    }

    fn is_written_last(&self) -> bool {
        self.format == Format::Xz && !self.is_compressed_only
    }
}

fn identity(path: &Path) -> Option<Identity> {
    files::stat(path, true).ok().map(|found| (found.device, found.inode))
}
