//! One rule for outside commands: its parts, and how it is written.
//!
//! `parse` reads it and `matcher` applies it.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use modbox_vocabulary::quoting::quote;
use serde::{Deserialize, Serialize};

use crate::outside::kinds::Kind;

/// The folder of service scripts, whose names a kind may stand for.
pub(crate) const SCRIPTS: &str = "/etc/init.d";

/// A rule that permits commands outside: a program, and what its arguments may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct OutsideRule {
    pub(crate) program: RuleProgram,
    pub(crate) items: Vec<Item>,
}

/// The program of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleProgram {
    /// A name, or an absolute path.
    Named(String),
    /// The script of a service, `/etc/init.d/<unit>`.
    Script,
}

/// One place of a rule, for one or more arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    /// One argument.
    Word(RuleWord),
    /// One or more arguments of a kind: `<pkg>…`.
    Repeated(Kind),
    /// One of several alternatives: `( | )`.
    One(Group),
    /// Any alternatives, in any order and number, also none: `{ | }`.
    Any(Group),
}

/// One argument: a text, which may have a kind in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RuleWord {
    pub(crate) before: String,
    pub(crate) kind: Option<Kind>,
    pub(crate) after: String,
}

/// Alternatives of one or more arguments each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    alternatives: Vec<Vec<RuleWord>>,
    /// The alternatives by their first argument, if that is a plain text, so that a long list takes no longer than a short one.
    by_text: HashMap<String, Vec<usize>>,
    /// The other alternatives.
    with_kind: Vec<usize>,
}

impl Group {
    pub(crate) fn new(alternatives: Vec<Vec<RuleWord>>) -> Self {
        let (mut by_text, mut with_kind) = (HashMap::<String, Vec<usize>>::new(), Vec::new());
        for (index, words) in alternatives.iter().enumerate() {
            match words.first() {
                Some(RuleWord { before, kind: None, .. }) => by_text.entry(before.clone()).or_default().push(index),
                _ => with_kind.push(index),
            }
        }
        Self { alternatives, by_text, with_kind }
    }

    pub(crate) fn alternatives(&self) -> &[Vec<RuleWord>] {
        &self.alternatives
    }

    /// Returns the alternatives that may begin with an argument, in the order of the rule.
    pub(crate) fn beginning_with(&self, argument: &str) -> Vec<usize> {
        let mut found = self.by_text.get(argument).cloned().unwrap_or_default();
        found.extend(&self.with_kind);
        found.sort_unstable();
        found
    }
}

impl OutsideRule {
    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &RuleProgram {
        &self.program
    }

    /// Returns whether the rule covers one command alone.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        let is_plain = |item: &Item| matches!(item, Item::Word(RuleWord { kind: None, .. }));
        matches!(self.program, RuleProgram::Named(_)) && self.items.iter().all(is_plain)
    }

    /// Returns every kind in the rule, in order, with repetitions.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        let of_item = |item: &Item| match item {
            Item::Word(word) => Vec::from_iter(word.kind),
            Item::Repeated(kind) => vec![*kind],
            Item::One(group) | Item::Any(group) => {
                group.alternatives.iter().flatten().filter_map(|word| word.kind).collect()
            }
        };
        let of_program = matches!(self.program, RuleProgram::Script).then_some(Kind::Unit);
        of_program.into_iter().chain(self.items.iter().flat_map(of_item))
    }
}

impl From<OutsideRule> for String {
    fn from(rule: OutsideRule) -> Self {
        rule.to_string()
    }
}

/// Formats the rule so that parsing the text gives the same rule.
impl fmt::Display for OutsideRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            RuleProgram::Named(program) => f.write_str(&quote(program))?,
            RuleProgram::Script => write!(f, "{SCRIPTS}/<{}>", Kind::Unit)?,
        }
        for item in &self.items {
            f.write_char(' ')?;
            match item {
                Item::Word(word) => word.fmt(f)?,
                Item::Repeated(kind) => write!(f, "<{kind}>…")?,
                Item::One(group) => write!(f, "({group})")?,
                Item::Any(group) => write!(f, "{{{group}}}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, words) in self.alternatives.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "|" })?;
            for (index, word) in words.iter().enumerate() {
                f.write_str(if index == 0 { "" } else { " " })?;
                word.fmt(f)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for RuleWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, kind: Some(kind), after } = self else { return f.write_str(&quote(&self.before)) };
        if !before.is_empty() {
            f.write_str(&quote(before))?;
        }
        write!(f, "<{kind}>")?;
        match after.as_str() {
            "" => Ok(()),
            // Without quotes, dots after a kind say that it may be repeated.
            dots if dots.starts_with("...") => write!(f, "'.'{}", quote(&dots[1..])),
            after => f.write_str(&quote(after)),
        }
    }
}
