//! The one generator of cases: tree, grants and calls, from a seed and the case's number.

use crate::support::sample::Random;
use crate::twin::calls;
use crate::twin::case::{Case, Entry, EntryKind, Grant, Setting};
use crate::twin::links;
use crate::twin::names::name;

/// Times of entries: ordinary ones, before 1970, and far in the future.
const TIMES: [(i64, i64); 6] = [
    (1_500_000_000, 123_456_789),
    (1_000_000_000, 0),
    (-1, 500_000_000),
    (-300_000_000, 0),
    (4_102_444_800, 999_999_999),
    (7_289_654_400, 1),
];

pub(crate) fn case(seed: u64, number: usize) -> Case {
    let mut random = Random::quiet(seed, 0x7717 ^ (number as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95));
    let random = &mut random;
    for _ in 0..8 {
        random.below(2);
    }
    let form = random.below(5);
    let entries = tree(form, random);
    let grants = grants(form, &entries, random);
    let calls = calls::calls(&entries, random);
    Case { number, setting: Setting::of(number), entries, grants, calls }
}

/// Returns the entries of a tree, parents before children: `in`, `out`, which is never granted, and, in some forms of
/// grants, `two` and `in/rw`.
fn tree(form: usize, random: &mut Random) -> Vec<Entry> {
    let top: &[&[u8]] = match form {
        3 => &[b"in", b"out", b"in/rw"],
        4 => &[b"in", b"out", b"two"],
        _ => &[b"in", b"out"],
    };
    let folder = |path: &&[u8]| entry(path.to_vec(), EntryKind::Folder, 0o755);
    let mut entries: Vec<Entry> = top.iter().map(folder).collect();
    entries.push(entry(b"out/secret".to_vec(), EntryKind::File(6), 0o644));
    for _ in 0..4 + random.below(9) {
        add(&mut entries, random);
    }
    for entry in &mut entries {
        entry.time = if random.below(3) == 0 { *random.pick(&TIMES) } else { TIMES[0] };
    }
    entries
}

fn entry(path: Vec<u8>, kind: EntryKind, mode: u32) -> Entry {
    Entry { path, kind, mode, time: TIMES[0], is_foreign: false }
}

/// Adds an entry with a name that is free, in one of the folders; mostly not in `out`.
fn add(entries: &mut Vec<Entry>, random: &mut Random) {
    let is_place = |entry: &&Entry| entry.kind == EntryKind::Folder && entry.path.len() < 1500;
    let folders: Vec<_> = entries.iter().filter(is_place).map(|entry| entry.path.clone()).collect();
    let mut folder = random.pick(&folders);
    if folder.starts_with(b"out") && random.below(4) > 0 {
        folder = &folders[0];
    }
    let path = [folder.as_slice(), b"/", &name(random)].concat();
    if entries.iter().any(|entry| entry.path == path) {
        return;
    }
    let files: Vec<_> = entries.iter().filter(|entry| matches!(entry.kind, EntryKind::File(_))).collect();
    let (kind, mode) = match random.below(20) {
        0..=5 => (EntryKind::File(*random.pick(&[0, 1, 5, 12, 300, 5_000, 70_000])), mode(false, random)),
        6..=9 => (EntryKind::Folder, mode(true, random)),
        10 => (EntryKind::Fifo, 0o644),
        11 | 12 => (EntryKind::HardLink(random.pick(&files).path.clone()), 0),
        _ => (EntryKind::Link(links::target(&path, entries, random)), 0),
    };
    let is_foreign = random.below(8) == 0;
    entries.push(Entry { is_foreign, ..entry(path, kind, mode) });
}

fn mode(is_folder: bool, random: &mut Random) -> u32 {
    match random.below(10) {
        0..=5 => {
            if is_folder {
                0o755
            } else {
                0o644
            }
        }
        6 => *random.pick(&[0o700, 0o600, 0o750, 0o640]),
        7 => *random.pick(&[0o000, 0o111, 0o444, 0o555]),
        _ => u32::try_from(random.below(0o10000)).expect("it is a mode"),
    }
}

/// Returns grants of one of five forms.
fn grants(form: usize, entries: &[Entry], random: &mut Random) -> Vec<Grant> {
    let grant = |path: &[u8], writable| Grant { path: path.to_vec(), writable, by_argument: false };
    match form {
        0 => vec![grant(b"in", true)],
        1 => vec![grant(b"in", false)],
        2 => names(entries, random),
        3 => vec![grant(b"in", false), grant(b"in/rw", true)],
        _ => vec![grant(b"in", true), grant(b"two", true)],
    }
}

/// Returns whether each user can come to an entry: who cannot, is granted nothing there.
fn is_open(entry: &Entry, entries: &[Entry]) -> bool {
    let is_around =
        |outer: &&Entry| entry.path.strip_prefix(outer.path.as_slice()).is_some_and(|rest| rest.starts_with(b"/"));
    entries.iter().filter(is_around).all(|outer| outer.mode & 0o111 == 0o111)
}

/// Returns grants of single names, by arguments. The names are UTF-8, since those of grants are text; folders, links and missing names
/// are among them, and none lies in another one.
fn names(entries: &[Entry], random: &mut Random) -> Vec<Grant> {
    let mut grants: Vec<Grant> = Vec::new();
    let is_of_form = |entry: &&Entry| {
        let is_named = entry.path.starts_with(b"in/") && str::from_utf8(&entry.path).is_ok();
        is_named && entry.kind != EntryKind::Fifo && is_open(entry, entries)
    };
    let usable: Vec<_> = entries.iter().filter(is_of_form).map(|entry| entry.path.clone()).collect();
    for _ in 0..4 {
        let path = if usable.is_empty() || random.below(4) == 0 {
            [b"in/", *random.pick(&[&b"a"[..], b"b", b"new"])].concat()
        } else {
            random.pick(&usable).clone()
        };
        let within = |outer: &[u8], inner: &[u8]| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        if !grants.iter().any(|grant| within(&grant.path, &path) || within(&path, &grant.path)) {
            grants.push(Grant { path, writable: random.below(3) > 0, by_argument: true });
        }
    }
    grants
}
