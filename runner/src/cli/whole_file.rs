//! Writes files that other programs read: each is complete under its name, or not there.

use std::fs::Permissions;
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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".modbox-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .with_context(failed)?;
    for part in parts {
        file.write_all(part).with_context(failed)?;
    }
    file.as_file().set_permissions(Permissions::from_mode(mode)).with_context(failed)?;
    file.persist(path).map_err(|error| error.error).with_context(failed)?;
    Ok(())
}
