//! Applies a rule to the arguments of a command.
//!
//! The search remembers each pair of a place in the rule and an argument that it has tried: `{-w|-w <n>}` would take
//! exponential time otherwise. Alternatives are tried in the order of the rule, and the first way through it counts. The
//! work is bounded; a command that needs more is not covered.

use std::collections::HashSet;

use crate::outside::kinds::Kind;
use crate::outside::names::BoundNames;
use crate::outside::rule::{Item, OutsideRule, RuleWord};

/// Maximum length of all arguments of a command, in bytes, with the one that ends each.
pub(crate) const MAX_COMMAND: usize = 128 << 10;

/// Maximum number of places and of comparisons with alternatives. The longest list of packages takes half of it.
const MAX_STEPS: usize = 1_000_000;

/// An argument that a kind has matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// The index of the argument.
    pub argument: usize,
    /// The byte of the argument at which the part begins that the kind stands for.
    pub at: usize,
    /// What the rule has in this place, such as a name.
    pub kind: Kind,
    /// The part of the argument that the kind stands for.
    pub value: String,
}

/// A place that the search has reached.
struct Reached {
    /// The item of the rule.
    item: usize,
    /// Whether a repeated item has matched once.
    is_repeating: bool,
    /// The number of arguments before the place.
    read: usize,
    /// The place before, and the words between both: none, or the item and the alternative.
    from: Option<(usize, Option<usize>)>,
}

impl OutsideRule {
    /// Returns the operands of arguments that the rule covers, or `None`. `names` are those that a profile binds.
    #[must_use]
    pub fn matches(&self, arguments: &[&str], names: &BoundNames) -> Option<Vec<Operand>> {
        if arguments.iter().map(|argument| argument.len() + 1).sum::<usize>() > MAX_COMMAND {
            return None;
        }
        let mut search = Search { rule: self, arguments, names, steps: 0, reached: Vec::new(), seen: HashSet::new() };
        search.run().map(|last| search.operands(last))
    }
}

struct Search<'s> {
    rule: &'s OutsideRule,
    arguments: &'s [&'s str],
    names: &'s BoundNames,
    steps: usize,
    reached: Vec<Reached>,
    seen: HashSet<(usize, bool, usize)>,
}

impl Search<'_> {
    /// Returns the index of the place at the end of the rule and of the arguments.
    fn run(&mut self) -> Option<usize> {
        let mut open = Vec::new();
        self.reach(&mut open, Reached { item: 0, is_repeating: false, read: 0, from: None });
        let mut next = Vec::new();
        while let Some(index) = open.pop() {
            let Reached { item, read, .. } = self.reached[index];
            if item == self.rule.items.len() && read == self.arguments.len() {
                return Some(index);
            }
            self.advance(index, &mut next)?;
            // The first way is tried first, so it lies on top.
            open.extend(next.drain(..).rev());
        }
        None
    }

    /// Adds a place, unless it was reached before: what follows it failed then.
    fn reach(&mut self, next: &mut Vec<usize>, place: Reached) {
        if self.seen.insert((place.item, place.is_repeating, place.read)) {
            self.reached.push(place);
            next.push(self.reached.len() - 1);
        }
    }

    /// Adds the places that follow one. Returns `None` if the work is too much.
    fn advance(&mut self, index: usize, next: &mut Vec<usize>) -> Option<()> {
        let Reached { item, is_repeating, read, .. } = self.reached[index];
        let rule = self.rule;
        self.step()?;
        let mut to = |search: &mut Self, item, is_repeating, read, alternative| {
            search.reach(next, Reached { item, is_repeating, read, from: Some((index, alternative)) });
        };
        match rule.items.get(item) {
            None => {}
            Some(Item::Word(word)) => {
                let is_fitting = self.fits(std::slice::from_ref(word), read)?;
                if is_fitting {
                    to(self, item + 1, false, read + 1, Some(0));
                }
            }
            Some(Item::Repeated(kind)) => {
                let word = RuleWord { kind: Some(*kind), ..RuleWord::default() };
                if self.fits(&[word], read)? {
                    to(self, item, true, read + 1, Some(0));
                }
                if is_repeating {
                    to(self, item + 1, false, read, None);
                }
            }
            Some(Item::One(group) | Item::Any(group)) => {
                let is_any = matches!(rule.items[item], Item::Any(_));
                let first = self.arguments.get(read).copied();
                for alternative in first.map(|first| group.beginning_with(first)).unwrap_or_default() {
                    let words = &group.alternatives()[alternative];
                    if self.fits(words, read)? {
                        let after = if is_any { item } else { item + 1 };
                        to(self, after, false, read + words.len(), Some(alternative));
                    }
                }
                if is_any {
                    to(self, item + 1, false, read, None);
                }
            }
        }
        Some(())
    }

    /// Returns whether the next arguments are these words; `None` if the work is too much.
    fn fits(&mut self, words: &[RuleWord], read: usize) -> Option<bool> {
        self.step()?;
        let arguments = self.arguments.get(read..).unwrap_or_default();
        let fits = |(word, argument): (&RuleWord, &&str)| {
            word.operand(argument).is_some_and(|value| self.permits(word, value))
        };
        Some(arguments.len() >= words.len() && words.iter().zip(arguments).all(fits))
    }

    /// Counts a piece of work. Returns `None` if it is too much.
    fn step(&mut self) -> Option<()> {
        self.steps += 1;
        (self.steps <= MAX_STEPS).then_some(())
    }

    fn permits(&self, word: &RuleWord, value: &str) -> bool {
        word.kind.is_none_or(|kind| self.names.permit(kind, value))
    }

    /// Collects the operands on the way to a place.
    fn operands(&self, last: usize) -> Vec<Operand> {
        let mut operands = Vec::new();
        let mut place = &self.reached[last];
        while let Some((from, alternative)) = place.from {
            place = &self.reached[from];
            let words: Vec<RuleWord> = match (alternative, &self.rule.items[place.item]) {
                (None, _) => Vec::new(),
                (Some(_), Item::Word(word)) => vec![word.clone()],
                (Some(_), Item::Repeated(kind)) => vec![RuleWord { kind: Some(*kind), ..RuleWord::default() }],
                (Some(index), Item::One(group) | Item::Any(group)) => group.alternatives()[index].clone(),
            };
            let with_kind = words.iter().enumerate().filter_map(|(offset, word)| {
                let argument = place.read + offset;
                let (kind, value) = (word.kind?, word.operand(self.arguments[argument])?);
                Some(Operand { argument, at: word.before.len(), kind, value: value.to_owned() })
            });
            operands.extend(with_kind.collect::<Vec<_>>().into_iter().rev());
        }
        operands.reverse();
        operands
    }
}

impl RuleWord {
    /// Returns the operand in an argument, which is empty without a kind. Returns `None` if the argument does not fit.
    fn operand<'a>(&self, argument: &'a str) -> Option<&'a str> {
        match self.kind {
            None => (argument == self.before).then_some(""),
            Some(_) => argument.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str()),
        }
    }
}
