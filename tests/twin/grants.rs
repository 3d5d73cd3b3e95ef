//! The grants of a case in the forms of both sides. The Linux side gets them as the design says what they mean: without links,
//! each link on the way being readable itself.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::twin::case::{Case, Grant, word};
use crate::twin::tree;

/// Linux follows as many links in one path.
const MOST_LINKS: usize = 40;

/// The most grants by arguments of one access.
const MOST_ARGUMENTS: usize = 4;

/// Returns the words of `modbox batch` for arguments that grant: `r0` and the like for reading, `w0` and the like for writing.
pub(crate) fn designations() -> Vec<String> {
    let words = |number| {
        ["--designate".to_owned(), format!("r{number}:read"), "--designate".to_owned(), format!("w{number}:write")]
    };
    (0..MOST_ARGUMENTS).flat_map(words).collect()
}

/// Adds the arguments that grant to those of a job.
pub(crate) fn add_arguments(case: &Case, here: &Path, args: &mut Value) {
    for (letter, writable) in [("r", false), ("w", true)] {
        let named = case.grants.iter().filter(|grant| grant.by_argument && grant.writable == writable);
        for (number, grant) in named.enumerate() {
            args[format!("{letter}{number}")] = json!(tree::at(&grant.path, here));
        }
    }
}

/// Returns the `allow` of a job's policy.
pub(crate) fn for_modbox(case: &Case, here: &Path) -> Value {
    let paths = |writable: bool| -> Vec<PathBuf> {
        let of_access = case.grants.iter().filter(|grant| !grant.by_argument && grant.writable == writable);
        of_access.map(|grant| tree::at(&grant.path, here)).collect()
    };
    json!({"read": paths(false), "write": paths(true)})
}

/// Returns the places that the grants cover, and the links on the way to them. An argument does not grant what is not UTF-8. One
/// for writing grants nothing behind a link that another user can have made, and allows to replace the last link.
pub(crate) fn for_linux(case: &Case, here: &Path) -> Vec<Value> {
    let mut covered = Vec::new();
    for grant in &case.grants {
        let named = tree::at(&grant.path, here);
        let (mut links, place) = resolve(&named, case.setting.user);
        let writes_by_name = grant.by_argument && grant.writable;
        let barred = links.iter().position(|link| writes_by_name && !is_trusted(link, case.setting.user));
        links.truncate(barred.map_or(links.len(), |at| at + 1));
        links.retain(|link| !grant.by_argument || link.to_str().is_some());
        let path = |path: &Path| word(path.as_os_str().as_bytes());
        covered.extend(links.iter().map(|link| {
            let access = if writes_by_name && *link == named { "replaced-link" } else { "link" };
            json!({"path": path(link), "access": access})
        }));
        let is_granted = |place: &PathBuf| barred.is_none() && (!grant.by_argument || place.to_str().is_some());
        if let Some(place) = place.filter(is_granted) {
            let access = if grant.writable { "write" } else { "read" };
            covered.push(json!({"path": path(&place), "access": access, "folder": place.is_dir()}));
        }
    }
    covered
}

/// Returns whether no user can have made a link but root and the one who performs the calls.
fn is_trusted(link: &Path, user: Option<u32>) -> bool {
    let is_own = |found: &Metadata| [0, user.unwrap_or_else(|| geteuid().as_raw())].contains(&found.uid());
    let folder = link.parent().unwrap_or(link);
    let (Ok(found), Ok(around)) = (fs::symlink_metadata(link), fs::symlink_metadata(folder)) else { return false };
    let is_shared = around.mode() & 0o022 != 0 && around.mode() & 0o1000 == 0;
    is_own(&found) && is_own(&around) && !is_shared
}

/// Returns the lines of the list of mounts: a folder granted for reading alone is mounted so, and one for writing in it for writing.
pub(crate) fn mounts(case: &Case, here: &Path) -> String {
    let is_in = |grant: &Grant, outer: &Grant| grant.path.starts_with(&outer.path) && grant.path != outer.path;
    let mut lines = String::new();
    for outer in case.grants.iter().filter(|grant| !grant.writable) {
        let place = tree::at(&outer.path, here);
        // Single names that are granted for reading have any path; the guest itself keeps from changing them.
        if outer.path != b"in" || !place.is_dir() {
            continue;
        }
        lines.push_str(&format!("ro {}\n", place.display()));
        for inner in case.grants.iter().filter(|grant| grant.writable && is_in(grant, outer)) {
            let place = tree::at(&inner.path, here);
            if place.is_dir() {
                lines.push_str(&format!("rw {}\n", place.display()));
            }
        }
    }
    lines
}

/// Returns whether a user may look at what is in a folder.
fn may_search(folder: &Metadata, user: Option<u32>) -> bool {
    match user.filter(|user| *user != 0) {
        None => true,
        Some(user) if user == folder.uid() => folder.mode() & 0o100 != 0,
        Some(user) if user == folder.gid() => folder.mode() & 0o010 != 0,
        Some(_) => folder.mode() & 0o001 != 0,
    }
}

/// Follows a path to the end, as its user may. Returns the links on the way, and the place, which may be missing in its folder;
/// `None` if it cannot be reached.
fn resolve(path: &Path, user: Option<u32>) -> (Vec<PathBuf>, Option<PathBuf>) {
    let mut links = Vec::new();
    let mut place = PathBuf::from("/");
    let mut left: VecDeque<Vec<u8>> = names(path).collect();
    let mut wants_folder = false;
    while let Some(name) = left.pop_front() {
        if !fs::symlink_metadata(&place).is_ok_and(|folder| may_search(&folder, user)) {
            return (links, None);
        }
        if name == b".." {
            place.pop();
            continue;
        }
        let next = place.join(OsStr::from_bytes(&name));
        let found = match fs::symlink_metadata(&next) {
            Err(error) => return (links, (left.is_empty() && error.kind() == ErrorKind::NotFound).then_some(next)),
            Ok(found) if !found.is_symlink() && !found.is_dir() && (wants_folder || !left.is_empty()) => {
                return (links, None);
            }
            Ok(found) => found,
        };
        if !found.is_symlink() {
            place = next;
            continue;
        }
        let target = fs::read_link(&next).unwrap_or_default();
        links.push(next);
        if links.len() > MOST_LINKS {
            return (links, None);
        }
        if target.is_absolute() {
            place = PathBuf::from("/");
        }
        let end = target.as_os_str().as_bytes();
        wants_folder |= left.is_empty() && (end.ends_with(b"/") || end.ends_with(b"/."));
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            left.push_front(name);
        }
    }
    (links, Some(place))
}

/// Returns the names of a path, without `.`.
fn names(path: &Path) -> impl Iterator<Item = Vec<u8>> {
    let bytes = path.as_os_str().as_bytes();
    bytes.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".").map(<[u8]>::to_vec)
}
