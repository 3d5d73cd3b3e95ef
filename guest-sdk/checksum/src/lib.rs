//! The checksums in results of Ansible's modules, as hexadecimal digits, of files and of bytes. Files are read in
//! pieces.
//!
//! The checksums only distinguish contents. Ansible's results use MD5 and SHA-1.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

/// Returns a file's checksum by one of `md5`, `sha1`, `sha224`, `sha256`, `sha384` and `sha512`.
///
/// # Errors
///
/// The file system refused, or the checksum is unknown.
pub fn of_file(path: &Path, algorithm: &str) -> io::Result<String> {
    let file = File::open(path)?;
    match algorithm {
        "md5" => of_reader::<Md5>(file),
        "sha1" => of_reader::<Sha1>(file),
        "sha224" => of_reader::<Sha224>(file),
        "sha256" => of_reader::<Sha256>(file),
        "sha384" => of_reader::<Sha384>(file),
        "sha512" => of_reader::<Sha512>(file),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("unknown checksum `{algorithm}`"))),
    }
}

/// Returns the checksum of bytes by the same names, or `None` if the checksum is unknown.
#[must_use]
pub fn of_bytes(bytes: &[u8], algorithm: &str) -> Option<String> {
    Some(match algorithm {
        "md5" => md5(bytes),
        "sha1" => sha1(bytes),
        "sha224" => hex(&Sha224::digest(bytes)),
        "sha256" => hex(&Sha256::digest(bytes)),
        "sha384" => hex(&Sha384::digest(bytes)),
        "sha512" => hex(&Sha512::digest(bytes)),
        _ => return None,
    })
}

fn of_reader<D: Digest>(mut file: File) -> io::Result<String> {
    let mut digest = D::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => digest.update(&buffer[..length]),
        }
    }
    Ok(hex(&digest.finalize()))
}

/// Returns the SHA-1 of bytes: `checksum` in a result.
#[must_use]
pub fn sha1(bytes: &[u8]) -> String {
    hex(&Sha1::digest(bytes))
}

/// Returns the MD5 of bytes: `md5sum` in a result.
#[must_use]
pub fn md5(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_bytes_have_the_same_ones() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        // Longer than one read.
        let contents = b"some contents\n".repeat(10_000);
        std::fs::write(&path, &contents).unwrap();
        assert_eq!(of_file(&path, "sha1").unwrap(), sha1(&contents));
        assert_eq!(of_file(&path, "md5").unwrap(), md5(&contents));
        assert_eq!(md5(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(sha1(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let lengths = ["sha224", "sha256", "sha384", "sha512"].map(|name| of_file(&path, name).unwrap().len());
        assert_eq!(lengths, [56, 64, 96, 128]);
        for name in ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] {
            assert_eq!(of_bytes(&contents, name), of_file(&path, name).ok());
        }
        assert_eq!(of_bytes(b"", "crc32"), None);
        assert_eq!(of_file(&path, "crc32").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
