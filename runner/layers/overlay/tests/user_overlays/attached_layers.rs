//! Tests of layers that are attached over the directories of an ordinary user. They enter namespaces, and stay in them.

#![expect(clippy::disallowed_methods, reason = "the tests wrote the files themselves")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use modbox_overlay::layers::{LayerPlan, Layers};
use modbox_overlay::quota::ListBounds;
use modbox_overlay::user_stacked;

use crate::tree_tests::{snapshot, tree, words, writer};
use crate::{deep_fixture, fixture, plan};

/// Does something in a thread with mounts of its own, in namespaces of this user.
fn in_mounts<T: Send>(action: impl FnOnce() -> T + Send) -> T {
    let work = || {
        modbox_kernel::PrivateMounts::enter().unwrap();
        action()
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

pub(crate) fn are_attached_over_the_directories_of_a_user() {
    modbox_kernel::enter_user_mounts().unwrap();
    modbox_kernel::keep_mount_rights().unwrap();
    let directory = deep_fixture();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("names/scratch")).unwrap();
    fs::write(at("names/single"), "old").unwrap();
    let untouched = ["tree", "names"].map(|name| snapshot(&at(name), true, true));
    let plan = LayerPlan { trees: Vec::new(), workers: None, ..plan(&directory) };
    // A directory at which something is attached is removed outside of the mounts only.
    let (seen, lists, layers) = in_mounts(|| {
        let mut layers = Layers::none();
        layers.attach_copy(&at("tree/a"), &[], &plan).unwrap();
        fs::write(at("tree/a/new"), "new").unwrap();
        // Around the first one, whose content it must not take for that of the directory.
        layers.attach_copy(&at("tree"), &[at("scratch")], &plan).unwrap();
        fs::rename(at("tree/b"), at("tree/d")).unwrap();
        layers.attach_for_names(&at("names"), &[at("names/scratch")], &plan).unwrap();
        fs::write(at("names/single"), "new").unwrap();
        fs::write(at("names/scratch/kept"), "kept").unwrap();
        let open = writer(&at("tree/a/new"));
        layers.freeze().unwrap_err();
        drop(open);
        layers.freeze().unwrap();
        fs::write(at("tree/a/new"), "").unwrap_err();
        let seen = fs::read_to_string(at("tree/a/new")).unwrap() + &fs::read_to_string(at("names/single")).unwrap();
        (seen, layers.changes(ListBounds::default()).unwrap(), layers)
    });
    assert_eq!(seen, "newnew");
    drop(layers);
    let lists: Vec<Vec<String>> = lists.iter().map(words).collect();
    assert_eq!(lists, [["created new"], ["renamed b d"], ["modified single"]]);
    fs::remove_file(at("names/scratch/kept")).unwrap();
    let mut now = ["tree", "names"].map(|name| snapshot(&at(name), true, true));
    now[1].insert("scratch".into(), untouched[1][Path::new("scratch")].clone());
    assert_eq!(now, untouched);
    assert!(tree(&at("scratch")).is_empty());
}

pub(crate) fn refuse_what_they_would_not_show() {
    let directory = fixture();
    let at = |name: &str| directory.path().join("tree").join(name);
    fs::hard_link(at("a"), at("second")).unwrap();
    fs::set_permissions(at("b"), fs::Permissions::from_mode(0o000)).unwrap();
    let refused = |name: &str| user_stacked::refuse_inexact_name(&at("."), &at(".").join(name)).is_err();
    assert_eq!(["a", "b", "large", "none"].map(refused), [true, true, false, false]);
    assert!(user_stacked::are_own(&at(".")).unwrap() && user_stacked::are_own(&at("none")).unwrap());
    assert!(!user_stacked::are_own(Path::new("/etc/passwd")).unwrap());
    let plan = LayerPlan { trees: Vec::new(), workers: None, ..plan(&directory) };
    let error = |kept: &[PathBuf]| {
        in_mounts(|| Layers::none().attach_copy(&directory.path().join("tree"), kept, &plan)).unwrap_err().to_string()
    };
    let unreadable = error(&[]);
    assert!(unreadable.contains("this user may read"), "{unreadable}");
    let own = error(&[at("own")]);
    assert!(own.contains("modbox keeps its own files"), "{own}");
    assert!(in_mounts(|| Layers::none().attach_for_names(Path::new("/etc"), &[], &plan)).is_err());
}
