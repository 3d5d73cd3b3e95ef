//! Errors in the text of a rule for outside commands.

use crate::outside::kinds::Kind;

/// An error in a rule, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}, at character {position}")]
pub struct OutsideRuleError {
    /// The position in the rule: 1 is its first character.
    pub position: usize,
    /// What is wrong there.
    pub problem: OutsideRuleProblem,
}

/// An error in a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutsideRuleProblem {
    /// No words.
    #[error("the rule is empty; expected a program and its arguments, such as `nginx -t`")]
    Empty,
    /// The text is too long.
    #[error("the rule is longer than {0} bytes")]
    Long(usize),
    /// A quote is open at the end.
    #[error("the quote is not closed")]
    Quote,
    /// A backslash is the last character.
    #[error("nothing follows the backslash")]
    Backslash,
    /// A character that no argument of an outside command may have.
    #[error("the rule contains the control character `{}`", .0.escape_default())]
    Control(char),
    /// A wildcard.
    #[error(
        "rules for outside commands have no wildcards; spell the words, use a kind such as `<name>`, or quote `{0}`"
    )]
    Wildcard(char),
    /// A kind that does not exist.
    #[error("unknown kind `<{0}>`; expected one of {list}", list = Kind::list())]
    UnknownKind(String),
    /// `<` without `>`.
    #[error("`<` is not closed; quote it if it is part of the argument")]
    OpenKind,
    /// `>` without `<`.
    #[error("`>` closes no kind; quote it if it is part of the argument")]
    CloseKind,
    /// A second kind in one word.
    #[error("a word holds one kind at most")]
    SecondKind,
    /// `…` in another place than at the end of a word that is a kind.
    #[error(
        "`…` follows a kind that is a whole word outside of groups, as in `<pkg>…`; quote it if it is part of the argument"
    )]
    Repetition,
    /// A group in a group.
    #[error("groups cannot be nested; write the alternatives out")]
    Nested,
    /// A group without an end.
    #[error("the group is not closed; expected `{0}`")]
    OpenGroup(char),
    /// The end of a group that is not open.
    #[error("`{0}` closes no group; quote it if it is part of the argument")]
    CloseGroup(char),
    /// A bar outside of groups.
    #[error("`|` is not in a group; write `(a|b)` for one of both, or quote it if it is part of the argument")]
    Bar,
    /// A group that touches a word.
    #[error("a group is a word of its own; separate it by a blank, or quote the bracket if it is part of the argument")]
    Touching,
    /// A group or an alternative without words.
    #[error("the alternative is empty; `{{a}}` says that `a` may be left out")]
    EmptyAlternative,
    /// The program is a group, or has a kind in it.
    #[error("the program must be spelled; only `/etc/init.d/<unit>` has a kind in it")]
    OpenProgram,
    /// The program is neither a name nor a plain absolute path.
    #[error("the program `{0}` must be a name, or an absolute path without `.`, `..` and empty parts")]
    Program(String),
}
