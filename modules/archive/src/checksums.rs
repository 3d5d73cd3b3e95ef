//! Reads names and checksums from an archive, to find out whether a new archive differs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use modbox_compression::Codec;
use tar::Archive;
use zip::ZipArchive;

use crate::args::Format;

/// The members of an archive, each with a checksum. For a file that is only compressed, its own checksum. Empty if the
/// file cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Checksums(BTreeSet<(Vec<u8>, u32)>);

impl Checksums {
    /// Reads the archive at a path, or returns `None` if there is none.
    pub(crate) fn of(dest: &Path, format: Format) -> Option<Self> {
        let file = File::open(dest).ok()?;
        let found = if format == Format::Zip { of_zip(&file) } else { of_tar(&file, format.codec()) };
        Some(Self(found.unwrap_or_default()))
    }
}

fn of_zip(file: &File) -> io::Result<BTreeSet<(Vec<u8>, u32)>> {
    let mut archive = ZipArchive::new(BufReader::new(file))?;
    let count = archive.len();
    let member = |index| {
        let member = archive.by_index_raw(index)?;
        Ok((member.name_raw().to_owned(), member.crc32()))
    };
    (0..count).map(member).collect()
}

/// Reads a tar archive. The checksum of a header covers mode, owner, length and time.
fn of_tar(file: &File, codec: Codec) -> io::Result<BTreeSet<(Vec<u8>, u32)>> {
    let members = || -> io::Result<BTreeSet<(Vec<u8>, u32)>> {
        let mut archive = Archive::new(codec.reader(BufReader::new(file)));
        let member = |entry: io::Result<tar::Entry<'_, _>>| {
            let entry = entry?;
            Ok((entry.path_bytes().into_owned(), entry.header().cksum()?))
        };
        archive.entries()?.map(member).collect()
    };
    if let Ok(members) = members() {
        return Ok(members);
    }
    io::Seek::rewind(&mut &*file)?;
    let mut reader = flate2::CrcReader::new(codec.reader(BufReader::new(file)));
    io::copy(&mut reader, &mut io::sink())?;
    Ok(BTreeSet::from([(Vec::new(), reader.crc().sum())]))
}
