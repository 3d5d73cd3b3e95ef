//! `register_secret` and `mask_secrets` of ansible-core 2.22: what becomes a secret in a template, and text without secrets.
//!
//! The host keeps the secrets. Without a keeper there are no such filters, as before 2.22.

use minijinja::{Error, Value};

use crate::call::{Call, bind};
use crate::failure::{Outcome, Unshown, failure};
use crate::host::SecretKeeper;
use crate::values::{View, is_true, view};

/// What is not a part of a secret at its ends.
const WHITE_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// The usual text in the place of a secret.
const PLACEHOLDER: &str = "$REDACTED$";

/// Returns the keeper of secrets.
///
/// # Errors
///
/// The host has none.
fn keeper<'a>(call: &Call<'a, '_, '_>) -> Outcome<&'a dyn SecretKeeper> {
    call.host.secrets().ok_or_else(|| failure("secrets are not available to templates here"))
}

/// Registers text as a secret, and returns it. `validation_action` decides about values that cannot be one: `error`,
/// `warn`, or any other word to return them as they are.
pub(super) fn register_secret(call: &mut Call<'_, '_, '_>) -> Outcome {
    let keeper = keeper(call)?;
    let value = match &call.positional[..] {
        [value] => value.clone(),
        [] => return call.input(),
        more => {
            let text = format!("register_secret() takes 1 positional argument but {} were given", more.len());
            return Err(failure(text));
        }
    };
    let ([], [action]) = bind(call.name, &[], &call.named, [], ["validation_action"])?;
    let problem = match view(&value) {
        View::Str(text) if text.trim_matches(WHITE_SPACE).is_empty() => {
            "Secret must not be empty after trimming whitespace"
        }
        View::Str(text) => {
            keeper.register(text);
            return Ok(value);
        }
        _ => "Secret must be a string",
    };
    match action.as_ref().map_or(Some("error"), Value::as_str) {
        Some("error") => Err(unshown(problem)),
        Some("warn") => {
            keeper.warn(problem);
            Ok(value)
        }
        _ => Ok(value),
    }
}

/// Returns text with a placeholder in the place of each secret.
///
/// Values that are not text fail as soon as there are secrets, but for those that count as false. In ansible-core, a list or
/// dict of less than four items passes unmasked.
pub(super) fn mask_secrets(call: &mut Call<'_, '_, '_>) -> Outcome {
    let keeper = keeper(call)?;
    let ([value], [placeholder]) = call.bind(["value"], ["mask_placeholder"])?;
    if !is_true(&value) || keeper.is_empty() {
        return Ok(value);
    }
    let failed = || failure("secret masking failed");
    let View::Str(text) = view(&value) else { return Err(failed()) };
    let placeholder = placeholder.unwrap_or_else(|| Value::from(PLACEHOLDER));
    match (keeper.masked(text, placeholder.as_str().unwrap_or_default()), placeholder.as_str()) {
        (None, _) => Ok(value),
        (Some(masked), Some(_)) => Ok(Value::from(masked)),
        (Some(_), None) => Err(failed()),
    }
}

/// Returns an error that is shown without the lines of its place.
fn unshown(message: &'static str) -> Error {
    failure(message).with_source(Unshown)
}
