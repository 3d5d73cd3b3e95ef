//! Bundles: modules with their signatures in one file, to carry them to where there is no network.
//!
//! A bundle is a tar of an OCI image layout, as skopeo's `oci-archive` is. A bundle is checked as an answer of a registry is:
//! everything follows from the digests of the manifests that the index names, and only what they name is kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek as _, Write};
use std::path::Path;

use modbox_trust::signature_file::MAX_SIGNATURE_FILE;

use crate::digest::Digest;
use crate::kept_signatures::{CountsFn, LeftOut, has_statement};
use crate::layout::{Layout, LayoutError, StoredModule, described, reference_of, with_reference};
use crate::manifest::{Descriptor, Index, MAX_CONFIG, MAX_MANIFEST, Manifest, ManifestError};
use crate::messages::Text;
use crate::module_store::ModuleStore;

/// Content of the file that makes a folder a layout.
const VERSION: &[u8] = b"{\"imageLayoutVersion\":\"1.0.0\"}";

/// Maximum size of that file.
const MAX_VERSION: u64 = 4 << 10;

/// Maximum number of files in a bundle.
const MAX_FILES: usize = 100_000;

/// Maximum size of all manifests of a bundle, which are held in memory.
const MAX_MANIFESTS: u64 = 64 << 20;

/// Why a file cannot be read or written as a bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The file cannot be read or written.
    #[error("failed to {verb} the bundle")]
    Io {
        /// What was tried.
        verb: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// It is not a tar.
    #[error("it is not a tar archive, or a part of it is missing")]
    NotTar(#[source] io::Error),
    /// It is not a bundle.
    #[error("it is not a bundle: {0}")]
    Form(&'static str),
    /// It is a layout of another version.
    #[error(
        "it is an OCI image layout of version `{0}`, and modbox reads those of version 1; save it again as one of these"
    )]
    Version(Text),
    /// Its index or a manifest is not one.
    #[error("its {what} cannot be used")]
    Manifest {
        /// The file.
        what: String,
        /// The cause.
        #[source]
        source: ManifestError,
    },
    /// What a manifest names is missing.
    #[error("it lacks {0}, which one of its manifests names")]
    Missing(Digest),
    /// Content is not what its name says.
    #[error("its {0} has other content than its name says; it is damaged, save it again")]
    Damaged(Digest),
    /// Content is larger than allowed.
    #[error("its {digest} is larger than {max} bytes")]
    TooLarge {
        /// The content.
        digest: Digest,
        /// The bound.
        max: u64,
    },
}

/// Writes modules of a store with their signatures to a bundle. Its bytes follow from the modules alone.
///
/// # Errors
///
/// The store lacks something, or the bundle cannot be written.
pub fn save(store: &ModuleStore, modules: &[StoredModule], bundle: impl Write) -> Result<(), BundleError> {
    let layout = store.layout();
    let (mut index, mut blobs) = (Index::default(), BTreeMap::new());
    let mut modules: Vec<&StoredModule> = modules.iter().collect();
    modules.sort_by_key(|module| (&module.reference, &module.manifest.digest));
    modules.dedup();
    for module in modules {
        let (manifest, bytes) = layout.manifest(&module.manifest.digest)?;
        add(&manifest, &bytes, &mut blobs);
        index.manifests.push(with_reference(module.manifest.clone(), &module.reference));
        let mut signatures = layout.signatures(&module.manifest.digest)?;
        if let Ok(content) = manifest.module() {
            // Artifacts that came with an older modbox may be ones that were not kept.
            let kept = store.signature_files(&content.digest);
            signatures.retain(|signature| has_statement(&kept, &signature.file));
        }
        signatures.sort_by_key(|signature| Digest::of(&signature.manifest));
        for signature in signatures {
            let manifest = Manifest::parse(&signature.manifest).map_err(of("manifest of a signature"))?;
            let listed = described(&manifest, &signature.manifest);
            add(&manifest, &signature.manifest, &mut blobs);
            if !index.manifests.contains(&listed) {
                index.manifests.push(listed);
            }
        }
    }
    let failed = |source| BundleError::Io { verb: "write", source };
    let mut tar = tar::Builder::new(bundle);
    append(&mut tar, "oci-layout", VERSION).map_err(failed)?;
    append(&mut tar, "index.json", &index.to_bytes()).map_err(failed)?;
    for (digest, size) in blobs {
        let content = layout.read(&digest, size)?;
        append(&mut tar, &format!("blobs/sha256/{}", digest.hex()), &content).map_err(failed)?;
    }
    tar.into_inner().and_then(|mut bundle| bundle.flush()).map_err(failed)
}

/// Adds a manifest and what it names, each with its size.
fn add(manifest: &Manifest, bytes: &[u8], blobs: &mut BTreeMap<Digest, u64>) {
    for content in manifest.layers.iter().chain([&manifest.config]) {
        blobs.insert(content.digest.clone(), content.size);
    }
    blobs.insert(Digest::of(bytes), bytes.len() as u64);
}

fn append(tar: &mut tar::Builder<impl Write>, name: &str, content: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    tar.append_data(&mut header, name, content)
}

/// A bundle that is read.
#[derive(Debug)]
pub struct Bundle {
    file: File,
    /// The manifests, each with its bytes.
    manifests: Vec<(Descriptor, Manifest, Vec<u8>)>,
}

impl Bundle {
    /// Reads the index and the manifests.
    ///
    /// # Errors
    ///
    /// It is not a bundle, or something in it is damaged or too large.
    pub fn read(mut file: File) -> Result<Self, BundleError> {
        let (mut index, mut version) = (None, None);
        each(&mut file, |path, entry| {
            if path == Path::new("index.json") {
                index = Some(bounded(entry, MAX_MANIFEST)?);
            } else if path == Path::new("oci-layout") {
                version = Some(bounded(entry, MAX_VERSION)?);
            }
            Ok(())
        })?;
        check_version(&version.ok_or(BundleError::Form("it has no `oci-layout`"))?)?;
        let index = index.ok_or(BundleError::Form("it has no `index.json`"))?;
        let index = Index::parse(&index).map_err(of("index"))?;
        if index.manifests.iter().map(|listed| listed.size).fold(0, u64::saturating_add) > MAX_MANIFESTS {
            return Err(BundleError::Form("its manifests are too large"));
        }
        let wanted = index.manifests.iter().map(|listed| (listed.digest.clone(), listed.size.min(MAX_MANIFEST)));
        let mut found = contents(&mut file, &wanted.collect())?;
        let manifests = index.manifests.into_iter().map(|listed| {
            let bytes =
                found.get(&listed.digest).cloned().ok_or_else(|| BundleError::Missing(listed.digest.clone()))?;
            let manifest = Manifest::parse(&bytes).map_err(of(listed.digest.as_str()))?;
            Ok((listed, manifest, bytes))
        });
        let manifests = manifests.collect::<Result<_, BundleError>>()?;
        found.clear();
        Ok(Self { file, manifests })
    }

    /// Keeps all of the bundle in a store. `counts` tells which signatures count. Returns the modules that have a reference, and what
    /// there was no room for.
    ///
    /// # Errors
    ///
    /// Something is missing, damaged or too large, or the store fails.
    pub fn load(
        mut self,
        store: &ModuleStore,
        max_module: u64,
        counts: &CountsFn<'_>,
    ) -> Result<(Vec<StoredModule>, LeftOut), BundleError> {
        let layout = store.layout();
        layout.create()?;
        let mut wanted = BTreeMap::new();
        for (_, manifest, _) in &self.manifests {
            let max = if manifest.module().is_ok() { max_module } else { MAX_SIGNATURE_FILE };
            let layers = manifest.layers.iter().map(|layer| (layer, max));
            for (content, max) in layers.chain([(&manifest.config, MAX_CONFIG)]) {
                if content.size > max {
                    return Err(BundleError::TooLarge { digest: content.digest.clone(), max });
                }
                wanted.insert(content.digest.clone(), content.size);
            }
        }
        keep(&mut self.file, layout, &wanted)?;
        let mut index = Vec::new();
        for (listed, manifest, bytes) in &self.manifests {
            layout.add(bytes)?;
            index.push((described(manifest, bytes), reference_of(listed)));
        }
        layout.add_to_index(&index)?;
        let modules = self.manifests.iter().filter_map(|(listed, manifest, bytes)| {
            let module = manifest.module().ok()?;
            let stored = StoredModule { reference: reference_of(listed)?, manifest: described(manifest, bytes) };
            Some((stored, module))
        });
        let (mut loaded, mut left_out) = (Vec::new(), LeftOut::default());
        for (stored, module) in modules {
            let subject = &stored.manifest.digest;
            let of_subject = self.manifests.iter().filter_map(|(_, manifest, _)| manifest.signature_of(subject));
            let files = of_subject.map(|layer| layout.read(&layer.digest, MAX_SIGNATURE_FILE));
            let more = store.keep_signatures(&module.digest, &files.collect::<Result<Vec<_>, _>>()?, counts)?;
            left_out.statements += more.statements;
            left_out.signatures += more.signatures;
            loaded.push(stored);
        }
        Ok((loaded, left_out))
    }
}

/// Refuses a layout of an unknown version.
fn check_version(file: &[u8]) -> Result<(), BundleError> {
    let json: serde_json::Value = serde_json::from_slice(file).unwrap_or_default();
    let version = json["imageLayoutVersion"].as_str();
    let version = version.ok_or(BundleError::Form("its `oci-layout` has no `imageLayoutVersion`"))?;
    if version.split('.').next() == Some("1") { Ok(()) } else { Err(BundleError::Version(version.into())) }
}

/// Writes the wanted content of a bundle to a layout, each up to its size.
fn keep(file: &mut File, layout: &Layout, wanted: &BTreeMap<Digest, u64>) -> Result<(), BundleError> {
    let mut missing: BTreeMap<&Digest, u64> = wanted.iter().map(|(digest, size)| (digest, *size)).collect();
    each(file, |path, entry| {
        let Some(digest) = blob(path) else { return Ok(()) };
        let Some(size) = missing.remove(&digest) else { return Ok(()) };
        let mut blob = layout.begin()?;
        let copied = io::copy(&mut entry.take(size + 1), &mut blob);
        copied.map_err(|source| BundleError::Io { verb: "read", source })?;
        if blob.size() != size || blob.digest() != digest {
            return Err(BundleError::Damaged(digest));
        }
        layout.finish(blob)?;
        Ok(())
    })?;
    match missing.into_keys().next() {
        Some(digest) => Err(BundleError::Missing(digest.clone())),
        None => Ok(()),
    }
}

/// Reads the wanted content of a bundle, each up to its size.
fn contents(file: &mut File, wanted: &BTreeMap<Digest, u64>) -> Result<BTreeMap<Digest, Vec<u8>>, BundleError> {
    let mut found = BTreeMap::new();
    each(file, |path, entry| {
        let Some(digest) = blob(path) else { return Ok(()) };
        let Some(size) = wanted.get(&digest) else { return Ok(()) };
        let bytes = bounded(entry, *size)?;
        if Digest::of(&bytes) != digest {
            return Err(BundleError::Damaged(digest));
        }
        found.insert(digest, bytes);
        Ok(())
    })?;
    Ok(found)
}

/// Goes through the files of a bundle.
fn each(
    file: &mut File,
    mut visit: impl FnMut(&Path, &mut dyn Read) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let failed = |source| BundleError::Io { verb: "read", source };
    file.rewind().map_err(failed)?;
    let mut archive = tar::Archive::new(&*file);
    // As they are: what extends headers is read into memory, however long it is, and no name here needs it.
    for (number, entry) in archive.entries().map_err(BundleError::NotTar)?.raw(true).enumerate() {
        if number >= MAX_FILES {
            return Err(BundleError::Form("it has too many files"));
        }
        let mut entry = entry.map_err(BundleError::NotTar)?;
        if entry.header().entry_type().is_file() {
            let path = entry.path().map_err(BundleError::NotTar)?.into_owned();
            visit(path.strip_prefix(".").unwrap_or(&path), &mut entry)?;
        }
    }
    Ok(())
}

/// Returns the digest of the content at a path.
fn blob(path: &Path) -> Option<Digest> {
    let name = path.strip_prefix("blobs/sha256").ok()?;
    Digest::from_hex(name.to_str()?).ok()
}

fn bounded(entry: &mut dyn Read, max: u64) -> Result<Vec<u8>, BundleError> {
    let mut bytes = Vec::new();
    entry.take(max + 1).read_to_end(&mut bytes).map_err(|source| BundleError::Io { verb: "read", source })?;
    if bytes.len() as u64 > max {
        Err(BundleError::Form("its `oci-layout`, its index or a manifest is too large"))
    } else {
        Ok(bytes)
    }
}

fn of(what: &str) -> impl FnOnce(ManifestError) -> BundleError {
    let what = what.to_owned();
    move |source| BundleError::Manifest { what, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Annotations, WASM_LAYER};

    fn store() -> (tempfile::TempDir, ModuleStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = ModuleStore::at(dir.path().to_owned());
        store.layout().create().unwrap();
        (dir, store)
    }

    fn add_module(store: &ModuleStore, content: &[u8]) -> StoredModule {
        let layout = store.layout();
        let module = Descriptor::new(WASM_LAYER, layout.add(content).unwrap(), content.len() as u64);
        let manifest = Manifest::of_module(b"{}", module, Annotations::new());
        layout.add(b"{}").unwrap();
        layout.add(&manifest.to_bytes()).unwrap();
        let manifest = described(&manifest, &manifest.to_bytes());
        layout.add_to_index(&[(manifest.clone(), Some("h/a:1".to_owned()))]).unwrap();
        StoredModule { reference: "h/a:1".to_owned(), manifest }
    }

    fn bundle() -> (Vec<u8>, StoredModule) {
        let (_dir, store) = store();
        let module = add_module(&store, b"\0asm content");
        let mut bundle = Vec::new();
        save(&store, std::slice::from_ref(&module), &mut bundle).unwrap();
        (bundle, module)
    }

    fn load(bytes: &[u8], store: &ModuleStore) -> Result<Vec<StoredModule>, BundleError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Ok(Bundle::read(file)?.load(store, 1 << 20, &|_, _| false)?.0)
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let (bytes, module) = bundle();
        assert_eq!(bundle().0, bytes, "the bytes follow from the modules");
        let (_dir, store) = store();
        assert_eq!(load(&bytes, &store).unwrap(), std::slice::from_ref(&module));
        assert_eq!(store.layout().modules().unwrap(), std::slice::from_ref(&module));
        assert_eq!(store.layout().read(&Digest::of(b"\0asm content"), 100).unwrap(), b"\0asm content");
    }

    #[test]
    fn no_damage_is_loaded() {
        let (bytes, module) = bundle();
        let original = Digest::of(b"\0asm content");
        // Most of an archive is zeros that fill its blocks; a part of those will do.
        for at in (0..bytes.len()).filter(|at| bytes[*at] != 0 || at % 16 == 0) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let (_dir, store) = store();
            let Ok(loaded) = load(&damaged, &store) else { continue };
            // What is not read, such as an owner in a header, may differ; and a reference is only a name.
            let manifests: Vec<_> = loaded.iter().map(|loaded| &loaded.manifest.digest).collect();
            assert!(manifests.iter().all(|digest| **digest == module.manifest.digest), "byte {at}");
            assert_eq!(store.layout().read(&original, 100).unwrap(), b"\0asm content", "byte {at}");
        }
        for end in (0..bytes.len()).step_by(100) {
            let (_dir, store) = store();
            let loaded = load(&bytes[..end], &store);
            assert!(loaded.is_err() || end > bytes.len() - 2048, "cut off at {end}");
        }
    }

    #[test]
    fn a_layout_of_another_version_is_refused() {
        for (file, says) in [
            (None, "it has no `oci-layout`"),
            (Some("{"), "has no `imageLayoutVersion`"),
            (Some("{\"imageLayoutVersion\": 1}"), "has no `imageLayoutVersion`"),
            (Some("{\"imageLayoutVersion\": \"2.0\\u001b\"}"), "of version `2.0`, and modbox reads"),
            (Some(" ".repeat(5000).as_str()), "too large"),
        ] {
            let mut tar = tar::Builder::new(Vec::new());
            append(&mut tar, "index.json", &Index::default().to_bytes()).unwrap();
            if let Some(file) = file {
                append(&mut tar, "oci-layout", file.as_bytes()).unwrap();
            }
            let error = load(&tar.into_inner().unwrap(), &store().1).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(check_version(b"{\"imageLayoutVersion\": \"1.1.0\"}").is_ok());
    }

    #[test]
    fn other_files_are_not_kept_and_too_large_ones_refused() {
        let (_dir, store) = store();
        let mut tar = tar::Builder::new(Vec::new());
        append(&mut tar, "index.json", &Index::default().to_bytes()).unwrap();
        append(&mut tar, "oci-layout", VERSION).unwrap();
        append(&mut tar, "blobs/sha256/evil", b"x").unwrap();
        append(&mut tar, &format!("blobs/sha256/{}", Digest::of(b"x").hex()), b"x").unwrap();
        let bytes = tar.into_inner().unwrap();
        assert_eq!(load(&bytes, &store).unwrap(), []);
        assert!(!store.layout().path(&Digest::of(b"x")).exists());
        let (bytes, _) = bundle();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let error = Bundle::read(file).unwrap().load(&store, 5, &|_, _| false).unwrap_err().to_string();
        assert!(error.contains("is larger than 5 bytes"), "{error}");
        assert!(load(b"not a tar", &store).is_err());
    }
}
