//! Changes of other processes since the layer was made: all is aborted, and their change stays.

use std::path::PathBuf;

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{Committed, Origin, OwnerRights, Why};

use crate::world::{World, set_mode, write};

type Edit = fn(&World);

fn rename(world: &World, from: &str, to: &str) {
    std::fs::rename(world.real(from), world.real(to)).unwrap();
}

#[test]
fn a_change_since_the_layer_aborts_all() {
    let edits: [(&str, Edit, Why); 15] = [
        ("a/modified", |world| write(&world.real("a/modified"), "edited"), Why::Changed),
        ("a/modified", |world| set_mode(&world.real("a/modified"), 0o600), Why::Changed),
        ("a/modified", |world| std::fs::remove_file(world.real("a/modified")).unwrap(), Why::Gone),
        (
            "a/modified",
            |world| {
                write(&world.real("other"), "old a/modified\n");
                rename(world, "other", "a/modified");
            },
            Why::Changed,
        ),
        ("a/gone", |world| write(&world.real("a/gone"), "edited"), Why::Changed),
        ("a/gone", |world| std::fs::remove_file(world.real("a/gone")).unwrap(), Why::Gone),
        ("gone-tree", |world| write(&world.real("gone-tree/sub/two"), "edited"), Why::ChangedBelow),
        ("gone-tree", |world| write(&world.real("gone-tree/sub/added"), "added"), Why::ChangedBelow),
        ("dir-to-file", |world| write(&world.real("dir-to-file/sub/one"), "edited"), Why::ChangedBelow),
        ("tree", |world| write(&world.real("tree"), "taken"), Why::Taken),
        ("attr-dir", |world| set_mode(&world.real("attr-dir"), 0o711), Why::Changed),
        ("moved-tree", |world| write(&world.real("moved-tree/in/file"), "edited"), Why::ChangedBelow),
        ("moved-to", |world| write(&world.real("moved-to"), "taken"), Why::Taken),
        (
            "a/link",
            |world| {
                std::fs::remove_file(world.real("a/link")).unwrap();
                std::os::unix::fs::symlink("elsewhere", world.real("a/link")).unwrap();
            },
            Why::Changed,
        ),
        (
            "a",
            |world| {
                rename(world, "a", "a-before");
                write(&world.real("a"), "not a directory");
            },
            Why::Directory,
        ),
    ];
    for (path, edit, why) in edits {
        let world = World::changed();
        world.wait_for_tick();
        let changes = world.changes();
        edit(&world);
        let edited = world.picture();
        let committed = world.commit_list(changes, &NoFault, modbox_overlay::commit::Strength::Process, false).unwrap();
        let Committed::Conflict(conflicts) = committed else { panic!("{path}: {committed:?}") };
        let found = conflicts.iter().find(|conflict| conflict.path == world.real(path));
        assert_eq!(found.map(|conflict| conflict.why), Some(why), "{path}: {conflicts:?}");
        assert_eq!(world.picture(), edited, "{path}");
        assert_eq!(world.records(), Vec::<String>::new());
    }
}

#[test]
fn a_change_of_other_files_is_not_a_conflict() {
    let world = World::changed();
    let (changes, mut wanted) = (world.changes(), world.wanted());
    write(&world.real("a/same"), "edited");
    write(&world.real("a/added"), "added");
    wanted.insert(PathBuf::from("a/same"), crate::world::one_picture(&world.real("a/same")).unwrap());
    wanted.insert(PathBuf::from("a/added"), crate::world::one_picture(&world.real("a/added")).unwrap());
    let done = world.commit_list(changes, &NoFault, modbox_overlay::commit::Strength::Process, false).unwrap();
    assert!(matches!(done, Committed::Done { .. }), "{done:?}");
    assert_eq!(world.picture(), wanted);
}

#[test]
fn a_replaced_root_is_a_conflict() {
    let world = World::changed();
    let changes = world.changes();
    let real = std::fs::File::open(world.base.join("real")).unwrap();
    std::fs::rename(world.base.join("real"), world.base.join("real-before")).unwrap();
    std::fs::create_dir(world.base.join("real")).unwrap();
    let state = world.state();
    let view = std::fs::File::open(world.base.join("view")).unwrap();
    let granted = modbox_overlay::commit::Granted {
        path: world.base.join("real"),
        real: std::os::fd::AsFd::as_fd(&real),
        view: std::os::fd::AsFd::as_fd(&view),
        only: None,
        changes,
        start: world.start,
    };
    let settings = modbox_overlay::commit::Settings {
        owners: &|_, _| OwnerRights::ALL,
        strength: modbox_overlay::commit::Strength::Process,
        keep_undo: false,
        origin: &Origin::Person,
        hidden: &[],
        state: &state,
        fault: &NoFault,
    };
    let committed = modbox_overlay::commit::commit(&[granted], settings).unwrap();
    let Committed::Conflict(conflicts) = committed else { panic!("{committed:?}") };
    assert_eq!(conflicts[0].why, Why::Directory);
    assert_eq!(std::fs::read_dir(world.base.join("real")).unwrap().count(), 0);
}

#[test]
fn a_clock_that_was_set_back_is_a_conflict() {
    let mut world = World::changed();
    world.start.offset += 1_000_000_000;
    let Committed::Conflict(conflicts) = world.commit(&NoFault).unwrap() else { panic!("committed") };
    assert_eq!(conflicts[0].why, Why::Clock);
}
