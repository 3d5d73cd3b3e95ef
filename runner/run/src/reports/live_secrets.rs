//! The secrets of the runs of this process, for what any part of it logs or prints of an error.
//!
//! Reports, audit lines and lists of changes are masked by the secrets of their run. Events of a log have no run, so they
//! are masked by all that are known. Tasks of a play use results with their secrets in them, so what a play shows is masked
//! by all secrets that modules have told it.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use modbox_argument_spec::Secrets;
use modbox_contract::{NewSecrets, Redactor};

/// Maximum number of secrets that are remembered. A process with many runs forgets those of earlier ones.
const MAX_SECRETS: usize = 4096;

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

/// Secrets of results that tasks of a play use, and what masks them, made once for each number of secrets.
static TOLD: Mutex<Option<(Secrets, Option<Arc<Redactor>>)>> = Mutex::new(None);

/// Remembers the secrets of a result that tasks of a play use.
pub fn remember_told(told: &NewSecrets) {
    let mut known = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let (secrets, redactor) = known.get_or_insert_default();
    let before = secrets.len();
    told.iter().for_each(|secret| secrets.add(secret));
    if secrets.len() > before {
        *redactor = None;
    }
}

/// Returns the secrets of results that tasks of a play use. They can be in the arguments of its later tasks.
pub(crate) fn told() -> Secrets {
    let known = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map(|(secrets, _)| secrets.clone()).unwrap_or_default()
}

/// Returns the redactor of the secrets that results have told a play; `None` before a result has told one.
#[must_use]
pub fn told_redactor() -> Option<Arc<Redactor>> {
    let mut known = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    let (secrets, redactor) = known.as_mut().filter(|(secrets, _)| !secrets.is_empty())?;
    Some(Arc::clone(redactor.get_or_insert_with(|| Arc::new(Redactor::new(secrets.iter())))))
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
