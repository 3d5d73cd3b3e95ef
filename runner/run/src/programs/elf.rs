//! Reads from a program of the system's own kind which loader starts it and which libraries it names.
//!
//! The file may be anything: every number in it is checked by reading, and every read is bounded. Only 64-bit
//! little-endian files are read, as this machine's programs are.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// First bytes of a 64-bit little-endian file.
const MAGIC: [u8; 6] = *b"\x7fELF\x02\x01";

const HEADER: usize = 64;
const SEGMENT: usize = 56;
const ENTRY: usize = 16;

/// Sorts of segments.
const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;

/// Sorts of entries in a dynamic segment.
const NEEDED: u64 = 1;
const STRINGS: u64 = 5;
const STRINGS_SIZE: u64 = 10;
const OLD_PATH: u64 = 15;
const PATH: u64 = 29;

/// Upper bounds of what is read; programs have a dozen segments, a hundred entries and some kilobytes of names.
const MAX_SEGMENTS: usize = 256;
const MAX_DYNAMIC: u64 = 64 << 10;
const MAX_STRINGS: u64 = 4 << 20;
const MAX_LOADER: u64 = 4 << 10;

/// What a program or library names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Linkage {
    /// The program that loads it.
    pub(super) loader: Option<PathBuf>,
    /// Names of libraries.
    pub(super) needed: Vec<OsString>,
    /// Folders to search, as written.
    pub(super) search: Vec<String>,
    /// Whether those folders also hold for the libraries that its libraries need.
    pub(super) is_inherited: bool,
}

/// Returns what a program names, or `None` for a file of another kind or a damaged one.
pub(super) fn read(file: &File) -> Option<Linkage> {
    linkage(file).ok().flatten()
}

fn linkage(file: &File) -> io::Result<Option<Linkage>> {
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0)?;
    if header[..MAGIC.len()] != MAGIC {
        return Ok(None);
    }
    let count = usize::from(u16::from_le_bytes([header[56], header[57]])).min(MAX_SEGMENTS);
    let segments = bytes_at(file, long(&header, 32), (count * SEGMENT) as u64)?;
    let segments: Vec<Segment> = segments.chunks_exact(SEGMENT).map(Segment::read).collect();
    let of = |sort: u32| segments.iter().find(|segment| segment.sort == sort);
    let loader = match of(INTERPRETER) {
        Some(segment) => text(&bytes_at(file, segment.offset, segment.size.min(MAX_LOADER))?).map(PathBuf::from),
        None => None,
    };
    let Some(dynamic) = of(DYNAMIC) else { return Ok(Some(Linkage { loader, ..Linkage::default() })) };
    let entries = bytes_at(file, dynamic.offset, dynamic.size.min(MAX_DYNAMIC))?;
    let entries: Vec<(u64, u64)> = entries
        .chunks_exact(ENTRY)
        .map(|entry| (long(entry, 0), long(entry, 8)))
        .take_while(|(tag, _)| *tag != 0)
        .collect();
    let value = |wanted: u64| entries.iter().find(|(tag, _)| *tag == wanted).map(|(_, value)| *value);
    let (Some(address), Some(size)) = (value(STRINGS), value(STRINGS_SIZE)) else { return Ok(None) };
    let place = segments.iter().filter(|segment| segment.sort == LOAD).find_map(|segment| segment.place(address));
    let Some(place) = place else { return Ok(None) };
    let strings = bytes_at(file, place, size.min(MAX_STRINGS))?;
    let string = |at: u64| usize::try_from(at).ok().and_then(|at| text(strings.get(at..)?));
    let path = value(PATH).or_else(|| value(OLD_PATH)).and_then(string);
    let path = path.and_then(|path| path.into_string().ok()).unwrap_or_default();
    Ok(Some(Linkage {
        loader,
        needed: entries.iter().filter(|(tag, _)| *tag == NEEDED).filter_map(|(_, at)| string(*at)).collect(),
        search: path.split(':').filter(|folder| !folder.is_empty()).map(str::to_owned).collect(),
        is_inherited: value(PATH).is_none(),
    }))
}

struct Segment {
    sort: u32,
    offset: u64,
    address: u64,
    size: u64,
}

impl Segment {
    fn read(bytes: &[u8]) -> Self {
        let sort = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        Self { sort, offset: long(bytes, 8), address: long(bytes, 16), size: long(bytes, 32) }
    }

    /// Returns the place in the file of an address in memory.
    fn place(&self, address: u64) -> Option<u64> {
        let below = address.checked_sub(self.address).filter(|below| *below < self.size)?;
        self.offset.checked_add(below)
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Reads up to `size` bytes; the file may end before.
fn bytes_at(file: &File, offset: u64, size: u64) -> io::Result<Vec<u8>> {
    let end = file.metadata()?.len();
    let size = size.min(end.saturating_sub(offset));
    let mut bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

/// Returns the text up to the first NUL byte.
fn text(bytes: &[u8]) -> Option<OsString> {
    let text = bytes.split(|byte| *byte == 0).next().filter(|text| !text.is_empty())?;
    Some(OsString::from_vec(text.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn a_program_names_its_loader_and_the_c_library() {
        let mut shell = Vec::new();
        File::open("/bin/sh").unwrap().take(8 << 20).read_to_end(&mut shell).unwrap();
        let linkage = read(&file(&shell)).unwrap();
        assert!(linkage.loader.as_ref().is_some_and(|loader| loader.is_absolute()), "{linkage:?}");
        assert!(linkage.needed.iter().any(|name| name.to_string_lossy().contains("libc")), "{linkage:?}");
        // Damaged files are read without a panic, each to some end.
        for cut in (0..HEADER * 20).step_by(7) {
            let _ = read(&file(&shell[..cut]));
            let mut damaged = shell.clone();
            damaged[cut..cut + 8].fill(0xff);
            let _ = read(&file(&damaged));
        }
        assert_eq!((read(&file(b"#!/bin/sh\n")), read(&file(b""))), (None, None));
    }
}
