//! How much processes of plugins may say: names, reasons and warnings.

use modbox_contract::{Dict, Value};

/// How many names a file may give, and how many characters a name may have. No file that is published has more than a hundred.
const MAX_NAMES: usize = 1000;
const MAX_NAME: usize = 200;

/// Maximum characters of what a file says when it cannot be loaded.
pub(super) const MAX_REASON: usize = 1000;

/// Maximum characters of a warning that is shown, and how many of a play.
pub(super) const MAX_WARNING: usize = 1000;
pub(super) const MAX_WARNINGS: usize = 50;

/// Returns the names in the answer of a process that loaded a file.
pub(super) fn names(answer: &Dict, key: &str) -> Result<Vec<String>, String> {
    let names = answer.get(key).and_then(Value::as_list).unwrap_or_default();
    if names.len() > MAX_NAMES {
        return Err(format!("the file gives more than {MAX_NAMES} names"));
    }
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    if names.iter().any(|name| name.chars().nth(MAX_NAME).is_some()) {
        return Err(format!("the file gives a name of more than {MAX_NAME} characters"));
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}

/// Returns a text, or its first characters if it has more of them.
pub(super) fn bounded(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Says whether a name can be that of a plugin of a collection other than ansible-core itself.
pub(super) fn is_of_collection(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_builtin = matches!(parts.as_slice(), ["ansible", "builtin" | "legacy", ..]);
    parts.len() >= 3 && !parts.contains(&"") && !is_builtin && name.chars().nth(MAX_NAME).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_full_names_are_those_of_collections() {
        let long = format!("a.b.{}", "c".repeat(MAX_NAME));
        for (name, expect) in [
            ("a.b.c", true),
            ("a.b.c.d", true),
            ("community.general.dig", true),
            ("ansible.builtin.file", false),
            ("ansible.legacy.file", false),
            ("ansible.utils.ipaddr", true),
            ("dig", false),
            ("general.dig", false),
            ("a..c", false),
            ("..", false),
            ("", false),
            (&*long, false),
        ] {
            assert_eq!(is_of_collection(name), expect, "{name}");
        }
    }

    #[test]
    fn the_names_of_a_file_are_limited() {
        let answer = |names: Vec<String>| {
            let names = names.into_iter().map(Value::from).collect();
            Dict::from([("names".to_owned(), Value::List(names))])
        };
        let named = |count: usize, length: usize| names(&answer(vec!["ä".repeat(length); count]), "names");
        assert_eq!(named(MAX_NAMES, MAX_NAME).map(|names| names.len()), Ok(MAX_NAMES));
        assert!(named(MAX_NAMES + 1, 1).unwrap_err().contains("more than 1000 names"));
        assert!(named(1, MAX_NAME + 1).unwrap_err().contains("more than 200 characters"));
        assert_eq!((bounded("äbc", 3), bounded("äbcd", 3)), ("äbc".to_owned(), "äbc…".to_owned()));
    }
}
