//! How a run on layers is made.

use std::path::Path;

use modbox_overlay::commit::Strength;

use crate::app::layered::effect_report::Effect;
use crate::app::trial::RealEffects;

/// Choices for a run on layers.
#[derive(Debug, Clone, Copy)]
pub struct LayeredRun<'a> {
    /// What becomes of the changes.
    pub effect: Effect,
    /// Whether the network, sockets and devices may be used, whose effects no layer holds.
    pub outside: RealEffects,
    /// Whether the lines of all files are shown, also of those that other users may not read.
    pub shows_all_lines: bool,
    /// Whether the module also runs in its own check mode, for a comparison.
    pub compares_check: bool,
    /// Whether changes are committed although a part could not be seen or simulated.
    pub accepts_incomplete: bool,
    /// How a transaction is committed.
    pub commit: CommitChoices<'a>,
}

/// Choices for a commit.
#[derive(Debug, Clone, Copy)]
pub struct CommitChoices<'a> {
    /// Directory of transactions.
    pub state: &'a Path,
    /// Strength.
    pub strength: Strength,
    /// Whether the commit can be undone.
    pub keeps_undo: bool,
}
