//! Tests of the store: entries, their limits and their locks.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use super::*;

const CODE: Kind = Kind::files("code", 1 << 20);
const TREE: Kind = Kind::trees("tree");
const PURPOSE: Purpose = Purpose { kinds: &[CODE, TREE], max_size: 1 << 30, obsolete: &["old"] };

fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("store"), PURPOSE);
    (dir, store)
}

fn put(store: &Store, key: &str, mut contents: &[u8]) -> Result<(), StoreError> {
    let length = contents.len() as u64;
    store.put(CODE, key, &mut contents, length, &Cleanup::default())
}

fn open(store: &Store, key: &str) -> Option<File> {
    store.open(CODE, key, &Cleanup::default()).unwrap()
}

fn make_tree(store: &Store, key: &str, bytes: usize) -> Result<Option<Tree>, StoreError> {
    store.make_tree(TREE, key, &Cleanup::default(), |staging, _| {
        let file = staging.join("file");
        fs::write(&file, vec![7; bytes]).map_err(StoreError::io("write", &file))
    })
}

fn path(store: &Store, kind: Kind, key: &str) -> PathBuf {
    store.dir().join(kind.file_name(key))
}

/// Sets the times of last use and last write of an entry.
fn set_times(store: &Store, kind: Kind, key: &str, age: Duration) {
    let file = File::open(path(store, kind, key)).unwrap();
    let time = SystemTime::now() - age;
    file.set_times(fs::FileTimes::new().set_accessed(time).set_modified(time)).unwrap();
}

fn total(store: &Store) -> u64 {
    [CODE, TREE].iter().flat_map(|kind| store.list(*kind).unwrap()).map(|entry| entry.bytes).sum()
}

#[test]
fn returns_what_was_stored() {
    let (_dir, store) = store();
    assert!(open(&store, "a-1").is_none() && store.read(CODE, "a-1").unwrap().is_none());
    put(&store, "a-1", b"code").unwrap();
    assert!(open(&store, "a-1").is_some());
    assert_eq!(store.read(CODE, "a-1").unwrap().unwrap(), b"code");
    assert_eq!(store.list(CODE).unwrap()[0].key, "a-1");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test wrote the file itself")]
fn discards_every_damaged_entry() {
    let (_dir, store) = store();
    put(&store, "a-1", b"some code").unwrap();
    let path = path(&store, CODE, "a-1");
    let good = fs::read(&path).unwrap();
    let is_discarded = || open(&store, "a-1").is_none() && store.read(CODE, "a-1").unwrap().is_none();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert!(is_discarded(), "byte {at} flipped");
        fs::write(&path, &good[..at]).unwrap();
        assert!(is_discarded(), "cut at {at}");
    }
    fs::write(&path, [&good[..], b"x"].concat()).unwrap();
    assert!(is_discarded(), "a byte too long");
    fs::write(&path, good).unwrap();
    assert!(!is_discarded());
    // The key of another user.
    fs::write(store.dir().join("key"), [7; 32]).unwrap();
    assert!(is_discarded());
}

#[test]
fn an_entry_is_valid_only_under_its_own_name_and_as_a_plain_file() {
    let (dir, store) = store();
    put(&store, "a-1", b"code").unwrap();
    let (mine, other) = (path(&store, CODE, "a-1"), path(&store, CODE, "b-1"));
    fs::copy(&mine, &other).unwrap();
    assert!(open(&store, "b-1").is_none() && store.read(CODE, "b-1").unwrap().is_none());
    let moved = dir.path().join("moved");
    fs::rename(&mine, &moved).unwrap();
    symlink(&moved, &mine).unwrap();
    assert!(open(&store, "a-1").is_none() && store.read(CODE, "a-1").unwrap().is_none(), "a link");
    fs::remove_file(&mine).unwrap();
    fs::create_dir(&mine).unwrap();
    assert!(open(&store, "a-1").is_none(), "a folder");
}

#[test]
fn a_file_larger_than_its_kind_is_neither_written_nor_read() {
    let (_dir, store) = store();
    let small = Kind::files("code", 3);
    put(&store, "a-1", b"code").unwrap();
    assert!(store.read(small, "a-1").unwrap().is_none());
    assert!(store.open(small, "a-1", &Cleanup::default()).unwrap().is_none());
    let stored = store.put(small, "b-1", &mut &b"code"[..], 4, &Cleanup::default());
    assert!(matches!(stored, Err(StoreError::TooLarge { bytes: 4, max: 3 })));
}

#[test]
fn refuses_a_folder_that_others_can_write() {
    let (_dir, store) = store();
    fs::create_dir(store.dir()).unwrap();
    fs::set_permissions(store.dir(), fs::Permissions::from_mode(0o777)).unwrap();
    for error in [put(&store, "a-1", b"code").unwrap_err(), make_tree(&store, "t", 1).unwrap_err()] {
        assert!(matches!(error, StoreError::NotPrivate(_)), "{error}");
    }
    assert!(store.lock("a-1").is_none());
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 0);
}

#[test]
fn contents_that_end_too_early_are_not_stored() {
    let (_dir, store) = store();
    assert!(store.put(CODE, "a-1", &mut &b"code"[..], 5, &Cleanup::default()).is_err());
    assert!(open(&store, "a-1").is_none());
    let names: Vec<_> = fs::read_dir(store.dir()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["key"]);
}

#[test]
fn clearing_removes_only_what_the_store_has() {
    let (_dir, store) = store();
    put(&store, "a-1", b"code").unwrap();
    fs::write(store.dir().join("notes.txt"), b"mine").unwrap();
    assert_eq!(store.clear().unwrap(), 2, "the entry and the key");
    put(&store, "a-1", b"code").unwrap();
    let held = make_tree(&store, "held", 1).unwrap().unwrap();
    drop(make_tree(&store, "free", 1).unwrap().unwrap());
    assert_eq!(store.clear().unwrap(), 4, "the entry, the key, the locks and a tree");
    assert!(held.path().join("file").exists(), "a tree in use stays");
    drop(held);
    assert_eq!(store.clear().unwrap(), 1);
    assert_eq!(fs::read_dir(store.dir()).unwrap().count(), 1);
}

#[test]
fn evicts_the_least_recently_used_entry() {
    let (_dir, store) = store();
    let store = store.max_size(3500);
    for (key, age) in [("a-1", 300_000), ("b-1", 200_000), ("c-1", 100_000)] {
        put(&store, key, &[7; 1000]).unwrap();
        set_times(&store, CODE, key, Duration::from_secs(age));
    }
    let held = open(&store, "b-1").unwrap();
    // Uses the oldest entry again.
    assert!(open(&store, "a-1").is_some());
    set_times(&store, CODE, "b-1", Duration::from_secs(200_000));
    put(&store, "d-1", &[7; 1000]).unwrap();
    let mut keys: Vec<String> = store.list(CODE).unwrap().into_iter().map(|entry| entry.key).collect();
    keys.sort();
    assert_eq!(keys, ["a-1", "c-1", "d-1"]);
    assert!(total(&store) <= 3500);
    assert_eq!(held.metadata().unwrap().len(), 1048, "a run that has it open goes on");
}

#[test]
fn evicts_trees_by_all_their_files_unless_they_are_in_use() {
    let (_dir, store) = store();
    let store = store.max_size(3500);
    let held = make_tree(&store, "a", 1000).unwrap();
    for (key, age) in [("b", 200_000), ("c", 100_000)] {
        drop(make_tree(&store, key, 1000).unwrap());
        set_times(&store, TREE, key, Duration::from_secs(age));
    }
    set_times(&store, TREE, "a", Duration::from_secs(300_000));
    put(&store, "d-1", &[7; 1000]).unwrap();
    let kept = |key| path(&store, TREE, key).exists();
    assert!(kept("a") && !kept("b") && kept("c"));
    drop(held);
    assert_eq!(store.prune(1).unwrap(), 3);
}

#[test]
fn evicts_what_was_not_used_for_months_and_what_an_older_release_left() {
    let (_dir, store) = store();
    put(&store, "a-1", b"code").unwrap();
    put(&store, "b-1", b"code").unwrap();
    for (key, days) in [("a-1", 100), ("b-1", 80)] {
        set_times(&store, CODE, key, Duration::from_hours(days * 24));
    }
    fs::create_dir(store.dir().join("old")).unwrap();
    fs::write(store.dir().join("old/file"), "").unwrap();
    assert_eq!(store.prune(u64::MAX).unwrap(), 2);
    assert!(open(&store, "a-1").is_none() && open(&store, "b-1").is_some());
    assert!(!store.dir().join("old").exists());
}

#[test]
fn an_entry_is_touched_once_an_hour_at_most() {
    let (_dir, store) = store();
    put(&store, "a-1", b"code").unwrap();
    drop(make_tree(&store, "t", 1).unwrap());
    for (kind, key, keeps_its_write) in [(CODE, "a-1", true), (TREE, "t", false)] {
        let look = || fs::metadata(path(&store, kind, key)).unwrap();
        for (age, touched) in [(7200, true), (60, false)] {
            set_times(&store, kind, key, Duration::from_secs(age));
            let before = look();
            // Opened, not read: that could itself set the time of access.
            last_use::touch(&File::open(path(&store, kind, key)).unwrap());
            assert_eq!(look().accessed().unwrap() > before.accessed().unwrap(), touched, "{age} seconds old");
            let same = look().modified().unwrap() == before.modified().unwrap();
            assert_eq!(same, keeps_its_write || !touched);
        }
    }
}

#[test]
fn removes_an_entry_by_its_key() {
    let (_dir, store) = store();
    put(&store, "a-1", b"code").unwrap();
    put(&store, "b-1", b"code").unwrap();
    let held = make_tree(&store, "t", 1).unwrap();
    assert!(store.remove(CODE, "a-1").unwrap() && !store.remove(CODE, "a-1").unwrap());
    assert!(open(&store, "a-1").is_none() && open(&store, "b-1").is_some());
    assert!(!store.remove(TREE, "t").unwrap(), "a tree in use stays");
    drop(held);
    assert!(store.remove(TREE, "t").unwrap());
}

#[test]
fn refuses_an_entry_larger_than_the_store() {
    let (_dir, store) = store();
    let store = store.max_size(1000);
    assert!(matches!(put(&store, "a-1", &[0; 1001]), Err(StoreError::TooLarge { .. })));
    put(&store, "a-1", &[0; 990]).unwrap();
    assert_eq!(total(&store), 0, "the contents would fit, but not with their hash");
}

#[test]
fn concurrent_writes_and_evictions_leave_whole_entries_within_the_limit() {
    let (_dir, store) = store();
    let store = store.max_size(20_000);
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..40_u8 {
                    let key = format!("{}-1", (thread % 3) * 40 + round);
                    put(store, &key, &[round; 1000]).unwrap();
                    // Finds the whole entry, or none if another thread evicted it.
                    open(store, &key);
                }
            });
        }
    });
    assert!(total(&store) <= 20_000, "{}", total(&store));
    for entry in store.list(CODE).unwrap() {
        assert!(open(&store, &entry.key).is_some());
    }
    let others = contents::list(store.dir(), &PURPOSE).unwrap();
    let others: Vec<_> = others.into_iter().filter(|found| found.role != Role::Entry).map(|found| found.path).collect();
    assert_eq!(others, [store.dir().join("key")], "nothing unfinished is left");
}

#[test]
fn one_of_many_makes_a_tree() {
    let (_dir, store) = store();
    let made = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let tree = store.make_tree(TREE, "t", &Cleanup::default(), |staging, path| {
                    made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    assert!(!path.exists());
                    std::thread::sleep(Duration::from_millis(20));
                    fs::write(staging.join("file"), "whole").map_err(StoreError::io("write", staging))
                });
                assert_eq!(fs::metadata(tree.unwrap().unwrap().path().join("file")).unwrap().len(), 5);
            });
        }
    });
    assert_eq!(made.into_inner(), 1);
}

#[test]
fn a_tree_that_could_not_be_filled_leaves_nothing() {
    let (_dir, store) = store();
    let made = store.make_tree(TREE, "t", &Cleanup::default(), |staging, _| {
        fs::write(staging.join("file"), "half").unwrap();
        Err(StoreError::DamagedKey(staging.to_owned()))
    });
    assert!(made.is_err() && store.tree(TREE, "t").unwrap().is_none());
    let names: Vec<_> = fs::read_dir(store.dir()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["locks"]);
}

#[test]
fn a_tree_that_others_can_write_is_not_used() {
    let (_dir, store) = store();
    drop(make_tree(&store, "t", 1).unwrap());
    let path = path(&store, TREE, "t");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o720)).unwrap();
    assert!(store.tree(TREE, "t").unwrap().is_none());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(store.tree(TREE, "t").unwrap().is_some());
    let moved = path.with_file_name("moved");
    fs::rename(&path, &moved).unwrap();
    symlink(&moved, &path).unwrap();
    assert!(store.tree(TREE, "t").unwrap().is_none(), "a link");
}

#[test]
fn removes_old_unfinished_files_of_killed_writers() {
    let (_dir, store) = store();
    put(&store, "a-1", b"code").unwrap();
    let (old, new) = (store.dir().join(".writing-old"), store.dir().join(".writing-new"));
    fs::create_dir(&old).unwrap();
    fs::write(old.join("file"), "half").unwrap();
    fs::write(&new, "half").unwrap();
    File::open(&old).unwrap().set_modified(SystemTime::now() - Duration::from_hours(2)).unwrap();
    assert_eq!(store.prune(u64::MAX).unwrap(), 1);
    assert!(!old.exists() && new.exists() && open(&store, "a-1").is_some());
    assert_eq!(store.prune(0).unwrap(), 1);
    assert_eq!(total(&store), 0);
}
