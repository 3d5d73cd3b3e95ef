//! Change sets in files: what is committed later is what was previewed, or nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use modbox_overlay::change::{Change, ChangeKind};
use modbox_overlay::commit::fault::NoFault;
use modbox_overlay::commit::saved::{SavedError, Saving, save};
use modbox_overlay::commit::{Committed, OwnerRights, Reason, Undone, Why, undo};

use crate::child::run_as_user;
use crate::published::set_id;
use crate::tree_difference::read_entry;
use crate::world::{HIDES_NOTHING, World, set_mode, write};

#[test]
fn a_saved_change_set_makes_the_tree_the_view() {
    let world = World::changed();
    let (old, wanted) = (world.picture(), world.wanted());
    let path = world.save();
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
    // The view of the preview is gone by then.
    let view = world.base.join("view");
    set_mode(&view.join("tree/sub"), 0o700);
    std::fs::remove_dir_all(view).unwrap();
    let Committed::Done { run, undo: true } = world.commit_saved(&path).unwrap() else { panic!("not done") };
    assert_eq!(world.picture(), wanted);
    let number = |name: &str| world.real(name).metadata().unwrap().ino();
    assert_eq!(number("linked-1"), number("linked-2"));
    let again = world.commit_saved(&path).unwrap();
    assert!(matches!(&again, Committed::Conflict(conflicts) if !conflicts.is_empty()), "{again:?}");
    assert_eq!(world.picture(), wanted);
    assert_eq!(undo(&world.state(), &run, |_| true, &NoFault).unwrap(), Undone::Done);
    assert_eq!(world.picture(), old);
}

#[test]
fn as_user_a_saved_change_set_makes_the_tree_the_view() {
    if rustix::process::geteuid().is_root() {
        run_as_user("saved::");
    }
}

#[test]
fn nothing_is_saved_and_committed_as_nothing() {
    let world = World::new();
    assert_eq!(world.commit_saved(&world.save()).unwrap(), Committed::Nothing);
}

#[test]
fn large_and_sparse_files_are_saved_with_their_holes() {
    let world = World::new();
    let random: Vec<u8> =
        (0..5_000_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect();
    std::fs::write(world.view("binary"), &random).unwrap();
    let sparse = std::fs::File::create(world.view("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&sparse, b"in the middle", 1 << 33).unwrap();
    let path = world.save();
    assert!(path.metadata().unwrap().len() < 6_000_000, "{:?}", path.metadata());
    assert!(matches!(world.commit_saved(&path).unwrap(), Committed::Done { .. }));
    assert_eq!(std::fs::read(world.real("binary")).unwrap(), random);
    let found = world.real("sparse").metadata().unwrap();
    assert!((found.len(), found.blocks() < 1000) == (1 << 40, true), "{found:?}");
    let mut middle = [0; 13];
    let sparse = std::fs::File::open(world.real("sparse")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&sparse, &mut middle, 1 << 33).unwrap();
    assert_eq!(&middle, b"in the middle");
}

type Edit = fn(&World);

#[test]
fn a_change_in_between_is_a_conflict() {
    let edits: [(&str, Edit, Why); 8] = [
        ("a/modified", |world| write(&world.real("a/modified"), "edited"), Why::Changed),
        ("a/gone", |world| std::fs::remove_file(world.real("a/gone")).unwrap(), Why::Gone),
        ("tree", |world| write(&world.real("tree"), "taken"), Why::Taken),
        // A link that leads out of the tree.
        (
            "a",
            |world| {
                std::fs::rename(world.real("a"), world.base.join("elsewhere")).unwrap();
                symlink(world.base.join("elsewhere"), world.real("a")).unwrap();
            },
            Why::Directory,
        ),
        // Another directory with the same files, which are as old.
        (
            "a",
            |world| {
                std::fs::rename(world.real("a"), world.base.join("elsewhere")).unwrap();
                std::fs::create_dir(world.real("a")).unwrap();
                for entry in std::fs::read_dir(world.base.join("elsewhere")).unwrap() {
                    let name = entry.unwrap().file_name();
                    std::fs::rename(world.base.join("elsewhere").join(&name), world.real("a").join(&name)).unwrap();
                }
            },
            Why::Directory,
        ),
        ("a/gone", |world| disguise(&world.real("a/gone")), Why::Changed),
        (
            "",
            |world| {
                std::fs::rename(world.base.join("real"), world.base.join("other")).unwrap();
                std::fs::create_dir(world.base.join("real")).unwrap();
            },
            Why::Directory,
        ),
        ("", |world| std::fs::remove_dir_all(world.base.join("real")).unwrap(), Why::Directory),
    ];
    for (path, edit, why) in edits {
        let world = World::changed();
        let saved = world.save();
        world.wait_for_tick();
        edit(&world);
        let before = if world.base.join("real").exists() { world.picture() } else { Default::default() };
        let Committed::Conflict(conflicts) = world.commit_saved(&saved).unwrap() else { panic!("{path}") };
        let full = if path.is_empty() { world.base.join("real") } else { world.real(path) };
        assert!(conflicts.iter().any(|one| one.path == full && one.why == why), "{path}: {conflicts:?}");
        if world.base.join("real").exists() {
            assert_eq!(world.picture(), before, "{path}");
        }
        assert_eq!(world.records(), Vec::<String>::new(), "{path}");
    }
}

/// Writes other content of the same length, at the same time.
fn disguise(path: &Path) {
    let (content, modified) = (std::fs::read(path).unwrap(), path.metadata().unwrap().modified().unwrap());
    std::fs::write(path, content.to_ascii_uppercase()).unwrap();
    let times = std::fs::FileTimes::new().set_modified(modified);
    std::fs::File::options().write(true).open(path).unwrap().set_times(times).unwrap();
}

#[test]
fn a_damaged_file_changes_nothing() {
    let world = World::changed();
    let path = world.save();
    let (whole, before) = (std::fs::read(&path).unwrap(), world.picture());
    let other = world.base.join("damaged");
    let step = whole.len() / 97 + 1;
    let mut damaged: Vec<Vec<u8>> = (0..whole.len()).step_by(step).map(|at| flipped(&whole, at)).collect();
    damaged.extend((0..whole.len()).step_by(step).map(|at| whole[..at].to_vec()));
    damaged.extend([flipped(&whole, whole.len() - 1), whole[..whole.len() - 1].to_vec(), [&whole[..], b"x"].concat()]);
    for bytes in damaged {
        std::fs::write(&other, &bytes).unwrap();
        let error = world.commit_saved(&other).unwrap_err();
        assert!(matches!(error, SavedError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("save the preview again"), "{error}");
        assert_eq!(world.picture(), before);
    }
}

fn flipped(whole: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    bytes[at] ^= 0x41;
    bytes
}

#[test]
fn what_a_commit_does_not_make_is_not_saved() {
    type Edit = fn(&World);
    let edits: [(&str, Edit, Reason); 4] = [
        ("new", |world| set_mode(&made(world, "new"), 0o4755), set_id()),
        ("new/.modbox-tmp-1-2", |world| drop(made(world, "new/.modbox-tmp-1-2")), Reason::Name),
        ("new", |world| std::fs::hard_link(world.view("a/same"), world.view("new")).unwrap(), Reason::Linked),
        ("new/pipe", |world| mkfifo(&world.view("new/pipe")), Reason::Special),
    ];
    for (path, edit, reason) in edits {
        let world = World::new();
        edit(&world);
        let top = path.split('/').next().unwrap();
        let after = read_entry(&world.view(top));
        let changes = vec![Change { path: top.into(), kind: ChangeKind::Created, before: None, after }];
        let file = world.base.join("saved");
        let saving = world
            .on_grants(changes, |grants| save(&file, grants, &|_, _| OwnerRights::to_own(true), HIDES_NOTHING))
            .unwrap();
        assert!(matches!(&saving, Saving::Refused(list) if list[0].reason == reason), "{path}: {saving:?}");
        assert!(!file.exists(), "{path}");
    }
}

fn made(world: &World, name: &str) -> std::path::PathBuf {
    let path = world.view(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    write(&path, "new");
    path
}

fn mkfifo(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn an_existing_file_stays() {
    let world = World::changed();
    let path = world.base.join(OsStr::from_bytes(b"saved"));
    write(&path, "mine");
    let error = world
        .on_grants(world.changes(), |grants| save(&path, grants, &|_, _| OwnerRights::to_own(true), HIDES_NOTHING))
        .unwrap_err();
    assert!(matches!(error, SavedError::Exists(_)), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}
