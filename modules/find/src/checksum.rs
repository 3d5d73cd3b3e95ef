//! Checksums of files, read piece by piece.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// Returns a file's checksum as hexadecimal digits.
///
/// # Errors
///
/// What the file system says, and a checksum that does not exist.
pub(crate) fn of_file(path: &Path, algorithm: &str) -> io::Result<String> {
    let file = File::open(path)?;
    match algorithm {
        "md5" => digest::<Md5>(file),
        "sha1" => digest::<Sha1>(file),
        "sha224" => digest::<Sha224>(file),
        "sha256" => digest::<Sha256>(file),
        "sha384" => digest::<Sha384>(file),
        "sha512" => digest::<Sha512>(file),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("unknown checksum `{algorithm}`"))),
    }
}

fn digest<D: Digest>(mut file: File) -> io::Result<String> {
    let mut digest = D::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => digest.update(&buffer[..length]),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
