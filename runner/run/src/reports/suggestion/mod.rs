//! Makes a policy file of what runs were denied and of what the command line granted to them.
//!
//! Each module gets its own rules, and each entry says in a comment where it comes from. What a policy file cannot hold is
//! a comment. The text is not checked against the machine: the command line does that.

mod advised;
mod model;
mod observed;
mod page;
mod play;
mod reach;
mod record;
mod widen;

pub use self::model::{KeyKind, Suggestion};
pub use self::page::{comment, quoted, render, render_play};
pub use self::play::PlaySuggestion;
pub use self::reach::{LearnedPolicy, LearnedTask, render_learned};
pub use self::record::{Lacking, RecordedGrant, RunRecord, UseDetails};
