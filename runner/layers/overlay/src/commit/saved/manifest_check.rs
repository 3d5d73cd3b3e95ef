//! Checks what a manifest says before it is acted on. Pure.
//!
//! A file with changes may have been written by anything of the same user. Its entries become names in a private
//! directory, so each must stay in it. The changes are checked by the commit.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::changes::change::{Change, ChangeKind, Entry, EntryType};
use crate::commit::plan::is_kept;

use super::payload_listing::MAX_ENTRIES;
use super::saved_manifest::{Manifest, Payload, SavedGrant};

/// Longest path and longest name that the kernel takes.
const MAX_PATH: usize = 4095;
const MAX_NAME: usize = 255;

/// Largest number of names in a path.
const MAX_NAMES: usize = 512;

/// Checks a manifest. `length` is that of the contents that follow it. The error is the reason.
pub(super) fn check(manifest: &Manifest, length: u64) -> Result<(), String> {
    let mut total = Some(0_u64);
    for (number, grant) in manifest.grants.iter().enumerate() {
        check_grant(grant)?;
        if manifest.grants.iter().take(number).any(|other| overlap(grant, other)) {
            return Err(format!("it has `{}` twice", grant.path.display()));
        }
        for (_, length) in grant.payload.iter().flat_map(|payload| &payload.data) {
            total = total.and_then(|total| total.checked_add(*length));
        }
    }
    if total == Some(length) { Ok(()) } else { Err("its contents are not as long as it says".to_owned()) }
}

fn overlap(one: &SavedGrant, other: &SavedGrant) -> bool {
    let inside = |inner: &SavedGrant, outer: &SavedGrant| outer.name.is_none() && inner.path.starts_with(&outer.path);
    inside(one, other) || inside(other, one) || (one.path == other.path && one.name == other.name)
}

fn check_grant(grant: &SavedGrant) -> Result<(), String> {
    let is_root = grant.path == Path::new("/");
    let below = grant.path.strip_prefix("/").map_err(|_| wrong("path", &grant.path))?;
    if !(is_root || is_plain(below) && !grant.path.as_os_str().as_bytes().ends_with(b"/")) {
        return Err(wrong("path", &grant.path));
    }
    if let Some(name) = &grant.name
        && (!is_plain(name) || name.components().count() != 1)
    {
        return Err(wrong("name", name));
    }
    if grant.changes.is_empty() && !grant.payload.is_empty() {
        return Err("it has a new state without a change".to_owned());
    }
    if grant.payload.len() > MAX_ENTRIES {
        return Err("it has too many entries".to_owned());
    }
    let changed = grant.changes.iter().flat_map(paths_of);
    let others = grant.directories.iter().map(|one| one.path.as_path());
    let others = others.chain(grant.contents.iter().map(|one| one.path.as_path()));
    match changed.chain(others).find(|path| !path.as_os_str().is_empty() && !is_plain(path)) {
        Some(path) => Err(wrong("path", path)),
        None => check_payload(&grant.payload).and_then(|()| check_named(grant)),
    }
}

/// Checks that the changes name each entry of the new state, so that a list of them shows all that a commit makes. What is
/// below a renamed directory moves with it.
fn check_named(grant: &SavedGrant) -> Result<(), String> {
    let named: HashSet<&Path> = grant.changes.iter().map(|change| change.path.as_path()).collect();
    let is_renamed = |change: &&Change| matches!(change.kind, ChangeKind::Renamed { .. });
    let renamed: HashSet<&Path> = grant.changes.iter().filter(is_renamed).map(|change| change.path.as_path()).collect();
    let is_named = |path: &Path| match &grant.name {
        Some(name) => path == name,
        None => named.contains(path) || path.ancestors().any(|above| renamed.contains(above)),
    };
    if let Some(one) = grant.payload.iter().find(|one| !is_named(&one.path)) {
        return Err(format!("its changes do not name the entry `{}`", one.path.display()));
    }
    let states = grant.changes.iter().filter_map(|change| Some((change.path.as_path(), change.after.as_ref()?)));
    let states: HashMap<&Path, &Entry> = states.collect();
    let shown = |one: &Payload| states.get(if grant.name.is_some() { Path::new("") } else { &one.path }).copied();
    let is_other = |one: &&Payload| shown(one).is_some_and(|after| !is_as_shown(&one.entry, after));
    match grant.payload.iter().find(is_other) {
        Some(one) => Err(format!("its changes show another state of the entry `{}`", one.path.display())),
        None => Ok(()),
    }
}

/// Returns whether an entry of the new state is the one that a change shows.
fn is_as_shown(entry: &Entry, after: &Entry) -> bool {
    let state = |entry: &Entry| (entry.entry_type, entry.uid, entry.gid, entry.size, entry.target.clone());
    // Modes of links have no meaning.
    state(entry) == state(after) && (entry.entry_type == EntryType::Symlink || entry.mode == after.mode)
}

fn paths_of(change: &Change) -> impl Iterator<Item = &Path> {
    let from = match &change.kind {
        ChangeKind::Renamed { from } => Some(from.as_path()),
        _ => None,
    };
    [Some(change.path.as_path()), from].into_iter().flatten()
}

fn check_payload(payload: &[Payload]) -> Result<(), String> {
    let mut known: HashMap<&Path, EntryType> = HashMap::new();
    // Directories that are made on the way to an entry. They are not entries themselves.
    let mut on_the_way: HashSet<&Path> = HashSet::new();
    for (index, one) in payload.iter().enumerate() {
        let path = one.path.as_path();
        if !is_plain(path) {
            return Err(wrong("path", path));
        }
        // The nearest entry above must be the directory itself, so that no other directory is made on the way.
        let above = path.ancestors().skip(1).find_map(|above| Some((above, known.get(above)?)));
        let is_placed =
            above.is_none_or(|(above, entry_type)| Some(above) == path.parent() && *entry_type == EntryType::Directory);
        if above.is_none() {
            // All above a known one are known.
            path.ancestors().skip(1).take_while(|above| on_the_way.insert(above)).for_each(drop);
        }
        if !is_placed || on_the_way.contains(path) || known.insert(path, one.entry.entry_type).is_some() {
            return Err(format!("the entry `{}` has no place of its own", path.display()));
        }
        check_entry(&one.entry, path)?;
        if !has_right_data(one, index, payload) {
            return Err(format!("the content of `{}` is not within the file", path.display()));
        }
    }
    Ok(())
}

fn check_entry(entry: &Entry, path: &Path) -> Result<(), String> {
    let is_link = entry.entry_type == EntryType::Symlink;
    let target = entry.target.as_ref().map_or(&b""[..], |target| target.as_os_str().as_bytes());
    let is_target = if is_link { !target.is_empty() && target.len() <= MAX_PATH && !target.contains(&0) } else { true };
    let is_attribute = |name: &String| is_kept(name) && name.len() <= MAX_NAME && !name.contains('\0');
    let is_size = entry.entry_type == EntryType::File || entry.size == 0;
    let is_right = entry.entry_type != EntryType::Special
        && entry.mode <= 0o7777
        && is_target
        && is_size
        && i64::try_from(entry.size).is_ok()
        && i64::try_from(entry.modified.div_euclid(1_000_000_000)).is_ok()
        && entry.xattrs.keys().all(is_attribute);
    if is_right { Ok(()) } else { Err(format!("the entry `{}` cannot be made", path.display())) }
}

/// Returns whether the parts of an entry are in order and within its size, or whether it is a name of an earlier file.
fn has_right_data(one: &Payload, index: usize, payload: &[Payload]) -> bool {
    if let Some(first) = one.link {
        let first = payload.get(first).filter(|_| first < index);
        let is_file = |first: &Payload| first.entry.entry_type == EntryType::File && first.link.is_none();
        return one.data.is_empty() && one.entry.entry_type == EntryType::File && first.is_some_and(is_file);
    }
    let mut end = Some(0_u64);
    for (start, length) in &one.data {
        let is_next = *length > 0 && end.is_some_and(|end| end <= *start);
        end = start.checked_add(*length).filter(|_| is_next);
    }
    end.is_some_and(|end| end <= one.entry.size)
}

/// Returns whether a path consists of names below a directory, and of nothing else.
fn is_plain(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && name.len() <= MAX_NAME && !name.contains(&0);
    let mut names = bytes.split(|byte| *byte == b'/');
    bytes.len() <= MAX_PATH && names.by_ref().take(MAX_NAMES).all(is_name) && names.next().is_none()
}

fn wrong(what: &str, path: &Path) -> String {
    format!("it has the {what} `{}`, which a preview does not have", path.display())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::commit::Start;

    fn payload(path: &str, entry_type: EntryType) -> Payload {
        let target = (entry_type == EntryType::Symlink).then(|| "elsewhere".into());
        let (xattrs, data) = (BTreeMap::new(), Vec::new());
        let numbers = Entry {
            entry_type,
            mode: 0o644,
            uid: 0,
            gid: 0,
            size: 0,
            modified: 0,
            target,
            digest: None,
            xattrs,
            links: 1,
        };
        Payload { path: path.into(), entry: numbers, link: None, data }
    }

    fn grant(path: &str, name: Option<&str>, payload: Vec<Payload>) -> SavedGrant {
        let change = |path| Change { path, kind: ChangeKind::Removed { entries: 0 }, before: None, after: None };
        let named = payload.iter().map(|one| change(one.path.clone()));
        SavedGrant {
            path: path.into(),
            name: name.map(Into::into),
            start: Start { realtime: 1, offset: 1 },
            changes: named.chain([change("x".into())]).collect(),
            hidden_lines: Vec::new(),
            directories: Vec::new(),
            contents: Vec::new(),
            payload,
        }
    }

    fn reason(grants: Vec<SavedGrant>, length: u64) -> String {
        check(&Manifest { grants, hidden: Vec::new() }, length).err().unwrap_or_default()
    }

    #[test]
    fn paths_that_leave_their_place_are_refused() {
        use EntryType::{Directory, File, Symlink};
        let cases = [
            (vec![payload("a", Directory), payload("a/b", File)], ""),
            (vec![payload("a/b/c", File), payload("a/b/d", Symlink)], ""),
            (vec![payload("../a", File)], "path"),
            (vec![payload("/a", File)], "path"),
            (vec![payload("", Directory)], "path"),
            (vec![payload("a//b", File)], "path"),
            (vec![payload("a/./b", File)], "path"),
            (vec![payload("a/", Directory)], "path"),
            (vec![payload("a\0b", File)], "path"),
            (vec![payload(&"a/".repeat(600), File)], "path"),
            (vec![payload(&"a".repeat(256), File)], "path"),
            (vec![payload("a", File), payload("a", File)], "place"),
            (vec![payload("a", Symlink), payload("a/b", File)], "place"),
            (vec![payload("a", File), payload("a/b/c", File)], "place"),
            (vec![payload("a", Directory), payload("a/b/c", File)], "place"),
            (vec![payload("a/b", File), payload("a", Directory)], "place"),
            (vec![payload("a", EntryType::Special)], "cannot be made"),
        ];
        for (payload, expected) in cases {
            let found = reason(vec![grant("/srv", None, payload.clone())], 0);
            assert_eq!(found.is_empty(), expected.is_empty(), "{payload:?}: {found}");
            assert!(found.contains(expected), "{payload:?}: {found}");
        }
    }

    #[test]
    fn contents_outside_of_their_file_are_refused() {
        let file = |size, data: &[(u64, u64)]| {
            let mut file = payload("a", EntryType::File);
            (file.entry.size, file.data) = (size, data.to_vec());
            file
        };
        let link = |first| Payload { path: "b".into(), link: Some(first), ..payload("b", EntryType::File) };
        let cases = [
            (vec![file(9, &[(0, 4), (5, 4)]), link(0)], 8, ""),
            (vec![file(9, &[(0, 4), (3, 4)])], 8, "within"),
            (vec![file(9, &[(5, 4), (0, 4)])], 8, "within"),
            (vec![file(9, &[(0, 10)])], 10, "within"),
            (vec![file(9, &[(0, 0)])], 0, "within"),
            (vec![file(9, &[(u64::MAX, 2)])], 2, "within"),
            (vec![file(9, &[(0, 4)])], 5, "as long"),
            (vec![file(u64::MAX, &[])], 0, "cannot be made"),
            (vec![file(0, &[]), link(1)], 0, "within"),
            (vec![file(0, &[]), link(7)], 0, "within"),
            (vec![payload("a", EntryType::Directory), link(0)], 0, "within"),
        ];
        for (payload, length, expected) in cases {
            let found = reason(vec![grant("/srv", None, payload.clone())], length);
            assert_eq!(found.is_empty(), expected.is_empty(), "{payload:?}: {found}");
            assert!(found.contains(expected), "{payload:?}: {found}");
        }
    }

    #[test]
    fn an_entry_that_no_change_names_is_refused() {
        use EntryType::{Directory, File};
        let unnamed = |kind: ChangeKind| {
            let mut grant = grant("/srv", None, vec![payload("a", Directory), payload("a/b", File)]);
            grant.changes = vec![Change { path: "a".into(), kind, before: None, after: None }];
            reason(vec![grant], 0)
        };
        assert_eq!(unnamed(ChangeKind::Created), "its changes do not name the entry `a/b`");
        assert_eq!(unnamed(ChangeKind::Renamed { from: "c".into() }), "");
        let shown = |after: Entry| {
            let mut grant = grant("/srv", None, vec![payload("a", File)]);
            grant.changes =
                vec![Change { path: "a".into(), kind: ChangeKind::Times, before: None, after: Some(after) }];
            reason(vec![grant], 0)
        };
        let entry = payload("a", File).entry;
        assert_eq!(shown(entry.clone()), "");
        for other in
            [Entry { uid: 7, ..entry.clone() }, Entry { mode: 0o4755, ..entry.clone() }, Entry { size: 1, ..entry }]
        {
            assert_eq!(shown(other), "its changes show another state of the entry `a`");
        }
        let mut other = grant("/srv", Some("x"), vec![payload("y", File)]);
        other.changes.truncate(0);
        other.changes.push(Change { path: "".into(), kind: ChangeKind::Modified, before: None, after: None });
        assert_eq!(reason(vec![other], 0), "its changes do not name the entry `y`");
    }

    #[test]
    fn grants_that_share_a_file_are_refused() {
        let cases = [
            (vec![("/a", None), ("/b", None), ("/c", Some("x")), ("/c", Some("y"))], ""),
            (vec![("/a", None), ("/a", None)], "twice"),
            (vec![("/a", None), ("/a/b", None)], "twice"),
            (vec![("/a/b", Some("x")), ("/a", None)], "twice"),
            (vec![("/a", Some("x")), ("/a", Some("x"))], "twice"),
            (vec![("a", None)], "path"),
            (vec![("/a/../b", None)], "path"),
            (vec![("/a", Some("x/y"))], "name"),
            (vec![("/a", Some(".."))], "name"),
        ];
        for (grants, expected) in cases {
            let made = grants.iter().map(|(path, name)| grant(path, *name, Vec::new())).collect();
            let found = reason(made, 0);
            assert_eq!(found.is_empty(), expected.is_empty(), "{grants:?}: {found}");
            assert!(found.contains(expected), "{grants:?}: {found}");
        }
    }
}
