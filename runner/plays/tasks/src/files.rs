//! Access to the files of plays, given by the caller.
//!
//! The crate opens no file by itself. The program gives folders that it has opened, so that a role or an include cannot
//! leave them unless the policy says so. Paths are absolute, as Ansible's variables show them.

use std::sync::Arc;
use std::time::Duration;

/// Files that several parts of a run share.
pub type SharedFiles = Arc<dyn PlayFiles + Send + Sync>;

/// The files of a play's tree.
pub trait PlayFiles {
    /// Reads a file of bounded size. One that is encrypted with Ansible Vault is decrypted.
    ///
    /// # Errors
    ///
    /// The file does not exist, may not be read, or is too large.
    fn bytes(&self, path: &str) -> Result<Vec<u8>, FileError>;

    /// Reads a file as it is, also one that is encrypted, which [`PlayFiles::bytes`] decrypts.
    ///
    /// # Errors
    ///
    /// As [`PlayFiles::bytes`].
    fn raw_bytes(&self, path: &str) -> Result<Vec<u8>, FileError> {
        self.bytes(path)
    }

    /// Says whether a file is encrypted, so that its lines must not be shown.
    fn is_encrypted(&self, path: &str) -> bool {
        self.raw_bytes(path).is_ok_and(|bytes| bytes.starts_with(b"$ANSIBLE_VAULT"))
    }

    /// Returns what lies at a path, or `None` if nothing does.
    ///
    /// # Errors
    ///
    /// The path may not be looked at.
    fn kind(&self, path: &str) -> Result<Option<FileKind>, FileError>;

    /// Returns the names in a folder, sorted. A folder with too many names is an error.
    ///
    /// # Errors
    ///
    /// The folder does not exist, may not be read, or has too many names.
    fn list(&self, folder: &str) -> Result<Vec<String>, FileError>;

    /// Returns what is known of a file or folder besides its content. Links are followed.
    ///
    /// # Errors
    ///
    /// Nothing lies at the path, or it may not be looked at.
    fn details(&self, path: &str) -> Result<FileDetails, FileError>;

    /// Returns the target of a symbolic link, as it is written; `None` if the path is not a link.
    ///
    /// # Errors
    ///
    /// Nothing lies at the path, or it may not be looked at.
    fn link(&self, path: &str) -> Result<Option<String>, FileError>;

    /// Says whether a file was written since the run began, so that a task of the run may have made it. The text of such a
    /// file is data, and templates in it are none.
    ///
    /// # Errors
    ///
    /// As [`PlayFiles::details`].
    fn is_new(&self, _path: &str) -> Result<bool, FileError> {
        Ok(false)
    }

    /// Reads a file whose text is run as tasks or rendered as a template. The caller may refuse one that was written since
    /// the run began.
    ///
    /// # Errors
    ///
    /// As [`PlayFiles::text`], and if the file is refused.
    fn source_text(&self, path: &str) -> Result<String, FileError> {
        self.text(path)
    }

    /// Reads a file as UTF-8 text.
    ///
    /// # Errors
    ///
    /// As [`PlayFiles::bytes`], and if the file is not UTF-8.
    fn text(&self, path: &str) -> Result<String, FileError> {
        String::from_utf8(self.bytes(path)?).map_err(|_| FileError::NotText { path: path.to_owned() })
    }

    /// Says whether anything that may be looked at lies at a path.
    fn exists(&self, path: &str) -> bool {
        matches!(self.kind(path), Ok(Some(_)))
    }

    /// Says whether a folder lies at a path.
    fn is_folder(&self, path: &str) -> bool {
        matches!(self.kind(path), Ok(Some(FileKind::Folder)))
    }
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file with content.
    File,
    /// A folder.
    Folder,
}

/// What is known of a file or folder besides its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDetails {
    /// The bits of its permissions.
    pub mode: u32,
    /// When the content was changed, since the Unix epoch.
    pub modified: Duration,
    /// The name of the owner, or the number of an owner without a name.
    pub owner: String,
}

/// A failure to read a file of a play's tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages document the fields")]
pub enum FileError {
    #[error("failed to read `{path}`: the file does not exist")]
    NotFound { path: String },
    #[error("failed to read `{path}`: {reason}; {remedy}")]
    Denied { path: String, reason: String, remedy: String },
    #[error("failed to read `{path}`: the file is larger than {limit} bytes")]
    TooLarge { path: String, limit: usize },
    #[error("failed to read `{path}`: the file is not UTF-8 text")]
    NotText { path: String },
    #[error("failed to read `{path}`: {reason}")]
    Other { path: String, reason: String },
}
