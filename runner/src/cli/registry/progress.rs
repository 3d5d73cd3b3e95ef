//! The bar on a terminal while the content of a module comes.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::printing::clean::clean_line;

/// A bar that appears with the first content.
pub(super) struct TransferBar {
    bar: Option<ProgressBar>,
}

impl TransferBar {
    /// Returns a bar for a reference, which is not shown without a terminal.
    pub(super) fn new(reference: &str) -> Self {
        let is_shown = std::io::stderr().is_terminal();
        let bar = is_shown.then(|| {
            let style = ProgressStyle::with_template("{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::hidden().with_style(style).with_message(clean_line(reference))
        });
        Self { bar }
    }

    /// Shows how many bytes are there, of all.
    pub(super) fn show(&self, done: u64, all: u64) {
        if let Some(bar) = &self.bar {
            if bar.is_hidden() {
                bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            }
            bar.set_length(all);
            bar.set_position(done);
        }
    }
}

impl Drop for TransferBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
