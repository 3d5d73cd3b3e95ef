//! The random calls of a case, on random paths of its tree.

use crate::support::sample::Random;
use crate::twin::case::{Call, Entry, EntryKind, HERE};
use crate::twin::links;
use crate::twin::names::{name, respelled};

/// Calls of a case.
const CALLS: usize = 10;

/// Calls on one path without another argument.
const ON_PATH: [&str; 20] = [
    "stat",
    "lstat",
    "attributes",
    "lattributes",
    "readlink",
    "list",
    "unlink",
    "rmdir",
    "std.read_dir",
    "std.remove_dir_all",
    "std.remove_file",
    "std.canonicalize",
    "std.create_dir_all",
    "std.metadata",
    "std.symlink_metadata",
    "std.read",
    "std.read_link",
    "list",
    "stat",
    "unlink",
];

const FLAGS: [&str; 18] = [
    "rdonly",
    "rdonly",
    "rdwr",
    "wronly",
    "wronly,creat",
    "wronly,creat,trunc",
    "rdwr,creat",
    "rdwr,creat,excl",
    "wronly,append",
    "rdwr,append,creat",
    "rdonly,creat",
    "rdonly,trunc",
    "rdonly,directory",
    "rdonly,nofollow",
    "wronly,trunc",
    "rdwr,creat,nofollow",
    "rdonly,directory,nofollow",
    "wronly,creat,excl",
];

const SECONDS: [&str; 6] = ["1500000000", "0", "-1", "-300000000", "4102444800", "7289654400"];

/// Returns the calls of a case.
pub(crate) fn calls(entries: &[Entry], random: &mut Random) -> Vec<Call> {
    (0..CALLS).map(|_| call(entries, random)).collect()
}

fn call(entries: &[Entry], random: &mut Random) -> Call {
    let (one, other) = (path(entries, random), path(entries, random));
    let slot = one_of(&["0", "1"], random);
    let modes = ["666", "666", "666", "600", "644", "640"];
    let (name, args) = match random.below(40) {
        0..=13 => (*random.pick(&ON_PATH), vec![one]),
        14..=19 => ("open", vec![slot, one, one_of(&FLAGS, random), one_of(&modes, random)]),
        20 => {
            let from = one_of(&["0", "1"], random);
            ("openat", vec![slot, from, relative(entries, random), one_of(&FLAGS, random), text("666")])
        }
        21..=27 => on_slot(slot, random),
        28 => ("access", vec![one, one_of(&["f", "r", "w", "x", "rw"], random)]),
        29 => ("symlink", vec![links::target(b"in/x", entries, random), one]),
        30 => (*random.pick(&["link", "std.hard_link"]), vec![one, other]),
        31 | 32 => (*random.pick(&["rename", "rename", "std.rename"]), vec![one, other]),
        33 => ("mkdir", vec![one, one_of(&["777", "777", "700", "1777"], random)]),
        34 => ("truncate", vec![one, one_of(&["0", "3", "100000"], random)]),
        35 => (*random.pick(&["utimes", "lutimes"]), times(one, random)),
        36 => ("chmod", vec![one, one_of(&["644", "600", "777", "0", "4755", "2755", "1777"], random)]),
        37 => ("std.write", vec![one, b"written".to_vec()]),
        38 => ("std.copy", vec![one, other]),
        _ => ("stat", vec![one]),
    };
    Call { name, args }
}

/// Returns a call on a slot.
fn on_slot(slot: Vec<u8>, random: &mut Random) -> (&'static str, Vec<Vec<u8>>) {
    let length = one_of(&["0", "1", "3", "7", "100000"], random);
    let offset = one_of(&["0", "1", "4", "200000"], random);
    match random.below(12) {
        0 | 1 => ("read", vec![slot, length]),
        2 | 3 => ("write", vec![slot, b"XYZ".to_vec()]),
        4 => ("pread", vec![slot, length, offset]),
        5 => ("pwrite", vec![slot, b"pq".to_vec(), offset]),
        6 | 7 => ("lseek", vec![slot, offset, one_of(&["set", "cur", "end"], random)]),
        8 => ("ftruncate", vec![slot, length]),
        9 => ("fstat", vec![slot]),
        10 => ("futimens", times(slot, random)),
        _ => ("close", vec![slot]),
    }
}

/// Returns one of several words.
fn one_of(words: &[&str], random: &mut Random) -> Vec<u8> {
    text(words[random.below(words.len())])
}

fn text(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn times(first: Vec<u8>, random: &mut Random) -> Vec<Vec<u8>> {
    vec![first, one_of(&SECONDS, random), one_of(&["0", "1", "999999999"], random)]
}

/// Returns a path: mostly of an entry, or of a name in one, in one of many spellings.
fn path(entries: &[Entry], random: &mut Random) -> Vec<u8> {
    let path = match random.below(30) {
        0 => return Vec::new(),
        1 => return one_of(&[".", "..", "a", "../a"], random),
        2 => return [&[HERE], *random.pick(&[&b""[..], b"/", b"/..", b"/out", b"/out/secret", b"/none"])].concat(),
        3 => [&[HERE], b"/in/".as_slice(), &b"n".repeat(256)].concat(),
        4..=9 => {
            let folders: Vec<_> = entries.iter().filter(|entry| entry.kind == EntryKind::Folder).collect();
            [&[HERE, b'/'], random.pick(&folders).path.as_slice(), b"/", &name(random)].concat()
        }
        10 | 11 => [&[HERE, b'/'], random.pick(entries).path.as_slice(), b"/", &name(random)].concat(),
        _ => [&[HERE, b'/'], random.pick(entries).path.as_slice()].concat(),
    };
    if random.below(5) == 0 { respelled(&path, random) } else { path }
}

/// Returns a relative path, for a descriptor of a folder.
fn relative(entries: &[Entry], random: &mut Random) -> Vec<u8> {
    let some = random.pick(entries).path.clone();
    let last = some.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_vec();
    match random.below(6) {
        0 => [b"../".as_slice(), &last].concat(),
        1 => [last.as_slice(), b"/", &name(random)].concat(),
        2 => name(random),
        3 => b".".to_vec(),
        _ => last,
    }
}
