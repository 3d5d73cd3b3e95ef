//! The secrets of the runs of this process, for what any part of it logs or prints of an error.
//!
//! Reports, audit lines and lists of changes are masked by the secrets of their run. Events of a log have no run, so they
//! are masked by all that are known. Tasks of a play use results with their secrets in them, so what a play shows is masked
//! by all that modules have told it, and by its own.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use modbox_argument_spec::Secrets;
use modbox_contract::{NewSecrets, Redactor};

/// Maximum number of secrets that are remembered. A process with many runs forgets those of earlier ones.
const MAX_SECRETS: usize = 8192;

/// What is not a part of a secret of a play at its ends.
const WHITE_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

static SECRETS: RwLock<Option<Secrets>> = RwLock::new(None);

/// Remembers the secrets of a run, before anything tells of it.
pub(crate) fn remember(secrets: &Secrets) {
    if secrets.is_empty() {
        return;
    }
    let mut known = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() > MAX_SECRETS {
        *known = Secrets::default();
    }
    known.extend(&secrets.with_escapes());
}

/// Remembers the secrets that a saved preview or a transaction has in names.
pub fn remember_hidden(hidden: &[String]) {
    let mut secrets = Secrets::default();
    hidden.iter().for_each(|secret| secrets.add(secret.as_str()));
    remember(&secrets);
}

/// The secrets of a play, and what masks them, made once for each number of secrets.
#[derive(Default)]
struct PlaySecrets {
    secrets: Secrets,
    redactor: Option<Arc<Redactor>>,
    exact: Option<Arc<Redactor>>,
}

static OF_PLAY: Mutex<Option<PlaySecrets>> = Mutex::new(None);

/// Remembers the secrets of a result that tasks of a play use.
pub fn remember_told(told: &NewSecrets) {
    remember_of_play(told.iter());
}

/// Remembers a secret of a play: an answer that was not shown, or a text that a template registers. As in ansible-core 2.22,
/// the white space around it is left out.
pub fn remember_play_secret(secret: &str) {
    let secret = secret.trim_matches(WHITE_SPACE);
    remember_of_play(std::iter::once(secret));
    let mut secrets = Secrets::default();
    secrets.add(secret);
    remember(&secrets);
}

/// Remembers texts that were decrypted, which tasks of a play use.
pub fn remember_plain<'a>(texts: impl Iterator<Item = &'a str>) {
    let mut secrets = Secrets::default();
    texts.for_each(|text| secrets.add(text));
    remember_of_play(secrets.iter());
    remember(&secrets);
}

fn remember_of_play<'a>(texts: impl Iterator<Item = &'a str>) {
    let mut known = OF_PLAY.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let before = known.secrets.len();
    texts.for_each(|secret| known.secrets.add(secret));
    if known.secrets.len() > before {
        (known.redactor, known.exact) = (None, None);
    }
}

/// Returns the secrets of a play. They can be in the arguments of its later tasks.
pub(crate) fn of_play() -> Secrets {
    let known = OF_PLAY.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map(|known| known.secrets.clone()).unwrap_or_default()
}

/// Returns the redactor of the secrets of a play; `None` before there is one.
#[must_use]
pub fn play_redactor() -> Option<Arc<Redactor>> {
    let mut known = OF_PLAY.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.as_mut().filter(|known| !known.secrets.is_empty())?;
    Some(Arc::clone(known.redactor.get_or_insert_with(|| Arc::new(Redactor::new(known.secrets.iter())))))
}

/// Returns the redactor of the secrets of a play for text in which `$REDACTED$` is text like other; `None` before there is one.
#[must_use]
pub fn exact_play_redactor() -> Option<Arc<Redactor>> {
    let mut known = OF_PLAY.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.as_mut().filter(|known| !known.secrets.is_empty())?;
    Some(Arc::clone(known.exact.get_or_insert_with(|| Arc::new(Redactor::exact(known.secrets.iter())))))
}

/// Returns a text without the secrets of the runs of this process.
#[must_use]
pub fn mask(text: &str) -> String {
    let known = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map_or_else(|| text.to_owned(), |known| known.mask_text(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_as_events_write_them() {
        let mut secrets = Secrets::default();
        secrets.add("liv\"e-secret");
        remember(&secrets);
        assert_eq!(mask(r#"INFO said="a liv\"e-secret""#), r#"INFO said="a ********""#);
        for number in 0..=MAX_SECRETS {
            let mut secrets = Secrets::default();
            secrets.add(format!("live-{number}-secret"));
            remember(&secrets);
        }
        assert_eq!(mask(&format!("live-{MAX_SECRETS}-secret!")), "********!");
    }
}
