//! Lists of patterns, as OpenSSH writes them in `allowed_signers`: separated by commas, `*` for any characters, `?` for
//! one, `!` before a pattern that excludes.
//!
//! Source: ssh_config(5), PATTERNS.

/// A list of patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternList(Vec<String>);

impl PatternList {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.split(',').map(str::to_owned).collect())
    }

    /// Returns whether a pattern fits and none that excludes does.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let excludes = |pattern: &String| pattern.strip_prefix('!').is_some_and(|pattern| fits(pattern, text));
        let includes = |pattern: &String| !pattern.starts_with('!') && fits(pattern, text);
        !self.0.iter().any(excludes) && self.0.iter().any(includes)
    }

    /// Returns the patterns that include.
    pub(crate) fn included(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|pattern| !pattern.starts_with('!')).map(String::as_str)
    }
}

/// Returns whether a text fits one pattern. Takes time in proportion to the product of both lengths at most.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    // Where the pattern goes on after its last `*`, and where that `*` ends in the text.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, read));
            }
            Some(wanted) if *wanted == b'?' || *wanted == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((after, end)) = star else { return false };
                (at, read, star) = (after, end + 1, Some((after, end + 1)));
            }
        }
    }
    pattern[at..].iter().all(|rest| *rest == b'*')
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
