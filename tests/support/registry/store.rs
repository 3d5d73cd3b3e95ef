//! The content of a registry: blobs, manifests, tags and begun uploads. It checks nothing, so that tests can put what
//! no registry would take.
//!
//! All repositories share the blobs.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The content of a registry.
#[derive(Debug, Default)]
pub(super) struct Store {
    pub(super) blobs: BTreeMap<String, Vec<u8>>,
    /// The bytes so far of each upload that has begun.
    pub(super) uploads: BTreeMap<String, Vec<u8>>,
    repositories: BTreeMap<String, Repository>,
    begun: usize,
}

/// The manifests of a repository by digest, and the digests of its tags.
#[derive(Debug, Default)]
struct Repository {
    manifests: BTreeMap<String, Manifest>,
    tags: BTreeMap<String, String>,
}

/// A manifest, as it was put.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    pub(super) digest: String,
    pub(super) media_type: String,
    pub(super) bytes: Vec<u8>,
}

impl Store {
    /// Puts a blob, and returns its digest.
    pub(super) fn put_blob(&mut self, bytes: &[u8]) -> String {
        let digest = digest(bytes);
        self.blobs.insert(digest.clone(), bytes.to_owned());
        digest
    }

    /// Puts a manifest under its digest, and under a tag or another digest. Returns its digest.
    pub(super) fn put_manifest(&mut self, name: &str, reference: &str, media_type: &str, bytes: &[u8]) -> String {
        let repository = self.repositories.entry(name.to_owned()).or_default();
        let own = digest(bytes);
        let mut put = |digest: &str| {
            let manifest = Manifest { digest: digest.into(), media_type: media_type.into(), bytes: bytes.into() };
            repository.manifests.insert(digest.to_owned(), manifest);
        };
        put(&own);
        match reference.contains(':') {
            true => put(reference),
            false => drop(repository.tags.insert(reference.to_owned(), own.clone())),
        }
        own
    }

    /// Returns the manifest of a tag or a digest.
    pub(super) fn manifest(&self, name: &str, reference: &str) -> Option<&Manifest> {
        let repository = self.repositories.get(name)?;
        let digest = repository.tags.get(reference).map_or(reference, String::as_str);
        repository.manifests.get(digest)
    }

    /// Returns the tags of a repository, sorted; `None` if there is no such repository.
    pub(super) fn tags(&self, name: &str) -> Option<Vec<String>> {
        self.repositories.get(name).map(|repository| repository.tags.keys().cloned().collect())
    }

    /// Returns the descriptors of the manifests that have the manifest with `digest` as their subject.
    pub(super) fn referrers(&self, name: &str, digest: &str) -> Vec<Value> {
        let manifests = self.repositories.get(name).into_iter().flat_map(|repository| repository.manifests.values());
        manifests.filter_map(|manifest| referrer(manifest, digest)).collect()
    }

    /// Begins an upload, and returns its identifier.
    pub(super) fn begin_upload(&mut self) -> String {
        self.begun += 1;
        let id = format!("upload-{}", self.begun);
        self.uploads.insert(id.clone(), Vec::new());
        id
    }
}

/// Returns the digest of content.
pub(super) fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Returns the digest of the subject that a manifest names.
pub(super) fn subject(document: &Value) -> Option<&str> {
    document["subject"]["digest"].as_str()
}

/// Returns the descriptor of a manifest if `digest` is its subject.
fn referrer(manifest: &Manifest, digest: &str) -> Option<Value> {
    let document: Value = serde_json::from_slice(&manifest.bytes).ok()?;
    if subject(&document) != Some(digest) {
        return None;
    }
    let mut descriptor =
        json!({"mediaType": manifest.media_type, "digest": manifest.digest, "size": manifest.bytes.len()});
    // The type of an image is that of its configuration unless it has one of its own.
    let types = [&document["artifactType"], &document["config"]["mediaType"]];
    if let Some(kind) = types.into_iter().filter_map(Value::as_str).find(|kind| !kind.is_empty()) {
        descriptor["artifactType"] = kind.into();
    }
    if document["annotations"].is_object() {
        descriptor["annotations"] = document["annotations"].clone();
    }
    Some(descriptor)
}
