//! What a commit publishes: the tree is the view, for root and for an ordinary user, and nothing is left over.

use std::os::unix::fs::MetadataExt;

use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::{CommitError, Committed, Origin, Reason, Start, Strength, Undone, list, prune, undo};

use crate::child::run_as_user;
use crate::world::{World, picture, set_mode, write};

#[test]
fn a_commit_makes_the_tree_the_view() {
    for strength in [Strength::Process, Strength::Power] {
        let world = World::changed();
        let wanted = world.wanted();
        assert_ne!(world.picture(), wanted);
        let done = world.commit_with(&NoFault, strength, false).unwrap();
        assert!(matches!(done, Committed::Done { undo: false, .. }), "{done:?}");
        assert_eq!(world.picture(), wanted);
        assert_eq!(world.records(), Vec::<String>::new());
        let number = |name: &str| world.real(name).metadata().unwrap().ino();
        assert_eq!(number("linked-1"), number("linked-2"));
    }
}

#[test]
fn as_user_a_commit_makes_the_tree_the_view() {
    if rustix::process::geteuid().is_root() {
        run_as_user("published::");
    }
}

#[test]
fn a_commit_of_nothing_leaves_no_record() {
    let world = World::new();
    assert_eq!(world.commit(&NoFault).unwrap(), Committed::Nothing);
    assert_eq!(world.records(), Vec::<String>::new());
}

#[test]
fn an_undone_commit_leaves_the_old_tree() {
    let world = World::changed();
    let old = world.picture();
    let Committed::Done { run, undo: true } = world.commit_with(&NoFault, Strength::Process, true).unwrap() else {
        panic!("not kept")
    };
    assert_eq!(world.picture(), world.wanted());
    assert_eq!(list(&world.state()).unwrap().len(), 1);
    assert!(world.recover().is_empty());
    assert_eq!(undo(&world.state(), &run, |_| true, &NoFault).unwrap(), Undone::Done);
    assert_eq!(world.picture(), old);
    assert_eq!(world.records(), Vec::<String>::new());
}

#[test]
fn a_pruned_commit_cannot_be_undone() {
    let world = World::changed();
    let Committed::Done { run, .. } = world.commit_with(&NoFault, Strength::Process, true).unwrap() else {
        panic!("not done")
    };
    prune(&world.state(), &run, |_| true, &NoFault).unwrap();
    assert_eq!(world.picture(), world.wanted());
    undo(&world.state(), &run, |_| true, &NoFault).unwrap_err();
    assert_eq!(world.records(), Vec::<String>::new());
}

#[test]
fn a_commit_is_undone_and_pruned_for_its_origin_alone() {
    let (mcp, cron) = (Origin::caller("mcp", &[1; 32]).unwrap(), Origin::caller("cron", &[1; 32]).unwrap());
    for (owner, others) in [(Origin::Person, [&mcp, &cron]), (mcp.clone(), [&Origin::Person, &cron])] {
        let world = World { origin: owner.clone(), ..World::changed() };
        let old = world.picture();
        let Committed::Done { run, .. } = world.commit_with(&NoFault, Strength::Process, true).unwrap() else {
            panic!("not done")
        };
        for other in others {
            let is_theirs = |origin: &Origin| origin == other;
            let error = undo(&world.state(), &run, is_theirs, &NoFault).unwrap_err();
            assert!(error.to_string().contains(&format!("one of `{owner}`")), "{error}");
            let error = prune(&world.state(), &run, is_theirs, &NoFault).unwrap_err();
            assert!(matches!(&error, CommitError::Foreign { origin, .. } if *origin == owner), "{error}");
            assert_eq!(world.picture(), world.wanted());
        }
        assert_eq!(undo(&world.state(), &run, |origin| *origin == owner, &NoFault).unwrap(), Undone::Done);
        assert_eq!(world.picture(), old);
    }
}

#[test]
fn a_later_change_forbids_to_undo() {
    type Edit = fn(&World);
    let edits: [(&str, Edit); 5] = [
        ("a/modified", |world| write(&world.real("a/modified"), "later")),
        ("tree", |world| {
            set_mode(&world.real("tree/sub"), 0o700);
            write(&world.real("tree/sub/later"), "later");
        }),
        ("gone-tree", |world| write(&world.real("gone-tree"), "later")),
        ("attr-dir", |world| set_mode(&world.real("attr-dir"), 0o711)),
        ("a/attributes", |world| set_mode(&world.real("a/attributes"), 0o600)),
    ];
    for (path, edit) in edits {
        let world = World::changed();
        let Committed::Done { run, .. } = world.commit_with(&NoFault, Strength::Process, true).unwrap() else {
            panic!("not done")
        };
        let _ = Start::settled();
        edit(&world);
        let before = picture(&world.base.join("real"));
        let Undone::Conflict(conflicts) = undo(&world.state(), &run, |_| true, &NoFault).unwrap() else {
            panic!("{path}: undone")
        };
        assert_eq!(conflicts.iter().map(|one| one.path.clone()).collect::<Vec<_>>(), [world.real(path)]);
        assert_eq!(picture(&world.base.join("real")), before, "{path}");
        assert_eq!(list(&world.state()).unwrap().len(), 1);
    }
}

#[test]
fn what_a_commit_does_not_make_is_refused() {
    type Edit = fn(&World);
    let edits: [(&str, Edit, Reason); 7] = [
        ("fifo", |world| fifo(world, "fifo"), Reason::Special),
        ("tree/fifo", |world| fifo(world, "tree/fifo"), Reason::Special),
        ("a/same", |world| set_mode(&world.view("a/same"), 0o4755), set_id()),
        (".modbox-tmp-planted", |world| write(&world.view(".modbox-tmp-planted"), ""), Reason::Name),
        ("tree/.modbox-tmp-planted", |world| write(&world.view("tree/.modbox-tmp-planted"), ""), Reason::Name),
        (
            "a/link-to-same",
            |world| {
                std::fs::hard_link(world.view("a/same"), world.view("a/link-to-same")).unwrap();
            },
            Reason::Linked,
        ),
        ("", |world| std::fs::create_dir_all(world.view("deep").join("d/".repeat(140))).unwrap(), Reason::Depth),
    ];
    for (path, edit, reason) in edits {
        let world = World::changed();
        edit(&world);
        let old = world.picture();
        let Committed::Refused(refusals) = world.commit(&NoFault).unwrap() else { panic!("{path}: committed") };
        assert_eq!(refusals[0].reason, reason, "{path}");
        assert_eq!(world.picture(), old, "{path}");
        assert_eq!(world.records(), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn a_list_that_hides_an_entry_does_not_bring_it_in() {
    let world = World::changed();
    fifo(&world, "tree/sub-fifo");
    let (old, changes) = (world.picture(), world.changes());
    let listed = changes.into_iter().filter(|change| !change.path.ends_with("sub-fifo")).collect();
    let refused = world.commit_list(listed, &NoFault, Strength::Process, false).unwrap();
    assert!(matches!(refused, Committed::Refused(_)), "{refused:?}");
    assert_eq!(world.picture(), old);
    assert_eq!(world.records(), Vec::<String>::new());
}

/// Returns why a set-id bit of a file of this process is refused.
pub(crate) fn set_id() -> Reason {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Reason::SetId { uid, gid }
}

#[test]
fn set_id_bits_that_the_run_may_set_are_committed() {
    let world = World::new();
    set_mode(&world.view("a/same"), 0o4755);
    assert!(matches!(world.commit_setting(0o2000), Committed::Refused(_)));
    assert!(matches!(world.commit_setting(0o4000), Committed::Done { .. }));
    assert_eq!(world.real("a/same").metadata().unwrap().mode() & 0o7777, 0o4755);
}

fn fifo(world: &World, path: &str) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, world.view(path), rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn holes_stay_holes() {
    let world = World::new();
    let file = std::fs::File::create(world.view("sparse")).unwrap();
    file.set_len(1 << 30).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, b"end", (1 << 30) - 3).unwrap();
    drop(file);
    let changes = world.commit_list(
        vec![modbox_overlay::change::Change {
            path: "sparse".into(),
            kind: modbox_overlay::change::ChangeKind::Created,
            before: None,
            after: crate::tree_difference::read_entry(&world.view("sparse")),
        }],
        &NoFault,
        Strength::Process,
        false,
    );
    assert!(matches!(changes.unwrap(), Committed::Done { .. }));
    let stat = world.real("sparse").metadata().unwrap();
    assert_eq!(stat.len(), 1 << 30);
    assert!(stat.blocks() < 100, "{}", stat.blocks());
}

/// Name of the variable that a process with its own mounts has.
const MOUNTS: &str = "MODBOX_TEST_MOUNTS";

#[test]
fn a_mount_point_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut command = std::process::Command::new("unshare");
    command.arg("--mount").arg(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "published::with_own_mounts"]).env(MOUNTS, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn with_own_mounts() {
    if std::env::var_os(MOUNTS).is_none() {
        return;
    }
    for (place, source) in [("gone-tree", "a"), ("gone-tree/sub", "a"), ("a/gone", "a/same"), ("a/modified", "a/same")]
    {
        let world = World::changed();
        let changes = world.changes();
        rustix::mount::mount_bind(world.real(source), world.real(place)).unwrap();
        let committed = world.commit_list(changes, &NoFault, Strength::Process, false).unwrap();
        let old = world.real(place);
        rustix::mount::unmount(&old, rustix::mount::UnmountFlags::empty()).unwrap();
        let Committed::Refused(refusals) = committed else { panic!("{place}: {committed:?}") };
        assert_eq!((&refusals[0].path, &refusals[0].reason), (&old, &Reason::Mount));
        assert_eq!(world.records(), Vec::<String>::new());
    }
}
