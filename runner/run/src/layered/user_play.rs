//! Layers of a play of an ordinary user, whose process is in namespaces in which it may mount.
//!
//! These namespaces have one user and one group. modbox refuses a run that would see or do something else there than in a
//! direct play: layers over files of others, guests that read files of others, and guests that may give files away. A
//! native module is in such namespaces in any case.

use std::path::{Path, PathBuf};

use modbox_native::base;
use modbox_overlay::error::LayerError;
use modbox_overlay::layers::{Layer, LayerPlan, Layers};
use modbox_overlay::user_stacked;
use modbox_policy::{PathGrant, Policy, Shape};
use modbox_scratch::{DirPurpose, RunDir, ScratchRoot};

use crate::layered::plan;
use crate::reports::error::RunError;
use crate::reports::error::layered_error::LayeredError;

/// What to do about a run that has no exact layers.
const ALONE: &str = "run the module by itself with `modbox run --preview`";

/// What a user's play has beside its layers.
#[derive(Debug)]
pub(crate) struct UserPlay {
    /// Holds the copies.
    dir: RunDir,
    /// Directories whose layers hold single files alone.
    for_names: Vec<PathBuf>,
}

impl UserPlay {
    /// Gives this process namespaces in which it may mount. Call it before it starts threads.
    ///
    /// # Errors
    ///
    /// The machine gives this user no namespaces.
    pub(crate) fn enter_namespaces() -> Result<(), LayeredError> {
        let entered = modbox_kernel::enter_user_mounts().and_then(|()| modbox_kernel::keep_mount_rights());
        entered.map_err(LayeredError::PlayMounts)
    }

    /// Makes a directory for the copies.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub(crate) fn new(scratch: &ScratchRoot) -> Result<Self, RunError> {
        Ok(Self { dir: RunDir::create(scratch, DirPurpose::Run, None)?, for_names: Vec::new() })
    }

    /// Makes layers over all that a run may write and that no layer holds yet. Returns whether there is a new one. `kind` is
    /// unknown for grants of every module. The directories `own` have no layer.
    ///
    /// # Errors
    ///
    /// No exact layer can be made, or the run would not be exact.
    pub(crate) fn cover(
        &mut self,
        layers: &mut Layers,
        (policy, is_guest): (&Policy, bool),
        plan: &LayerPlan,
        own: &[PathBuf],
    ) -> Result<bool, LayeredError> {
        let plan = LayerPlan { scratch: self.dir.path().to_owned(), ..plan.clone() };
        let is_own = |path: &Path| own.iter().any(|own| path.starts_with(own));
        let written: Vec<&PathGrant> =
            policy.paths().iter().filter(|grant| plan::is_layered(grant) && !is_own(&grant.host)).collect();
        let mut trees: Vec<&Path> =
            written.iter().filter(|grant| grant.shape == Shape::Directory).map(|grant| &*grant.host).collect();
        // An outer directory is before the inner ones.
        trees.sort_unstable();
        let mut is_new = false;
        for tree in trees {
            is_new |= self.cover_tree(layers, tree, &plan, own)?;
        }
        for name in written.iter().filter(|grant| grant.shape == Shape::Name) {
            is_new |= self.cover_name(layers, &name.host, &plan, own)?;
        }
        if is_guest {
            refuse_inexact_guest(policy, layers)?;
        }
        Ok(is_new)
    }

    /// Returns whether a layer holds all below a path, and not single files alone.
    fn is_held_whole(&self, layers: &Layers, path: &Path) -> bool {
        let mut whole = layers.iter().map(Layer::path).filter(|held| !self.for_names.iter().any(|names| names == held));
        whole.any(|held| path.starts_with(held))
    }

    fn cover_tree(
        &self,
        layers: &mut Layers,
        tree: &Path,
        plan: &LayerPlan,
        own: &[PathBuf],
    ) -> Result<bool, LayeredError> {
        if self.is_held_whole(layers, tree) {
            return Ok(false);
        }
        if self.for_names.iter().any(|held| held.starts_with(tree) || tree.starts_with(held)) {
            let reason = "an earlier task has a layer there that holds single files alone".to_owned();
            let remedy = "grant the directory to the whole play with `--allow-write`";
            return Err(LayerError::Unfit { path: tree.to_owned(), reason, remedy }.into());
        }
        layers.attach_copy(tree, own, plan)?;
        Ok(true)
    }

    fn cover_name(
        &mut self,
        layers: &mut Layers,
        name: &Path,
        plan: &LayerPlan,
        own: &[PathBuf],
    ) -> Result<bool, LayeredError> {
        let parent = name.parent().unwrap_or_else(|| Path::new("/"));
        if self.is_held_whole(layers, parent) {
            return Ok(false);
        }
        let held = self.for_names.iter().find(|held| parent.starts_with(held));
        let directory = held.map_or(parent, PathBuf::as_path);
        user_stacked::refuse_inexact_name(directory, name)?;
        if held.is_some() {
            return Ok(false);
        }
        layers.attach_for_names(parent, own, plan)?;
        self.for_names.push(parent.to_owned());
        Ok(true)
    }
}

/// Refuses a guest that would see other owners than in a direct play, or could not give files away.
fn refuse_inexact_guest(policy: &Policy, layers: &Layers) -> Result<(), LayeredError> {
    let refused = |path: &Path, reason: &str| {
        Err(LayerError::Unfit { path: path.to_owned(), reason: reason.to_owned(), remedy: ALONE }.into())
    };
    if let Some(grant) = policy.paths().first().filter(|_| !policy.own().is_empty()) {
        return refused(
            &grant.host,
            "the module may give files to other users or groups, and this user's layers hold none",
        );
    }
    for grant in policy.paths().iter().filter(|grant| !layers.hold(&grant.host) && !base::is_device(&grant.host)) {
        let are_own =
            user_stacked::are_own(&grant.host).map_err(|cause| LayerError::Open { path: grant.host.clone(), cause })?;
        if !are_own {
            return refused(&grant.host, "the module reads files of others, and would not see their owners");
        }
    }
    Ok(())
}
