//! What a play reads of the files of its tree: their text, names, kinds and times.

use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cap_std::fs::{File, MetadataExt, OpenOptions, OpenOptionsExt};
use modbox_jinja::FileQuestion;
use modbox_policy::accounts::Accounts;
use modbox_tasks::files::{FileDetails, FileError, FileKind, PlayFiles};

use crate::cli::play::extent::Extent;
use crate::cli::play::files::denials::{denied, failure};
use crate::cli::play::files::named_file::NamedFile;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::files::tree_root::Root;

/// Maximum bytes of a file. Ansible holds a file in memory several times; no real file of a play is near this.
const MAX_FILE: u64 = 64 << 20;

/// Maximum names in a folder.
const MAX_NAMES: usize = 100_000;

impl PlayTree {
    /// Answers a question about a file.
    ///
    /// # Errors
    ///
    /// The path is neither in the play's folders nor granted.
    pub(crate) fn answer(&self, path: &str, question: FileQuestion) -> Result<bool, FileError> {
        if let Some(real) = self.granted_alone(path) {
            return Ok(match question {
                FileQuestion::Directory => real.is_dir(),
                FileQuestion::File => real.is_file(),
                FileQuestion::Link => Path::new(path).is_symlink(),
                FileQuestion::Exists => real.exists(),
                FileQuestion::LinkExists => real.exists() || Path::new(path).is_symlink(),
                FileQuestion::Mount => false,
            });
        }
        let (root, rest) = self.locate(path)?;
        let dir = root.dir();
        let (followed, own) = (dir.metadata(&rest).ok(), dir.symlink_metadata(&rest).ok());
        Ok(match question {
            FileQuestion::Directory => followed.is_some_and(|file| file.is_dir()),
            FileQuestion::File => followed.is_some_and(|file| file.is_file()),
            FileQuestion::Link => own.is_some_and(|file| file.is_symlink()),
            FileQuestion::Exists => followed.is_some(),
            FileQuestion::LinkExists => own.is_some(),
            FileQuestion::Mount => Self::is_mount(root, &rest),
        })
    }

    /// Says whether a folder is the root of a file system: its device is not that of the folder around it.
    fn is_mount(root: &Root, rest: &Path) -> bool {
        let device = |path: &Path| root.dir().symlink_metadata(path).ok().map(|file| file.dev());
        match rest.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => device(rest) != device(parent),
            _ => root.path == Path::new("/") && rest == Path::new("."),
        }
    }

    /// Returns a path without links, if it is in the play's folders or granted, and exists.
    pub(crate) fn real_path(&self, path: &str) -> Option<PathBuf> {
        if let Some(real) = self.granted_alone(path) {
            return real.canonicalize().ok();
        }
        let (root, rest) = self.locate(path).ok()?;
        root.dir().canonicalize(rest).ok().map(|rest| root.path.join(rest))
    }

    fn look(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        if let Some(real) = self.granted_alone(path) {
            return Ok(real.exists().then_some(FileKind::File));
        }
        let (root, rest) = self.locate(path)?;
        match root.dir().metadata(rest) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(FileKind::Folder)),
            Ok(_) => Ok(Some(FileKind::File)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(failure(path, &error)),
        }
    }

    fn open_file(&self, path: &str) -> Result<File, FileError> {
        if let Some(real) = self.granted_alone(path) {
            let opened = NamedFile::open(real).map_err(|error| failure(path, &error))?;
            return Ok(File::from_std(opened));
        }
        // So that a FIFO without a writer does not block.
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(modbox_files::AT_ONCE);
        let (root, rest) = self.locate(path)?;
        root.dir().open_with(rest, &options).map_err(|error| failure(path, &error))
    }

    /// Checks that a file that was opened by its path belongs to the play. The file is then at its start.
    fn check_content(&self, path: &str, mut file: &File) -> Result<(), FileError> {
        if self.granted_alone(path).is_some() {
            return Ok(());
        }
        let (root, _) = self.locate(path)?;
        let forbidden = root.extent.forbids_content(file).map_err(|error| failure(path, &error))?;
        file.rewind().map_err(|error| failure(path, &error))?;
        forbidden.map_or(Ok(()), |why| Err(denied(path, why)))
    }
}

impl PlayFiles for PlayTree {
    fn bytes(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let bytes = self.raw_bytes(path)?;
        match &self.vault {
            Some(vault) if modbox_vault::is_encrypted(&bytes) => {
                vault.file(&bytes).map_err(|reason| FileError::Other { path: path.to_owned(), reason })
            }
            _ => Ok(bytes),
        }
    }

    fn raw_bytes(&self, path: &str) -> Result<Vec<u8>, FileError> {
        let file = self.noted(self.open_file(path))?;
        self.written.add_read(path, || self.real_path(path));
        let metadata = file.metadata().map_err(|error| failure(path, &error))?;
        if !metadata.is_file() {
            return Err(FileError::Other { path: path.to_owned(), reason: "it is not a regular file".to_owned() });
        }
        self.noted(self.check_content(path, &file))?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| failure(path, &error))?;
        if bytes.len() as u64 > MAX_FILE {
            let limit = usize::try_from(MAX_FILE).unwrap_or(usize::MAX);
            return Err(FileError::TooLarge { path: path.to_owned(), limit });
        }
        Ok(bytes)
    }

    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError> {
        self.noted(self.look(path))
    }

    /// Does not note a denial: the question is asked of each place where a file could be.
    fn exists(&self, path: &str) -> bool {
        let found = self.look(path);
        if found.is_err() {
            self.note_left_out(path);
        }
        matches!(found, Ok(Some(_)))
    }

    fn details(&self, path: &str) -> Result<FileDetails, FileError> {
        let metadata = self.open_file(path).and_then(|file| file.metadata().map_err(|error| failure(path, &error)))?;
        let modified = metadata.modified().ok().and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
        let owner = Accounts::host().users().name(metadata.uid()).map(str::to_owned);
        Ok(FileDetails {
            mode: metadata.mode() & 0o7777,
            modified: modified.unwrap_or_default(),
            owner: owner.unwrap_or_else(|| metadata.uid().to_string()),
        })
    }

    fn is_new(&self, path: &str) -> Result<bool, FileError> {
        // The time of the last change of the inode, which no program can set.
        let metadata = self.open_file(path).and_then(|file| file.metadata().map_err(|error| failure(path, &error)))?;
        Ok((metadata.ctime(), metadata.ctime_nsec()) > self.opened)
    }

    fn source_text(&self, path: &str) -> Result<String, FileError> {
        let text = self.text(path)?;
        if !self.refuses_new_sources || !self.is_new(path)? {
            return Ok(text);
        }
        Err(FileError::Denied {
            path: path.to_owned(),
            reason:
                "it was written since the run began, and `--strict` runs or renders no text that a task may have made"
                    .to_owned(),
            remedy: "use it in a second `modbox play`, or leave out `--strict`".to_owned(),
        })
    }

    fn link(&self, path: &str) -> Result<Option<String>, FileError> {
        let (root, rest) = self.locate(path)?;
        match root.dir().symlink_metadata(&rest) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = root.dir().read_link_contents(&rest).map_err(|error| failure(path, &error))?;
                Ok(Some(target.display().to_string()))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(failure(path, &error)),
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, FileError> {
        let (root, rest) = self.noted(self.locate(folder))?;
        if root.extent == Extent::Shared && rest == Path::new(".") {
            return self.noted(Err(denied(folder, "it holds more than the play")));
        }
        let mut names = Vec::new();
        for entry in root.dir().read_dir(rest).map_err(|error| failure(folder, &error))? {
            let entry = entry.map_err(|error| failure(folder, &error))?;
            if names.len() == MAX_NAMES {
                let reason = format!("it has more than {MAX_NAMES} names");
                return Err(FileError::Other { path: folder.to_owned(), reason });
            }
            // A name that is not UTF-8 cannot be written in a play.
            names.extend(entry.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }
}
