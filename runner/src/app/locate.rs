//! Finds and reads a module's file.
//!
//! Looks a name up as Ansible does: folder by folder, by the file's name with or without its extension, leaving out
//! files that are never modules. Ansible takes the file that the folder happens to list first; this takes the first by
//! name, so that the answer is always the same.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest module file that is read; a Python interpreter as a component has 20 MB.
pub const MAX_MODULE: u64 = 256 << 20;

/// Files that mark a directory as a project. `modbox-authoring` builds these; a test compares the two lists.
pub const PROJECT_FILES: [&str; 5] = ["Cargo.toml", "main.c", "go.mod", "main.py", "main.js"];

/// Extensions of files that are not modules (ansible-core 2.19, `MODULE_IGNORE_EXTS`).
const IGNORED_EXTENSIONS: [&str; 10] = ["pyc", "pyo", "swp", "bak", "rpm", "md", "txt", "rst", "yaml", "yml"];

/// Location of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Located {
    /// A file.
    File(PathBuf),
    /// A directory with a guest project in it.
    Crate(PathBuf),
}

/// A module's path and contents.
#[derive(Debug, Clone)]
pub struct ModuleFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Whole contents.
    pub bytes: Arc<[u8]>,
}

/// An error in finding or reading a module.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The name is unknown in every folder of the library.
    #[error(
        "there is no module `{name}`: no such file, and nothing of that name in {}{}",
        folders(.searched),
        if *.directory { format!("; `./{name}` names the directory") } else { String::new() }
    )]
    NotFound {
        /// The name.
        name: String,
        /// The folders that were searched.
        searched: Vec<PathBuf>,
        /// Whether the working directory has a directory of that name.
        directory: bool,
    },
    /// The path does not exist.
    #[error("there is no module file `{}`", .0.display())]
    NoSuchFile(PathBuf),
    /// The path is a directory without a project.
    #[error(
        "`{}` is a directory without any of {}; name a module file or a guest crate",
        .0.display(),
        PROJECT_FILES.join(", ")
    )]
    NotACrate(PathBuf),
    /// The path is a FIFO, socket or device: reading it might never end.
    #[error("`{}` is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file is too large.
    #[error("`{}` is longer than the limit of {MAX_MODULE} bytes for a module", .0.display())]
    TooLarge(PathBuf),
    /// The file changed after modbox had opened it.
    #[error("the module `{}` changed while it was being read; run it again", .0.display())]
    Changed(PathBuf),
    /// The file cannot be read.
    #[error("failed to read the module `{}`", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

fn folders(searched: &[PathBuf]) -> String {
    let shown: Vec<String> = searched.iter().map(|folder| format!("`{}`", folder.display())).collect();
    shown.join(", ")
}

/// Returns whether a module is written as a path: with a slash, or as `.` or `..`.
#[must_use]
pub fn is_path(module: &Path) -> bool {
    let module = module.as_os_str().as_bytes();
    module.contains(&b'/') || module == b"." || module == b".."
}

/// Finds a module by path or by name. A file that exists is taken by its name, too. A directory is taken only if it is
/// [written as a path](is_path): a project may be built, and that runs its code unconfined, so a name from the library
/// must not become a directory that the working directory happens to have.
///
/// # Errors
///
/// No such module, or a directory that is not a project.
pub fn locate(module: &Path, library: &[PathBuf]) -> Result<Located, LocateError> {
    let is_path = is_path(module);
    let metadata = fs::metadata(module);
    let directory = metadata.as_ref().is_ok_and(Metadata::is_dir);
    match metadata {
        Ok(_) if !directory => return Ok(Located::File(module.to_owned())),
        Ok(_) if is_path && PROJECT_FILES.iter().any(|name| module.join(name).is_file()) => {
            return Ok(Located::Crate(module.to_owned()));
        }
        Ok(_) if is_path => return Err(LocateError::NotACrate(module.to_owned())),
        Err(error) if is_path => {
            return Err(match error.kind() {
                io::ErrorKind::NotFound => LocateError::NoSuchFile(module.to_owned()),
                _ => LocateError::Read { path: module.to_owned(), source: error },
            });
        }
        Ok(_) | Err(_) => {}
    }
    let found = library.iter().find_map(|folder| look_up(folder, module)).map(Located::File);
    found.ok_or_else(|| {
        let (name, searched) = (module.display().to_string(), library.to_vec());
        LocateError::NotFound { name, searched, directory }
    })
}

fn look_up(folder: &Path, name: &Path) -> Option<PathBuf> {
    let candidates = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let matches = |path: &PathBuf| {
        let ignored = path.file_name().is_some_and(|file| file.as_bytes().ends_with(b"~"))
            || path.extension().is_some_and(|extension| IGNORED_EXTENSIONS.iter().any(|ignored| extension == *ignored))
            || path.extension().is_some_and(|extension| extension == "ini");
        let named = path.file_stem() == Some(name.as_os_str()) || path.file_name() == Some(name.as_os_str());
        named && !ignored && path.is_file()
    };
    candidates.filter(matches).min()
}

/// Reads a module's file.
///
/// # Errors
///
/// A file that is not regular, too large, or cannot be read.
pub fn read(path: &Path) -> Result<ModuleFile, LocateError> {
    let (file, metadata) = open(path)?;
    Ok(ModuleFile { path: path.to_owned(), bytes: contents(path, &file, &metadata)? })
}

/// Opens a module's file, after checking its type and size.
pub(super) fn open(path: &Path) -> Result<(File, Metadata), LocateError> {
    let failed = |source| LocateError::Read { path: path.to_owned(), source };
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblock).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(LocateError::NotRegular(path.to_owned()));
    }
    if metadata.len() > MAX_MODULE {
        return Err(LocateError::TooLarge(path.to_owned()));
    }
    Ok((file, metadata))
}

/// Reads an open file of the length that `metadata` says.
pub(super) fn contents(path: &Path, file: &File, metadata: &Metadata) -> Result<Arc<[u8]>, LocateError> {
    let failed = |source| LocateError::Read { path: path.to_owned(), source };
    // Reads straight into the `Arc`: going through a `Vec` would copy every module once more on every run.
    let length = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
    let buffer = Arc::get_mut(&mut bytes).expect("no other reference exists yet");
    let mut reader = file;
    reader.read_exact(buffer).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_folder_by_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        for (folder, files) in [(&first, ["both.md", "b.yml", "a.wasm~"]), (&second, ["both.wasm", "both.py", "b"])] {
            fs::create_dir(folder).unwrap();
            for file in files {
                fs::write(folder.join(file), "").unwrap();
            }
        }
        let library = [dir.path().join("missing"), first, second.clone()];
        for (name, expect) in [("both", "both.py"), ("both.wasm", "both.wasm"), ("b", "b")] {
            assert_eq!(locate(Path::new(name), &library).unwrap(), Located::File(second.join(expect)));
        }
        assert!(matches!(locate(Path::new("a"), &library), Err(LocateError::NotFound { .. })));
    }

    #[test]
    fn a_path_is_not_looked_up() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nothing");
        assert!(matches!(locate(&path, &[dir.path().to_owned()]), Err(LocateError::NoSuchFile(_))));
        assert!(matches!(locate(dir.path(), &[]), Err(LocateError::NotACrate(_))));
    }

    #[test]
    fn a_path_has_a_slash_or_is_made_of_dots() {
        for (module, expect) in [("./a", true), ("a/", true), (".", true), ("..", true), ("a", false), (".a", false)] {
            assert_eq!(is_path(Path::new(module)), expect, "{module}");
        }
    }

    #[test]
    fn only_regular_files_are_read() {
        assert!(matches!(read(Path::new("/dev/zero")), Err(LocateError::NotRegular(_))));
        assert!(matches!(read(Path::new("/")), Err(LocateError::NotRegular(_))));
    }
}
