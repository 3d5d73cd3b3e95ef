//! `re.subn`: replaces every match.

use crate::pattern::{Pattern, PatternError};
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
        let template = Template::new(template, self)?;
        let text = self.encode(contents)?;
        let (mut out, mut count) = (Vec::with_capacity(contents.len()), 0);
        let (mut start, mut was_empty) = (0, false);
        let mut advancing = None;
        while start <= text.len() {
            let regex = match (was_empty, &mut advancing) {
                (false, _) => self.regex(),
                (true, Some(regex)) => regex,
                (true, none) => none.insert(self.advancing()?),
            };
            let Some(captures) = regex.captures_from_pos(text.as_str(), start)? else { break };
            let Some(whole) = captures.get(0) else { break };
            out.extend_from_slice(&self.decode(&text[start..whole.start()]));
            out.extend_from_slice(&template.expand(&self.groups_of(&captures)));
            count += 1;
            (start, was_empty) = (whole.end(), whole.start() == whole.end());
        }
        out.extend_from_slice(&self.decode(&text[start.min(text.len())..]));
        Ok((out, count))
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
}
