//! Writes files that other programs read: each is complete under its name, or not there.

use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;

/// Writes the parts of a file beside its path, and renames it into place. `mode` holds regardless of the umask.
///
/// # Errors
///
/// The file cannot be written or renamed. Then nothing is left.
pub(crate) fn write(path: &Path, mode: u32, parts: &[&[u8]]) -> anyhow::Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    write_by(path, mode, |file| parts.iter().try_for_each(|part| file.write_all(part)).with_context(failed))
}

/// Does the same with what `fill` writes.
///
/// # Errors
///
/// The same, and those of `fill`.
pub(crate) fn write_by(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".modbox-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .with_context(failed)?;
    fill(file.as_file_mut())?;
    file.as_file().set_permissions(Permissions::from_mode(mode)).with_context(failed)?;
    file.persist(path).map_err(|error| error.error).with_context(failed)?;
    Ok(())
}
