//! Files that an action makes for one run of a module, in a directory that no other run uses at the same time.
//!
//! Runs that follow each other use the same directory: then a file has the same path each time, so that runs of one module
//! have equal grants, and a warm worker serves them all.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use modbox_policy::{Access, PathGrant, Shape, find_user};
use modbox_scratch::{DirPurpose, Scratch, ScratchRoot};
use modbox_tasks::run::host::PrivateFile;
use modbox_vocabulary::{GrantSource, error_chain};

/// Directories that no run uses, by the uid of the user that runs become.
#[derive(Debug)]
pub(crate) struct PrivateFolders {
    root: ScratchRoot,
    idle: HashMap<Option<u32>, Scratch>,
}

/// Files that an action made for a run. They are removed, with their directory, when this is dropped.
#[derive(Debug, Default)]
pub(crate) struct PrivateFiles {
    /// Their paths, in the order of the files.
    pub(crate) paths: Vec<PathBuf>,
    /// The uid of the user that the run becomes.
    owner: Option<u32>,
    folder: Option<Scratch>,
}

/// The files cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write a file for the module: {0}")]
pub(crate) struct PrivateFileError(String);

impl PrivateFolders {
    /// Creates no directory yet.
    pub(crate) fn new(root: ScratchRoot) -> Self {
        Self { root, idle: HashMap::new() }
    }

    /// Writes the files into a directory that belongs to the user that the run becomes, so that no other one can read them.
    ///
    /// # Errors
    ///
    /// The user is unknown, or a file cannot be written.
    pub(crate) fn write(
        &mut self,
        files: &[PrivateFile],
        become_user: Option<&str>,
    ) -> Result<PrivateFiles, PrivateFileError> {
        if files.is_empty() {
            return Ok(PrivateFiles::default());
        }
        let user = become_user.map(find_user).transpose().map_err(|error| PrivateFileError(error.to_string()))?;
        let user = user.flatten();
        let owner = user.as_ref().map(|user| user.uid);
        if let Some(idle) = self.idle.remove(&owner)
            && let Ok(written) = write_all(idle, files, owner)
        {
            return Ok(written);
        }
        let scratch = self.root.create(DirPurpose::Run, user.as_ref());
        let scratch = scratch.map_err(|error| PrivateFileError(error_chain(&error)))?;
        write_all(scratch, files, owner).map_err(|error| PrivateFileError(error.to_string()))
    }

    /// Removes the files of a run that ended. Their directory is kept if nothing else is in it.
    pub(crate) fn take_back(&mut self, files: PrivateFiles) {
        if let Some(folder) = files.folder
            && is_emptied(&folder, &files.paths).unwrap_or_default()
        {
            self.idle.insert(files.owner, folder);
        }
    }
}

/// Writes files into an empty directory.
fn write_all(scratch: Scratch, files: &[PrivateFile], owner: Option<u32>) -> io::Result<PrivateFiles> {
    let folder = Dir::open_ambient_dir(scratch.path(), ambient_authority())?;
    let readable = if owner.is_some() { 0o444 } else { 0 };
    let mut paths = Vec::new();
    for (number, file) in files.iter().enumerate() {
        // Several files of a run may have one name.
        let name = if number == 0 { file.name.clone() } else { format!("{number}-{}", file.name) };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(file.mode | readable);
        folder.open_with(&name, &options)?.write_all(&file.content)?;
        paths.push(scratch.path().join(name));
    }
    Ok(PrivateFiles { paths, owner, folder: Some(scratch) })
}

/// Removes files from their directory, and returns whether it is empty then. A module may have moved them away.
fn is_emptied(scratch: &Scratch, paths: &[PathBuf]) -> io::Result<bool> {
    let folder = Dir::open_ambient_dir(scratch.path(), ambient_authority())?;
    for name in paths.iter().filter_map(|path| path.file_name()) {
        match folder.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(folder.entries()?.next().is_none())
}

impl PrivateFiles {
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
        source: GrantSource::named("action of the task"),
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the files are the test's own")]
mod tests {
    use std::fs;
    use std::path::Path;

    use modbox_cleanup::Cleanup;

    use super::*;

    fn file(content: &str) -> PrivateFile {
        let content = content.as_bytes().into();
        PrivateFile { argument: Vec::new(), inserted_at: Vec::new(), name: "source".to_owned(), content, mode: 0o600 }
    }

    fn folders(directory: &Path) -> PrivateFolders {
        PrivateFolders::new(ScratchRoot::new(directory, Cleanup::default()))
    }

    #[test]
    fn a_run_finds_its_files_where_those_of_the_last_one_were() {
        let directory = tempfile::tempdir().unwrap();
        let mut folders = folders(directory.path());
        let first = folders.write(&[file("one"), file("two")], None).unwrap();
        let paths = first.paths.clone();
        // Ansible's modules may move a file to where it belongs.
        fs::rename(&paths[1], directory.path().join("moved")).unwrap();
        folders.take_back(first);
        assert!(!paths[0].exists());
        let second = folders.write(&[file("three")], None).unwrap();
        assert_eq!((second.paths.as_slice(), fs::read_to_string(&paths[0]).unwrap().as_str()), (&paths[..1], "three"));
        let third = folders.write(&[file("four")], None).unwrap();
        assert_ne!(third.paths, second.paths);
        drop((second, third));
        assert!(!paths[0].parent().unwrap().exists());
    }

    #[test]
    fn what_a_run_left_is_not_for_the_next_one() {
        let directory = tempfile::tempdir().unwrap();
        let mut folders = folders(directory.path());
        for leave in [
            |path: &Path| fs::write(path.with_file_name("left"), ""),
            |path: &Path| {
                fs::remove_file(path)?;
                fs::create_dir(path)
            },
        ] {
            let first = folders.write(&[file("one")], None).unwrap();
            let path = first.paths[0].clone();
            leave(&path).unwrap();
            folders.take_back(first);
            assert!(!path.parent().unwrap().exists());
            let second = folders.write(&[file("two")], None).unwrap();
            assert_ne!(second.paths[0], path);
            folders.take_back(second);
        }
    }
}
