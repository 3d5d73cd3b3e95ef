//! Manifests: what a registry says that an artifact is made of.
//!
//! A module has the layout of the CNCF's "Wasm OCI artifact layout": a configuration, and one layer, which is the component.
//! A signature file is an artifact of its own, whose subject is the manifest of the module (OCI image specification 1.1,
//! "Guidelines for artifact usage"). The bytes of a manifest are what its digest names, so they are kept as they came.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Media type of a manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Media type of a list of manifests.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Media type of a component as a layer.
pub const WASM_LAYER: &str = "application/wasm";

/// The same, from before the layout of the CNCF.
const OLD_WASM_LAYER: &str = "application/vnd.wasm.content.layer.v1+wasm";

/// Media type of a component's configuration.
pub const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// Type of an artifact that is a signature file of modbox.
pub const SIGNATURE_ARTIFACT: &str = "application/vnd.modbox.signature.v1";

/// Media type of a signature file as a layer.
const SIGNATURE_LAYER: &str = "application/vnd.modbox.signature.v1+text";

/// Media type and content of a configuration that says nothing.
const EMPTY: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");

/// Maximum size of a manifest or an index, as registries have it (OCI distribution specification 1.1, "Pushing
/// manifests").
pub const MAX_MANIFEST: u64 = 4 << 20;

/// Maximum size of a configuration.
pub const MAX_CONFIG: u64 = 1 << 20;

/// Annotations, by their names.
pub type Annotations = BTreeMap<String, String>;

/// Content, as a manifest names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// What sort of content it is.
    pub media_type: String,
    /// The hash that names the content: `sha256:` and 64 hex digits.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// For a manifest, the type of its artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Texts about the content by their keys.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
}

impl Descriptor {
    /// Describes content.
    #[must_use]
    pub fn of(media_type: &str, content: &[u8]) -> Self {
        Self::new(media_type, Digest::of(content), content.len() as u64)
    }

    /// Describes content with a known digest.
    #[must_use]
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self { media_type: media_type.to_owned(), digest, size, artifact_type: None, annotations: Annotations::new() }
    }
}

/// A manifest of one artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// The type of the artifact, if the configuration does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The content.
    pub layers: Vec<Descriptor>,
    /// The manifest that this artifact says something about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// Texts about the artifact by their keys.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
}

/// A list of manifests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    schema_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    /// The manifests by digest and size. In a layout, an annotation of each has its reference.
    pub manifests: Vec<Descriptor>,
    /// Texts about the whole list by their keys.
    #[serde(default, skip_serializing_if = "Annotations::is_empty")]
    pub annotations: Annotations,
}

impl Default for Index {
    fn default() -> Self {
        let media_type = Some(INDEX.to_owned());
        Self { schema_version: 2, media_type, manifests: Vec::new(), annotations: Annotations::new() }
    }
}

/// Error of a manifest that modbox does not use.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not JSON of a manifest.
    #[error("it is not a manifest of OCI")]
    Syntax(#[source] serde_json::Error),
    /// Its version is another one.
    #[error("its `schemaVersion` is {0}; modbox reads version 2")]
    Version(u32),
    /// It is a list of manifests.
    #[error("it is an index of several manifests; name one of them by its digest")]
    Index,
    /// Its own media type is another one.
    #[error("its media type is `{0}`, not `{MANIFEST}`")]
    MediaType(String),
    /// It is not a module.
    #[error("it is not a WebAssembly module: it has {found}, and a module has one layer of type `{WASM_LAYER}`")]
    NoModule {
        /// The layers, in words.
        found: String,
    },
}

impl Manifest {
    /// Returns the manifest of a module.
    #[must_use]
    pub fn of_module(config: &[u8], module: Descriptor, annotations: Annotations) -> Self {
        let config = Descriptor::of(WASM_CONFIG, config);
        Self::new(None, config, module, None, annotations)
    }

    /// Returns the manifest of a signature file for a module's manifest, with its configuration.
    #[must_use]
    pub fn of_signature(module: Descriptor, signature_file: &[u8]) -> (Self, &'static [u8]) {
        let subject = Descriptor { artifact_type: None, annotations: Annotations::new(), ..module };
        let layer = Descriptor::of(SIGNATURE_LAYER, signature_file);
        let config = Descriptor::of(EMPTY.0, EMPTY.1);
        let artifact_type = Some(SIGNATURE_ARTIFACT.to_owned());
        (Self::new(artifact_type, config, layer, Some(subject), Annotations::new()), EMPTY.1)
    }

    fn new(
        artifact_type: Option<String>,
        config: Descriptor,
        layer: Descriptor,
        subject: Option<Descriptor>,
        annotations: Annotations,
    ) -> Self {
        let media_type = Some(MANIFEST.to_owned());
        Self { schema_version: 2, media_type, artifact_type, config, layers: vec![layer], subject, annotations }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// It is an index, of another version, or not a manifest.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            schema_version: u32,
            media_type: Option<String>,
            manifests: Option<serde::de::IgnoredAny>,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(ManifestError::Syntax)?;
        match head.media_type {
            _ if head.schema_version != 2 => Err(ManifestError::Version(head.schema_version)),
            Some(other) if other == INDEX => Err(ManifestError::Index),
            Some(other) if other != MANIFEST => Err(ManifestError::MediaType(short(&other))),
            None if head.manifests.is_some() => Err(ManifestError::Index),
            _ => serde_json::from_slice(bytes).map_err(ManifestError::Syntax),
        }
    }

    /// Returns the layer that is the module.
    ///
    /// # Errors
    ///
    /// The manifest is not one of a module.
    pub fn module(&self) -> Result<&Descriptor, ManifestError> {
        match &self.layers[..] {
            [layer] if [WASM_LAYER, OLD_WASM_LAYER].contains(&layer.media_type.as_str()) => Ok(layer),
            [layer] => {
                Err(ManifestError::NoModule { found: format!("a layer of type `{}`", short(&layer.media_type)) })
            }
            layers => Err(ManifestError::NoModule { found: format!("{} layers", layers.len()) }),
        }
    }

    /// Returns the layer that is a signature file, if this is the manifest of one for a manifest with a digest.
    #[must_use]
    pub fn signature_of(&self, subject: &Digest) -> Option<&Descriptor> {
        let is_one = self.artifact_type.as_deref() == Some(SIGNATURE_ARTIFACT)
            && self.subject.as_ref().is_some_and(|found| found.digest == *subject);
        match &self.layers[..] {
            [layer] if is_one && layer.media_type == SIGNATURE_LAYER => Some(layer),
            _ => None,
        }
    }

    /// Returns the bytes of the manifest.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a manifest has nothing that JSON lacks")
    }
}

impl Index {
    /// Reads an index.
    ///
    /// # Errors
    ///
    /// It is of another version, or not an index.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let index: Self = serde_json::from_slice(bytes).map_err(ManifestError::Syntax)?;
        match &index.media_type {
            _ if index.schema_version != 2 => Err(ManifestError::Version(index.schema_version)),
            Some(other) if other != INDEX => Err(ManifestError::MediaType(short(other))),
            _ => Ok(index),
        }
    }

    /// Returns the bytes of the index.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an index has nothing that JSON lacks")
    }
}

/// Cuts a text that came from a registry, for a message.
fn short(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module() -> Manifest {
        let annotations = Annotations::from([("org.opencontainers.image.version".to_owned(), "1".to_owned())]);
        Manifest::of_module(b"{}", Descriptor::of(WASM_LAYER, b"\0asm"), annotations)
    }

    #[test]
    fn a_module_is_read_as_written() {
        let manifest = module();
        assert_eq!(Manifest::parse(&manifest.to_bytes()).unwrap(), manifest);
        assert_eq!(manifest.module().unwrap().digest, Digest::of(b"\0asm"));
        assert_eq!(manifest.signature_of(&Digest::of(b"")), None);
    }

    #[test]
    fn a_signature_is_one_of_its_subject() {
        let subject = Descriptor::of(MANIFEST, &module().to_bytes());
        let (signature, config) = Manifest::of_signature(subject.clone(), b"text");
        assert_eq!(signature.config, Descriptor::of(EMPTY.0, config));
        let read = Manifest::parse(&signature.to_bytes()).unwrap();
        assert_eq!(read.signature_of(&subject.digest).unwrap().digest, Digest::of(b"text"));
        assert_eq!(read.signature_of(&Digest::of(b"")), None);
        assert!(read.module().unwrap_err().to_string().contains("a layer of type"));
    }

    #[test]
    fn what_is_not_a_manifest_is_named() {
        let check = |text: &str, expect: &str| {
            let error = Manifest::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        let text = String::from_utf8(module().to_bytes()).unwrap();
        check("", "is not a manifest");
        check("{}", "is not a manifest");
        check(&"[".repeat(100_000), "is not a manifest");
        check(&text.replace("\"size\":4", "\"size\":-4"), "is not a manifest");
        check(&text.replace("sha256:", "sha256:../"), "is not a manifest");
        check(&text.replace("\"schemaVersion\":2", "\"schemaVersion\":1"), "`schemaVersion` is 1");
        check(&text.replacen(MANIFEST, "application/json", 1), "`application/json`");
        let index = String::from_utf8(Index::default().to_bytes()).unwrap();
        check(&index, "an index of several");
        check("{\"schemaVersion\":2,\"manifests\":[]}", "an index of several");
        assert_eq!(Index::parse(index.as_bytes()).unwrap(), Index::default());
        assert!(Index::parse(text.as_bytes()).is_err());
        let two = Manifest { layers: vec![Descriptor::of(WASM_LAYER, b""); 2], ..module() };
        assert!(two.module().unwrap_err().to_string().contains("it has 2 layers"));
    }

    #[test]
    fn the_old_type_of_a_layer_is_read() {
        let old = Manifest { layers: vec![Descriptor::of(OLD_WASM_LAYER, b"")], ..module() };
        assert!(old.module().is_ok());
    }
}
