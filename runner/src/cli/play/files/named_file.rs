//! A file that a play may read by its name alone, and where that name led when the run began.
//!
//! A module that may write the folder of such a file can put a link in its place. What the link leads to was not
//! granted, so that it is not read by this name.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

/// A file that is granted alone.
#[derive(Debug)]
pub(crate) struct NamedFile {
    name: PathBuf,
    real: Option<PathBuf>,
}

impl NamedFile {
    /// Remembers where a normalized path leads now.
    pub(crate) fn new(name: PathBuf) -> Self {
        let real = without_links(&name);
        Self { name, real }
    }

    /// Says whether this is the file of a name.
    pub(crate) fn has_name(&self, name: &Path) -> bool {
        self.name == name
    }

    /// Returns the path without links, if the name still leads there.
    pub(crate) fn path(&self) -> Option<&Path> {
        let real = self.real.as_deref()?;
        (without_links(&self.name)? == real).then_some(real)
    }

    /// Opens a file for reading whose path has no links. Does not wait for the writer of a FIFO.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or a link is in the path.
    pub(crate) fn open(path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(File::from(openat2(CWD, path, flags, Mode::empty(), resolve)?))
    }
}

/// Returns a path without links. A file that does not exist yet is one in its folder.
fn without_links(name: &Path) -> Option<PathBuf> {
    let in_folder = || Some(name.parent()?.canonicalize().ok()?.join(name.file_name()?));
    name.canonicalize().ok().or_else(in_folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_name_that_leads_elsewhere_is_not_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        for name in ["file", "other"] {
            fs::write(at(name), name).unwrap();
        }
        symlink(at("file"), at("link")).unwrap();
        let files = ["file", "link", "new"].map(|name| NamedFile::new(at(name)));
        let paths = || files.each_ref().map(|file| file.path().map(Path::to_owned));
        assert_eq!(paths(), [Some(at("file")), Some(at("file")), Some(at("new"))]);
        fs::write(at("new"), "text").unwrap();
        assert_eq!(paths(), [Some(at("file")), Some(at("file")), Some(at("new"))]);
        for name in ["file", "link", "new"] {
            fs::remove_file(at(name)).unwrap();
            symlink(at("other"), at(name)).unwrap();
        }
        assert_eq!(paths(), [None, None, None]);
        assert!(NamedFile::open(&at("other")).is_ok() && NamedFile::open(&at("link")).is_err());
    }
}
