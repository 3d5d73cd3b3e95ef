//! Pushes a module with its signatures.
//!
//! A registry that lists what refers to a manifest does so by itself. For others, this keeps the index of signatures under
//! the fallback tag of the specification.

use std::fs::File;
use std::io::{self, Write as _};

use crate::digest::Digest;
use crate::layout::described;
use crate::manifest::{
    Annotations, Descriptor, INDEX, Index, MANIFEST, MAX_MANIFEST, Manifest, ManifestError, WASM_LAYER,
};
use crate::pull::fallback_tag;
use crate::reference::Reference;
use crate::session::{Session, SessionError};

/// A module to push.
#[derive(Debug)]
pub struct Push<'a> {
    /// Where to. It has a tag.
    pub reference: &'a Reference,
    /// The module's file.
    pub file: &'a File,
    /// The digest of the module.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// What registries show of it, as JSON.
    pub config: Vec<u8>,
    /// What the manifest says about it.
    pub annotations: Annotations,
    /// Its signature files.
    pub signatures: Vec<Vec<u8>>,
}

/// Why a module was not pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The transfer failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Content cannot be handed to the worker.
    #[error("failed to hand over what is pushed")]
    Content(#[source] io::Error),
    /// The list of signatures in the registry is not one.
    #[error("the registry has something else than a list of signatures under the tag `{tag}`")]
    Index {
        /// The tag.
        tag: String,
        /// The cause.
        #[source]
        source: ManifestError,
    },
}

impl Push<'_> {
    /// Pushes the module. Returns the digest of its manifest.
    ///
    /// # Errors
    ///
    /// The transfer fails.
    pub fn run(&self, session: &mut Session) -> Result<Digest, PushError> {
        if !session.has_blob(&self.digest)? {
            session.send(&self.digest, self.size, self.file)?;
        }
        self.blob(session, &self.config)?;
        let module = Descriptor::new(WASM_LAYER, self.digest.clone(), self.size);
        let manifest = Manifest::of_module(&self.config, module, self.annotations.clone());
        let bytes = manifest.to_bytes();
        let digest = Digest::of(&bytes);
        let tag = self.reference.tag.as_deref().unwrap_or(digest.as_str());
        // The signatures follow: who pulls in between finds an unsigned module, and never a signature of nothing.
        session.put(tag, MANIFEST, &bytes)?;
        for signature in &self.signatures {
            self.signature(session, &described(&manifest, &bytes), signature)?;
        }
        Ok(digest)
    }

    fn signature(&self, session: &mut Session, module: &Descriptor, file: &[u8]) -> Result<(), PushError> {
        let (manifest, config) = Manifest::of_signature(module.clone(), file);
        self.blob(session, config)?;
        self.blob(session, file)?;
        let bytes = manifest.to_bytes();
        let is_listed = session.put(Digest::of(&bytes).as_str(), MANIFEST, &bytes)?;
        if is_listed { Ok(()) } else { list(session, &module.digest, described(&manifest, &bytes)) }
    }

    /// Sends content that is in memory, unless the registry has it.
    fn blob(&self, session: &mut Session, content: &[u8]) -> Result<(), PushError> {
        let digest = Digest::of(content);
        if session.has_blob(&digest)? {
            return Ok(());
        }
        let mut file = tempfile::tempfile().map_err(PushError::Content)?;
        file.write_all(content).map_err(PushError::Content)?;
        Ok(session.send(&digest, content.len() as u64, &file)?)
    }
}

/// Adds a signature to the index under the fallback tag.
fn list(session: &mut Session, subject: &Digest, signature: Descriptor) -> Result<(), PushError> {
    let tag = fallback_tag(subject);
    let mut index = match session.manifest(&tag, MAX_MANIFEST)? {
        Some(bytes) => Index::parse(&bytes).map_err(|source| PushError::Index { tag: tag.clone(), source })?,
        None => Index::default(),
    };
    if index.manifests.iter().all(|listed| listed.digest != signature.digest) {
        index.manifests.push(signature);
        session.put(&tag, INDEX, &index.to_bytes())?;
    }
    Ok(())
}
