//! How the rules of a profile are written: one in a line, with lists of alternatives that several rules share.

use crate::outside::kinds::Kind;
use crate::outside::rule::OutsideRule;

/// What a rule does with the things that names stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes what its operands name, or nothing that has a name.
    Change,
    /// It changes all things at once, so that a profile with names does not have it.
    Whole,
    /// It only asks.
    Query,
}

/// Rules in a row with the same effect, one a line. `PROGRAM,PROGRAM` stands for several rules, and `@WORD` for a list of
/// alternatives in [`ShippedRules::lists`].
#[derive(Debug)]
pub(super) struct Section {
    pub(super) effect: Effect,
    pub(super) rules: &'static str,
}

/// The rules of a profile.
#[derive(Debug)]
pub struct ShippedRules {
    pub(super) sections: &'static [Section],
    pub(super) lists: &'static [(&'static str, &'static str)],
    /// The kinds that the names of the profile bind.
    pub kinds: &'static [Kind],
    /// The commands whose operands come from their input, which names cannot bind.
    pub by_input: &'static [&'static str],
}

/// A rule of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippedRule {
    /// The rule.
    pub rule: OutsideRule,
    /// Whether it only asks.
    pub is_query: bool,
}

impl ShippedRules {
    /// Returns the rules. `is_bound`: the profile has names, so that rules without an operand that change all things are left out.
    #[must_use]
    pub fn rules(&self, is_bound: bool) -> Vec<ShippedRule> {
        let sections = self.sections.iter().filter(|section| !is_bound || section.effect != Effect::Whole);
        sections.flat_map(|section| section.texts(self.lists).map(|text| section.rule(&text))).collect()
    }

    /// Returns the rules that a profile with names does not have.
    #[must_use]
    pub fn left_out(&self) -> Vec<OutsideRule> {
        let whole = self.sections.iter().filter(|section| section.effect == Effect::Whole);
        whole.flat_map(|section| section.texts(self.lists).map(|text| section.rule(&text).rule)).collect()
    }
}

impl Section {
    fn texts(&self, lists: &'static [(&'static str, &'static str)]) -> impl Iterator<Item = String> {
        let lines = self.rules.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.flat_map(move |line| {
            let line = lists.iter().fold(line.to_owned(), |text, (word, list)| text.replace(&format!("@{word}"), list));
            let (programs, rest) = line.split_once(' ').unwrap_or((&line, ""));
            programs.split(',').map(|program| format!("{program} {rest}")).collect::<Vec<_>>()
        })
    }

    fn rule(&self, text: &str) -> ShippedRule {
        let rule = text.parse().expect("a test parses every shipped rule");
        ShippedRule { rule, is_query: self.effect == Effect::Query }
    }
}
