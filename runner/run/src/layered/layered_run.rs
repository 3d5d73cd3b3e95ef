//! How a run on layers is made.

use std::path::PathBuf;

use modbox_overlay::commit::{Origin, Start, Strength};
use modbox_policy::CheckRule;

use crate::reports::parts::effect_report::Effect;
use crate::trial::RealEffects;

/// Choices for a run on layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayeredRun {
    /// Whether the changes are shown or committed.
    pub mode: LayeredMode,
    /// Whether the lines of all files are shown, also of those that other users may not read.
    pub shows_all_lines: bool,
    /// Whether changes are accepted of which a part could not be seen or simulated.
    pub accepts_incomplete: bool,
    /// Whether status and result stay as the module gives them, in place of what was observed: a task of a play is changed if its module
    /// says so, whatever files it changes.
    pub keeps_result: bool,
}

/// Whether the changes of a run on layers are shown or committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayeredMode {
    /// They are shown, and saved or discarded.
    Preview {
        /// Whether the network, sockets and devices may be used, whose effects no layer holds.
        outside: RealEffects,
        /// Whether the module also runs in its own check mode, for a comparison.
        compares_check: bool,
        /// Where the changes are saved, to be committed later.
        save: Option<SavePlace>,
    },
    /// They are committed as a whole if the module succeeds.
    Transaction(CommitChoices),
}

/// Where the changes of a preview are saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavePlace {
    /// A new file.
    File(PathBuf),
    /// A new file with a name of its own in this folder, the plan store.
    Store(PathBuf),
}

/// Where a commit keeps its journal, how safe it is, and whether it can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitChoices {
    /// Directory of transactions.
    pub state: PathBuf,
    /// The worst crash after which the commit is still all or nothing.
    pub strength: Strength,
    /// Whether the commit can be undone.
    pub keeps_undo: bool,
    /// Whose it is: kept transactions are counted, and undone, by origin.
    pub origin: Origin,
}

impl LayeredMode {
    /// Returns the mode in the word of reports.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Self::Preview { .. } => Effect::Preview,
            Self::Transaction(_) => Effect::Transaction,
        }
    }

    /// Returns whether changes can be committed, now or later.
    pub(crate) fn commits(&self) -> bool {
        matches!(self, Self::Transaction(_) | Self::Preview { save: Some(_), .. })
    }

    /// Returns whether the module also runs in its own check mode.
    pub(crate) fn compares_check(&self) -> bool {
        matches!(self, Self::Preview { compares_check: true, .. })
    }

    /// Returns whether effects that no layer holds may happen.
    pub(crate) fn outside(&self) -> RealEffects {
        match self {
            Self::Preview { outside, .. } => *outside,
            Self::Transaction(_) => RealEffects::Accepted,
        }
    }
}

impl LayeredRun {
    /// Returns the moment from which changes of others are told from earlier ones. Call it before the layers are made.
    pub(crate) fn start(&self) -> Start {
        // Only a commit needs to tell changes of before from changes of the same moment. To wait for the next one takes
        // milliseconds.
        if self.mode.commits() { Start::settled() } else { Start::now() }
    }

    /// Returns the preview that a policy asks for in place of a module's own check mode; `None` if it asks for none.
    #[must_use]
    pub fn in_place_of_check(rule: CheckRule, shows_all_lines: bool) -> Option<Self> {
        let compares_check = match rule {
            CheckRule::Module => return None,
            CheckRule::Observe => false,
            CheckRule::Both => true,
        };
        let mode = LayeredMode::Preview { outside: RealEffects::Refused, compares_check, save: None };
        Some(Self { mode, shows_all_lines, accepts_incomplete: false, keeps_result: false })
    }
}
