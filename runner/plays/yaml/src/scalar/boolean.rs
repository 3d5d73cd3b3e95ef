//! Booleans: the words of YAML 1.1.

/// Returns the truth of a word in any case; `None` for another word.
pub(crate) fn bool_value(text: &str) -> Option<bool> {
    match &*text.to_lowercase() {
        "yes" | "true" | "on" => Some(true),
        "no" | "false" | "off" => Some(false),
        _ => None,
    }
}
