//! The outer form of a file with changes: a first line, the manifest, contents, and the digest of all that.
//!
//! The digest tells damage from what was saved. It does not tell who saved it: that is for the owner and the mode of the
//! file. This file does not know what a manifest says.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};

use sha2::{Digest as _, Sha256};

/// Beginning of the first line.
const NAME: &str = "modbox saved changes, version ";

/// Version of the format.
const VERSION: &str = "1";

/// Largest manifest.
pub(super) const MAX_MANIFEST: u64 = 256 << 20;

/// Length of the digest.
const SEAL: u64 = 32;

/// Reason why a file cannot be opened.
#[derive(Debug)]
pub(super) enum Unsealed {
    /// It cannot be read.
    Read(io::Error),
    /// It is not what was written.
    Damaged(String),
}

impl From<io::Error> for Unsealed {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// Writer of a sealed file.
pub(super) struct SealedWriter<W: Write> {
    writer: BufWriter<W>,
    hasher: Sha256,
}

impl<W: Write> SealedWriter<W> {
    /// Writes the first line and the manifest.
    pub(super) fn new(writer: W, manifest: &str) -> io::Result<Self> {
        let mut sealed = Self { writer: BufWriter::new(writer), hasher: Sha256::new() };
        writeln!(sealed, "{NAME}{VERSION}")?;
        writeln!(sealed, "{manifest}")?;
        Ok(sealed)
    }

    /// Writes the digest.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let seal = self.hasher.finalize();
        self.writer.write_all(&seal)?;
        self.writer.flush()
    }
}

impl<W: Write> Write for SealedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// A file whose digest is right.
#[derive(Debug)]
pub(super) struct Sealed {
    /// Text of the manifest.
    pub(super) manifest: Vec<u8>,
    /// Position of the contents.
    pub(super) position: u64,
    /// Length of the contents.
    pub(super) length: u64,
}

/// Returns whether a file that starts so may be one with changes, of whatever version.
#[must_use]
pub fn is_saved_form(start: &[u8]) -> bool {
    start.starts_with(NAME.as_bytes())
}

/// Reads a file, all of it once.
pub(super) fn open(file: &File) -> Result<Sealed, Unsealed> {
    let damaged = |reason: &str| Unsealed::Damaged(reason.to_owned());
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(0))?;
    let first = line(&mut reader, 100)?.unwrap_or_default();
    let Some(version) = first.strip_prefix(NAME.as_bytes()) else {
        return Err(damaged("it is not a file of saved changes"));
    };
    let sealed = file.metadata()?.len().checked_sub(SEAL).ok_or_else(|| damaged("its end is missing"))?;
    if version != VERSION.as_bytes() {
        let version = String::from_utf8_lossy(version).escape_default().to_string();
        return Err(Unsealed::Damaged(format!("its format has version {version}, and this modbox reads {VERSION}")));
    }
    if !has_seal(file, sealed)? {
        return Err(damaged("it is damaged or was changed"));
    }
    reader.seek(SeekFrom::Start(first.len() as u64 + 1))?;
    let manifest = line(&mut reader, MAX_MANIFEST)?.ok_or_else(|| damaged("its manifest is too long"))?;
    let position = (first.len() + manifest.len() + 2) as u64;
    let length = sealed.checked_sub(position).ok_or_else(|| damaged("its manifest is not whole"))?;
    Ok(Sealed { manifest, position, length })
}

/// Reads a line of at most `bound` bytes without its end; `None` if it has none.
fn line(reader: &mut impl io::BufRead, bound: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    reader.take(bound + 1).read_until(b'\n', &mut line)?;
    Ok((line.pop() == Some(b'\n')).then_some(line))
}

/// Returns whether the digest at the end of a file is that of all before.
fn has_seal(file: &File, sealed: u64) -> io::Result<bool> {
    let mut reader = file;
    reader.seek(SeekFrom::Start(0))?;
    let mut hasher = Sha256::new();
    let hashed = io::copy(&mut reader.take(sealed), &mut HashWriter(&mut hasher))?;
    let mut seal = Vec::new();
    file.take(SEAL + 1).read_to_end(&mut seal)?;
    Ok(hashed == sealed && seal.as_slice() == hasher.finalize().as_slice())
}

struct HashWriter<'a>(&'a mut Sha256);

impl Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealed(manifest: &str, contents: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = SealedWriter::new(&mut bytes, manifest).unwrap();
        writer.write_all(contents).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn opened(bytes: &[u8]) -> Result<Sealed, Unsealed> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        open(&file)
    }

    #[test]
    fn another_format_is_named() {
        let whole = sealed("{}", b"content");
        let other = String::from_utf8_lossy(&whole).replace("version 1", "version 2\u{1b}").into_bytes();
        for (bytes, expected) in [
            (other.as_slice(), "version 2\\u{1b}, and"),
            (b"", "not a file of saved changes"),
            (b"#!/bin/sh\n", "not a file of saved changes"),
            (&whole[..whole.len() - 20], "damaged"),
            (b"modbox saved changes, version \n", "its end is missing"),
        ] {
            let Err(Unsealed::Damaged(reason)) = opened(bytes) else { panic!("{expected}") };
            assert!(reason.contains(expected), "{reason}");
        }
    }

    proptest! {
        #[test]
        fn what_was_sealed_is_read(manifest in "[^\n]{0,200}", contents: Vec<u8>) {
            let bytes = sealed(&manifest, &contents);
            let read = opened(&bytes).unwrap();
            prop_assert_eq!(&read.manifest, manifest.as_bytes());
            let (start, length) = (usize::try_from(read.position).unwrap(), usize::try_from(read.length).unwrap());
            prop_assert_eq!(&bytes[start..start + length], contents.as_slice());
        }

        #[test]
        fn every_damage_is_found(contents: Vec<u8>, at: prop::sample::Index, bit in 0..8_u32, cut: bool, more in 0..3_usize) {
            let mut bytes = sealed("{\"grants\":[]}", &contents);
            let at = at.index(bytes.len());
            match (cut, more) {
                (true, _) => bytes.truncate(at),
                (false, 0) => bytes[at] ^= 1 << bit,
                (false, more) => bytes.extend(vec![0; more]),
            }
            prop_assert!(matches!(opened(&bytes), Err(Unsealed::Damaged(_))));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let mut named = format!("{NAME}{VERSION}\n").into_bytes();
            named.extend(bytes);
            prop_assert!(opened(&named).is_err());
        }
    }
}
