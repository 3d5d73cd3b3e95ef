//! The layers of one run: a private view of each granted directory and name, and what changed in it.
//!
//! The caller gives the descriptors to the module in place of the real directories, ends the module, freezes the layers
//! and asks for the changes. Dropping the layers discards everything. This file does not decide which grants get a layer.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_worker::Workers;

use crate::changes::change_list::ChangeList;
use crate::changes::closed_modes::ClosedModes;
use crate::changes::entry_reader::{self, FoundEntry};
use crate::changes::overlay_changes::{self, FrozenOverlay};
use crate::changes::overlay_marks::OverlayMarks;
use crate::error::LayerError;
use crate::quota::{ListBounds, Quota};
use crate::tree_root::TreeRoot;
use crate::trees::tree_copy::TreeCopy;
use crate::trees::tree_survey;
use crate::views::fits::{self, View};
use crate::views::mount::{OverlayMount, RealMount, StepError};
use crate::views::name_stage::NameStage;
use crate::views::overlay_view::OverlayView;
use crate::views::own_places;
use crate::views::private_place::PrivatePlace;
use crate::views::tree_facts;
use crate::views::user_mounts::UserMounts;
use crate::views::user_overlay::UserOverlay;

/// What a run needs layers for.
#[derive(Debug, Clone, Default)]
pub struct LayerPlan {
    /// Directories, by absolute paths without links.
    pub trees: Vec<PathBuf>,
    /// Files, by absolute paths. Their directories must exist.
    pub names: Vec<PathBuf>,
    /// Upper bounds of each layer.
    pub quota: Quota,
    /// A private directory of this user for copies. Root's copies are in memory.
    pub scratch: PathBuf,
    /// Places of modbox's own: state, cache, audit. No grant may hold one.
    pub own: Vec<PathBuf>,
    /// Source of the process for overlays of an ordinary user; without it, such a user has copies.
    pub workers: Option<Workers>,
    /// Whether the run is repeated on copies if a rename was refused that an overlay of an ordinary user does not make:
    /// of a directory below it, or from one overlay to another.
    pub is_repeatable: bool,
}

/// Layer over one granted directory or name.
#[derive(Debug)]
pub struct Layer {
    pub(crate) path: PathBuf,
    pub(crate) content: Content,
}

/// What a layer is made of.
#[derive(Debug)]
pub(crate) enum Content {
    /// An overlay.
    Overlay(Box<OverlayContent>),
    /// A copy, with the place that holds it.
    Copy {
        /// The copy.
        copy: TreeCopy,
        /// The real directory.
        real: TreeRoot,
        /// The place.
        place: PrivatePlace,
        /// Its mount over the real directory, if it has one.
        mount: Option<RealMount>,
    },
    /// A copy of one name.
    Stage(NameStage),
}

/// An overlay, with what it is compared with.
#[derive(Debug)]
pub(crate) struct OverlayContent {
    pub(crate) overlay: OverlayView,
    /// The real directory.
    pub(crate) real: TreeRoot,
    /// The root of the view before the run.
    root: FoundEntry,
    /// Entries that were opened to be read.
    closed: ClosedModes,
}

impl OverlayContent {
    /// Reads the root of an overlay that was not written yet.
    pub(crate) fn new(overlay: OverlayView, real: TreeRoot) -> io::Result<Self> {
        let root = entry_reader::read(overlay.view(), Path::new(""))?;
        let root = root.ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { overlay, real, root, closed: ClosedModes::default() })
    }

    fn changes(&self, bounds: ListBounds) -> io::Result<ChangeList> {
        let frozen = FrozenOverlay {
            view: self.overlay.view(),
            upper: self.overlay.upper(),
            work: self.overlay.work(),
            real: &self.real,
            root: &self.root,
            marks: self.overlay.marks(),
            closed: &self.closed,
        };
        overlay_changes::changes(frozen, bounds)
    }
}

impl Layer {
    /// Makes a layer over a directory. `mounts` is the process for a user's overlays, if one was started.
    pub(crate) fn over_tree(
        path: &Path,
        plan: &LayerPlan,
        mounts: &mut Option<Arc<UserMounts>>,
    ) -> Result<Self, LayerError> {
        let real = TreeRoot::open(path).map_err(|cause| LayerError::Open { path: path.to_owned(), cause })?;
        let compare = |cause| LayerError::Compare { path: path.to_owned(), cause };
        let facts = tree_facts::collect(&real, &own_places(plan)).map_err(compare)?;
        let made = match fits::view_of(&facts)? {
            View::Overlay => Some(OverlayMount::new(&real, plan.quota, OverlayMarks::Trusted).map(OverlayView::Own)),
            _ => user_overlay(&facts.path, &real, plan, mounts).map_err(compare)?,
        };
        match made {
            Some(Ok(overlay)) => {
                let content = OverlayContent::new(overlay, real).map_err(compare)?;
                return Ok(Self { path: path.to_owned(), content: Content::Overlay(Box::new(content)) });
            }
            // A copy is exact, too.
            Some(Err((step, error))) => {
                tracing::debug!(path = %path.display(), step, %error, "no overlay; copying");
            }
            None => {}
        }
        let failed = |(step, cause)| LayerError::Mount { path: path.to_owned(), step, cause };
        let (place, view) = PrivatePlace::new(plan.quota, &plan.scratch).map_err(failed)?;
        let copy = TreeCopy::new(&real, view, plan.quota, path)?;
        Ok(Self { path: path.to_owned(), content: Content::Copy { copy, real, place, mount: None } })
    }

    fn over_name(path: &Path, plan: &LayerPlan) -> Result<Self, LayerError> {
        if let Some(own) = own_places::overlap(path, &own_places(plan)) {
            let reason = format!("modbox keeps its own files in `{}`", own.display());
            let remedy = "grant another file, or move them by their options";
            return Err(LayerError::Unfit { path: path.to_owned(), reason, remedy });
        }
        let stage = NameStage::new(path, plan.quota, &plan.scratch)?;
        Ok(Self { path: path.to_owned(), content: Content::Stage(stage) })
    }

    /// Returns the granted path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the sort of view.
    #[must_use]
    pub fn view(&self) -> View {
        match &self.content {
            Content::Overlay(_) => View::Overlay,
            Content::Copy { .. } => View::Copy,
            Content::Stage(_) => View::Stage,
        }
    }

    /// Returns the directory that takes the place of the granted one, or of the directory that holds the granted name.
    #[must_use]
    pub fn directory(&self) -> BorrowedFd<'_> {
        match &self.content {
            Content::Overlay(content) => content.overlay.view().as_fd(),
            Content::Copy { copy, .. } => copy.view.as_fd(),
            Content::Stage(stage) => stage.directory().as_fd(),
        }
    }

    /// Returns a path of that directory, which is valid in this process while the layer exists.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.directory().as_raw_fd()).into()
    }

    /// Makes the layer read-only for every process that has its descriptor. A copy of an ordinary user stays writable:
    /// the caller must have ended the module's processes.
    ///
    /// # Errors
    ///
    /// A file of the layer stays open for writing.
    pub fn freeze(&self) -> Result<(), LayerError> {
        let frozen = match &self.content {
            Content::Overlay(content) => content.overlay.freeze(&content.closed),
            Content::Copy { place, mount, .. } => {
                mount.as_ref().map_or(Ok(()), RealMount::freeze).and_then(|()| place.freeze())
            }
            Content::Stage(stage) => stage.freeze(),
        };
        frozen.map_err(|cause| LayerError::Freeze { path: self.path.clone(), cause })
    }

    /// Returns the changes. The layer must be frozen.
    ///
    /// # Errors
    ///
    /// The layer cannot be read, or another file system was mounted in the granted directory meanwhile.
    pub fn changes(&self, bounds: ListBounds) -> Result<ChangeList, LayerError> {
        let listed = match &self.content {
            Content::Overlay(content) => {
                let below = tree_facts::path_of(&content.real).and_then(|path| tree_facts::mount_below(&path));
                match below {
                    Ok(Some(below)) => return Err(mounted_meanwhile(below)),
                    Ok(None) => content.changes(bounds),
                    Err(error) => Err(error),
                }
            }
            Content::Copy { copy, .. } => copy.changes(bounds),
            Content::Stage(stage) => stage.changes(bounds),
        };
        listed.map_err(|cause| LayerError::Compare { path: self.path.clone(), cause })
    }
}

/// Makes an overlay of an ordinary user. Returns `None` where a copy is better.
fn user_overlay(
    path: &Path,
    real: &TreeRoot,
    plan: &LayerPlan,
    mounts: &mut Option<Arc<UserMounts>>,
) -> io::Result<Option<Result<OverlayView, StepError>>> {
    let Some(workers) = &plan.workers else { return Ok(None) };
    if plan.trees.len() > 1 && !plan.is_repeatable {
        return Ok(None);
    }
    if fits::view_of_user(tree_survey::survey(real)?, plan.quota, plan.is_repeatable) != View::Overlay {
        return Ok(None);
    }
    let mut make = || {
        let process = match mounts {
            Some(process) => Arc::clone(process),
            None => Arc::clone(mounts.insert(Arc::new(UserMounts::start(workers)?))),
        };
        UserOverlay::new(process, path, real, plan.quota)
    };
    let failed = |cause| ("make an overlay in namespaces", cause);
    Ok(Some(make().map(OverlayView::Kept).map_err(failed)))
}

/// Returns the places that no grant may hold. Root does not need the scratch directory for layers, but others do.
fn own_places(plan: &LayerPlan) -> Vec<PathBuf> {
    plan.own.iter().chain([&plan.scratch]).filter(|place| place.is_absolute()).cloned().collect()
}

fn mounted_meanwhile(path: PathBuf) -> LayerError {
    let reason = "another file system was mounted in the granted directory while the module ran".to_owned();
    LayerError::Unfit { path, reason, remedy: "run the module again" }
}

/// Layers of one run. Dropping them discards what was written.
#[derive(Debug)]
pub struct Layers {
    pub(crate) layers: Vec<Layer>,
}

impl Layers {
    /// Makes a layer for each granted directory, and then for each granted name.
    ///
    /// # Errors
    ///
    /// No exact view of a grant is possible, or one grant is inside another.
    pub fn open(plan: &LayerPlan) -> Result<Self, LayerError> {
        refuse_overlaps(plan)?;
        let mut mounts = None;
        let trees = plan.trees.iter().map(|path| Layer::over_tree(path, plan, &mut mounts));
        let names = plan.names.iter().map(|path| Layer::over_name(path, plan));
        Ok(Self { layers: trees.chain(names).collect::<Result<_, _>>()? })
    }

    /// Returns the layers, in the order of the plan.
    pub fn iter(&self) -> std::slice::Iter<'_, Layer> {
        self.layers.iter()
    }

    /// Freezes all layers, so that they can be read.
    ///
    /// # Errors
    ///
    /// A file of a layer stays open for writing.
    pub fn freeze(&self) -> Result<(), LayerError> {
        self.layers.iter().try_for_each(Layer::freeze)
    }

    /// Returns the changes of every layer, in the order of the plan. The layers must be frozen.
    ///
    /// # Errors
    ///
    /// A layer cannot be read.
    pub fn changes(&self, bounds: ListBounds) -> Result<Vec<ChangeList>, LayerError> {
        self.layers.iter().map(|layer| layer.changes(bounds)).collect()
    }
}

impl<'a> IntoIterator for &'a Layers {
    type Item = &'a Layer;
    type IntoIter = std::slice::Iter<'a, Layer>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Two layers over the same file would show different contents of it.
fn refuse_overlaps(plan: &LayerPlan) -> Result<(), LayerError> {
    let all: Vec<&PathBuf> = plan.trees.iter().chain(&plan.names).collect();
    for (number, path) in all.iter().enumerate() {
        let is_inside = plan.trees.iter().any(|tree| path.starts_with(tree) && *path != tree);
        if is_inside || all[..number].contains(path) {
            let reason = "it is granted twice, by itself and by a directory around it".to_owned();
            return Err(LayerError::Unfit { path: (*path).clone(), reason, remedy: "grant the directory only" });
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;
