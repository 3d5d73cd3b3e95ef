//! Layers that are added one after the other and are attached over the real directories, for several runs that see what
//! earlier ones did.
//!
//! A thread with mounts of its own attaches them, so that no other process of the machine sees them. A layer inside of a
//! later one stays on top of it. This file makes no mount namespace.

use std::path::{Path, PathBuf};

use crate::error::LayerError;
use crate::views::layers::{Content, Layer, LayerPlan, Layers};
use crate::views::mount::{OverlayMount, RealMount};
use crate::views::overlay_view::OverlayView;

impl Layers {
    /// Returns no layers yet.
    #[must_use]
    pub fn none() -> Self {
        Self { layers: Vec::new() }
    }

    /// Returns whether a path is in a directory that has a layer.
    #[must_use]
    pub fn hold(&self, path: &Path) -> bool {
        self.iter().any(|layer| path.starts_with(layer.path()))
    }

    /// Makes a layer over a directory that no layer holds, and attaches it in the mount namespace of this thread. `plan`
    /// says its bounds; its paths are not used. The directories in `kept` stay the real ones, and so do their changes.
    ///
    /// # Errors
    ///
    /// The kernel makes no overlay of the directory, or another file system is mounted in it.
    pub fn attach_over(&mut self, directory: &Path, kept: &[PathBuf], plan: &LayerPlan) -> Result<(), LayerError> {
        self.attach_layer(Layer::over_tree(directory, plan, &mut None)?, kept)
    }

    /// Attaches a layer over its directory, below the layers that are inside of it.
    pub(crate) fn attach_layer(&mut self, layer: Layer, kept: &[PathBuf]) -> Result<(), LayerError> {
        let directory = layer.path.as_path();
        let Some(mount) = LayerMount::of(&layer) else {
            let reason = "the kernel makes no overlay of it".to_owned();
            let remedy = "run each module by itself with `modbox run --preview`";
            return Err(LayerError::Unfit { path: directory.to_owned(), reason, remedy });
        };
        let failed = |path: &Path, cause| LayerError::Attach { path: path.to_owned(), cause };
        let kept = kept.iter().filter(|path| path.starts_with(directory) && path.is_dir());
        let kept: Vec<(&PathBuf, RealMount)> = kept
            .map(|path| RealMount::of(path).map(|mount| (path, mount)).map_err(|cause| failed(path, cause)))
            .collect::<Result<_, _>>()?;
        mount.attach(directory).map_err(|cause| failed(directory, cause))?;
        for (path, mount) in kept {
            mount.attach(path).map_err(|cause| failed(path, cause))?;
        }
        for inner in self.layers.iter().filter(|inner| inner.path.starts_with(directory)) {
            if let Some(mount) = LayerMount::of(inner) {
                mount.attach(&inner.path).map_err(|cause| failed(&inner.path, cause))?;
            }
        }
        self.layers.push(layer);
        Ok(())
    }
}

/// The mount of a layer of this process.
enum LayerMount<'a> {
    Overlay(&'a OverlayMount),
    Copy(&'a RealMount),
}

impl<'a> LayerMount<'a> {
    fn of(layer: &'a Layer) -> Option<Self> {
        match &layer.content {
            Content::Overlay(content) => match &content.overlay {
                OverlayView::Own(mount) => Some(Self::Overlay(mount)),
                OverlayView::Kept(_) => None,
            },
            Content::Copy { mount, .. } => mount.as_ref().map(Self::Copy),
            Content::Stage(_) => None,
        }
    }

    fn attach(&self, at: &Path) -> std::io::Result<()> {
        match self {
            Self::Overlay(mount) => mount.attach(at),
            Self::Copy(mount) => mount.attach(at),
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests wrote the files themselves")]
mod tests {
    use std::fs;

    use super::*;
    use crate::quota::{ListBounds, Quota};
    use crate::trees::tree_tests::words;

    #[test]
    fn a_later_layer_around_an_earlier_one_keeps_what_was_written() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("tree/inner")).unwrap();
        fs::create_dir_all(at("tree/real")).unwrap();
        fs::write(at("tree/inner/file"), "old").unwrap();
        fs::write(at("tree/file"), "old").unwrap();
        let quota = Quota { bytes: 1 << 20, files: 100 };
        let plan = LayerPlan { quota, ..LayerPlan::default() };
        let mut layers = Layers::none();
        let seen = std::thread::scope(|scope| {
            let work = || {
                modbox_kernel::PrivateMounts::enter().unwrap();
                layers.attach_over(&at("tree/inner"), &[], &plan).unwrap();
                fs::write(at("tree/inner/file"), "new").unwrap();
                layers.attach_over(&at("tree"), &[at("tree/real")], &plan).unwrap();
                fs::write(at("tree/file"), "new").unwrap();
                fs::write(at("tree/real/file"), "real").unwrap();
                layers.freeze().unwrap();
                fs::read_to_string(at("tree/inner/file")).unwrap()
            };
            scope.spawn(work).join().unwrap()
        });
        assert_eq!(seen, "new");
        assert!(layers.hold(&at("tree/any")) && !layers.hold(&at("other")));
        let lists = layers.changes(ListBounds::default()).unwrap();
        assert_eq!(lists.iter().map(words).collect::<Vec<_>>(), [["modified file"], ["modified file"]]);
        assert_eq!(fs::read_to_string(at("tree/inner/file")).unwrap(), "old");
        assert_eq!(fs::read_to_string(at("tree/real/file")).unwrap(), "real");
    }
}
