//! Fixed places for the layers of one run after the other.
//!
//! A process that confines itself once can use layers that are attached later, below directories that it may use. The hub
//! is a read-only file system in memory with one directory for each layer, in the mount namespace of one thread. Each run
//! has new layers; after it, nothing of them stays attached. This file does not decide who may use the places.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::mount::{UnmountFlags, unmount};

use crate::error::LayerError;
use crate::quota::Quota;
pub use crate::views::hub_removal::Removed;
use crate::views::hub_removal::Remover;
use crate::views::layers::{Layer, Layers};
use crate::views::mount::{PrivateSpace, StepError};

/// Name of the directory in a place at which a layer is attached. A rule of Landlock for the place holds for the layer,
/// while one for the directory would be hidden beneath it.
const LAYER: &str = "layer";

/// Size of the hub's own file system. Its directories need no space, but there is none without a bound.
const SIZE: u64 = 64 << 10;

/// The places. They end with the mount namespace.
#[derive(Debug)]
pub struct Hub {
    path: PathBuf,
    places: usize,
    /// Number of places that may have a layer.
    used: usize,
    remover: Remover,
}

impl Hub {
    /// Attaches a hub to an empty directory, in the mount namespace of this thread.
    ///
    /// # Errors
    ///
    /// This user may not mount in that namespace.
    pub fn attach(at: &Path, places: usize) -> Result<Self, LayerError> {
        let failed = |(step, cause): StepError| LayerError::Mount { path: at.to_owned(), step, cause };
        let entries = u64::try_from(places).unwrap_or(u64::MAX).saturating_mul(2);
        let space = PrivateSpace::new(Quota { bytes: SIZE, files: entries }).map_err(failed)?;
        let open = Mode::RWXU | Mode::XGRP | Mode::XOTH;
        for number in 0..places {
            let place = space.directory(&number.to_string()).map_err(failed)?;
            let made = rustix::fs::mkdirat(&place, LAYER, open).and_then(|()| rustix::fs::fchmod(&place, open));
            made.map_err(|errno| failed(("make a directory for a layer", errno.into())))?;
        }
        // A directory that is replaced would be the place of a later layer.
        space.freeze().map_err(|cause| failed(("make the places read-only", cause)))?;
        space.attach(at).map_err(|cause| failed(("attach the places", cause)))?;
        let remover = Remover::start().map_err(|cause| failed(("start the thread that unmounts layers", cause)))?;
        Ok(Self { path: at.to_owned(), places, used: 0, remover })
    }

    /// Returns the directory with the places.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Attaches the layers of a run, and returns the paths that take the places of the granted ones. Call it in the mount
    /// namespace of the hub, after [`Self::finish_removal`] for the layers of the former run.
    ///
    /// # Errors
    ///
    /// There are more layers than places, a layer is not in memory, or the kernel refuses a mount.
    pub fn attach_layers(&mut self, layers: &Layers) -> Result<Vec<PathBuf>, LayerError> {
        layers.iter().enumerate().map(|(number, layer)| self.attach_layer(number, layer)).collect()
    }

    fn attach_layer(&mut self, number: usize, layer: &Layer) -> Result<PathBuf, LayerError> {
        let unfit =
            |cause: String| LayerError::Attach { path: layer.path().to_owned(), cause: io::Error::other(cause) };
        if number >= self.places {
            return Err(unfit(format!("the run has more layers than its hub has places ({})", self.places)));
        }
        if self.remover.is_busy() {
            return Err(unfit("the layers of the former run are not removed".to_owned()));
        }
        if !layer.needs_mount() {
            return Err(unfit("the layer is not in memory".to_owned()));
        }
        self.used = self.used.max(number + 1);
        layer.attach(&self.place(number))
    }

    /// Begins to remove the layers that were attached. Drop the [`Layers`] before.
    ///
    /// # Errors
    ///
    /// The thread for it has ended.
    pub fn begin_removal(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.used) {
            0 => Ok(()),
            used => self.remover.begin((0..used).map(|number| self.place(number)).collect()),
        }
    }

    /// Waits until the layers are removed. Returns at once if none were attached.
    ///
    /// # Errors
    ///
    /// A layer stays attached.
    pub fn finish_removal(&mut self) -> io::Result<Removed> {
        self.remover.finish()
    }

    fn place(&self, number: usize) -> PathBuf {
        self.path.join(number.to_string()).join(LAYER)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Err(error) = self.remover.finish() {
            tracing::debug!(%error, "layers stay in their places");
        }
        // With the layers that are left in it. Fails in another mount namespace, where nothing is attached.
        if let Err(errno) = unmount(&self.path, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH) {
            tracing::debug!(%errno, path = %self.path.display(), "failed to remove the places of layers");
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests wrote the files themselves")]
mod tests {
    use std::fs::{self, File};
    use std::sync::PoisonError;

    use rustix::io::Errno;

    use super::*;
    use crate::quota::ListBounds;
    use crate::trees::tree_tests::{STARTS, words};
    use crate::views::layers::LayerPlan;

    /// Calls `action` with a hub, in a thread with mounts of its own. Only root can have them.
    fn with_hub(action: impl FnOnce(&mut Hub, &Path) + Send) {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        for name in ["hub", "tree"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        fs::write(directory.path().join("tree/file"), "old").unwrap();
        fs::write(directory.path().join("single"), "old").unwrap();
        let _starts = STARTS.write().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            modbox_kernel::PrivateMounts::enter().unwrap();
            let mut hub = Hub::attach(&directory.path().join("hub"), 2).unwrap();
            action(&mut hub, directory.path());
        };
        std::thread::scope(|scope| scope.spawn(work).join().unwrap());
        assert_eq!(fs::read_to_string(directory.path().join("tree/file")).unwrap(), "old");
        assert_eq!(fs::read_dir(directory.path().join("hub")).unwrap().count(), 0);
    }

    fn open(directory: &Path) -> Layers {
        let quota = Quota { bytes: 1 << 20, files: 100 };
        let (trees, names) = (vec![directory.join("tree")], vec![directory.join("single")]);
        let scratch = directory.join("hub");
        Layers::open(&LayerPlan { trees, names, quota, scratch, ..LayerPlan::default() }).unwrap()
    }

    #[test]
    fn each_run_has_new_layers_in_the_same_places() {
        with_hub(|hub, directory| {
            let mut former = Vec::new();
            for _ in 0..3 {
                let layers = open(directory);
                let places = hub.attach_layers(&layers).unwrap();
                assert!(former.is_empty() || former == places);
                assert_eq!(fs::read_to_string(places[0].join("file")).unwrap(), "old");
                fs::write(places[0].join("file"), "new").unwrap();
                fs::write(&places[1], "new").unwrap();
                layers.freeze().unwrap();
                let lists = layers.changes(ListBounds::default()).unwrap();
                assert_eq!(lists.iter().map(words).collect::<Vec<_>>(), [["modified file"], ["modified "]]);
                drop(layers);
                hub.begin_removal().unwrap();
                let early = hub.attach_layers(&open(directory)).unwrap_err().to_string();
                assert!(early.contains("not removed"), "{early}");
                hub.begin_removal().unwrap();
                assert_eq!(hub.finish_removal().unwrap(), Removed::Whole);
                assert!(!places[0].join("file").exists() && !places[1].exists());
                former = places;
            }
        });
    }

    #[test]
    fn a_kept_descriptor_is_told_and_holds_no_later_layer() {
        with_hub(|hub, directory| {
            let layers = open(directory);
            let places = hub.attach_layers(&layers).unwrap();
            let kept = File::open(&places[0]).unwrap();
            drop(layers);
            hub.begin_removal().unwrap();
            // Also by a run that attaches nothing.
            hub.begin_removal().unwrap();
            assert_eq!(hub.finish_removal().unwrap(), Removed::Kept);
            assert_eq!(hub.finish_removal().unwrap(), Removed::Whole);
            let layers = open(directory);
            fs::write(hub.attach_layers(&layers).unwrap()[0].join("later"), "x").unwrap();
            let later = rustix::fs::accessat(&kept, "later", rustix::fs::Access::EXISTS, rustix::fs::AtFlags::empty());
            assert_eq!(later, Err(Errno::NOENT));
        });
    }

    #[test]
    fn the_places_cannot_be_changed() {
        with_hub(|hub, _| {
            for path in [hub.path().join("new"), hub.path().join("0/new"), hub.path().join("0/layer/new")] {
                assert_eq!(fs::write(path, "x").unwrap_err().kind(), io::ErrorKind::ReadOnlyFilesystem);
            }
            let moved = fs::rename(hub.path().join("0"), hub.path().join("2"));
            assert_eq!(moved.unwrap_err().kind(), io::ErrorKind::ReadOnlyFilesystem);
        });
    }
}
