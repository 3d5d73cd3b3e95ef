//! The words for errors of reading a play.

use modbox_tasks::error::{LoadError, LoadErrors};
use modbox_tasks::load::context::Loader;
use modbox_tasks::report::message::Excerpt;

/// How many errors of a play are shown with their lines.
const EXCERPTS: usize = 3;

/// Returns the warning of errors that only fail the tasks that reach them, at most this many.
pub(super) fn spared_text(spared: &[LoadError], most: usize) -> String {
    let mut text = "a task that reaches one of these fails, if none before it mends it:".to_owned();
    for error in spared.iter().take(most) {
        text.push_str(&format!("\n{error}"));
    }
    if let Some(more @ 1..) = spared.len().checked_sub(most) {
        text.push_str(&format!("\nand {more} more; `--syntax-check` lists them all"));
    }
    text
}

/// Returns errors of reading, the first ones with the lines that they are about.
pub(super) fn with_lines(errors: &LoadErrors, loader: &Loader<'_>) -> anyhow::Error {
    let shown = errors.0.iter().enumerate().map(|(index, error)| {
        let text = error.to_string();
        let is_shown = index < EXCERPTS && !text.contains('\n') && !loader.files.is_encrypted(&error.position.file);
        let file = Some(&error.position.file).filter(|_| is_shown).and_then(|file| loader.files.text(file).ok());
        let excerpt = file.map(|file| Excerpt::of_text(&error.position, &file)).filter(|found| !found.lines.is_empty());
        excerpt.map_or_else(|| text.clone(), |excerpt| format!("{text}\n{}", excerpt.text()))
    });
    anyhow::anyhow!(shown.collect::<Vec<_>>().join("\n"))
}
