//! The modules that were pulled: a layout with their content, and their signature files by the digests of the modules.
//!
//! ```text
//! oci/               the layout
//! signatures/HEX/    the signature files of the module with that digest, one for each statement
//! ```
//!
//! A signature file here is what registries sent; the keys of the policy decide whether it counts.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use modbox_trust::signature_file::{MAX_SIGNATURE_FILE, SignatureFile};
use rustix::fs::OFlags;

use crate::digest::Digest;
use crate::layout::{Layout, LayoutError};
use crate::{leftovers, regular_file};

/// Folder of the layout.
const LAYOUT: &str = "oci";

/// Folder of the signature files.
const SIGNATURES: &str = "signatures";

/// Number of statements about one module.
const MAX_STATEMENTS: usize = 32;

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

    /// Writes the signature files of a module: one for each statement, with all signatures of it that came with the manifest or
    /// before.
    ///
    /// # Errors
    ///
    /// The layout cannot be read, or a file cannot be written.
    pub fn write_signatures(&self, manifest: &Digest, module: &Digest) -> Result<(), LayoutError> {
        let came = self.layout.signatures(manifest)?.into_iter().map(|signature| signature.file);
        let mut merged: Vec<SignatureFile> = Vec::new();
        for file in self.signature_files(module).into_iter().chain(came) {
            let Ok(file) = SignatureFile::parse(&file) else { continue };
            match merged.iter().position(|other| other.statement == file.statement) {
                Some(other) => add(&mut merged[other], file),
                None if file.statement.digest == module.hex() && merged.len() < MAX_STATEMENTS => merged.push(file),
                None => {}
            }
        }
        let folder = self.signatures_of(module);
        for file in merged {
            let name = Digest::of(file.statement.to_string().as_bytes());
            let path = folder.join(format!("{}.sig", name.hex()));
            let text = file.to_string();
            if text.len() as u64 <= MAX_SIGNATURE_FILE {
                write(&folder, &path, text.as_bytes()).map_err(|source| LayoutError::Io {
                    verb: "write",
                    path,
                    source,
                })?;
            }
        }
        Ok(())
    }

    /// Returns the signature files of a module that came from registries.
    #[must_use]
    pub fn signature_files(&self, module: &Digest) -> Vec<Vec<u8>> {
        let Ok(entries) = fs::read_dir(self.signatures_of(module)) else { return Vec::new() };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "sig")).collect();
        paths.sort();
        let read = |path: &PathBuf| regular_file::read(path, MAX_SIGNATURE_FILE, OFlags::NOFOLLOW).ok().flatten();
        paths.iter().take(MAX_STATEMENTS).filter_map(read).map(|(bytes, _)| bytes).collect()
    }

    fn signatures_of(&self, module: &Digest) -> PathBuf {
        self.root.join(SIGNATURES).join(module.hex())
    }
}

/// Adds the signatures that a file does not have.
fn add(file: &mut SignatureFile, other: SignatureFile) {
    for signature in other.signatures {
        if !file.signatures.contains(&signature) {
            file.signatures.push(signature);
        }
    }
}

/// Writes a file whole or not at all.
fn write(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    leftovers::sweep(folder);
    let mut file = tempfile::Builder::new().prefix(leftovers::PREFIX).tempfile_in(folder)?;
    file.write_all(text)?;
    file.persist(path)?;
    Ok(())
}
