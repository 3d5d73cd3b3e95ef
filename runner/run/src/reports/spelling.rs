//! Tips for misspelt options: the known name that is nearest to an unknown one, from the message that ansible-core and
//! the guest SDK give for unsupported parameters. The message stays as it is.
//!
//! The message is a module's text, so the work on it is bounded. A tip grants nothing and changes no argument.

use strsim::osa_distance;

/// Words before the unknown names.
const UNKNOWN: &str = "Unsupported parameters for (";

/// Words between the unknown names and the known ones.
const KNOWN: &str = "Supported parameters include:";

/// Maximum length of a compared name. Options of real modules are shorter.
const MAX_NAME: usize = 64;

/// Maximum number of known names that are compared.
const MAX_KNOWN: usize = 1024;

/// Maximum number of tips.
const MAX_TIPS: usize = 8;

/// Returns a tip for each unknown option in a message that is near to a supported one.
pub fn tips(message: &str) -> Vec<String> {
    let Some((before, known)) = message.split_once(KNOWN) else { return Vec::new() };
    let Some((_, unknown)) = before.split_once(UNKNOWN).and_then(|(_, rest)| rest.split_once("module:")) else {
        return Vec::new();
    };
    let known: Vec<&str> = names(known).take(MAX_KNOWN).collect();
    let tip = |name| nearest(name, &known).map(|known| format!("did you mean `{known}` instead of `{name}`?"));
    names(unknown).take(MAX_TIPS).filter_map(tip).collect()
}

/// Returns the candidate that is nearest to a word, if one is near.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let length = word.chars().count();
    let near = (length / 3).max(1);
    let distances = candidates.iter().map(|candidate| (osa_distance(word, candidate), *candidate));
    let (found, candidate) = distances.min_by_key(|(distance, _)| *distance)?;
    (found <= near && found < length).then_some(candidate)
}

/// Returns the names in a list such as `a, b (c, d).`, without those that are too long.
fn names(list: &str) -> impl Iterator<Item = &str> {
    let separates = |letter: char| matches!(letter, ',' | '(' | ')' | '.') || letter.is_whitespace();
    list.split(separates).filter(|name| !name.is_empty() && name.len() <= MAX_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_supported_option_is_named() {
        let tips_of = |unknown: &str| {
            tips(&format!(
                "Unsupported parameters for (a.b.lineinfile) module: {unknown}. Supported parameters include: line, \
                 path, regexp, state (dest, regex)."
            ))
        };
        assert_eq!(tips_of("lnie"), ["did you mean `line` instead of `lnie`?"]);
        assert_eq!(
            tips_of("pth, reegxp"),
            ["did you mean `path` instead of `pth`?", "did you mean `regexp` instead of `reegxp`?"]
        );
        assert_eq!(tips_of("dset"), ["did you mean `dest` instead of `dset`?"]);
        assert!(tips_of("colour").is_empty() && tips_of("x").is_empty());
        // ansible-core 2.9 writes no full stop.
        let old = "Unsupported parameters for (m) module: lnie Supported parameters include: line, path";
        assert_eq!(tips(old), ["did you mean `line` instead of `lnie`?"]);
    }

    #[test]
    fn other_messages_have_no_tips_and_long_ones_are_bounded() {
        for message in ["", "Supported parameters include: a", "Unsupported parameters for (", "missing: line"] {
            assert!(tips(message).is_empty(), "{message}");
        }
        let long = "x".repeat(1 << 20);
        let message =
            format!("Unsupported parameters for (m) module: {long}, lnie. Supported parameters include: {long}, line.");
        assert_eq!(tips(&message), ["did you mean `line` instead of `lnie`?"]);
        let many = "lnie, ".repeat(100);
        let message = format!("Unsupported parameters for (m) module: {many}. Supported parameters include: line.");
        assert_eq!(tips(&message).len(), MAX_TIPS);
    }
}
