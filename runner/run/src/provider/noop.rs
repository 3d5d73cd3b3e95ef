//! Actions that must change nothing: check mode, or `ral_noop` in the arguments.
//!
//! What a provider does with `ral_noop` is its claim: some of libral's own providers write files in spite of it. It is
//! passed only to a provider that says that it is safe, and even then nothing can be written.

use modbox_contract::{Dict, Value};
use modbox_providers::{Action, Convention, Metadata};

use crate::request::run_request::Arguments;

/// The argument of check mode in arguments that a caller has completed.
const CHECK_MODE: &str = "_ansible_check_mode";

/// The argument of the simple convention.
const NOOP: &str = "ral_noop";

/// The object of the JSON convention.
const RAL: &str = "ral";

/// Returns whether an action must change nothing.
pub(super) fn is_requested(arguments: &Arguments) -> bool {
    let given = arguments.given();
    let is_set = |value: Option<&Value>| {
        value.is_some_and(|value| *value == Value::Bool(true) || value.as_str() == Some("true"))
    };
    let in_json = given.get(RAL).and_then(Value::as_dict).and_then(|ral| ral.get("noop"));
    let is_check = match arguments {
        Arguments::Task { internal, .. } => internal.check_mode,
        Arguments::Complete(args) => is_set(args.get(CHECK_MODE)),
    };
    is_check || is_set(given.get(NOOP)) || is_set(in_json)
}

/// Asks the provider for no change, or returns why it cannot be asked.
pub(super) fn ask(
    arguments: &mut Dict,
    metadata: &Metadata,
    action: Action,
    allows_everything: bool,
) -> Result<(), &'static str> {
    if !metadata.noop_safe {
        return Err("the provider does not say that it is safe without changes (`noop_safe` in its metadata)");
    }
    if allows_everything {
        return Err("a provider that is granted everything cannot be kept from changing something");
    }
    match action.convention() {
        Some(Convention::Json) => {
            let ral: Value = [("noop", true)].into();
            arguments.insert(RAL.to_owned(), ral);
        }
        _ => drop(arguments.insert(NOOP.to_owned(), true.into())),
    }
    Ok(())
}
