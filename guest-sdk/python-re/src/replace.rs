//! `re.subn` and `re.findall`: every match of a pattern.

use crate::pattern::{Match, Pattern, PatternError};
use crate::template::Template;

impl Pattern {
    /// Replaces every match, and returns the number of matches.
    ///
    /// As in Python since 3.7, an empty match may directly follow another match, but each place has at most one.
    ///
    /// # Errors
    ///
    /// The template is wrong, even if nothing matches; and the errors of [`Pattern::search`].
    pub fn replace_all(&self, template: &str, contents: &[u8]) -> Result<(Vec<u8>, usize), PatternError> {
        self.replace(template, contents, None)
    }

    /// Replaces at most a number of matches, and returns how many were replaced.
    ///
    /// # Errors
    ///
    /// Those of [`Pattern::replace_all`].
    pub fn replace(
        &self,
        template: &str,
        contents: &[u8],
        most: Option<usize>,
    ) -> Result<(Vec<u8>, usize), PatternError> {
        let template = Template::new(template, self)?;
        let text = self.encode(contents)?;
        let (mut out, mut count, mut start) = (Vec::with_capacity(contents.len()), 0, 0);
        self.each_match(&text, |range, found| {
            out.extend_from_slice(&self.decode(&text[start..range.start]));
            out.extend_from_slice(&template.expand(&found));
            (start, count) = (range.end, count + 1);
            Some(count) != most
        })?;
        out.extend_from_slice(&self.decode(&text[start.min(text.len())..]));
        Ok((out, count))
    }

    /// Returns all matches, without their positions: `re.findall`.
    ///
    /// # Errors
    ///
    /// Those of [`Pattern::search`].
    pub fn find_all(&self, contents: &[u8]) -> Result<Vec<Match>, PatternError> {
        let text = self.encode(contents)?;
        let mut all = Vec::new();
        self.each_match(&text, |_, found| {
            all.push(found);
            true
        })?;
        Ok(all)
    }

    /// Calls a function with each match until it returns false.
    fn each_match(
        &self,
        text: &str,
        mut take: impl FnMut(std::ops::Range<usize>, Match) -> bool,
    ) -> Result<(), PatternError> {
        let (mut start, mut was_empty) = (0, false);
        while start <= text.len() {
            let regex = if was_empty { self.advancing()? } else { self.regex() };
            let Some(captures) = regex.captures_from_pos(text, start)? else { break };
            let Some(whole) = captures.get(0) else { break };
            (start, was_empty) = (whole.end(), whole.start() == whole.end());
            if !take(whole.start()..whole.end(), self.groups_of(&captures)) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Flags, Pattern, Subject};

    #[track_caller]
    fn check(pattern: &str, template: &str, contents: &str, expect: (&str, usize)) {
        let pattern = Pattern::new(pattern, Subject::Text, Flags { multi_line: true, ..Flags::default() }).unwrap();
        let (after, count) = pattern.replace_all(template, contents.as_bytes()).unwrap();
        assert_eq!((String::from_utf8(after).unwrap().as_str(), count), expect);
    }

    #[test]
    fn replaces_as_python_does() {
        check("b+", "x", "abbab", ("axax", 2));
        check("x*", "-", "abxd", ("-a-b--d-", 5));
        check("^", "# ", "a\nb\n", ("# a\n# b\n# ", 3));
        check("^|a", "-", "a", ("--", 2));
        check("(a)(b)?", r"[\2\1]", "ab a", ("[ba] [a]", 2));
    }

    #[test]
    fn finds_and_replaces_some() {
        let pattern = Pattern::new("(a)|(b)", Subject::Text, Flags::default()).unwrap();
        let found = pattern.find_all(b"xab").unwrap();
        let groups: Vec<_> = found.iter().map(|found| (found.group(1), found.group(2))).collect();
        assert_eq!(groups, [(Some(&b"a"[..]), None), (None, Some(&b"b"[..]))]);
        assert_eq!(pattern.replace("-", b"aab", Some(2)).unwrap(), (b"--b".to_vec(), 2));
    }
}
