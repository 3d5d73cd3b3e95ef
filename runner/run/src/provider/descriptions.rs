//! The cache of what providers said about themselves, by the digest of their files.
//!
//! Asking takes as long as the provider likes, and the answer is the same for the same bytes. An answer that the
//! provider does not work here is not kept: it may after a program is installed.

use std::path::Path;

use modbox_cleanup::Cleanup;
use modbox_providers::MAX_METADATA_BYTES;
use modbox_store::{Kind, Purpose, Store, StoreError};
use modbox_vocabulary::error_chain;

const DESCRIPTION: Kind = Kind::files("yaml", MAX_METADATA_BYTES as u64);

/// Thousands of providers.
const PURPOSE: Purpose = Purpose { kinds: &[DESCRIPTION], max_size: 16 << 20, obsolete: &[] };

/// Returns the answer of the provider with a digest.
pub(super) fn recall(dir: &Path, digest: &str) -> Option<Vec<u8>> {
    let store = Store::new(dir.to_owned(), PURPOSE);
    store.prepare().ok()?;
    store.read(DESCRIPTION, digest).ok()?
}

/// Keeps the answer of a provider. If that fails, the provider is asked again.
pub(super) fn remember(dir: &Path, digest: &str, mut yaml: &[u8], cleanup: &Cleanup) {
    let store = Store::new(dir.to_owned(), PURPOSE);
    let length = yaml.len() as u64;
    let kept = store.prepare().and_then(|()| store.put(DESCRIPTION, digest, &mut yaml, length, cleanup));
    if let Err(error) = kept {
        tracing::debug!(error = error_chain(&error), "what the provider says is not kept");
    }
}

/// Removes all answers. Returns how many.
///
/// # Errors
///
/// The folder cannot be read, or a file in it cannot be removed.
pub fn clear(dir: &Path) -> Result<u64, StoreError> {
    Store::new(dir.to_owned(), PURPOSE).clear()
}
