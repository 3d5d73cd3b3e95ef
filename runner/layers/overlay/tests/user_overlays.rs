//! Tests of the overlays of an ordinary user. Root runs them as such a user. This program is also the process that makes
//! the overlays.

#![allow(clippy::print_stdout, reason = "the tests have no other harness")]

#[path = "user_overlays/attached_layers.rs"]
mod attached_layers;
#[path = "../src/trees/tree_tests.rs"]
#[allow(dead_code, reason = "the tests of the crate use all of it")]
mod tree_tests;

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{Committed, Granted, Origin, OwnerRights, Settings, Start, StateDir, Strength, commit};
use modbox_overlay::fits::View;
use modbox_overlay::layers::{Layer, LayerPlan, Layers};
use modbox_overlay::quota::{ListBounds, Quota};
use modbox_worker::Workers;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rustix::io::Errno;
use tempfile::TempDir;

use crate::tree_tests::{Edit, apply, copy, edit, edit_tree, make_tree, snapshot, tree, words, writer};

/// `tree_tests` names these as those of its own crate.
mod changes {
    pub(crate) use modbox_overlay::{change, change_list};
}

const USER: u32 = 4242;

/// The tests, by their names.
const TESTS: [(&str, fn()); 12] = [
    ("what is listed makes a copy equal to a direct edit", what_is_listed_makes_a_copy_equal_to_a_direct_edit),
    ("it does so in a tree with directories", what_is_listed_makes_a_copy_equal_in_a_tree_with_directories),
    ("a tree that an overlay does not hold is copied", a_tree_that_an_overlay_does_not_hold_is_copied),
    ("new directories are renamed", new_directories_are_renamed),
    ("a renamed file is told where it is certain", a_renamed_file_is_told_where_it_is_certain),
    ("a rename of an old directory is refused without a trace", a_rename_of_an_old_directory_is_refused),
    ("what a module closes is compared all the same", what_a_module_closes_is_compared_all_the_same),
    ("a writer prevents the freeze", a_writer_prevents_the_freeze_and_a_frozen_overlay_is_read_only),
    ("a commit publishes what was written and no mark", a_commit_publishes_what_was_written_and_no_mark),
    ("an overlay ends with its process and at its quota", an_overlay_ends_with_its_process_and_at_its_quota),
    // From here on, this process is in the namespaces of a play.
    ("layers are attached over a user's directories", attached_layers::are_attached_over_the_directories_of_a_user),
    ("what they would not show is refused", attached_layers::refuse_what_they_would_not_show),
];

fn main() {
    if std::env::args().nth(1).is_some_and(|word| word == modbox_worker::WORD) {
        let socket = modbox_worker::take_socket().unwrap();
        modbox_worker::receive_role(&socket).unwrap();
        modbox_overlay::user_mounts::serve(&socket).unwrap();
    } else if rustix::process::geteuid().is_root() {
        run_as_user();
    } else if output(Path::new("unshare"), &["--user", "--map-current-user", "--mount", "true"]).status.success() {
        for (name, test) in TESTS {
            test();
            println!("test {name} ... ok");
        }
    } else {
        println!("this user has no namespaces, so it has no overlays");
    }
}

/// Runs the tests as a user without rights.
#[expect(clippy::disallowed_methods, reason = "the tests run as another user")]
fn run_as_user() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(directory.path(), Some(USER), Some(USER)).unwrap();
    let user = USER.to_string();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(&program);
    let status = command.env("TMPDIR", directory.path()).current_dir(directory.path()).status().unwrap();
    assert!(status.success());
}

#[expect(clippy::disallowed_methods, reason = "a program tells whether there are namespaces")]
fn output(program: &Path, args: &[&str]) -> std::process::Output {
    std::process::Command::new(program).args(args).output().unwrap()
}

/// A tree of which a copy takes a while.
fn fixture() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["tree", "scratch"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    let at = |name: &str| directory.path().join("tree").join(name);
    fs::write(at("a"), "a".repeat(5000)).unwrap();
    fs::write(at("b"), "b").unwrap();
    symlink("a", at("c")).unwrap();
    fs::File::create(at("large")).unwrap().set_len(5 << 20).unwrap();
    directory
}

/// A tree with directories of which a copy takes a while.
fn deep_fixture() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["tree", "scratch"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    make_tree(&directory.path().join("tree"));
    // A second name.
    fs::remove_file(directory.path().join("tree/a/b/c")).unwrap();
    fs::File::create(directory.path().join("tree/large")).unwrap().set_len(5 << 20).unwrap();
    directory
}

fn plan(directory: &TempDir) -> LayerPlan {
    let (tree, scratch) = (directory.path().join("tree"), directory.path().join("scratch"));
    let quota = Quota { bytes: 64 << 20, files: 1000 };
    let workers = Some(Workers::new(modbox_worker::THIS_PROGRAM.into()));
    LayerPlan { trees: vec![tree], quota, scratch, workers, ..LayerPlan::default() }
}

fn layers(directory: &TempDir) -> Layers {
    Layers::open(&plan(directory)).unwrap()
}

/// Layers of a run that is repeated if it renames a directory.
fn repeatable_layers(directory: &TempDir) -> Layers {
    Layers::open(&LayerPlan { is_repeatable: true, ..plan(directory) }).unwrap()
}

fn overlay(layers: &Layers) -> &Layer {
    let layer = layers.iter().next().unwrap();
    assert_eq!(layer.view(), View::Overlay);
    layer
}

fn what_is_listed_makes_a_copy_equal_to_a_direct_edit() {
    check_random_edits(fixture);
}

fn what_is_listed_makes_a_copy_equal_in_a_tree_with_directories() {
    check_random_edits(deep_fixture);
}

fn check_random_edits(fixture: fn() -> TempDir) {
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let edits = proptest::collection::vec(edit(), 1..12);
    TestRunner::new(config)
        .run(&edits, |edits| {
            check(fixture(), &edits);
            Ok(())
        })
        .unwrap();
}

fn check(directory: TempDir, edits: &[Edit]) {
    let at = |name: &str| directory.path().join(name);
    let untouched = snapshot(&at("tree"), true, true);
    copy(&at("tree"), &at("direct"));
    copy(&at("tree"), &at("applied"));
    let layers = repeatable_layers(&directory);
    let layer = overlay(&layers);
    for edit in edits.iter().filter(|edit| !moves_directory(&at("tree"), &layer.place(), edit)) {
        assert_eq!(edit_tree(&layer.place(), edit), edit_tree(&at("direct"), edit), "{edit:?}");
    }
    layers.freeze().unwrap();
    let list = layer.changes(ListBounds::default()).unwrap();
    assert_eq!(snapshot(&at("tree"), true, true), untouched);
    apply(&list, &layer.place(), &at("applied"));
    let words = words(&list);
    assert_eq!(snapshot(&at("applied"), false, false), snapshot(&at("direct"), false, false), "{words:#?}");
    // The view can show two numbers for two names of one file.
    if list.links.is_empty() {
        assert_eq!(snapshot(&at("applied"), false, true), snapshot(&layer.place(), false, true), "{words:#?}");
    }
}

/// Returns whether an edit renames a directory that is also in the real tree, which a user's overlay refuses.
fn moves_directory(real: &Path, root: &Path, edit: &Edit) -> bool {
    // What was made in the layer has the name of an old directory at most, so this leaves out too much and not too little.
    let is_directory = |path: &PathBuf| root.join(path).symlink_metadata().is_ok_and(|found| found.is_dir());
    let has_directories = fs::read_dir(real).unwrap().any(|entry| entry.unwrap().path().is_dir());
    match edit {
        Edit::Rename(from, _) => has_directories && is_directory(from),
        Edit::Exchange(from, to) => has_directories && (is_directory(from) || is_directory(to)),
        _ => false,
    }
}

fn a_tree_that_an_overlay_does_not_hold_is_copied() {
    let directory = fixture();
    let at = |name: &str| directory.path().join("tree").join(name);
    let view_of = |plan: LayerPlan| Layers::open(&plan).unwrap().iter().next().unwrap().view();
    let views = || {
        let plan = plan(&directory);
        [view_of(plan.clone()), view_of(LayerPlan { is_repeatable: true, ..plan })]
    };
    assert_eq!(views(), [View::Overlay; 2]);
    // A second name.
    fs::hard_link(at("a"), at("second")).unwrap();
    assert_eq!(views(), [View::Copy; 2]);
    fs::remove_file(at("second")).unwrap();
    // A default for the modes of new files.
    let acl =
        [2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 4, 0, 0, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255];
    if rustix::fs::setxattr(at("."), "system.posix_acl_default", &acl, rustix::fs::XattrFlags::empty()).is_ok() {
        assert_eq!(views(), [View::Copy; 2]);
        rustix::fs::removexattr(at("."), "system.posix_acl_default").unwrap();
    }
    // Directories, and a second tree: then renames can be refused.
    fs::create_dir(at("directory")).unwrap();
    assert_eq!(views(), [View::Copy, View::Overlay]);
    fs::remove_dir(at("directory")).unwrap();
    fs::create_dir(directory.path().join("other")).unwrap();
    let trees = vec![directory.path().join("tree"), directory.path().join("other")];
    for (is_repeatable, view) in [(false, View::Copy), (true, View::Overlay)] {
        assert_eq!(view_of(LayerPlan { trees: trees.clone(), is_repeatable, ..plan(&directory) }), view);
    }
    // Without namespaces.
    let program = Some(Workers::new("/bin/true".into()));
    for workers in [None, program] {
        assert_eq!(view_of(LayerPlan { workers, ..plan(&directory) }), View::Copy);
    }
}

fn a_rename_of_an_old_directory_is_refused() {
    let directory = deep_fixture();
    let layers = repeatable_layers(&directory);
    let layer = overlay(&layers);
    let error = fs::rename(layer.place().join("a"), layer.place().join("d")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::XDEV.raw_os_error()));
    layers.freeze().unwrap();
    assert_eq!(words(&layer.changes(ListBounds::default()).unwrap()), Vec::<String>::new());
}

fn new_directories_are_renamed() {
    let directory = fixture();
    let layers = layers(&directory);
    let layer = overlay(&layers);
    fs::create_dir(layer.place().join("new")).unwrap();
    fs::rename(layer.place().join("a"), layer.place().join("new/a")).unwrap();
    fs::rename(layer.place().join("new"), layer.place().join("other")).unwrap();
    layers.freeze().unwrap();
    assert_eq!(words(&layer.changes(ListBounds::default()).unwrap()), ["created other", "renamed a other/a"]);
}

fn a_renamed_file_is_told_where_it_is_certain() {
    type Run = fn(&Path);
    let cases: [(Run, &[&str]); 6] = [
        (|root| fs::rename(root.join("a"), root.join("new")).unwrap(), &["renamed a new"]),
        // Equal in all but the name, in both places.
        (
            |root| {
                fs::rename(root.join("twin"), root.join("new")).unwrap();
                fs::rename(root.join("same"), root.join("newer")).unwrap();
            },
            &["created new", "created newer", "removed same 0", "removed twin 0"],
        ),
        (|root| fs::rename(root.join("empty"), root.join("new")).unwrap(), &["removed empty 0", "created new"]),
        // Written after it was renamed.
        (
            |root| {
                fs::rename(root.join("b"), root.join("new")).unwrap();
                fs::write(root.join("new"), "other").unwrap();
            },
            &["removed b 0", "created new"],
        ),
        // The same bytes at another time.
        (
            |root| {
                fs::write(root.join("new"), "b").unwrap();
                fs::remove_file(root.join("b")).unwrap();
            },
            &["removed b 0", "created new"],
        ),
        // Another file at its place: then the origin is not removed.
        (
            |root| {
                fs::rename(root.join("b"), root.join("new")).unwrap();
                fs::write(root.join("b"), "other").unwrap();
            },
            &["modified b", "created new"],
        ),
    ];
    for (run, expected) in cases {
        let directory = fixture();
        let at = |name: &str| directory.path().join("tree").join(name);
        fs::write(at("empty"), "").unwrap();
        let time = fs::metadata(at("a")).unwrap().modified().unwrap();
        for name in ["twin", "same"] {
            fs::write(at(name), "twins").unwrap();
            writer(&at(name)).set_modified(time).unwrap();
        }
        let layers = layers(&directory);
        let layer = overlay(&layers);
        run(&layer.place());
        layers.freeze().unwrap();
        assert_eq!(words(&layer.changes(ListBounds::default()).unwrap()), expected);
    }
}

fn what_a_module_closes_is_compared_all_the_same() {
    let directory = fixture();
    let layers = layers(&directory);
    let layer = overlay(&layers);
    for path in ["a", "b", "large"] {
        fs::set_permissions(layer.place().join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    for _ in 0..2 {
        layers.freeze().unwrap();
        let list = layer.changes(ListBounds::default()).unwrap();
        assert_eq!(words(&list), ["attributes a", "attributes b", "attributes large"]);
        assert!(list.is_whole() && list.changes.iter().all(|change| change.after.as_ref().unwrap().mode == 0));
    }
}

fn a_writer_prevents_the_freeze_and_a_frozen_overlay_is_read_only() {
    let directory = fixture();
    let layers = layers(&directory);
    let layer = overlay(&layers);
    let open = writer(&layer.place().join("a"));
    let error = layers.freeze().unwrap_err().to_string();
    assert!(error.contains("still writes it"), "{error}");
    drop(open);
    layers.freeze().unwrap();
    let error = fs::write(layer.place().join("a"), "").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ReadOnlyFilesystem);
}

fn a_commit_publishes_what_was_written_and_no_mark() {
    let directory = fixture();
    let at = |name: &str| directory.path().join(name);
    copy(&at("tree"), &at("direct"));
    let start = Start::settled();
    let layers = layers(&directory);
    let layer = overlay(&layers);
    for root in [layer.place(), at("direct")] {
        fs::write(root.join("a"), "new").unwrap();
        fs::remove_file(root.join("b")).unwrap();
        fs::create_dir(root.join("b")).unwrap();
        fs::rename(root.join("c"), root.join("b/c")).unwrap();
    }
    layers.freeze().unwrap();
    let changes = layer.changes(ListBounds::default()).unwrap().changes;
    let state = StateDir::open(&at("state")).unwrap();
    let real = fs::File::open(at("tree")).unwrap();
    let (path, view) = (at("tree"), layer.directory());
    let granted = Granted { path, real: real.as_fd(), view, only: None, changes, start };
    let (strength, owners) = (Strength::Process, |uid, gid| OwnerRights::to_own((uid, gid) == (USER, USER)));
    let settings = Settings {
        owners: &owners,
        strength,
        keep_undo: false,
        origin: &Origin::Person,
        hidden: &[],
        state: &state,
        fault: &NoFault,
    };
    let committed = commit(&[granted], settings);
    assert!(matches!(committed, Ok(Committed::Done { .. })), "{committed:?}");
    assert_eq!(snapshot(&at("tree"), false, false), snapshot(&at("direct"), false, false));
    for path in tree(&at("tree")) {
        let length = rustix::fs::llistxattr(at("tree").join(&path), &mut [0; 100]).unwrap();
        assert_eq!(length, 0, "{path:?}");
    }
}

fn an_overlay_ends_with_its_process_and_at_its_quota() {
    let directory = fixture();
    let layers = layers(&directory);
    let error = fs::write(overlay(&layers).place().join("more"), vec![1; 65 << 20]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    drop(layers);
    let child = rustix::process::wait(rustix::process::WaitOptions::NOHANG);
    assert_eq!(child.unwrap_err(), Errno::CHILD);
}
