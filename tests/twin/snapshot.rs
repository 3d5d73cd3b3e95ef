//! What is in a tree: names, kinds, modes, owners, lengths, contents, targets, hard links, and the times that were set.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::twin::case::word;

/// Days around now that count as the time of the test. No entry is made with a time that is so near.
const NEAR: i64 = 30 * 86_400;

/// Attributes of an entry, by their names.
pub(crate) type Attributes = BTreeMap<&'static str, String>;

/// Entries by their paths, as words.
pub(crate) type Snapshot = BTreeMap<String, Attributes>;

/// Looks at everything below a path.
pub(crate) fn snapshot(here: &Path) -> Snapshot {
    let mut entries = Snapshot::new();
    let mut files = HashMap::new();
    add(here, here, &mut entries, &mut files);
    entries
}

fn add(here: &Path, path: &Path, entries: &mut Snapshot, files: &mut HashMap<u64, String>) {
    let name = word(path.strip_prefix(here).expect("it lies below").as_os_str().as_bytes());
    let Ok(found) = fs::symlink_metadata(path) else { return };
    entries.insert(name.clone(), attributes(path, &name, &found, files));
    if found.is_dir() {
        let mut below: Vec<_> = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        below.sort();
        for path in below {
            add(here, &path, entries, files);
        }
    }
}

fn attributes(path: &Path, name: &str, found: &Metadata, files: &mut HashMap<u64, String>) -> Attributes {
    let kind = found.file_type();
    let mut attributes = Attributes::from([
        ("mode", format!("{:o}", found.mode() & 0o7777)),
        ("owner", format!("{}:{}", found.uid(), found.gid())),
        ("mtime", time(found.mtime(), found.mtime_nsec())),
    ]);
    let kind = if kind.is_dir() {
        "directory"
    } else if kind.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        attributes.insert("target", word(target.as_os_str().as_bytes()));
        "link"
    } else if kind.is_file() {
        attributes.insert("length", found.len().to_string());
        let bytes = fs::read(path).unwrap_or_default();
        attributes.insert("bytes", format!("{:016x}", hash(&bytes)));
        "file"
    } else if kind.is_fifo() {
        "fifo"
    } else {
        "other"
    };
    attributes.insert("kind", kind.to_owned());
    if !found.is_dir() {
        let first = files.entry(found.ino()).or_insert_with(|| name.to_owned());
        attributes.insert("same-as", first.clone());
    }
    attributes
}

/// Returns a time, or `now` where it is about the time of the test.
pub(crate) fn time(seconds: i64, nanoseconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let now = i64::try_from(now).expect("it is a time");
    if (now - NEAR..now + NEAR).contains(&seconds) { "now".to_owned() } else { format!("{seconds}.{nanoseconds:09}") }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
