//! The secrets of a play that follows ansible-core 2.22: texts that templates register, answers that were not shown, random
//! passwords.
//!
//! They are known to the whole process, so that whatever it shows later is masked. Plays that follow an earlier release have
//! none of their own. What modules of 2.22 tell is a secret in all plays.

use modbox_contract::Release;
use modbox_jinja::SecretKeeper;
use modbox_run::{exact_play_redactor, play_redactor, remember_play_secret};

use crate::cli::printing::output;

/// Keeper of the secrets of a play.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaySecrets(());

impl PlaySecrets {
    /// Returns the keeper of a play; `None` for one that follows a release without secrets of plays.
    pub(crate) fn of(release: Release) -> Option<Self> {
        (release >= Release::V2_22).then_some(Self(()))
    }
}

impl SecretKeeper for PlaySecrets {
    fn register(&self, secret: &str) {
        remember_play_secret(secret);
    }

    fn is_empty(&self) -> bool {
        exact_play_redactor().is_none()
    }

    fn masked(&self, text: &str, placeholder: &str) -> Option<String> {
        exact_play_redactor()?.replaced(text, placeholder)
    }

    fn warn(&self, text: &str) {
        output::print_note(text);
    }
}

/// Returns a text without the secrets of the play.
pub(crate) fn masked(text: &str) -> String {
    play_redactor().map_or_else(|| text.to_owned(), |redactor| redactor.mask_text(text).into_owned())
}
