//! Paths as text for people and programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use modbox_argument_spec::Secrets;

/// Returns a path as text. Bytes that are not UTF-8 are escaped, so that different paths stay different.
pub(crate) fn text(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => path.as_os_str().as_bytes().escape_ascii().to_string(),
    }
}

/// Does the same without secrets.
pub(crate) fn masked(path: &Path, secrets: &Secrets) -> String {
    match secrets.is_empty() {
        true => text(path),
        false => text(Path::new(OsStr::from_bytes(&secrets.mask_bytes(path.as_os_str().as_bytes())))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_different_and_have_no_secrets() {
        let path = Path::new(OsStr::from_bytes(b"/a\xff/key"));
        assert_eq!(text(path), "/a\\xff/key");
        let mut secrets = Secrets::default();
        secrets.add("key");
        assert_eq!(masked(path, &secrets), "/a\\xff/********");
    }
}
