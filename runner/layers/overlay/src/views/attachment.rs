//! Paths of layers, by which the processes of a run reach them.
//!
//! A layer in memory is mounted in no directory. A thread with mounts of its own attaches it, so that no other process of
//! the machine sees it. A copy in a scratch directory has a path anyway. This file makes no mount namespace.

use std::path::{Path, PathBuf};

use rustix::process::Pid;

use crate::error::LayerError;
use crate::quota::Bound;
use crate::views::layers::{Content, Layer, Layers};
use crate::views::overlay_view::OverlayView;
use crate::views::private_place::PrivatePlace;

impl Layer {
    /// Returns whether the layer is of a directory, and not of a name.
    #[must_use]
    pub fn is_tree(&self) -> bool {
        !matches!(self.content, Content::Stage(_))
    }

    /// Returns whether the layer has a path only after this process attached it to its own mounts.
    #[must_use]
    pub fn needs_mount(&self) -> bool {
        let is_memory = |place: &PrivatePlace| matches!(place, PrivatePlace::Memory(_));
        match &self.content {
            Content::Overlay(content) => matches!(content.overlay, OverlayView::Own(_)),
            Content::Copy { place, .. } => is_memory(place),
            Content::Stage(stage) => is_memory(stage.place()),
        }
    }

    /// Returns which bound of the quota the module has reached, if the layer is in memory: it could not write more. A copy
    /// elsewhere is for the limits of the caller.
    #[must_use]
    pub fn reached(&self) -> Option<Bound> {
        match &self.content {
            Content::Overlay(content) => content.overlay.reached(),
            Content::Copy { place, .. } => place.reached(),
            Content::Stage(stage) => stage.place().reached(),
        }
    }

    /// Returns the path that takes the place of the granted one. A layer in memory is attached to the empty directory `at`
    /// first, in the mount namespace of this thread; [`Self::freeze`] must then be called in that namespace, too. A user's
    /// overlay is attached in the namespaces of [`Layers::mounts_of`].
    ///
    /// # Errors
    ///
    /// The kernel refuses the mount, or the layer was attached before.
    pub fn attach(&self, at: &Path) -> Result<PathBuf, LayerError> {
        let attached = match &self.content {
            Content::Overlay(content) => match &content.overlay {
                OverlayView::Own(mount) => mount.attach(at).map(|()| at.to_owned()),
                OverlayView::Kept(overlay) => overlay.attach(at).map(|()| at.to_owned()),
            },
            Content::Copy { place, .. } => place.attach(at),
            Content::Stage(stage) => stage.place().attach(at).map(|directory| directory.join(stage.name())),
        };
        attached.map_err(|cause| LayerError::Attach { path: self.path.clone(), cause })
    }
}

impl Layers {
    /// Returns whether a layer has a path only after it was attached.
    #[must_use]
    pub fn need_mounts(&self) -> bool {
        self.iter().any(Layer::needs_mount)
    }

    /// Returns the process whose namespaces the processes of the run must join to reach the layers, if there is one.
    #[must_use]
    pub fn mounts_of(&self) -> Option<Pid> {
        self.iter().find_map(|layer| match &layer.content {
            Content::Overlay(content) => match &content.overlay {
                OverlayView::Kept(overlay) => Some(overlay.process()),
                OverlayView::Own(_) => None,
            },
            Content::Copy { .. } | Content::Stage(_) => None,
        })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests wrote the files themselves")]
mod tests {
    use std::fs;

    use super::*;
    use crate::quota::{ListBounds, Quota};
    use crate::trees::tree_tests::words;
    use crate::views::layers::LayerPlan;

    #[test]
    fn what_is_written_by_the_path_is_in_the_layer_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for name in ["tree", "scratch", "0", "1"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("file"), "old").unwrap();
        let quota = Quota { bytes: 1 << 20, files: 100 };
        let (trees, names, scratch) = (vec![at("tree")], vec![at("file")], at("scratch"));
        let plan = LayerPlan { trees, names, quota, scratch, ..LayerPlan::default() };
        let layers = Layers::open(&plan).unwrap();
        let written = || {
            if layers.need_mounts() {
                modbox_kernel::PrivateMounts::enter().unwrap();
            }
            let attached = layers.iter().zip(["0", "1"]).map(|(layer, name)| layer.attach(&at(name)).unwrap());
            let attached: Vec<PathBuf> = attached.collect();
            fs::write(attached[0].join("made"), "x").unwrap();
            fs::write(&attached[1], "new").unwrap();
            layers.freeze().unwrap();
        };
        std::thread::scope(|scope| scope.spawn(written).join().unwrap());
        let lists = layers.changes(ListBounds::default()).unwrap();
        assert_eq!(lists.iter().map(words).collect::<Vec<_>>(), [["created made"], ["modified "]]);
        assert_eq!(fs::read(at("file")).unwrap(), b"old");
        assert!(layers.iter().all(|layer| layer.reached().is_none()));
        assert!(["tree", "0", "1"].iter().all(|name| fs::read_dir(at(name)).unwrap().next().is_none()));
    }
}
