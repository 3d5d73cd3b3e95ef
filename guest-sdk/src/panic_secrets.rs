//! The secrets of the run, for the panic hook: the message of a panic may contain one.

use std::sync::{Mutex, PoisonError};

use modbox_argument_spec::Secrets;

static SECRETS: Mutex<Option<Secrets>> = Mutex::new(None);

/// Stores the secrets of the run, in place of earlier ones.
pub(crate) fn remember(secrets: &Secrets) {
    *SECRETS.lock().unwrap_or_else(PoisonError::into_inner) = Some(secrets.clone());
}

/// Masks the stored secrets in a text. Returns `None` if the panic came while they were being stored.
pub(crate) fn mask(text: &str) -> Option<String> {
    let secrets = SECRETS.try_lock().ok()?;
    Some(secrets.as_ref().map_or_else(|| text.to_owned(), |secrets| secrets.mask_text(text)))
}
