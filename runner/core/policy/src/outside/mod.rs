//! Rules for outside commands: commands that a module starts and that run outside of its room, as the task's user. The rules are
//! pure data; nothing here starts a program.
//!
//! ```text
//! rule        = program { item }
//! program     = absolute path | name | /etc/init.d/<unit>
//! item        = word | <kind>… | "(" alternative { "|" alternative } ")" | "{" alternative { "|" alternative } "}"
//! alternative = word { word }
//! word        = text with at most one <kind> in it
//! ```
//!
//! A rule covers a command under these conditions:
//!
//! 1. The program is exactly the one that the rule names, as for [`crate::run`].
//! 2. The arguments fit the items in order: a word is one argument, `<kind>…` one or more, `(a|b)` one of the alternatives,
//!    `{a|b}` any of them in any order and number, also none. No argument is left over.
//! 3. A [kind](Kind) accepts a closed set of words. None begins with `-` or has a control character. So an option passes only
//!    where the rule spells it, in this spelling.
//! 4. Names that stop the machine or give root's power pass only where they are spelled: in the rule, or among the
//!    [names](BoundNames) of a profile.
//!
//! There are no wildcards. Groups are not nested. Groups, brackets, bars and kinds lose their meaning in quotes.

mod error;
mod forms;
mod kinds;
mod matcher;
mod missing;
mod names;
mod outside_grant;
mod parse;
mod reserved;
mod root_lists;
mod root_power;
mod rule;
mod settings_file;
pub mod shipped;
#[cfg(test)]
mod tests;

pub use self::error::{OutsideRuleError, OutsideRuleProblem};
pub use self::kinds::Kind;
pub use self::matcher::Operand;
pub use self::missing::{denied, shown_command};
pub use self::names::BoundNames;
pub use self::outside_grant::{OutsideCommand, OutsideGrant};
pub(crate) use self::reserved::canonical;
pub use self::root_power::RootPower;
pub use self::rule::{OutsideRule, RuleProgram};
pub use self::settings_file::{RefusedLine, check_settings};
