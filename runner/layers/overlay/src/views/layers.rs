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
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::Stdio;
    use std::sync::PoisonError;

    use rustix::fs::IFlags;

    use super::*;
    use crate::changes::change_list::Incomplete;
    use crate::trees::tree_tests::{STARTS, make_tree, snapshot, tree, words};

    fn plan(directory: &Path) -> LayerPlan {
        LayerPlan {
            trees: vec![directory.join("tree")],
            names: vec![directory.join("file")],
            quota: Quota { bytes: 8 << 20, files: 100 },
            scratch: directory.join("scratch"),
            ..LayerPlan::default()
        }
    }

    fn fixture() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for name in ["tree", "scratch"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        make_tree(&directory.path().join("tree"));
        fs::write(directory.path().join("file"), "old").unwrap();
        directory
    }

    #[test]
    fn layers_hold_what_a_run_writes_and_end_without_a_trace() {
        let directory = fixture();
        let untouched = snapshot(directory.path(), true, true);
        let layers = Layers::open(&plan(directory.path())).unwrap();
        let [tree, file] = &layers.layers[..] else { panic!("{layers:?}") };
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!([tree.view(), file.view()], [if is_root { View::Overlay } else { View::Copy }, View::Stage]);
        fs::write(tree.place().join("a/c"), "other").unwrap();
        fs::write(file.place().join("file"), "new").unwrap();
        fs::set_permissions(tree.place().join("b"), fs::Permissions::from_mode(0o700)).unwrap();
        layers.freeze().unwrap();
        let lists = layers.changes(ListBounds::default()).unwrap();
        assert_eq!(
            lists.iter().map(words).collect::<Vec<_>>(),
            [vec!["modified a/c", "attributes b"], vec!["modified "]]
                .map(|list| list.into_iter().map(str::to_owned).collect::<Vec<_>>())
        );
        drop(layers);
        assert!(crate::trees::tree_tests::tree(&directory.path().join("scratch")).is_empty());
        let mut now = snapshot(directory.path(), true, true);
        let scratch = Path::new("scratch");
        now.insert(scratch.to_owned(), untouched[scratch].clone());
        assert_eq!(now, untouched);
    }

    #[test]
    fn overlapping_grants_and_special_places_are_refused() {
        let directory = fixture();
        let inside = LayerPlan { names: vec![directory.path().join("tree/a/c")], ..plan(directory.path()) };
        let twice = LayerPlan { trees: vec![directory.path().join("tree"); 2], ..plan(directory.path()) };
        let kernel = LayerPlan { trees: vec!["/proc/self".into()], ..plan(directory.path()) };
        let own = LayerPlan { own: vec![directory.path().join("tree/a/state")], ..plan(directory.path()) };
        let audit = LayerPlan { own: vec![directory.path().join("file")], ..plan(directory.path()) };
        let scratch = LayerPlan { scratch: directory.path().join("tree/a"), ..plan(directory.path()) };
        let absent = LayerPlan { trees: vec![directory.path().join("absent")], ..plan(directory.path()) };
        for (plan, expected) in [
            (inside, "granted twice"),
            (twice, "granted twice"),
            (kernel, "failed to open `/proc/self`"),
            (absent, "No such file"),
            (own, "modbox keeps its own files in"),
            (audit, "modbox keeps its own files in"),
            (scratch, "modbox keeps its own files in"),
        ] {
            let error = Layers::open(&plan).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(tree(&directory.path().join("scratch")), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_writer_prevents_the_freeze_of_roots_layers() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = fixture();
        let layers = Layers::open(&plan(directory.path())).unwrap();
        let writers = layers.iter().map(|layer| fs::File::create(layer.place().join("open")).unwrap());
        for (layer, writer) in layers.iter().zip(writers.collect::<Vec<_>>()) {
            let error = layer.freeze().unwrap_err().to_string();
            assert!(error.contains("still writes it"), "{error}");
            drop(writer);
            layer.freeze().unwrap();
        }
    }

    /// An entry with a flag, which is cleared at the end so that the tree can be removed.
    struct Flagged(PathBuf);

    impl Flagged {
        /// Sets a flag. Returns `None` where the file system has none or this user may not set it.
        fn new(path: PathBuf, flags: IFlags) -> Option<Self> {
            let opened = fs::File::open(&path).unwrap();
            let present = rustix::fs::ioctl_getflags(&opened).ok()?;
            rustix::fs::ioctl_setflags(opened, present | flags).ok()?;
            Some(Self(path))
        }
    }

    impl Drop for Flagged {
        fn drop(&mut self) {
            let opened = fs::File::open(&self.0).unwrap();
            let present = rustix::fs::ioctl_getflags(&opened).unwrap();
            // A frozen layer ends with its flags.
            let _ = rustix::fs::ioctl_setflags(opened, present - (IFlags::IMMUTABLE | IFlags::APPEND));
        }
    }

    #[test]
    fn an_immutable_directory_has_no_layer() {
        let directory = fixture();
        for flag in [IFlags::IMMUTABLE, IFlags::APPEND] {
            let Some(flagged) = Flagged::new(directory.path().join("tree"), flag) else { return };
            let error = Layers::open(&plan(directory.path())).unwrap_err().to_string();
            assert!(error.contains("immutable or append-only") && error.contains("clear the flag"), "{error}");
            drop(flagged);
            Layers::open(&plan(directory.path())).unwrap();
        }
    }

    #[test]
    fn immutable_entries_stay_so_in_an_overlay_and_new_flags_are_told() {
        let directory = fixture();
        let Some(_flagged) = Flagged::new(directory.path().join("tree/a/c"), IFlags::IMMUTABLE) else { return };
        let layers = Layers::open(&plan(directory.path())).unwrap();
        let layer = &layers.layers[0];
        if layer.view() != View::Overlay {
            return;
        }
        let error = fs::write(layer.place().join("a/c"), "new").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::PERM.raw_os_error()));
        fs::write(layer.place().join("a/new"), "new").unwrap();
        let Some(_new) = Flagged::new(layer.place().join("a/new"), IFlags::IMMUTABLE) else { return };
        layers.freeze().unwrap();
        let list = layer.changes(ListBounds::default()).unwrap();
        assert_eq!(words(&list), ["created a/new"]);
        assert_eq!(list.incomplete, [Incomplete::ForeignOwner { path: "a/new".into() }]);
    }

    /// Runs the tests of layers and copies as a user without rights, who has a tree of root's next to them.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the tests run once more as another user")]
    fn an_ordinary_user_has_exact_layers() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("tests");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        for name in ["foreign", "scratch"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        for name in ["plain", "other", "shared"] {
            fs::write(directory.path().join("foreign").join(name), name).unwrap();
        }
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["", "scratch"] {
            std::os::unix::fs::chown(directory.path().join(name), Some(4242), Some(4242)).unwrap();
        }
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--reuid", "4242", "--regid", "4242", "--clear-groups"])
            .arg(&program)
            .args(["layers::", "tree_copy::", "name_stage::"])
            .env("TMPDIR", directory.path())
            .current_dir(directory.path())
            .stdout(Stdio::piped());
        let child = {
            let _starts = STARTS.read().unwrap_or_else(PoisonError::into_inner);
            command.spawn().unwrap()
        };
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("foreign_files_are_told ... ok"), "{text}");
    }

    /// Has no foreign files without the test above.
    #[test]
    fn foreign_files_are_told() {
        let foreign = std::path::absolute("foreign").unwrap();
        if rustix::process::geteuid().is_root() || !foreign.is_dir() {
            return;
        }
        let scratch = std::path::absolute("scratch").unwrap();
        let untouched = snapshot(&foreign, true, true);
        let quota = Quota { bytes: 1 << 20, files: 100 };
        let plan = LayerPlan { trees: vec![foreign.clone()], quota, scratch, ..LayerPlan::default() };
        let layers = Layers::open(&plan).unwrap();
        let layer = &layers.layers[0];
        layers.freeze().unwrap();
        assert_eq!(layers.changes(ListBounds::default()).unwrap(), [ChangeList::default()]);
        fs::write(layer.place().join("plain"), "new").unwrap();
        fs::remove_file(layer.place().join("other")).unwrap();
        let list = layer.changes(ListBounds::default()).unwrap();
        assert_eq!(words(&list), ["removed other 0", "modified plain"]);
        assert_eq!(list.incomplete, ["", "plain"].map(|path| Incomplete::ForeignOwner { path: path.into() }));
        assert_eq!(snapshot(&foreign, true, true), untouched);
    }

    #[test]
    fn what_a_module_closes_is_compared_all_the_same() {
        let directory = fixture();
        let layers = Layers::open(&plan(directory.path())).unwrap();
        let place = layers.layers[0].place();
        for path in ["a/a/b", "a/a", "b"] {
            fs::set_permissions(place.join(path), fs::Permissions::from_mode(0o000)).unwrap();
        }
        layers.freeze().unwrap();
        for _ in 0..2 {
            let list = layers.layers[0].changes(ListBounds::default()).unwrap();
            assert_eq!(words(&list), ["attributes a/a", "attributes a/a/b", "attributes b"]);
            assert!(list.is_whole() && list.changes.iter().all(|change| change.after.as_ref().unwrap().mode == 0));
        }
        drop(layers);
        assert!(tree(&directory.path().join("scratch")).is_empty());
    }
}
