//! The modules that were pulled: a layout with their content, and their signature files by the digests of the modules.
//!
//! ```text
//! oci/               the layout
//! signatures/        HEX.sig for the module with that digest
//! ```
//!
//! A signature file here is what registries sent; the keys of the policy decide whether it counts.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use modbox_trust::signature_file::SignatureFile;

use crate::digest::Digest;
use crate::layout::{Layout, LayoutError};

/// Folder of the layout.
const LAYOUT: &str = "oci";

/// Folder of the signature files.
const SIGNATURES: &str = "signatures";

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

    /// Returns the folder with the signature files.
    #[must_use]
    pub fn signatures(&self) -> PathBuf {
        self.root.join(SIGNATURES)
    }

    /// Writes the signature file of a module, from all signature files that came with its manifest. Those of another
    /// statement than the first are left out.
    ///
    /// # Errors
    ///
    /// The layout cannot be read, or the file cannot be written.
    pub fn write_signatures(&self, manifest: &Digest, module: &Digest) -> Result<(), LayoutError> {
        let files = self.layout.signatures(manifest)?;
        let parsed = files.iter().filter_map(|signature| SignatureFile::parse(&signature.file).ok());
        let mut own = parsed.filter(|file| file.statement.digest == module.hex());
        let Some(mut merged) = own.next() else { return Ok(()) };
        for other in own.filter(|other| other.statement == merged.statement).collect::<Vec<_>>() {
            let new = other.signatures.into_iter().filter(|signature| !merged.signatures.contains(signature));
            let new: Vec<_> = new.collect();
            merged.signatures.extend(new);
        }
        let folder = self.signatures();
        let path = folder.join(format!("{}.sig", module.hex()));
        write(&folder, &path, merged.to_string().as_bytes()).map_err(|source| LayoutError::Io {
            verb: "write",
            path,
            source,
        })
    }
}

/// Writes a file whole or not at all.
fn write(folder: &Path, path: &Path, text: &[u8]) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder)?;
    file.write_all(text)?;
    file.persist(path)?;
    Ok(())
}
