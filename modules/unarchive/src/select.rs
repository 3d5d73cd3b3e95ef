//! Selects members by `include` and `exclude`, with the different patterns of `tar` and `unzip`.

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_sdk::Failure;

/// The patterns of a run.
pub(crate) struct Selection {
    include: Vec<(String, Pattern)>,
    exclude: Vec<Pattern>,
    zip: bool,
}

impl Selection {
    /// Reads the options.
    ///
    /// # Errors
    ///
    /// A pattern is invalid.
    pub(crate) fn new(include: &[String], exclude: &[String], zip: bool) -> Result<Self, Failure> {
        let trim = |text: &str| if zip { text.to_owned() } else { text.trim_end_matches('/').to_owned() };
        let include = include.iter().map(|text| Ok((trim(text), pattern(text)?))).collect::<Result<_, Failure>>()?;
        let exclude = exclude.iter().map(|text| pattern(&trim(text))).collect::<Result<_, Failure>>()?;
        Ok(Self { include, exclude, zip })
    }

    /// Returns whether a member is selected, by its name.
    ///
    /// # Errors
    ///
    /// A pattern takes too long.
    pub(crate) fn wants(&self, name: &str) -> Result<bool, Failure> {
        if self.zip {
            for (_, pattern) in &self.include {
                if fits(pattern, name)? {
                    return Ok(true);
                }
            }
            return Ok(self.include.is_empty() && !self.excludes(name)?);
        }
        let name = name.trim_end_matches('/');
        let included = self.include.is_empty() || self.include.iter().any(|(wanted, _)| is_in(name, wanted));
        Ok(included && !self.excludes_part(name)?)
    }

    /// Returns an included name that a `tar` archive lacks, which is an error for `tar`.
    pub(crate) fn missing<'s>(&'s self, names: &[String]) -> Option<&'s str> {
        let found = |wanted: &str| names.iter().any(|name| is_in(name.trim_end_matches('/'), wanted));
        let missing = self.include.iter().find(|(wanted, _)| !self.zip && !found(wanted));
        missing.map(|(wanted, _)| wanted.as_str())
    }

    fn excludes(&self, name: &str) -> Result<bool, Failure> {
        for pattern in &self.exclude {
            if fits(pattern, name)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a run of names in a path matches. In `tar`, `--exclude=d` excludes the contents of each folder
    /// `d`.
    fn excludes_part(&self, name: &str) -> Result<bool, Failure> {
        if self.exclude.is_empty() {
            return Ok(false);
        }
        let ends = |at: &usize| *at == name.len() || name.as_bytes()[*at] == b'/';
        for start in (0..name.len()).filter(|at| *at == 0 || name.as_bytes()[at - 1] == b'/') {
            for end in (start + 1..=name.len()).filter(ends) {
                if self.excludes(&name[start..end])? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Returns whether a name is an included member, or is in an included folder.
fn is_in(name: &str, wanted: &str) -> bool {
    name.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn pattern(glob: &str) -> Result<Pattern, Failure> {
    let regex = format!(r"\A{}", glob_to_regex(glob));
    Pattern::new(&regex, Subject::Text, Flags::default())
        .map_err(|why| Failure::new(format!("failed to read the pattern `{glob}`: {why}")))
}

fn fits(pattern: &Pattern, name: &str) -> Result<bool, Failure> {
    Ok(pattern.search(name.as_bytes())?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_to_tar_and_unzip() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (zip, include, exclude, name, wanted) in [
            (false, &[][..], &["d"][..], "a/d/x", false),
            (false, &[], &["d/"], "d/", false),
            (false, &[], &["*.o"], "a/b.o", false),
            (false, &[], &["b"], "ab/c", true),
            (false, &["a"], &[], "a/b", true),
            (false, &["a/"], &[], "ab", false),
            (false, &["*"], &[], "a", false),
            (true, &["*.txt"], &[], "a/b.txt", true),
            (true, &[], &["d"], "d/x", true),
            (true, &[], &["d/*"], "d/x", false),
        ] {
            let selection = Selection::new(&texts(include), &texts(exclude), zip).unwrap();
            assert_eq!(selection.wants(name).unwrap(), wanted, "{include:?} {exclude:?} {name}");
        }
    }
}
