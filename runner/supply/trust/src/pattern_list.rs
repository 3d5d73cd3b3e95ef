//! Lists of patterns, as OpenSSH writes them in `allowed_signers`: separated by commas, `*` for any characters, `?` for
//! one, `!` before a pattern that excludes.
//!
//! Source: ssh_config(5), PATTERNS.

use modbox_vocabulary::NamePattern;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternList {
    included: Vec<NamePattern>,
    excluded: Vec<NamePattern>,
}

impl PatternList {
    pub(crate) fn new(text: &str) -> Self {
        let (excluded, included): (Vec<&str>, Vec<&str>) = text.split(',').partition(|text| text.starts_with('!'));
        let excluded = excluded.into_iter().map(|text| NamePattern::new(&text[1..])).collect();
        Self { included: included.into_iter().map(NamePattern::new).collect(), excluded }
    }

    /// Returns whether a pattern fits and none that excludes does.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let fits = |patterns: &[NamePattern]| patterns.iter().any(|pattern| pattern.matches(text));
        fits(&self.included) && !fits(&self.excluded)
    }

    /// Returns the patterns that include.
    pub(crate) fn included(&self) -> impl Iterator<Item = String> {
        self.included.iter().map(NamePattern::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_excluded_does_not_fit() {
        let list = PatternList::new("*@acme.example,!evil@acme.example,b?b");
        for (text, expect) in
            [("a@acme.example", true), ("evil@acme.example", false), ("bob", true), ("boob", false), ("", false)]
        {
            assert_eq!(list.matches(text), expect, "{text}");
        }
        assert!(!PatternList::new("!x").matches("y"));
    }
}
