//! Pulls a module: its manifest, its content and its signatures, each checked against the digest that names it.
//!
//! The registry and the worker that speaks with it are not trusted. A tag is what the registry says it is; everything after
//! that follows from the digest of the manifest.

use std::fmt;
use std::io::{self, Write as _};

use modbox_trust::signature_file::{MAX_SIGNATURE_FILE, SignatureFile};

use crate::blob_writer::BlobWriter;
use crate::digest::Digest;
use crate::kept_signatures::{CountsFn, LeftOut, has_statement};
use crate::layout::{Layout, LayoutError, described};
use crate::manifest::{
    Descriptor, Index, MANIFEST, MAX_CONFIG, MAX_MANIFEST, Manifest, ManifestError, SIGNATURE_ARTIFACT,
};
use crate::module_store::ModuleStore;
use crate::reference::Reference;
use crate::session::{Session, SessionError};

/// Number of signature files that are pulled with a module.
const MAX_SIGNATURES: usize = 32;

/// Number of them where no signature of the first ones counts, although there are keys.
const MAX_SEARCHED: usize = 256;

/// A module that was pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PulledModule {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The module's content.
    pub module: Descriptor,
    /// Signatures that there was no room for.
    pub left_out: LeftOut,
}

/// A signature file that was pulled.
struct PulledSignature {
    /// Its manifest.
    manifest: Descriptor,
    file: Vec<u8>,
}

/// Why a module was not pulled.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// The transfer failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The store failed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The registry does not have it.
    #[error("`{0}` is not there; the registry may also say so of what this user may not read")]
    NotFound(String),
    /// What the manifest names is missing.
    #[error("the registry has a manifest of `{reference}`, but not {digest}, which it names")]
    Incomplete {
        /// The reference.
        reference: String,
        /// The missing content.
        digest: Digest,
    },
    /// Content is another one than was asked for.
    #[error("the registry sent something else for {digest} of `{reference}`; nothing of it was kept")]
    OtherContent {
        /// The reference.
        reference: String,
        /// The digest that was asked for.
        digest: Digest,
    },
    /// The manifest is not one of a module.
    #[error("`{reference}` cannot be used")]
    Manifest {
        /// The reference.
        reference: String,
        /// The cause.
        #[source]
        source: ManifestError,
    },
    /// What belongs to a module is too large.
    #[error("{digest}, which the manifest of `{reference}` names, is larger than {max} bytes")]
    LargeContent {
        /// The reference.
        reference: String,
        /// The content.
        digest: Digest,
        /// The bound.
        max: u64,
    },
    /// The module is too large.
    #[error("the module `{reference}` has {size} bytes; a module may have {max}")]
    TooLarge {
        /// The reference.
        reference: String,
        /// Its size.
        size: u64,
        /// The bound.
        max: u64,
    },
}

/// A pull of one module.
pub struct Pull<'a> {
    /// Where content is kept.
    pub store: &'a ModuleStore,
    /// The module.
    pub reference: &'a Reference,
    /// Maximum size of a module in bytes.
    pub max_module: u64,
    /// Tells which signatures count; `None` if there are no keys.
    pub counts: Option<&'a CountsFn<'a>>,
}

impl fmt::Debug for Pull<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pull").field("reference", self.reference).finish_non_exhaustive()
    }
}

impl Pull<'_> {
    /// Pulls the module. `progress` is told the number of bytes so far, and of all.
    ///
    /// # Errors
    ///
    /// The transfer fails, the registry lies, or it is not a module.
    pub fn run(&self, session: &mut Session, progress: &mut dyn FnMut(u64, u64)) -> Result<PulledModule, PullError> {
        let bytes = self.manifest(session)?;
        let unusable = |source| PullError::Manifest { reference: self.reference.to_string(), source };
        let manifest = Manifest::parse(&bytes).map_err(unusable)?;
        let module = manifest.module().map_err(unusable)?;
        let digest = Digest::of(&bytes);
        self.layout().create()?;
        self.config(session, &manifest.config)?;
        self.module(session, module, progress)?;
        let signatures = self.signatures(session, &digest)?;
        self.layout().add(&bytes)?;
        let own = (described(&manifest, &bytes), Some(self.name()));
        let files: Vec<Vec<u8>> = signatures.iter().map(|signature| signature.file.clone()).collect();
        let counts: &CountsFn<'_> = self.counts.unwrap_or(&|_, _| false);
        let left_out = self.store.keep_signatures(&module.digest, &files, counts)?;
        // `save` writes kept signatures alone.
        let kept = self.store.signature_files(&module.digest);
        let is_kept = |signature: &PulledSignature| has_statement(&kept, &signature.file);
        let others = signatures.into_iter().filter(is_kept).map(|signature| (signature.manifest, None));
        self.layout().add_to_index(&others.chain([own]).collect::<Vec<_>>())?;
        Ok(PulledModule { manifest: digest, module: module.clone(), left_out })
    }

    fn layout(&self) -> &Layout {
        self.store.layout()
    }

    /// Returns the name in the index: with the tag, as it was written, or else with the digest.
    fn name(&self) -> String {
        match &self.reference.tag {
            Some(_) => self.reference.without_digest().without_scheme(),
            None => self.reference.without_scheme(),
        }
    }

    fn manifest(&self, session: &mut Session) -> Result<Vec<u8>, PullError> {
        let Reference { tag, digest, .. } = self.reference;
        let wanted = digest.as_ref().map(Digest::as_str).or(tag.as_deref()).unwrap_or_default();
        let bytes = session.manifest(wanted, MAX_MANIFEST)?;
        let bytes = bytes.ok_or_else(|| PullError::NotFound(self.reference.to_string()))?;
        match digest {
            Some(digest) => self.checked(digest, bytes),
            None => Ok(bytes),
        }
    }

    /// Pulls the configuration, so that the layout has all that the manifest names.
    fn config(&self, session: &mut Session, config: &Descriptor) -> Result<(), PullError> {
        if !self.layout().has_undamaged(config) {
            let bytes = self.small(session, config, MAX_CONFIG)?;
            self.layout().add(&bytes)?;
        }
        Ok(())
    }

    /// Pulls the content of the module, unless it is there.
    fn module(
        &self,
        session: &mut Session,
        module: &Descriptor,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), PullError> {
        let Descriptor { digest, size, .. } = module;
        if *size > self.max_module {
            let (reference, max) = (self.reference.to_string(), self.max_module);
            return Err(PullError::TooLarge { reference, size: *size, max });
        }
        if self.layout().has_undamaged(module) {
            return Ok(());
        }
        let mut blob: BlobWriter = self.layout().begin()?;
        let mut take = |piece: &[u8]| {
            if blob.size() + piece.len() as u64 > *size {
                return Err(io::Error::other(format!("it is longer than the {size} bytes that its manifest says")));
            }
            blob.write_all(piece)?;
            progress(blob.size(), *size);
            Ok(())
        };
        let is_there = session.blob(digest, *size, &mut take)?;
        if !is_there {
            return Err(PullError::Incomplete { reference: self.reference.to_string(), digest: digest.clone() });
        }
        if blob.size() != *size || blob.digest() != *digest {
            return Err(self.other(digest));
        }
        self.layout().finish(blob)?;
        Ok(())
    }

    /// Pulls the signature files of a manifest, and keeps them as content.
    fn signatures(&self, session: &mut Session, subject: &Digest) -> Result<Vec<PulledSignature>, PullError> {
        let index = match session.referrers(subject, MAX_MANIFEST)? {
            Some(index) => Some(index),
            // Registries from before version 1.1 of the specification have the index under a tag.
            None => session.manifest(&fallback_tag(subject), MAX_MANIFEST)?,
        };
        let Some(index) = index else { return Ok(Vec::new()) };
        let unusable = |source| PullError::Manifest { reference: format!("the signatures of {subject}"), source };
        let index = Index::parse(&index).map_err(unusable)?;
        let is_signature = |manifest: &&Descriptor| {
            manifest.media_type == MANIFEST
                && manifest.artifact_type.as_deref().is_none_or(|found| found == SIGNATURE_ARTIFACT)
        };
        let (mut pulled, mut has_counting) = (Vec::new(), false);
        for (number, listed) in index.manifests.iter().filter(is_signature).take(MAX_SEARCHED).enumerate() {
            if number >= MAX_SIGNATURES && (has_counting || self.counts.is_none()) {
                break;
            }
            let Some(signature) = self.signature(session, listed, subject)? else { continue };
            has_counting |= self.has_counting(&signature.file);
            pulled.push(signature);
        }
        Ok(pulled)
    }

    fn signature(
        &self,
        session: &mut Session,
        listed: &Descriptor,
        subject: &Digest,
    ) -> Result<Option<PulledSignature>, PullError> {
        let missing = || PullError::Incomplete { reference: self.reference.to_string(), digest: listed.digest.clone() };
        let bytes = session.manifest(listed.digest.as_str(), MAX_MANIFEST)?.ok_or_else(missing)?;
        let bytes = self.checked(&listed.digest, bytes)?;
        // What is listed can be any artifact.
        let Ok(manifest) = Manifest::parse(&bytes) else { return Ok(None) };
        let Some(layer) = manifest.signature_of(subject) else { return Ok(None) };
        let file = self.small(session, layer, MAX_SIGNATURE_FILE)?;
        self.config(session, &manifest.config)?;
        self.layout().add(&file)?;
        self.layout().add(&bytes)?;
        Ok(Some(PulledSignature { manifest: described(&manifest, &bytes), file }))
    }

    fn has_counting(&self, file: &[u8]) -> bool {
        let Some((counts, file)) = self.counts.zip(SignatureFile::parse(file).ok()) else { return false };
        file.signatures.iter().any(|signature| counts(&file, signature))
    }

    /// Fetches a small blob, and checks it.
    fn small(&self, session: &mut Session, content: &Descriptor, max: u64) -> Result<Vec<u8>, PullError> {
        let reference = || self.reference.to_string();
        let Descriptor { digest, size, .. } = content;
        if *size > max {
            return Err(PullError::LargeContent { reference: reference(), digest: digest.clone(), max });
        }
        let missing = || PullError::Incomplete { reference: reference(), digest: digest.clone() };
        let bytes = session.small_blob(digest, *size)?.ok_or_else(missing)?;
        self.checked(digest, bytes)
    }

    fn checked(&self, digest: &Digest, bytes: Vec<u8>) -> Result<Vec<u8>, PullError> {
        if Digest::of(&bytes) == *digest { Ok(bytes) } else { Err(self.other(digest)) }
    }

    fn other(&self, digest: &Digest) -> PullError {
        PullError::OtherContent { reference: self.reference.to_string(), digest: digest.clone() }
    }
}

/// Returns the tag of the index of what has a manifest as its subject (OCI distribution specification 1.1, "Referrers Tag
/// Schema").
pub(crate) fn fallback_tag(subject: &Digest) -> String {
    format!("sha256-{}", subject.hex())
}
