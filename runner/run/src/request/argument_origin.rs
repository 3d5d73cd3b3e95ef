//! Where the arguments of a task come from, as far as that decides what they may name.
//!
//! A play makes arguments of what its author wrote and of what modules returned. A path that a module made is the
//! module's word and not the caller's, so a policy can keep it from granting anything.

use modbox_policy::{Designated, Policy};

/// Why an argument may not be the caller's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// It was made from results of modules. `designated-by-results` says what it grants.
    Results,
    /// It was made from text outside of the caller's files. It grants nothing.
    Outside,
}

/// Where an argument comes from, if that is not only what the caller wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentOrigin {
    /// The name of the argument at the top level.
    pub argument: String,
    /// What it was made from, such as: the result `r`.
    pub made_from: String,
    /// Why it may not be the caller's word.
    pub distrust: Distrust,
}

impl ArgumentOrigin {
    /// Returns whether an option is this argument, or a part of it.
    pub(crate) fn is_of(&self, option: &str) -> bool {
        let rest = option.strip_prefix(self.argument.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    /// Returns the access that the argument grants at most.
    pub(crate) fn designates(&self, policy: &Policy) -> Designated {
        match self.distrust {
            Distrust::Results => policy.designated_by_results(),
            Distrust::Outside => Designated::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_has_its_parts() {
        let origin =
            ArgumentOrigin { argument: "files".to_owned(), made_from: String::new(), distrust: Distrust::Results };
        for (option, expect) in
            [("files", true), ("files[0].src", true), ("files.src", true), ("files_from", false), ("file", false)]
        {
            assert_eq!(origin.is_of(option), expect, "{option}");
        }
    }
}
