//! Archives that unpack to far more than they are. The disk is the run's own limit (`--max-disk`); here it is told from the
//! archive, before anything is written.

use std::io::{self, Read};

use modbox_sdk::Failure;

/// Nobody is hurt by less.
const HARMLESS_BYTES: u64 = 16 << 20;

/// How many times its own length an archive may unpack to. Text is 10 times as long, logs are 50 times; deflate can make zeros 1030
/// times as long, bzip2 and xz thousands of times.
const MAX_RATIO: u64 = 500;

/// Refuses what unpacks to far more than it is.
pub(crate) fn check_ratio(unpacked: u64, packed: u64) -> Result<(), Failure> {
    if unpacked <= HARMLESS_BYTES || unpacked / packed.max(1) <= MAX_RATIO {
        return Ok(());
    }
    let message = format!(
        "refused to unpack an archive of {packed} bytes that holds more than {MAX_RATIO} times as much, {unpacked} bytes or more: \
         it looks made to fill disks"
    );
    Err(Failure::new(message))
}

/// A reader that ends when what it has read is too much for the archive that it comes from.
pub(crate) struct Bounded<R> {
    inner: R,
    read: u64,
    packed: u64,
}

impl<R: Read> Bounded<R> {
    pub(crate) fn new(inner: R, packed: u64) -> Self {
        Self { inner, read: 0, packed }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.read = self.read.saturating_add(read as u64);
        check_ratio(self.read, self.packed).map_err(|why| io::Error::other(why.message().to_owned()))?;
        Ok(read)
    }
}
