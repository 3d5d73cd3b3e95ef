//! Signature files beside modules and in folders, and the signers that rules mean.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use modbox_files::{open_at_once, read_stream};
use modbox_policy::NamePattern;
use modbox_run::NOWHERE;
use modbox_trust::allowed_signers::Signer;
use modbox_trust::signature_file::MAX_SIGNATURE_FILE;
use modbox_vocabulary::error_text;

/// What the name of a module's signature file ends with.
const SUFFIX: &str = ".sig";

/// Returns the path of a module's signature file.
pub(crate) fn signature_path(module: &Path) -> PathBuf {
    let mut name = OsString::from(module);
    name.push(SUFFIX);
    name.into()
}

/// Reads the signature file of a module.
///
/// # Errors
///
/// There is none, or it cannot be read. The error says so in words.
pub(crate) fn read_signature(module: &Path) -> Result<Vec<u8>, String> {
    // A module that was received lies nowhere.
    if module.starts_with(NOWHERE) {
        return Err("the module was received, and no folder of signatures has one of it".to_owned());
    }
    read_signature_file(&signature_path(module))
}

/// Reads a signature file by its own path.
///
/// # Errors
///
/// As [`read_signature`].
pub(crate) fn read_signature_file(path: &Path) -> Result<Vec<u8>, String> {
    let read = || match open_at_once(path)? {
        (file, metadata) if metadata.is_file() => read_stream(file, MAX_SIGNATURE_FILE),
        _ => Err(io::Error::other("it is not a regular file")),
    };
    read().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            format!("the signature file `{}` is missing", path.display())
        }
        _ => format!("failed to read `{}`: {}", path.display(), error_text(&error)),
    })
}

/// Returns whether a pattern means a signer.
pub(super) fn is_meant(pattern: &NamePattern, signer: &Signer) -> bool {
    signer.signs_for(&pattern.to_string()) || signer.principals.iter().any(|name| pattern.matches(name))
}
