//! The modules that were pulled: a layout with their content, and their signature files by the digests of the modules.
//!
//! ```text
//! oci/               the layout
//! signatures/HEX/    the signature files of the module with that digest, one for each statement, within bounds
//! ```
//!
//! A signature file here is what registries sent; the keys of the policy decide whether it counts.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use modbox_files::LastLink;
use modbox_trust::signature_file::{MAX_SIGNATURE_FILE, SignatureFile};

use crate::digest::Digest;
use crate::kept_signatures::{self, CountsFn, KeptFile, LeftOut, MAX_STATEMENTS};
use crate::layout::{Layout, LayoutError};
use crate::{leftovers, regular_file};

/// Folder of the layout.
const LAYOUT: &str = "oci";

/// Folder of the signature files.
const SIGNATURES: &str = "signatures";

/// Number of files that are looked at where other programs have left more than modbox keeps.
const MAX_STORED: usize = 256;

/// The modules that were pulled.
#[derive(Debug, Clone)]
pub struct ModuleStore {
    root: PathBuf,
    layout: Layout,
}

impl ModuleStore {
    /// Returns the store in a folder, which need not exist yet.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        let layout = Layout::at(root.join(LAYOUT));
        Self { root, layout }
    }

    /// Returns the layout.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Keeps signature files of a module that come from a registry or a bundle: one file for each statement, with signatures that came
    /// before. What counts is kept first. Returns what there was no room for.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn keep_signatures(
        &self,
        module: &Digest,
        new: &[Vec<u8>],
        counts: &CountsFn<'_>,
    ) -> Result<LeftOut, LayoutError> {
        let parsed = |files: &[Vec<u8>]| files.iter().filter_map(|file| SignatureFile::parse(file).ok()).collect();
        let old: Vec<Vec<u8>> = self.stored_files(module).into_iter().map(|(_, bytes)| bytes).collect();
        let (files, left_out) = kept_signatures::choose(module.hex(), parsed(&old), parsed(new), counts);
        let folder = self.signatures_of(module);
        let mut kept = BTreeSet::new();
        for KeptFile { file, counts } in files {
            let name = Digest::of(file.statement.to_string().as_bytes());
            let (path, text) = (folder.join(format!("{}.sig", name.hex())), file.to_string());
            kept.insert(path.clone());
            let is_new = old.iter().all(|known| *known != text.as_bytes());
            let kept = match (is_new, counts) {
                (true, _) => write(&folder, &path, text.as_bytes(), counts),
                // What has counted once stays the oldest, so that it is kept where there are no keys to judge by, too.
                (false, true) => File::options().write(true).open(&path).and_then(|file| file.set_modified(UNIX_EPOCH)),
                (false, false) => Ok(()),
            };
            kept.map_err(|source| LayoutError::Io { verb: "write", path, source })?;
        }
        for path in signature_paths(&folder).into_iter().filter(|path| !kept.contains(path)) {
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(LayoutError::Io { verb: "remove", path, source });
                }
                _ => {}
            }
        }
        Ok(left_out)
    }

    /// Returns the signature files of a module that came from registries.
    #[must_use]
    pub fn signature_files(&self, module: &Digest) -> Vec<Vec<u8>> {
        let files = self.stored_files(module);
        files.into_iter().take(MAX_STATEMENTS).map(|(_, bytes)| bytes).collect()
    }

    /// Returns the signature files of a module, the oldest first, each with its path.
    fn stored_files(&self, module: &Digest) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = signature_paths(&self.signatures_of(module));
        let read = |path: PathBuf| {
            let (bytes, _) = regular_file::read(&path, MAX_SIGNATURE_FILE, LastLink::Refused).ok().flatten()?;
            Some((path, bytes))
        };
        paths.into_iter().take(MAX_STORED).filter_map(read).collect()
    }

    fn signatures_of(&self, module: &Digest) -> PathBuf {
        self.root.join(SIGNATURES).join(module.hex())
    }
}

/// Returns the paths of the signature files in a folder, the oldest first.
fn signature_paths(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let age = |path: &PathBuf| (fs::symlink_metadata(path).and_then(|found| found.modified()).ok(), path.clone());
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "sig")).collect();
    paths.sort_by_cached_key(age);
    paths
}

/// Writes a file whole or not at all, as the oldest one if it counts.
fn write(folder: &Path, path: &Path, text: &[u8], counts: bool) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    leftovers::sweep(folder);
    let mut file = tempfile::Builder::new().prefix(leftovers::PREFIX).tempfile_in(folder)?;
    file.write_all(text)?;
    if counts {
        file.as_file().set_modified(UNIX_EPOCH)?;
    }
    file.persist(path)?;
    Ok(())
}
