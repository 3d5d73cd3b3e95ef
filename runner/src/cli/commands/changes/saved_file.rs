//! Reads a saved preview as it is read before it is applied: only one that no other user can change is used.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use modbox_overlay::commit::saved::SavedChanges;

use crate::cli::settings::exposure;

/// Opens and reads a file that no other user can change: what it says is done with the rights of this user.
pub(crate) fn read(path: &Path) -> anyhow::Result<SavedChanges> {
    let failed = || format!("failed to read the saved changes `{}`", path.display());
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(nonblock).open(path).with_context(failed)?;
    let metadata = file.metadata().with_context(failed)?;
    if let Some(exposure) = exposure::find(path, &metadata) {
        bail!("failed to use the saved changes `{}`, which another user can change: {exposure}", path.display());
    }
    Ok(SavedChanges::read(path, file)?)
}
