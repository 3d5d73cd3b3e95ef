//! Layers of a whole play: every run of a module in it sees what earlier ones did.
//!
//! The layers are attached over the real directories, in the mounts of the play's own thread. So the policies, paths and
//! messages of the runs are those of a direct play. Only root can make such layers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use modbox_kernel::PrivateMounts;
use modbox_overlay::change_list::ChangeList;
use modbox_overlay::commit::Start;
use modbox_overlay::layers::{LayerPlan, Layers};
use modbox_overlay::quota::ListBounds;
use modbox_policy::{Policy, Shape};
use modbox_vocabulary::Limits;

use crate::app::layered::effect_report::{CommitReport, CommitState, Effect, EffectReport, OutsideEffect};
use crate::app::layered::error::LayeredError;
use crate::app::layered::execution::ObservedLayers;
use crate::app::layered::layered_run::CommitChoices;
use crate::app::layered::shown_changes::{ShownChanges, Shows};
use crate::app::layered::{plan, transaction};

/// Layers of a play that runs.
#[derive(Debug)]
pub struct PlayLayers {
    mounts: PrivateMounts,
    layers: Layers,
    plan: LayerPlan,
    /// Directories of modbox itself, which have no layer.
    own: Vec<PathBuf>,
    start: Start,
}

impl PlayLayers {
    /// Gives this thread mounts of its own, for the layers of a play. `limits` bound each layer. modbox keeps temporary files
    /// and what it has compiled in the directories `own`, which have no layer.
    ///
    /// # Errors
    ///
    /// This user may not make mounts.
    pub fn enter(limits: &Limits, own: Vec<PathBuf>) -> Result<Self, LayeredError> {
        let mounts = PrivateMounts::enter().map_err(LayeredError::PlayMounts)?;
        let plan = plan::of(&Policy::default(), limits, Path::new(""));
        Ok(Self { mounts, layers: Layers::none(), plan, own, start: Start::settled() })
    }

    /// Makes layers over all that a policy grants for writing and that no layer holds yet. A single file is held by a layer
    /// over its directory. Returns whether there is a new layer; then directories that were opened before show the
    /// machine's own files.
    ///
    /// # Errors
    ///
    /// A directory can have no layer.
    pub fn cover(&mut self, policy: &Policy) -> Result<bool, LayeredError> {
        if policy.allows_everything() {
            return Err(LayeredError::Everything);
        }
        let directory = |grant: &modbox_policy::PathGrant| match grant.shape {
            Shape::Directory => grant.host.clone(),
            Shape::Name => grant.host.parent().unwrap_or_else(|| Path::new("/")).to_owned(),
        };
        let wanted: BTreeSet<PathBuf> = policy
            .paths()
            .iter()
            .filter(|grant| plan::is_layered(grant) && !self.is_own(&grant.host))
            .map(directory)
            .collect();
        let mut is_new = false;
        // An outer directory is before the inner ones.
        for directory in wanted {
            if !self.layers.hold(&directory) {
                self.layers.attach_over(&directory, &self.own, &self.plan)?;
                is_new = true;
            }
        }
        Ok(is_new)
    }

    fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }

    /// Ends the layers, and returns what the play has changed. Call it in the thread of the layers, which sees the machine's
    /// own files again.
    ///
    /// # Errors
    ///
    /// A file of a layer is still written, a layer cannot be read, or the thread cannot leave its mounts.
    pub fn finish(self) -> Result<PlayChanges, LayeredError> {
        self.layers.freeze()?;
        let lists = self.layers.changes(ListBounds::default())?;
        self.mounts.leave().map_err(LayeredError::LeaveMounts)?;
        Ok(PlayChanges { observed: ObservedLayers { layers: self.layers, lists, start: self.start } })
    }
}

/// What a play has changed on layers.
#[derive(Debug)]
pub struct PlayChanges {
    observed: ObservedLayers,
}

impl PlayChanges {
    /// Returns what is said of the changes. With `all_lines`, shows the lines of all files, also of those that other users
    /// may not read.
    #[must_use]
    pub fn effect(&self, mode: Effect, outside: Vec<OutsideEffect>, all_lines: bool) -> EffectReport {
        let secrets = modbox_argument_spec::Secrets::default();
        let shows = Shows { all_lines, no_lines: false, secrets: &secrets };
        let mut shown = ShownChanges::default();
        for (layer, list) in self.observed.layers.iter().zip(&self.observed.lists) {
            shown.add(layer, list, shows);
        }
        let ShownChanges { totals, changes, cut, links, incomplete } = shown;
        EffectReport {
            mode,
            changed: self.observed.lists.iter().any(ChangeList::is_changed),
            claimed: None,
            claim: None,
            check: None,
            complete: incomplete.is_empty(),
            incomplete,
            totals,
            changes,
            cut,
            links,
            outside,
            commit: CommitReport::of(CommitState::Discarded),
        }
    }

    /// Commits the changes, all or none.
    #[must_use]
    pub fn commit(&self, policy: &Policy, choices: &CommitChoices) -> CommitReport {
        transaction::commit(&self.observed, policy, choices)
    }
}
