//! A module as a controller sends it: its bytes, compressed by gzip or as they are.
//!
//! The sender may be mistaken or hostile, so the unpacked bytes have a limit, and their digest is compared.

use std::io::{self, Read};

use flate2::read::GzDecoder;

use crate::module_digest::ModuleDigest;

/// First bytes of what gzip has compressed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Why a shipment is not the module.
#[derive(Debug, thiserror::Error)]
pub enum ShipmentError {
    /// It cannot be read or unpacked.
    #[error("failed to read the module that was sent")]
    Read(#[source] io::Error),
    /// It is too long.
    #[error("the module that was sent is longer than {0} bytes")]
    TooLong(u64),
    /// It is another module, or a part of it.
    #[error("the module that was sent has the digest {0}, and not the one that was named; it may have been cut off")]
    Other(ModuleDigest),
}

/// Reads a module with a digest, of at most `limit` bytes.
///
/// # Errors
///
/// It cannot be read, is too long, or is another one.
pub fn receive(mut stream: impl Read, digest: ModuleDigest, limit: u64) -> Result<Vec<u8>, ShipmentError> {
    let mut start = Vec::new();
    stream.by_ref().take(GZIP.len() as u64).read_to_end(&mut start).map_err(ShipmentError::Read)?;
    let whole = start.as_slice().chain(stream);
    let mut bytes = Vec::new();
    let read = match start == GZIP {
        true => GzDecoder::new(whole).take(limit + 1).read_to_end(&mut bytes),
        false => whole.take(limit + 1).read_to_end(&mut bytes),
    };
    read.map_err(ShipmentError::Read)?;
    if bytes.len() as u64 > limit {
        return Err(ShipmentError::TooLong(limit));
    }
    match ModuleDigest::of(&bytes) {
        found if found == digest => Ok(bytes),
        found => Err(ShipmentError::Other(found)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_module_arrives_compressed_or_not() {
        let digest = ModuleDigest::of(b"module");
        assert_eq!(receive(&b"module"[..], digest, 100).unwrap(), b"module");
        assert_eq!(receive(&*compressed(b"module"), digest, 100).unwrap(), b"module");
        assert_eq!(receive(&b""[..], ModuleDigest::of(b""), 100).unwrap(), b"");
    }

    #[test]
    fn what_is_not_the_module_is_refused() {
        let digest = ModuleDigest::of(b"module");
        assert!(matches!(receive(&b"modul"[..], digest, 100), Err(ShipmentError::Other(_))));
        let mut cut = compressed(b"module");
        cut.truncate(cut.len() - 9);
        assert!(matches!(receive(&*cut, digest, 100), Err(ShipmentError::Read(_))));
        let bomb = compressed(&vec![0; 1 << 20]);
        assert!(bomb.len() < 100_000);
        assert!(matches!(receive(&*bomb, digest, 1000), Err(ShipmentError::TooLong(1000))));
    }
}
