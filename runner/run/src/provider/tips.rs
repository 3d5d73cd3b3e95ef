//! Messages about names that choose no provider or no attribute, with the known name that is nearest.

use modbox_providers::{GivenError, SelectError};

use crate::reports::spelling::nearest;

/// Maximum length of a compared name.
const MAX_NAME: usize = 64;

/// Returns the message for a name that chooses no provider.
#[must_use]
pub fn selection_message(error: &SelectError) -> String {
    let SelectError::Unknown { wanted, known } = error else { return error.to_string() };
    let types = known.iter().filter_map(|name| name.split_once("::")).map(|(resource_type, _)| resource_type);
    let names: Vec<&str> = types.chain(known.iter().map(String::as_str)).collect();
    with_tip(error.to_string(), wanted, &names)
}

/// Returns the message for an attribute that cannot be set, and where the attributes of the provider are listed.
#[must_use]
pub fn attribute_message(error: &GivenError, provider: &str) -> String {
    let listed = format!("{error}; `modbox resource --explain {provider}` lists the attributes");
    match error {
        GivenError::Unknown { attribute, known, .. } => {
            with_tip(listed, attribute, &known.iter().map(String::as_str).collect::<Vec<_>>())
        }
        _ => listed,
    }
}

fn with_tip(message: String, word: &str, known: &[&str]) -> String {
    let found = if word.len() <= MAX_NAME { nearest(word, known) } else { None };
    match found {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        let known = ["service::systemd", "mount::fstab"].map(str::to_owned).to_vec();
        let message = |wanted: &str| {
            let error = SelectError::Unknown { wanted: wanted.to_owned(), known: known.clone() };
            selection_message(&error)
        };
        assert!(message("servcie").ends_with("; did you mean `service`?"), "{}", message("servcie"));
        assert!(message("mount::fstb").ends_with("; did you mean `mount::fstab`?"));
        assert!(!message("package").contains("did you mean"));
        assert!(!message(&"service".repeat(20)).contains("did you mean"));
        let error = GivenError::Unknown {
            attribute: "ensrue".to_owned(),
            provider: "s::x".to_owned(),
            known: vec!["ensure".to_owned()],
        };
        let message = attribute_message(&error, "s::x");
        assert!(message.contains("--explain s::x` lists") && message.ends_with("did you mean `ensure`?"), "{message}");
        assert!(!attribute_message(&GivenError::Name, "s::x").contains("did you mean"));
    }
}
