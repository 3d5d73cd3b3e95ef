//! The items of an archive, and the patterns that exclude some.

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_sdk::Failure;
use modbox_sdk::files::{Attributes, FileTime};

/// A file, folder or link to pack.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) path: String,
    /// The name in the archive.
    pub(crate) name: String,
    /// What is at the path itself.
    pub(crate) found: Attributes,
    /// When that was changed: before the new archive was made beside it.
    pub(crate) modified: FileTime,
}

/// The patterns to exclude.
pub(crate) struct Patterns(Vec<Pattern>);

impl Patterns {
    pub(crate) fn new(globs: &[String]) -> Result<Self, Failure> {
        let pattern = |glob: &String| {
            Pattern::new(&format!(r"\A{}", glob_to_regex(glob)), Subject::Text, Flags::default())
                .map_err(|why| Failure::new(format!("failed to read the pattern `{glob}`: {why}")))
        };
        globs.iter().map(pattern).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn exclude(&self, text: &str) -> Result<bool, Failure> {
        for pattern in &self.0 {
            if pattern.search(text.as_bytes())?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
