//! gzip, bzip2 and xz in Rust, with one reader and one writer, for the modules of archives.
//!
//! Streams are read to the end of the last member, since `gzip`, `bzip2` and `xz` files may be concatenated. The memory
//! for a stream is limited; the caller limits the length of its contents.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

use std::fmt;
use std::io::{self, Read, Write};

/// The most memory for reading xz, in KiB: `xz -9` needs 65 MiB.
const MAX_XZ_KIB: u32 = 128 << 10;

/// A compression format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// No compression.
    None,
    /// The format of `gzip`.
    Gzip,
    /// The format of `bzip2`.
    Bzip2,
    /// The format of `xz`.
    Xz,
}

impl Codec {
    /// Returns the format of a file that begins with these bytes.
    #[must_use]
    pub fn detect(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            _ => Self::None,
        }
    }

    /// Returns a reader that decompresses.
    pub fn reader<'r>(self, compressed: impl Read + 'r) -> Box<dyn Read + 'r> {
        match self {
            Self::None => Box::new(compressed),
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(compressed)),
            Self::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(compressed)),
            Self::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(compressed, true, MAX_XZ_KIB)),
        }
    }

    /// Returns a writer that compresses, at the default level of Python's modules.
    ///
    /// # Errors
    ///
    /// The inner writer failed.
    pub fn writer<W: Write>(self, inner: W) -> io::Result<Writer<W>> {
        Ok(Writer(match self {
            Self::None => Inner::None(inner),
            Self::Gzip => Inner::Gzip(flate2::write::GzEncoder::new(inner, flate2::Compression::best())),
            Self::Bzip2 => Inner::Bzip2(bzip2::write::BzEncoder::new(inner, bzip2::Compression::best())),
            Self::Xz => {
                let options = lzma_rust2::XzOptions::with_preset(6);
                Inner::Xz(Box::new(lzma_rust2::XzWriter::new(inner, options)?))
            }
        }))
    }
}

/// A writer that compresses. Without [`Writer::finish`], the end of the stream is missing.
pub struct Writer<W: Write>(Inner<W>);

enum Inner<W: Write> {
    None(W),
    Gzip(flate2::write::GzEncoder<W>),
    Bzip2(bzip2::write::BzEncoder<W>),
    Xz(Box<lzma_rust2::XzWriter<W>>),
}

impl<W: Write> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl<W: Write> Writer<W> {
    /// Writes the end of the stream, and returns the inner writer.
    ///
    /// # Errors
    ///
    /// The inner writer failed.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Inner::None(inner) => Ok(inner),
            Inner::Gzip(encoder) => encoder.finish(),
            Inner::Bzip2(encoder) => encoder.finish(),
            Inner::Xz(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::None(inner) => inner.write(bytes),
            Inner::Gzip(encoder) => encoder.write(bytes),
            Inner::Bzip2(encoder) => encoder.write(bytes),
            Inner::Xz(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::None(inner) => inner.flush(),
            Inner::Gzip(encoder) => encoder.flush(),
            Inner::Bzip2(encoder) => encoder.flush(),
            Inner::Xz(encoder) => encoder.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_is_refused() {
        let text = b"the quick brown fox ".repeat(5000);
        for codec in [Codec::None, Codec::Gzip, Codec::Bzip2, Codec::Xz] {
            let mut writer = codec.writer(Vec::new()).unwrap();
            writer.write_all(&text).unwrap();
            let packed = writer.finish().unwrap();
            assert_eq!(Codec::detect(&packed), codec);
            let read = |packed: &[u8]| {
                let mut out = Vec::new();
                codec.reader(packed).read_to_end(&mut out).map(|_| out)
            };
            assert_eq!(read(&packed).unwrap(), text, "{codec:?}");
            assert_eq!(read(&[&packed[..], &packed[..]].concat()).unwrap().len(), 2 * text.len(), "{codec:?}");
            if codec != Codec::None {
                assert!(read(&packed[..packed.len() - 9]).is_err(), "{codec:?}");
            }
        }
    }
}
