//! Edits of another process before each call of a commit: none is lost, and none is overwritten silently.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use modbox_overlay::commit::Committed;
use modbox_overlay::commit::fault::{Call, Fault};
use rustix::io::Errno;

use crate::world::{At, Picture, World, one_picture, set_mode, write};

/// Paths that the commit changes, and some that it does not.
const PATHS: [&str; 10] = [
    "a/modified",
    "a/attributes",
    "a/gone",
    "a/times",
    "a/same",
    "tree",
    "gone-tree/one",
    "moved",
    "linked-1",
    "fresh",
];

/// Pseudo-random numbers of a seed: splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }
}

/// Edit of another process. It notes what it has left.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Write,
    Append,
    Replace,
    Remove,
    Mode,
    Rename,
}

const EDITS: [Edit; 6] = [Edit::Write, Edit::Append, Edit::Replace, Edit::Remove, Edit::Mode, Edit::Rename];

/// Makes an edit. Returns the path that it has left, with its text; nothing if it could not be made.
fn edit(world: &World, edit: Edit, path: &str, mark: &str) -> Option<(String, Option<String>)> {
    let real = world.real(path);
    let text = format!("edited {mark}\n");
    match edit {
        Edit::Write => std::fs::write(&real, &text).ok()?,
        Edit::Append => {
            use std::io::Write;
            let mut file = std::fs::File::options().append(true).open(&real).ok()?;
            file.write_all(text.as_bytes()).ok()?;
        }
        Edit::Replace => {
            let other = world.base.join("other");
            write(&other, &text);
            std::fs::rename(other, &real).ok()?;
        }
        Edit::Remove => {
            std::fs::remove_file(&real).ok()?;
            return Some((path.to_owned(), None));
        }
        Edit::Mode => {
            if !real.symlink_metadata().is_ok_and(|stat| stat.is_file()) {
                return None;
            }
            set_mode(&real, 0o617);
            return Some((path.to_owned(), Some(String::new())));
        }
        Edit::Rename => {
            if !real.symlink_metadata().is_ok_and(|stat| stat.is_file()) {
                return None;
            }
            let kept = std::fs::read_to_string(&real).ok()?;
            let to = format!("renamed-{mark}");
            std::fs::rename(&real, world.real(&to)).ok()?;
            return Some((to, Some(kept)));
        }
    }
    Some((path.to_owned(), Some(text)))
}

/// Returns whether an edit is still there.
fn is_there(world: &World, edit: Edit, left: &(String, Option<String>)) -> bool {
    let real = world.real(&left.0);
    match (&left.1, edit) {
        (None, _) => !real.exists(),
        (Some(_), Edit::Mode) => real.metadata().is_ok_and(|stat| stat.mode() & 0o777 == 0o617),
        (Some(text), _) => std::fs::read_to_string(real).is_ok_and(|found| found.contains(text.as_str())),
    }
}

/// Returns whether all paths but those that were edited are as in a picture.
fn is_but(world: &World, wanted: &Picture, edited: &[&str]) -> Option<String> {
    let now = world.picture();
    let paths = now.keys().chain(wanted.keys());
    let is_edited = |path: &Path| {
        edited.iter().any(|one| path.starts_with(one) || Path::new(one).starts_with(path))
            || path.to_str().is_some_and(|path| path.starts_with("renamed-"))
    };
    // A file with two names loses one, or is written through the other.
    let is_linked = |path: &Path| path.to_str().is_some_and(|path| path.starts_with("linked-"));
    let has_linked = edited.iter().any(|one| one.starts_with("linked-"));
    let mut other = paths.filter(|path| !(is_edited(path) || has_linked && is_linked(path)));
    other
        .find(|path| now.get(*path) != wanted.get(*path))
        .map(|path| format!("{}: {:?} instead of {:?}", path.display(), now.get(path), wanted.get(path)))
}

/// Makes one edit before one call. Returns whether it led to a conflict.
fn try_one(seed: u64, calls: usize) -> bool {
    let mut random = Random(seed);
    let (at, kind) = (random.below(calls), EDITS[random.below(EDITS.len())]);
    let path = PATHS[random.below(PATHS.len())];
    let world = World::changed();
    let (old, new) = (world.picture(), world.wanted());
    let left = std::cell::RefCell::new(None);
    let make = |_: Call| -> Result<(), Errno> {
        // As long as a tick, so that the time tells.
        let before = one_picture(&world.real(path));
        *left.borrow_mut() = edit(&world, kind, path, &seed.to_string()).map(|edit| (edit, before));
        Ok(())
    };
    let fault = At::new(at, &make);
    let committed = world.commit(&fault).unwrap_or_else(|error| panic!("{seed}: {error}"));
    let point = format!("seed {seed}: {kind:?} of {path} before {at}: {committed:?}");
    let recovered = world.recover();
    assert!(recovered.is_empty(), "{point}: {recovered:?}");
    assert_eq!(world.records(), Vec::<String>::new(), "{point}");
    let temporaries = world.picture().keys().any(|path| path.to_string_lossy().contains("modbox-tmp"));
    assert!(!temporaries, "{point}");
    let Some((left, before)) = left.into_inner() else {
        assert_eq!(world.picture(), if matches!(committed, Committed::Done { .. }) { new } else { old }, "{point}");
        return false;
    };
    match &committed {
        // The edit came first and does not touch the list, or it came after the path was published.
        Committed::Done { .. } => {
            let untouched = old.get(Path::new(path)) == new.get(Path::new(path));
            let came_after = before.as_ref() == new.get(Path::new(path));
            assert!(untouched || came_after, "{point}: overwritten");
            assert_eq!(is_but(&world, &new, &[path]), None, "{point}");
        }
        Committed::Conflict(_) => assert_eq!(is_but(&world, &old, &[path]), None, "{point}"),
        other => panic!("{point}: {other:?}"),
    }
    assert!(is_there(&world, kind, &left), "{point}: lost {left:?}");
    matches!(committed, Committed::Conflict(_))
}

#[test]
fn no_edit_is_lost_or_overwritten() {
    let world = World::changed();
    let count = At::new(usize::MAX, &|_| Ok(()));
    world.commit(&count).unwrap();
    let calls = count.count.get();
    let conflicts = std::thread::scope(|scope| {
        let half = |first: u64| move || (first..1200).step_by(2).filter(|seed| try_one(*seed, calls)).count();
        let threads = [scope.spawn(half(0)), scope.spawn(half(1))];
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    println!("{calls} points, {conflicts} conflicts of 1200 edits");
    assert!(conflicts > 100, "{conflicts}");
}

/// A fault that is not one: the edits are made by another thread.
struct Pause;

impl Fault for Pause {
    fn before(&self, _: Call) -> Result<(), Errno> {
        std::thread::yield_now();
        Ok(())
    }
}

#[test]
fn no_edit_of_another_thread_is_lost() {
    for seed in 0..150_u64 {
        let world = World::changed();
        let wanted = world.wanted();
        let path = ["a/modified", "a/gone", "moved"][usize::try_from(seed % 3).unwrap()];
        let committed = std::thread::scope(|scope| {
            let editor = scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_micros(seed * 37 % 3000));
                edit(&world, Edit::Append, path, &seed.to_string())
            });
            let committed = world.commit(&Pause).unwrap();
            (committed, editor.join().unwrap())
        });
        let (committed, left) = committed;
        let point = format!("{seed}: {path}: {committed:?}, {left:?}");
        assert!(matches!(committed, Committed::Done { .. } | Committed::Conflict(_)), "{point}");
        assert_eq!(world.records(), Vec::<String>::new(), "{point}");
        let Some(left) = left else { continue };
        assert!(is_there(&world, Edit::Append, &left), "{point}");
        if matches!(committed, Committed::Done { .. }) {
            assert_eq!(is_but(&world, &wanted, &[path]), None, "{point}");
        }
    }
}
