//! The policy file that learning writes. It never replaces a file that was there before.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use modbox_run::suggestion::{RunRecord, Suggestion, render};

use super::ending::Ending;
use super::learned::Learned;
use crate::cli::commands::policy::usable;
use crate::cli::context::Context;

/// Fails if there is a file already.
pub(super) fn check_new(file: &Path) -> anyhow::Result<()> {
    if file.symlink_metadata().is_ok() {
        bail!("`{}` exists; remove it, or name another file for `--learn`", file.display());
    }
    Ok(())
}

/// Returns the text of the policy file.
pub(super) fn policy(
    context: &Context,
    learned: &Learned,
    records: &[RunRecord],
    ending: &Ending,
) -> anyhow::Result<String> {
    let mut suggestion = Suggestion::new(None);
    for (index, record) in records.iter().enumerate() {
        let mut record = record.clone();
        // The grants of the first run are those of the caller; later ones have what was learned as well.
        if index > 0 {
            record.grants.clear();
        }
        // What was left out is a suggestion all the same, for a person who reads it.
        record.missing.retain(|missing| learned.has(&missing.allow) || ending.left_out(&missing.allow));
        suggestion.add(&record);
    }
    if let Some((last, text)) = records.last().zip(ending.remark()) {
        suggestion.note(last, &text);
    }
    let text = render(suggestion, "modbox run --learn");
    usable(&context.environment, &text)
}

/// Writes the file, which must not exist. Only the user can read it.
pub(super) fn create(file: &Path, text: &str) -> anyhow::Result<()> {
    let created = File::options().write(true).create_new(true).mode(0o600).open(file);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("failed to write `{}`", file.display()))
}

/// Writes the file again that [`create`] has made.
pub(super) fn rewrite(file: &Path, text: &str) -> anyhow::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let opened = File::options().write(true).truncate(true).custom_flags(flags).open(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("failed to write `{}`", file.display()))
}
