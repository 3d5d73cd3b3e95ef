//! Reads names and checksums from an archive, to find out whether a new archive differs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

use modbox_sdk::Failure;
use modbox_sdk::text_file::cannot;
use tar::Archive;
use zip::ZipArchive;

use crate::args::Format;

/// Members of an archive, each with a checksum. For a file that is only compressed, its own checksum.
type Members = BTreeSet<(Vec<u8>, u32)>;

/// What was in the archive's place before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Checksums {
    /// Nothing, or a file of this size that cannot be read.
    Unknown(u64),
    /// The members; none if the file is not an archive.
    Known(Members),
}

impl Checksums {
    /// Reads the archive at a path.
    ///
    /// # Errors
    ///
    /// The original fails at what is there: a folder, a file that is not an archive for the format `tar`, an empty file for `xz`.
    pub(crate) fn of(dest: &Path, format: Format) -> Result<Self, Failure> {
        let file = match File::open(dest) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied) => {
                return Ok(Self::Unknown(std::fs::metadata(dest).map_or(0, |found| found.len())));
            }
            Err(_) => return Ok(Self::Unknown(0)),
        };
        let found = file.metadata().map_err(cannot("read", dest))?;
        let refused = |why: &str| Err(Failure::new(format!("failed to compare with `{}`: {why}", dest.display())));
        if found.is_dir() {
            return refused("Is a directory");
        }
        if format == Format::Tar {
            let members = members_of_tar(&file, format).map_err(cannot("read", dest))?;
            // The original then reads it as if it were compressed, for which `tar` is not a format.
            return members.map(Self::Known).map_or_else(|| refused("it is not a tar archive; remove it first"), Ok);
        }
        if format == Format::Xz && found.len() == 0 {
            return refused("it is empty, which is not an archive of the format `xz`; remove it first");
        }
        Ok(Self::now(&file, format))
    }

    /// Reads the archive that was written.
    pub(crate) fn now(file: &File, format: Format) -> Self {
        let found = if format == Format::Zip { of_zip(file) } else { of_tar(file, format) };
        Self::Known(found.unwrap_or_default())
    }

    /// Returns whether the archive that is now at the path has changed.
    pub(crate) fn differs(&self, dest: &Path, format: Format) -> Result<bool, Failure> {
        match self {
            Self::Unknown(size) => Ok(std::fs::metadata(dest).map_err(cannot("read", dest))?.len() != *size),
            Self::Known(_) => Ok(*self != Self::now(&File::open(dest).map_err(cannot("read", dest))?, format)),
        }
    }
}

fn of_zip(file: &File) -> io::Result<Members> {
    let mut archive = ZipArchive::new(BufReader::new(file))?;
    let count = archive.len();
    let member = |index| {
        let member = archive.by_index_raw(index)?;
        Ok((member.name_raw().to_owned(), member.crc32()))
    };
    (0..count).map(member).collect()
}

/// Reads a tar archive. The checksum of a header covers mode, owner, length and time. `None` if it is another file.
fn members_of_tar(file: &File, format: Format) -> io::Result<Option<Members>> {
    let mut reader = Counted { inner: format.codec().reader(BufReader::new(file)), read: 0 };
    let mut members = || -> io::Result<Members> {
        let mut archive = Archive::new(&mut reader);
        let member = |entry: io::Result<tar::Entry<'_, _>>| {
            let entry = entry?;
            Ok((entry.path_bytes().into_owned(), entry.header().cksum()?))
        };
        archive.entries()?.map(member).collect()
    };
    // Nothing at all is not an archive for Python.
    let members = members().ok();
    let members = members.filter(|_| reader.read > 0);
    drop(reader);
    io::Seek::rewind(&mut &*file)?;
    Ok(members)
}

/// Reads a tar archive, or a file that is only compressed.
fn of_tar(file: &File, format: Format) -> io::Result<Members> {
    if let Some(members) = members_of_tar(file, format)? {
        return Ok(members);
    }
    if format == Format::Gz && file.metadata()?.len() == 0 {
        // Python's `gzip` reads nothing from an empty file, and its other modules fail.
        return Ok(BTreeSet::from([(Vec::new(), 0)]));
    }
    let mut reader = flate2::CrcReader::new(format.codec().reader(BufReader::new(file)));
    io::copy(&mut reader, &mut io::sink())?;
    Ok(BTreeSet::from([(Vec::new(), reader.crc().sum())]))
}

struct Counted<R> {
    inner: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.read += read as u64;
        Ok(read)
    }
}
