//! Layers of a whole play: every run of a module in it sees what earlier ones did.
//!
//! The layers are attached over the real directories, in the mounts of the play's own thread. So the policies, paths and
//! messages of the runs are those of a direct play. An ordinary user can make such layers in namespaces of its own, which
//! the whole process enters first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use modbox_kernel::PrivateMounts;
use modbox_overlay::change_list::ChangeList;
use modbox_overlay::commit::Start;
use modbox_overlay::layers::{LayerPlan, Layers};
use modbox_overlay::quota::ListBounds;
use modbox_policy::{Policy, Shape};
use modbox_scratch::ScratchRoot;
use modbox_vocabulary::Limits;

use crate::layered::changes::hidden_content::HiddenContent;
use crate::layered::changes::shown_changes::{ShownChanges, Shows};
use crate::layered::execution::ObservedLayers;
use crate::layered::layered_run::CommitChoices;
use crate::layered::user_play::UserPlay;
use crate::layered::{plan, transaction};
use crate::reports::error::RunError;
use crate::reports::error::layered_error::LayeredError;
use crate::reports::parts::effect_report::{CommitReport, CommitState, Effect, EffectReport, OutsideEffect};

/// Layers of a play that runs.
#[derive(Debug)]
pub struct PlayLayers {
    /// Before the layers: a directory at which one is attached cannot be removed in the mounts.
    mounts: PlayMounts,
    layers: Layers,
    plan: LayerPlan,
    /// Directories of modbox itself, which have no layer.
    own: Vec<PathBuf>,
    start: Start,
    /// `None` for root.
    user: Option<UserPlay>,
}

impl PlayLayers {
    /// Gives this process namespaces in which it may make the layers, if it is not root's. Call it before it starts threads.
    ///
    /// # Errors
    ///
    /// The machine gives this user no namespaces.
    pub fn prepare_process() -> Result<(), LayeredError> {
        if rustix::process::geteuid().is_root() { Ok(()) } else { UserPlay::enter_namespaces() }
    }

    /// Gives this thread mounts of its own, for the layers of a play. `limits` bound each layer. modbox keeps temporary files
    /// and what it has compiled in the directories `own`, which have no layer.
    ///
    /// # Errors
    ///
    /// This user may not make mounts, or modbox has no place for copies.
    pub fn enter(limits: &Limits, own: Vec<PathBuf>, scratch: &ScratchRoot) -> Result<Self, RunError> {
        let user = if rustix::process::geteuid().is_root() { None } else { Some(UserPlay::new(scratch)?) };
        let mounts = PrivateMounts::enter().map_err(LayeredError::PlayMounts)?;
        let plan = plan::of(&Policy::default(), limits, Path::new(""));
        let mounts = PlayMounts(Some(mounts));
        Ok(Self { mounts, layers: Layers::none(), plan, own, start: Start::settled(), user })
    }

    /// Makes layers over all that a policy grants for writing and that no layer holds yet. A single file is held by a layer
    /// over its directory. Returns whether there is a new layer; then directories that were opened before show the
    /// machine's own files. `kind` is that of the run's module, and unknown for grants of every module.
    ///
    /// # Errors
    ///
    /// A directory can have no layer.
    pub fn cover(&mut self, policy: &Policy, is_guest: bool) -> Result<bool, LayeredError> {
        if policy.allows_everything() {
            return Err(LayeredError::Everything);
        }
        plan::refuse_outside(policy)?;
        if let Some(user) = &mut self.user {
            return user.cover(&mut self.layers, (policy, is_guest), &self.plan, &self.own);
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
    pub fn finish(mut self) -> Result<PlayChanges, LayeredError> {
        self.layers.freeze()?;
        let lists = self.layers.changes(ListBounds::default())?;
        self.mounts.leave().map_err(LayeredError::LeaveMounts)?;
        let observed = ObservedLayers { layers: self.layers, lists, start: self.start };
        Ok(PlayChanges { observed, _user: self.user })
    }
}

/// The mounts of the play's thread, which leaves them at the latest with this value.
#[derive(Debug)]
struct PlayMounts(Option<PrivateMounts>);

impl PlayMounts {
    fn leave(&mut self) -> std::io::Result<()> {
        self.0.take().map_or(Ok(()), PrivateMounts::leave)
    }
}

impl Drop for PlayMounts {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            tracing::warn!(%error, "failed to leave the mounts of a play");
        }
    }
}

/// What a play has changed on layers.
#[derive(Debug)]
pub struct PlayChanges {
    observed: ObservedLayers,
    /// Holds the copies.
    _user: Option<UserPlay>,
}

impl PlayChanges {
    /// Returns what is said of the changes. With `all_lines`, shows the lines of all files, also of those that other users
    /// may not read. What the tasks of the play hide is `hidden`.
    #[must_use]
    pub fn effect(
        &self,
        mode: Effect,
        outside: Vec<OutsideEffect>,
        all_lines: bool,
        hidden: &HiddenContent,
    ) -> EffectReport {
        let shows = Shows { all_lines, hidden };
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

    /// Commits the changes, all or none. What the tasks of the play hide is `hidden`.
    #[must_use]
    pub fn commit(&self, policy: &Policy, choices: &CommitChoices, hidden: &HiddenContent) -> CommitReport {
        transaction::commit(&self.observed, policy, choices, hidden)
    }
}
