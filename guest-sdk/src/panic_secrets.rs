//! The secrets of the run, for the panic hook: a panic's message may hold one.

use std::sync::{Mutex, PoisonError};

use modbox_argument_spec::Secrets;

static SECRETS: Mutex<Option<Secrets>> = Mutex::new(None);

/// Remembers the secrets of the run, in place of those remembered before.
pub(crate) fn remember(secrets: &Secrets) {
    *SECRETS.lock().unwrap_or_else(PoisonError::into_inner) = Some(secrets.clone());
}

/// Masks the remembered secrets in a text; `None` when the panic came while they were being remembered.
pub(crate) fn mask(text: &str) -> Option<String> {
    let secrets = SECRETS.try_lock().ok()?;
    Some(secrets.as_ref().map_or_else(|| text.to_owned(), |secrets| secrets.mask_text(text)))
}
