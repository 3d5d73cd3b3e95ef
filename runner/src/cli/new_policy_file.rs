//! A policy file that learning writes. It never replaces a file that was there before.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use rustix::fs::Access;

/// Fails if there is a file already, or if none can be made. The run that it is for changes the machine, and is not made twice.
pub(crate) fn check_new(file: &Path) -> anyhow::Result<()> {
    if file.symlink_metadata().is_ok() {
        bail!("`{}` exists; remove it, or name another file for `--learn`", file.display());
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let why = || format!("no file can be made in `{}`; name another file for `--learn`", folder.display());
    let is_writable = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).with_context(why);
    if is_writable.is_ok() && !folder.is_dir() {
        bail!("{}", why());
    }
    is_writable
}

/// Writes the file, which must not exist. Only the user can read it.
pub(crate) fn create(file: &Path, text: &str) -> anyhow::Result<()> {
    let created = File::options().write(true).create_new(true).mode(0o600).open(file);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("failed to write `{}`", file.display()))
}

/// Writes the file again that [`create`] has made.
pub(crate) fn rewrite(file: &Path, text: &str) -> anyhow::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let opened = File::options().write(true).truncate(true).custom_flags(flags).open(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("failed to write `{}`", file.display()))
}
