//! Unpacks the files of a received payload, within bounds.
//!
//! A zip from outside can name paths outside of a folder, name a path twice, or hold more than it seems to. Besides sources it has
//! the files that modules embed, since ansible-core 2.21. The files stay in memory: this file writes nothing.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::sync::Arc;

use zip::ZipArchive;

use crate::ansiballz::bounds::{MAX_FILES, MAX_SOURCE};
use crate::ansiballz::embeds::{is_identifier, is_packed};

/// Maximum number of bytes of all files together.
const MAX_BYTES: u64 = 64 << 20;

/// Maximum length of a path.
const MAX_PATH: usize = 400;

/// Why files cannot be unpacked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// Bytes that are not a zip, or a damaged one.
    #[error("its files are not a valid zip in base64")]
    NotZip,
    /// Too many files.
    #[error("it has more than {MAX_FILES} files")]
    TooMany,
    /// A file that is too long, or too many bytes.
    #[error("`{0}` is longer than {MAX_SOURCE} bytes, or all files are longer than {MAX_BYTES} bytes")]
    TooLong(String),
    /// A name that is neither that of a Python source below a folder nor that of an embedded file, or occurs twice.
    #[error("`{0}` is not a name of a Python source or of an embedded file in a packed module, or occurs twice")]
    Name(String),
}

/// Unpacks a zip of Python sources and embedded files. Returns them by their paths.
pub(super) fn unpack(zip: &[u8]) -> Result<BTreeMap<String, Arc<[u8]>>, FilesError> {
    let mut archive = ZipArchive::new(Cursor::new(zip)).map_err(|_| FilesError::NotZip)?;
    if archive.len() > MAX_FILES {
        return Err(FilesError::TooMany);
    }
    let (mut files, mut left) = (BTreeMap::new(), MAX_BYTES);
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|_| FilesError::NotZip)?;
        let path = entry.name().map_err(|_| FilesError::NotZip)?.into_owned();
        if !(is_source(&path) || path.len() <= MAX_PATH && is_packed(&path)) || entry.is_symlink() {
            return Err(FilesError::Name(shown(&path)));
        }
        let bound = MAX_SOURCE.min(left);
        let mut source = Vec::new();
        // The sizes that a zip tells need not be true.
        entry.take(bound + 1).read_to_end(&mut source).map_err(|_| FilesError::NotZip)?;
        left = match left.checked_sub(source.len() as u64) {
            Some(left) if source.len() as u64 <= bound => left,
            _ => return Err(FilesError::TooLong(shown(&path))),
        };
        if files.insert(path.clone(), source.into()).is_some() {
            return Err(FilesError::Name(shown(&path)));
        }
    }
    Ok(files)
}

/// Says whether a path is that of a Python source in packages: names with letters, digits and `_`, and `.py` at the end.
fn is_source(path: &str) -> bool {
    let Some(stem) = path.strip_suffix(".py") else { return false };
    path.len() <= MAX_PATH && stem.split('/').all(is_identifier)
}

fn shown(path: &str) -> String {
    path.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn zip(files: &[(&str, usize)]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, length) in files {
            zip.start_file(*path, SimpleFileOptions::default()).unwrap();
            zip.write_all(&vec![b'#'; *length]).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    #[test]
    fn sources_are_unpacked() {
        let files = unpack(&zip(&[("ansible/__init__.py", 0), ("ansible/modules/ping.py", 9)])).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["ansible/__init__.py", "ansible/modules/ping.py"]);
        assert_eq!(&*files["ansible/modules/ping.py"], b"#########");
    }

    #[test]
    fn embedded_files_are_unpacked() {
        let long = format!("ansible/{}", "x".repeat(200));
        for name in [
            "ansible/module_utils/_embed/a.txt",
            "ansible_collections/a/b/plugins/x/_A-1.tar.gz",
            "ansible/1",
            long.as_str(),
        ] {
            assert_eq!(unpack(&zip(&[(name, 1)])).unwrap().len(), 1, "{name}");
        }
        for name in [
            "a.txt",
            "other/a.txt",
            "ansible",
            "ansible/",
            "ansible/.a",
            "ansible/..",
            "ansible/../a.txt",
            "ansible//a.txt",
            "/ansible/a.txt",
            "ansible/a b",
            "ansible/a\u{e9}",
            "ansible/a\\b.txt",
            "ansible/a.b/c.txt",
            "ansible/module_utils/basic.cpython-311-x86_64-linux-gnu.so",
            "ansible/module_utils/basic.pyc",
            "ansible/module_utils/__pycache__/basic.cpython-311.txt",
            "ansible_collectionsx/a.txt",
            &format!("{long}x"),
        ] {
            assert!(matches!(unpack(&zip(&[(name, 1)])), Err(FilesError::Name(_))), "{name}");
        }
        assert_eq!(unpack(&zip(&[("ansible/a.txt", 5 << 20)])), Err(FilesError::TooLong("ansible/a.txt".to_owned())));
    }

    #[test]
    fn hostile_zips_are_refused() {
        for name in
            ["../x.py", "/etc/x.py", "a/../x.py", "a//x.py", "a.so", "a b.py", "a\\x.py", ".py", "a/1.py", "é.py"]
        {
            assert_eq!(unpack(&zip(&[(name, 1)])), Err(FilesError::Name(name.to_owned())), "{name}");
        }
        // A bomb: a megabyte of zeros takes a kilobyte.
        let bomb = zip(&[("a.py", 5 << 20)]);
        assert!(bomb.len() < 50_000);
        assert_eq!(unpack(&bomb), Err(FilesError::TooLong("a.py".to_owned())));
        let names: Vec<String> = (0..17).map(|number| format!("a{number}.py")).collect();
        let many: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 4 << 20)).collect();
        assert!(matches!(unpack(&zip(&many)), Err(FilesError::TooLong(_))));
        let names: Vec<String> = (0..=MAX_FILES).map(|number| format!("a{number}.py")).collect();
        let many: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 0)).collect();
        assert_eq!(unpack(&zip(&many)), Err(FilesError::TooMany));
        // Two entries of one name: the writer refuses them, so one is renamed in the bytes.
        let mut twice = zip(&[("a.py", 1), ("b.py", 1)]);
        for at in 0..twice.len() - 3 {
            if &twice[at..at + 4] == b"b.py" {
                twice[at] = b'a';
            }
        }
        let two = unpack(&twice);
        assert!(matches!(two, Err(FilesError::Name(_))) || two.is_ok_and(|files| files.len() == 1));
        assert_eq!(unpack(b"PK"), Err(FilesError::NotZip));
    }
}
