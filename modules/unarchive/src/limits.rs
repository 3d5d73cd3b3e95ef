//! Refuses archives that unpack to far more than their size. The run's `--max-disk` limits the disk; here, the archive
//! is checked before anything is written.

use std::io::{self, Read};

use modbox_sdk::Failure;

/// Archives that unpack to less are always accepted.
const HARMLESS_BYTES: u64 = 16 << 20;

/// The largest ratio of unpacked to packed size. Text has a ratio of 10 and logs of 50; for zeros, deflate reaches
/// 1030, and bzip2 and xz reach thousands.
const MAX_RATIO: u64 = 500;

/// Refuses an archive that unpacks to far more than its size.
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

/// A reader that fails when it has read too much for the size of its archive.
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
