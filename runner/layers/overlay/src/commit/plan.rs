//! The steps that publish a list of changes, in order, and the changes that are refused. Pure.
//!
//! A new directory is one step: it is built whole, with all below it. So is a removed one. A renamed entry is a removal
//! and a creation. This file does not read files; [`prepare`](super::prepare) checks again what it copies.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::changes::change::{Change, ChangeKind, Entry, EntryType};

/// Beginning of the names of temporaries.
pub const TEMPORARY_PREFIX: &str = ".modbox-tmp-";

/// What one step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Action {
    /// Removes an entry with all below it.
    Remove,
    /// Makes an entry at a free name.
    Create,
    /// Replaces an entry.
    Replace,
    /// Changes the attributes of a directory in place.
    Attributes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step<'a> {
    pub(super) action: Action,
    /// Entry, relative to the granted root.
    pub(super) path: PathBuf,
    pub(super) before: Option<&'a Entry>,
    pub(super) after: Option<&'a Entry>,
}

/// Reason why a change cannot be committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// It is a device, FIFO or socket.
    #[error("it is a device, FIFO or socket; a commit does not make these")]
    Special,
    /// It has a set-id bit.
    #[error(
        "it has a set-id bit, which the run may not set for user {uid} and group {gid}; allow this owner with `+setid`, or set \
         it outside the run"
    )]
    SetId {
        /// Number of the user.
        uid: u32,
        /// Number of the group.
        gid: u32,
    },
    /// It has file capabilities.
    #[error("it has file capabilities; set them outside the run")]
    Capability,
    /// It has an extended attribute that only the machine may set.
    #[error("it has the extended attribute `{0}`; a commit sets `user.*` and ACLs only")]
    Xattr(String),
    /// Its owner may not be given.
    #[error("the run may not give it to user {uid} and group {gid}; allow this owner")]
    Owner {
        /// Number of the user.
        uid: u32,
        /// Number of the group.
        gid: u32,
    },
    /// Its name is one of ours or not a name within the root.
    #[error("its name is reserved or not within the granted directory; use another name")]
    Name,
    /// It is the granted root itself.
    #[error("it is the granted directory itself, which cannot be replaced; grant the directory around it")]
    Root,
    /// It shares its content with a file that the run has not changed.
    #[error("it is a hard link to a file outside the change; copy the file instead")]
    Linked,
    /// Its tree is too deep.
    #[error("its directories are nested too deep; make fewer levels")]
    Depth,
    /// It is a mount point.
    #[error("a file system is mounted there; grant it by itself")]
    Mount,
    /// The list of changes contradicts itself.
    #[error("the list of changes contradicts itself; run the module again")]
    Contradiction,
}

/// Change that cannot be committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Path on the machine.
    pub path: PathBuf,
    /// Why a commit does not make it.
    pub reason: Reason,
}

/// What a commit may do for a user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerRights {
    /// Whether it may give them a file.
    pub may_own: bool,
    /// The set-id bits that a file of theirs may have.
    pub set_id: u32,
}

impl OwnerRights {
    /// All rights.
    pub const ALL: Self = Self { may_own: true, set_id: SET_ID };

    /// The right to give them a file, or none.
    #[must_use]
    pub fn to_own(may_own: bool) -> Self {
        Self { may_own, set_id: 0 }
    }
}

/// The bits of a mode by which a program runs as its owner or its group.
const SET_ID: u32 = 0o6000;

/// The rights of a commit by user and group.
pub type Owners<'a> = dyn Fn(u32, u32) -> OwnerRights + 'a;

/// Returns the steps of a list of changes, in the order in which they are published.
pub(super) fn steps<'a>(changes: &'a [Change], owners: &Owners<'_>) -> Result<Vec<Step<'a>>, Vec<Refusal>> {
    let refused: Vec<Refusal> = changes
        .iter()
        .filter_map(|change| refuse(change, owners).map(|reason| Refusal { path: change.path.clone(), reason }))
        .collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    let built: BTreeSet<&Path> = changes.iter().filter(|change| is_built(change)).map(|c| c.path.as_path()).collect();
    let gone: BTreeSet<&Path> = changes.iter().filter_map(gone_path).collect();
    let mut steps = Vec::new();
    for change in changes {
        if let ChangeKind::Renamed { from } = &change.kind
            && !is_below(from, &gone)
            && !built.contains(from.as_path())
        {
            let (before, after) = (change.before.as_ref(), None);
            steps.push(Step { action: Action::Remove, path: from.clone(), before, after });
        }
        if !is_below(&change.path, &built) {
            steps.extend(step(change, &gone));
        }
    }
    steps.sort_by(|one, other| (one.action, &one.path).cmp(&(other.action, &other.path)));
    let mut seen = BTreeSet::new();
    let twice = steps.iter().filter(|step| !seen.insert(&step.path));
    let twice: Vec<_> = twice.map(|s| Refusal { path: s.path.clone(), reason: Reason::Contradiction }).collect();
    if twice.is_empty() { Ok(steps) } else { Err(twice) }
}

fn step<'a>(change: &'a Change, gone: &BTreeSet<&Path>) -> Option<Step<'a>> {
    let is_directory = |entry: &Option<Entry>| entry.as_ref().is_some_and(|e| e.entry_type == EntryType::Directory);
    let action = match &change.kind {
        ChangeKind::Removed { .. } if is_below(&change.path, gone) => return None,
        ChangeKind::Removed { .. } => Action::Remove,
        ChangeKind::Created | ChangeKind::Renamed { .. } => Action::Create,
        ChangeKind::Times if is_directory(&change.after) => return None,
        _ if is_directory(&change.after) && is_directory(&change.before) => Action::Attributes,
        _ => Action::Replace,
    };
    let before = if action == Action::Create { None } else { change.before.as_ref() };
    Some(Step { action, path: change.path.clone(), before, after: change.after.as_ref() })
}

/// Returns whether the entry is built whole, with all below it.
fn is_built(change: &Change) -> bool {
    let directory = |entry: &Option<Entry>| entry.as_ref().is_some_and(|e| e.entry_type == EntryType::Directory);
    directory(&change.after)
        && match change.kind {
            ChangeKind::Created | ChangeKind::Renamed { .. } => true,
            _ => !directory(&change.before),
        }
}

/// Returns the path whose tree a change takes away.
fn gone_path(change: &Change) -> Option<&Path> {
    match &change.kind {
        ChangeKind::Removed { .. } | ChangeKind::Replaced => Some(&change.path),
        ChangeKind::Renamed { from } => Some(from),
        _ => None,
    }
}

fn is_below(path: &Path, trees: &BTreeSet<&Path>) -> bool {
    path.ancestors().skip(1).any(|above| trees.contains(above))
}

fn refuse(change: &Change, owners: &Owners<'_>) -> Option<Reason> {
    if !is_name(&change.path) {
        return Some(Reason::Name);
    }
    if let ChangeKind::Renamed { from } = &change.kind
        && (!is_name(from) || from.as_os_str().is_empty())
    {
        return Some(Reason::Name);
    }
    if matches!(change.kind, ChangeKind::Removed { .. }) != change.after.is_none()
        || matches!(change.kind, ChangeKind::Created) != change.before.is_none()
    {
        return Some(Reason::Contradiction);
    }
    refuse_entry(change.before.as_ref(), change.after.as_ref()?, owners)
}

/// Returns why an entry cannot be made.
pub(super) fn refuse_entry(before: Option<&Entry>, after: &Entry, owners: &Owners<'_>) -> Option<Reason> {
    if after.entry_type == EntryType::Special {
        return Some(Reason::Special);
    }
    let rights = owners(after.uid, after.gid);
    if after.entry_type == EntryType::File && after.mode & SET_ID & !rights.set_id != 0 {
        return Some(Reason::SetId { uid: after.uid, gid: after.gid });
    }
    let is_foreign = before.is_none_or(|before| (before.uid, before.gid) != (after.uid, after.gid));
    if is_foreign && !rights.may_own {
        return Some(Reason::Owner { uid: after.uid, gid: after.gid });
    }
    let is_new = |(name, value): &(&String, &Vec<u8>)| before.is_none_or(|b| b.xattrs.get(*name) != Some(value));
    let refused = |(name, _): (&String, &Vec<u8>)| match name.as_str() {
        "security.capability" => Some(Reason::Capability),
        name if is_kept(name) || name == LABEL => None,
        name => Some(Reason::Xattr(name.to_owned())),
    };
    after.xattrs.iter().filter(|pair| pair.0 == "security.capability" || is_new(pair)).find_map(refused)
}

/// Label of SELinux. It comes from the file before or from the directory, never from a layer.
pub(super) const LABEL: &str = "security.selinux";

/// Returns whether a commit sets an extended attribute.
pub(super) fn is_kept(name: &str) -> bool {
    name.starts_with("user.") || name.starts_with("system.posix_acl_")
}

/// Returns whether a path consists of names that a run may use.
fn is_name(path: &Path) -> bool {
    path.components().all(|part| match part {
        Component::Normal(name) => !is_ours(name),
        _ => false,
    })
}

/// Returns whether a name is that of a temporary.
pub(super) fn is_ours(name: &OsStr) -> bool {
    name.as_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// Returns the name of a temporary.
pub(super) fn temporary(run: &str, number: usize) -> OsString {
    format!("{TEMPORARY_PREFIX}{run}-{number}").into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn entry(entry_type: EntryType) -> Entry {
        Entry {
            entry_type,
            mode: 0o644,
            uid: 1000,
            gid: 1000,
            size: 0,
            modified: 0,
            target: None,
            digest: None,
            xattrs: BTreeMap::new(),
            links: 1,
        }
    }

    fn change(path: &str, kind: ChangeKind, before: Option<Entry>, after: Option<Entry>) -> Change {
        Change { path: path.into(), kind, before, after }
    }

    #[test]
    fn entries_that_a_commit_does_not_make_are_refused() {
        let file = entry(EntryType::File);
        let xattr = |name: &str| Entry { xattrs: [(name.to_owned(), vec![1])].into(), ..file.clone() };
        let foreign = Entry { uid: 0, ..file.clone() };
        let set_id = Reason::SetId { uid: 1000, gid: 1000 };
        let setgid = Entry { mode: 0o2755, ..entry(EntryType::Directory) };
        let cases = [
            (None, file.clone(), None),
            (None, entry(EntryType::Special), Some(Reason::Special)),
            (None, Entry { mode: 0o4755, ..file.clone() }, Some(set_id.clone())),
            (None, Entry { mode: 0o2755, ..file.clone() }, Some(set_id)),
            (None, Entry { mode: 0o4755, uid: 1001, gid: 1000, ..file.clone() }, None),
            (None, setgid, None),
            (None, xattr("security.capability"), Some(Reason::Capability)),
            (Some(xattr("security.capability")), xattr("security.capability"), Some(Reason::Capability)),
            (None, xattr("trusted.anything"), Some(Reason::Xattr("trusted.anything".into()))),
            (Some(xattr("trusted.anything")), xattr("trusted.anything"), None),
            (None, xattr("security.selinux"), None),
            (None, xattr("user.anything"), None),
            (None, xattr("system.posix_acl_access"), None),
            (None, foreign.clone(), Some(Reason::Owner { uid: 0, gid: 1000 })),
            (Some(file.clone()), foreign.clone(), Some(Reason::Owner { uid: 0, gid: 1000 })),
            (Some(foreign.clone()), foreign, None),
        ];
        for (before, after, reason) in cases {
            let refused = refuse_entry(before.as_ref(), &after, &|uid, gid| OwnerRights {
                may_own: uid >= 1000 && gid == 1000,
                set_id: if uid == 1001 { 0o4000 } else { 0 },
            });
            assert_eq!(refused, reason, "{before:?} {after:?}");
        }
    }

    #[test]
    fn names_that_are_not_of_the_run_are_refused() {
        let cases = ["../up", "/root", "a/../b", ".modbox-tmp-1-2", "a/.modbox-tmp-1-2/b"];
        for path in cases {
            let changes = [change(path, ChangeKind::Created, None, Some(entry(EntryType::File)))];
            let refused = steps(&changes, &|_, _| OwnerRights::ALL).unwrap_err();
            assert_eq!(refused, [Refusal { path: path.into(), reason: Reason::Name }], "{path}");
            let from = ChangeKind::Renamed { from: path.into() };
            let file = Some(entry(EntryType::File));
            let refused = steps(&[change("to", from, file.clone(), file)], &|_, _| OwnerRights::ALL).unwrap_err();
            assert_eq!(refused[0].reason, Reason::Name, "{path}");
        }
    }

    #[test]
    fn a_tree_is_one_step_and_removals_come_first() {
        let (file, dir) = (Some(entry(EntryType::File)), Some(entry(EntryType::Directory)));
        let from = |path: &str| ChangeKind::Renamed { from: path.into() };
        let changes = [
            change("", ChangeKind::Attributes, dir.clone(), dir.clone()),
            change("new", ChangeKind::Created, None, dir.clone()),
            change("new/in", ChangeKind::Created, None, file.clone()),
            change("old", ChangeKind::Removed { entries: 1 }, dir.clone(), None),
            change("new/moved", from("old/in"), file.clone(), file.clone()),
            change("other", from("out"), file.clone(), file.clone()),
            change("dir", ChangeKind::Times, dir.clone(), dir.clone()),
            change("swap", ChangeKind::Replaced, file.clone(), dir),
            change("swap/in", ChangeKind::Created, None, file.clone()),
            change("file", ChangeKind::Times, file.clone(), file),
        ];
        let planned = steps(&changes, &|_, _| OwnerRights::ALL).unwrap();
        let planned: Vec<_> = planned.iter().map(|step| (step.action, step.path.to_str().unwrap())).collect();
        let wanted = [
            (Action::Remove, "old"),
            (Action::Remove, "out"),
            (Action::Create, "new"),
            (Action::Create, "other"),
            (Action::Replace, "file"),
            (Action::Replace, "swap"),
            (Action::Attributes, ""),
        ];
        assert_eq!(planned, wanted);
    }

    #[test]
    fn a_list_that_contradicts_itself_is_refused() {
        let file = Some(entry(EntryType::File));
        let created = change("a", ChangeKind::Created, None, file.clone());
        let cases = [
            vec![created.clone(), created],
            vec![change("a", ChangeKind::Created, file.clone(), file.clone())],
            vec![change("a", ChangeKind::Removed { entries: 0 }, file.clone(), file.clone())],
            vec![change("a", ChangeKind::Modified, None, file)],
        ];
        for changes in cases {
            assert_eq!(
                steps(&changes, &|_, _| OwnerRights::ALL).unwrap_err()[0].reason,
                Reason::Contradiction,
                "{changes:?}"
            );
        }
    }
}
