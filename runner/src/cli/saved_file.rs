//! Reads a saved preview as it is read before it is applied: only one that no other user can change is used.

use std::path::Path;

use anyhow::{Context as _, bail};
use modbox_files::open_at_once;
use modbox_overlay::commit::saved::SavedChanges;

use crate::cli::settings::exposure;

/// Opens and reads a file that no other user can change: what it says is done with the rights of this user.
pub(crate) fn read(path: &Path) -> anyhow::Result<SavedChanges> {
    let failed = || format!("failed to read the saved changes `{}`", path.display());
    let (file, metadata) = open_at_once(path).with_context(failed)?;
    if let Some(exposure) = exposure::find(path, &metadata) {
        bail!("failed to use the saved changes `{}`, which another user can change: {exposure}", path.display());
    }
    Ok(SavedChanges::read(path, file)?)
}
