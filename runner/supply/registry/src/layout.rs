//! A folder with the content of registries, in the form of an OCI image layout, so that other tools read it.
//!
//! ```text
//! oci-layout                 the version
//! index.json                 the manifests, with the references that they were pulled by
//! blobs/sha256/HEX           content by its digest, read-only
//! ```
//!
//! Nothing in it is trusted: content is checked against its digest whenever it is read, and the index only tells which
//! manifest a reference stood for when it was pulled. This file sends nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use modbox_files::LastLink;
use modbox_trust::signature_file::MAX_SIGNATURE_FILE;
use rustix::fs::OFlags;

use crate::blob_writer::BlobWriter;
use crate::digest::Digest;
use crate::leftovers;
use crate::manifest::{Descriptor, Index, MANIFEST, MAX_MANIFEST, Manifest, ManifestError};
use crate::regular_file::{self, NotRead};

/// File that makes a folder a layout (OCI image specification 1.1, "Image Layout").
const VERSION: (&str, &str) = ("oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}");

/// File with the manifests.
const INDEX_FILE: &str = "index.json";

/// The index while it is written. Only the holder of the lock writes it, so one that was left is written over.
const NEW_INDEX: &str = "index.json.new";

/// Folder of the content.
const BLOBS: &str = "blobs/sha256";

/// Annotation with the reference of a manifest, which skopeo shows and takes.
const REFERENCE: &str = "org.opencontainers.image.ref.name";

/// Maximum size of the index: some hundred thousand manifests.
const MAX_INDEX: u64 = 64 << 20;

/// A folder with the content of registries.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

/// A module of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredModule {
    /// The reference without its scheme, as the layout has it.
    pub reference: String,
    /// Digest and size of the module's manifest in the layout.
    pub manifest: Descriptor,
}

/// A signature of a module of a layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSignature {
    /// The bytes of its manifest.
    pub manifest: Vec<u8>,
    /// The bytes of the statement with its signatures, as `modbox sign` writes them.
    pub file: Vec<u8>,
}

/// Why a folder cannot be used as a layout of modules.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A file or folder of it cannot be used.
    #[error("failed to {verb} `{}`", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Content is missing.
    #[error("the store `{}` has no {digest}", root.display())]
    Missing {
        /// The folder.
        root: PathBuf,
        /// The content.
        digest: Digest,
    },
    /// Content is not what its name says.
    #[error("`{}` is damaged: its content has another digest; remove it, and pull the module again", .0.display())]
    Damaged(PathBuf),
    /// Content is larger than allowed.
    #[error("`{}` is larger than {max} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The bound.
        max: u64,
    },
    /// A manifest or the index is not one.
    #[error("failed to read `{}`", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: ManifestError,
    },
}

impl Layout {
    /// Returns the layout in a folder, which need not exist yet.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// Returns the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the folders and the file of the version, unless they are there. Removes what killed processes left.
    ///
    /// # Errors
    ///
    /// They cannot be made.
    pub fn create(&self) -> Result<(), LayoutError> {
        let blobs = self.root.join(BLOBS);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&blobs).map_err(failed("make", &blobs))?;
        leftovers::sweep(&blobs);
        let version = self.root.join(VERSION.0);
        if !version.exists() {
            fs::write(&version, VERSION.1).map_err(failed("write", &version))?;
        }
        Ok(())
    }

    /// Returns the path of content, whether it is there or not.
    #[must_use]
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.root.join(BLOBS).join(digest.hex())
    }

    /// Returns whether content of this size is there. It may be damaged.
    #[must_use]
    pub fn has(&self, content: &Descriptor) -> bool {
        fs::symlink_metadata(self.path(&content.digest))
            .is_ok_and(|found| found.is_file() && found.len() == content.size)
    }

    /// Reads content, and checks its digest.
    ///
    /// # Errors
    ///
    /// It is missing, damaged, or larger than `max`.
    pub fn read(&self, digest: &Digest, max: u64) -> Result<Vec<u8>, LayoutError> {
        let path = self.path(digest);
        let missing = || LayoutError::Missing { root: self.root.clone(), digest: digest.clone() };
        let bytes = read_bounded(&path, max)?.ok_or_else(missing)?;
        if Digest::of(&bytes) == *digest { Ok(bytes) } else { Err(LayoutError::Damaged(path)) }
    }

    /// Reads a manifest. Returns its bytes as well.
    ///
    /// # Errors
    ///
    /// The same, or it is not a manifest.
    pub fn manifest(&self, digest: &Digest) -> Result<(Manifest, Vec<u8>), LayoutError> {
        let bytes = self.read(digest, MAX_MANIFEST)?;
        let invalid = |source| LayoutError::Manifest { path: self.path(digest), source };
        Ok((Manifest::parse(&bytes).map_err(invalid)?, bytes))
    }

    /// Adds content.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn add(&self, content: &[u8]) -> Result<Digest, LayoutError> {
        let mut blob = self.begin()?;
        blob.write_all(content).map_err(failed("write", &self.root))?;
        self.finish(blob)
    }

    /// Begins to add content piece by piece.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn begin(&self) -> Result<BlobWriter, LayoutError> {
        let blobs = self.root.join(BLOBS);
        BlobWriter::new(&blobs).map_err(failed("write to", &blobs))
    }

    /// Completes content. An undamaged blob of the same digest stays in place, so that its readers find it meanwhile.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn finish(&self, blob: BlobWriter) -> Result<Digest, LayoutError> {
        let digest = blob.digest();
        if self.read(&digest, blob.size()).is_ok() {
            return Ok(digest);
        }
        blob.finish().map_err(failed("write to", &self.root.join(BLOBS)))
    }

    /// Returns the manifests of the index.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub fn index(&self) -> Result<Index, LayoutError> {
        let path = self.root.join(INDEX_FILE);
        match read_bounded(&path, MAX_INDEX)? {
            Some(bytes) => Index::parse(&bytes).map_err(|source| LayoutError::Manifest { path, source }),
            None => Ok(Index::default()),
        }
    }

    /// Returns the modules that have a reference, in the order in which they came.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub fn modules(&self) -> Result<Vec<StoredModule>, LayoutError> {
        let named = |mut manifest: Descriptor| {
            let reference = manifest.annotations.remove(REFERENCE)?;
            Some(StoredModule { reference, manifest })
        };
        Ok(self.index()?.manifests.into_iter().filter_map(named).collect())
    }

    /// Returns the signatures of a manifest. Passes over damaged and missing ones: they vouch for nothing, and a pull brings
    /// them again.
    ///
    /// # Errors
    ///
    /// The index cannot be read.
    pub fn signatures(&self, subject: &Digest) -> Result<Vec<StoredSignature>, LayoutError> {
        let index = self.index()?;
        let artifacts = index.manifests.iter().filter(|listed| listed.artifact_type.is_some());
        Ok(artifacts.filter_map(|listed| self.signature(&listed.digest, subject)).collect())
    }

    fn signature(&self, manifest: &Digest, subject: &Digest) -> Option<StoredSignature> {
        let (manifest, bytes) = self.manifest(manifest).ok()?;
        let file = self.read(&manifest.signature_of(subject)?.digest, MAX_SIGNATURE_FILE).ok()?;
        Some(StoredSignature { manifest: bytes, file })
    }

    /// Returns whether content is there and undamaged.
    #[must_use]
    pub fn has_undamaged(&self, content: &Descriptor) -> bool {
        self.has(content) && self.read(&content.digest, content.size).is_ok()
    }

    /// Adds manifests to the index, each with its reference if it has one. A reference that was there moves.
    ///
    /// # Errors
    ///
    /// The index cannot be read or written.
    pub fn add_to_index(&self, manifests: &[(Descriptor, Option<String>)]) -> Result<(), LayoutError> {
        let lock = File::open(&self.root).map_err(failed("open", &self.root))?;
        lock.lock().map_err(failed("lock", &self.root))?;
        let mut index = self.index()?;
        for (manifest, reference) in manifests {
            index.manifests.retain(|found| {
                let moves = reference.is_some() && reference_of(found) == *reference;
                !moves && (found.digest != manifest.digest || reference_of(found) != *reference)
            });
            index.manifests.push(match reference {
                Some(reference) => with_reference(manifest.clone(), reference),
                None => manifest.clone(),
            });
        }
        self.write_index(&index)
    }

    fn write_index(&self, index: &Index) -> Result<(), LayoutError> {
        let (new, path) = (self.root.join(NEW_INDEX), self.root.join(INDEX_FILE));
        let write = || {
            let no_follow = OFlags::NOFOLLOW.bits().cast_signed();
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).custom_flags(no_follow).open(&new)?;
            file.write_all(&index.to_bytes())?;
            file.sync_all()
        };
        write().map_err(failed("write", &new))?;
        fs::rename(&new, &path).map_err(failed("write", &path))
    }
}

/// Returns the reference of a manifest of an index.
pub(crate) fn reference_of(listed: &Descriptor) -> Option<String> {
    listed.annotations.get(REFERENCE).cloned()
}

/// Describes a manifest for an index, with its reference.
pub(crate) fn with_reference(mut manifest: Descriptor, reference: &str) -> Descriptor {
    manifest.annotations.insert(REFERENCE.to_owned(), reference.to_owned());
    manifest
}

/// Describes a manifest for an index.
#[must_use]
pub fn described(manifest: &Manifest, bytes: &[u8]) -> Descriptor {
    Descriptor { artifact_type: manifest.artifact_type.clone(), ..Descriptor::of(MANIFEST, bytes) }
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LayoutError {
    let path = path.to_owned();
    move |source| LayoutError::Io { verb, path, source }
}

/// Reads a regular file up to a size. Returns `None` if it is missing.
fn read_bounded(path: &Path, max: u64) -> Result<Option<Vec<u8>>, LayoutError> {
    match regular_file::read(path, max, LastLink::Refused) {
        Ok(found) => Ok(found.map(|(bytes, _)| bytes)),
        Err(NotRead::Io(source)) => Err(failed("read", path)(source)),
        Err(NotRead::NotRegular) => {
            let source = io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file");
            Err(failed("read", path)(source))
        }
        Err(NotRead::TooLarge) => Err(LayoutError::TooLarge { path: path.to_owned(), max }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Annotations, WASM_LAYER};

    fn layout() -> (tempfile::TempDir, Layout) {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::at(dir.path().join("oci"));
        layout.create().unwrap();
        (dir, layout)
    }

    fn add_module(layout: &Layout, content: &[u8], reference: &str) -> Descriptor {
        let module = Descriptor::new(WASM_LAYER, layout.add(content).unwrap(), content.len() as u64);
        let manifest = Manifest::of_module(b"{}", module, Annotations::new());
        layout.add(&manifest.to_bytes()).unwrap();
        let descriptor = described(&manifest, &manifest.to_bytes());
        layout.add_to_index(&[(descriptor.clone(), Some(reference.to_owned()))]).unwrap();
        descriptor
    }

    #[test]
    fn content_is_read_as_it_was_added() {
        let (_dir, layout) = layout();
        let digest = layout.add(b"content").unwrap();
        assert_eq!(layout.add(b"content").unwrap(), digest);
        assert_eq!(layout.read(&digest, 7).unwrap(), b"content");
        assert!(matches!(layout.read(&digest, 6), Err(LayoutError::TooLarge { .. })));
        assert!(matches!(layout.read(&Digest::of(b"other"), 9), Err(LayoutError::Missing { .. })));
        let names = fs::read_dir(layout.root().join(BLOBS)).unwrap().count();
        assert_eq!(names, 1, "nothing else is left");
    }

    #[test]
    fn damaged_content_is_not_used_and_is_replaced() {
        let (_dir, layout) = layout();
        let digest = layout.add(b"content").unwrap();
        let path = layout.path(&digest);
        fs::remove_file(&path).unwrap();
        fs::write(&path, b"CONTENT").unwrap();
        assert!(matches!(layout.read(&digest, 7), Err(LayoutError::Damaged(_))));
        layout.add(b"content").unwrap();
        assert_eq!(layout.read(&digest, 7).unwrap(), b"content");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(matches!(layout.read(&digest, 1 << 20), Err(LayoutError::Io { .. })));
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        assert!(layout.read(&digest, 7).is_err());
    }

    #[test]
    fn a_reference_moves_and_others_stay() {
        let (_dir, layout) = layout();
        let first = add_module(&layout, b"\0asm1", "h/a:1");
        add_module(&layout, b"\0asm1", "h/a:latest");
        let second = add_module(&layout, b"\0asm2", "h/a:latest");
        add_module(&layout, b"\0asm2", "h/a:latest");
        let found: Vec<_> =
            layout.modules().unwrap().into_iter().map(|module| (module.reference, module.manifest.digest)).collect();
        assert_eq!(found, [("h/a:1".to_owned(), first.digest), ("h/a:latest".to_owned(), second.digest)]);
    }

    #[test]
    fn signatures_are_found_by_their_subject() {
        let (_dir, layout) = layout();
        let module = add_module(&layout, b"\0asm", "h/a:1");
        let (signature, config) = Manifest::of_signature(module.clone(), b"text");
        for content in [config, b"text", &signature.to_bytes()] {
            layout.add(content).unwrap();
        }
        layout.add_to_index(&[(described(&signature, &signature.to_bytes()), None)]).unwrap();
        assert_eq!(
            layout.signatures(&module.digest).unwrap(),
            [StoredSignature { manifest: signature.to_bytes(), file: b"text".to_vec() }]
        );
        assert_eq!(layout.signatures(&Digest::of(b"")).unwrap(), []);
    }

    #[test]
    fn two_writers_lose_nothing() {
        let (_dir, layout) = layout();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let layout = &layout;
                scope.spawn(move || {
                    for number in 0..10 {
                        add_module(layout, format!("{writer}-{number}").as_bytes(), &format!("h/a:{writer}-{number}"));
                    }
                });
            }
        });
        assert_eq!(layout.modules().unwrap().len(), 80);
    }
}
