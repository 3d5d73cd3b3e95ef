//! Reads whole files as bytes, as text and as JSON, with errors that name the file and the place in it.

use std::io;
use std::path::Path;

use modbox_python_json::{decode, from_value};
use serde::de::DeserializeOwned;

use crate::bounded_read::read as read_file;
use crate::file_error::words;

/// Reads a whole file of at most `limit` bytes.
///
/// # Errors
///
/// The file system refused, or the file is longer ([`io::ErrorKind::FileTooLarge`]); the error names the path.
pub fn read(path: impl AsRef<Path>, limit: u64) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    let about = |error: io::Error| {
        io::Error::new(error.kind(), format!("failed to read `{}`: {}", path.display(), words(&error)))
    };
    if path.as_os_str().is_empty() {
        return Err(about(io::Error::new(io::ErrorKind::NotFound, "No such file or directory")));
    }
    read_file(path, limit).map_err(about)
}

/// Reads a whole file of at most `limit` bytes as text.
///
/// # Errors
///
/// As [`read`], and when the file is not UTF-8 ([`io::ErrorKind::InvalidData`]); the error names the path and the line.
pub fn read_text(path: impl AsRef<Path>, limit: u64) -> io::Result<String> {
    let path = path.as_ref();
    String::from_utf8(read(path, limit)?).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        let text = format!("failed to read `{}`: it is not UTF-8 in line {line}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

/// Reads a whole file of at most `limit` bytes as JSON: into a struct that derives serde's `Deserialize`, into
/// [`Value`](crate::Value) or into [`Dict`](crate::Dict).
///
/// # Errors
///
/// As [`read_text`], when the text is not JSON, and when it does not fit `T` ([`io::ErrorKind::InvalidData`]). The error names
/// the path, and the line and column of a mistake or the entry that does not fit.
pub fn read_json<T: DeserializeOwned>(path: impl AsRef<Path>, limit: u64) -> io::Result<T> {
    let path = path.as_ref();
    let text = read_text(path, limit)?;
    let about = |error: String| {
        let text = format!("failed to read `{}` as JSON: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, text)
    };
    let value = decode(&text).map_err(|error| about(error.to_string()))?;
    from_value(value).map_err(|error| about(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    #[test]
    fn errors_name_the_file_and_the_place() {
        let path = std::env::temp_dir().join(format!("modbox-sdk-parsed-{}", std::process::id()));
        let said = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let failure = read_json::<BTreeMap<String, u8>>(&path, 64).unwrap_err();
            failure.to_string().replace(&path.display().to_string(), "PATH")
        };
        for (bytes, expect) in [
            (
                &b"{\"a\": 1\n \"b\": 2}"[..],
                "failed to read `PATH` as JSON: Expecting ',' delimiter: line 2 column 2 (char 9)",
            ),
            (b"{\"a\": 300}", "failed to read `PATH` as JSON: at `a`: invalid value: integer `300`, expected u8"),
            (b"{\n\"\xff\"}", "failed to read `PATH`: it is not UTF-8 in line 2"),
            (&[b' '; 65], "failed to read `PATH`: longer than 64 bytes"),
        ] {
            assert_eq!(said(bytes), expect);
        }
        fs::write(&path, "{\"a\": 1}").unwrap();
        assert_eq!(read_json::<BTreeMap<String, u8>>(&path, 64).unwrap(), [("a".to_owned(), 1)].into());
        fs::remove_file(&path).unwrap();
        assert_eq!(read_text(&path, 64).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
