//! Files that an action makes for one run of a module, in a directory of the run's own.

use std::io::Write;
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use modbox_policy::{Access, PathGrant, Shape, find_user};
use modbox_scratch::{DirPurpose, Scratch, ScratchRoot};
use modbox_tasks::run::host::PrivateFile;
use modbox_vocabulary::error_chain;

/// Files that an action made for a run. They are removed when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct PrivateFiles {
    /// Their paths, in the order of the files.
    pub(crate) paths: Vec<PathBuf>,
    _folder: Option<Scratch>,
}

/// The files cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write a file for the module: {0}")]
pub(crate) struct PrivateFileError(String);

impl PrivateFiles {
    /// Writes the files into a directory of their own. It belongs to the user that the run becomes, so that no other one
    /// can read them.
    ///
    /// # Errors
    ///
    /// The user is unknown, or a file cannot be written.
    pub(crate) fn write(
        root: &ScratchRoot,
        files: &[PrivateFile],
        become_user: Option<&str>,
    ) -> Result<Self, PrivateFileError> {
        if files.is_empty() {
            return Ok(Self::default());
        }
        let user = become_user.map(find_user).transpose().map_err(|error| PrivateFileError(error.to_string()))?;
        let user = user.flatten();
        let scratch = root.create(DirPurpose::Run, user.as_ref());
        let scratch = scratch.map_err(|error| PrivateFileError(error_chain(&error)))?;
        let readable = if user.is_some() { 0o444 } else { 0 };
        let folder = Dir::open_ambient_dir(scratch.path(), ambient_authority());
        let folder = folder.map_err(|error| PrivateFileError(error.to_string()))?;
        let mut paths = Vec::new();
        for (number, file) in files.iter().enumerate() {
            // Several files of a run may have one name.
            let name = if number == 0 { file.name.clone() } else { format!("{number}-{}", file.name) };
            let mut options = OpenOptions::new();
            options.write(true).create_new(true).mode(file.mode | readable);
            let written = folder.open_with(&name, &options).and_then(|mut open| open.write_all(&file.content));
            written.map_err(|error| PrivateFileError(error.to_string()))?;
            paths.push(scratch.path().join(name));
        }
        Ok(Self { paths, _folder: Some(scratch) })
    }

    /// Returns the paths as text.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.display().to_string()).collect()
    }
}

/// Returns the grants of a run for such files. Ansible's modules give one the mode of the file that it replaces, before they
/// copy it there.
pub(crate) fn grants(paths: &[PathBuf]) -> impl Iterator<Item = PathGrant> {
    paths.iter().map(|path| PathGrant {
        host: path.clone(),
        shape: Shape::Name,
        guest: path.display().to_string(),
        access: Access::Write,
        source: "action of the task".to_owned(),
    })
}
