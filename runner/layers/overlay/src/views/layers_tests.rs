//! Tests of layers: what a run on them sees and leaves.

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
