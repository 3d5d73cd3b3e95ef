//! Follows the paths of a call by Linux's rules, before the call is performed: says whether they leave the grants, and by
//! which traits a difference can be classified. A call that reaches beyond the grants is not performed.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::grants::{Cover, Grants};
use crate::perform::Slots;
use crate::words::Call;

/// Linux follows as many links in one path.
const MOST_LINKS: usize = 40;

/// What a call does at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// It looks.
    Look,
    /// It changes what is there.
    Content,
    /// It makes, removes or replaces the name.
    Entry,
    /// It makes a file, or changes the one that is there if `changes`.
    Make { changes: bool },
    /// It makes folders as far as they are missing.
    Folders,
}

/// Where a path leads.
enum Reach {
    /// Linux fails on the way, inside the grants.
    Failed,
    /// It leaves the grants.
    Outside(&'static str),
    /// It leads to a place, where there may be a file.
    At(PathBuf, Option<fs::FileType>),
}

/// A walk along the paths of one call.
struct Walk<'g> {
    grants: &'g Grants,
    traits: BTreeSet<String>,
}

/// Performs a call unless it reaches beyond the grants. Returns the outcome, or the reason why it was not performed; and the
/// traits of the call, with commas between them.
pub(crate) fn performed(grants: &Grants, call: &Call, slots: &mut Slots) -> (String, String) {
    let mut walk = Walk { grants, traits: BTreeSet::new() };
    walk.note_arguments(call, slots);
    let mut reasons = Vec::new();
    let mut fails = false;
    for (path, follow, need) in paths(call, slots) {
        // A copy opens its source first.
        let is_source = call.name == "std.copy" && need == Need::Look;
        fails |= is_source && !std::fs::metadata(OsStr::from_bytes(&path)).is_ok_and(|found| found.is_file());
        match walk.judge(&path, follow, need, opens(&call.name)) {
            Ok(Some(reason)) => reasons.push(reason),
            Ok(None) => {}
            Err(()) => fails = true,
        }
    }
    if fails && !reasons.is_empty() {
        walk.note("other-fails");
    }
    let outcome = match reasons.first() {
        Some(reason) => {
            slots.forget(call);
            (*reason).to_owned()
        }
        None => slots.perform(call),
    };
    (outcome, walk.traits.into_iter().collect::<Vec<_>>().join(","))
}

/// Returns whether a call opens the file at a path.
fn opens(name: &str) -> bool {
    ["open", "openat", "std.read", "std.write", "std.copy"].contains(&name)
}

/// Returns the paths of a call, whether a link at the end is followed, and what is done there.
fn paths(call: &Call, slots: &Slots) -> Vec<(Vec<u8>, bool, Need)> {
    let path = |index| call.bytes(index).to_vec();
    match call.name.strip_prefix("std.").unwrap_or(&call.name) {
        "open" => {
            let (follow, need) = opening(call.text(2));
            vec![(path(1), follow, need)]
        }
        "openat" => {
            let (follow, need) = opening(call.text(3));
            let base = slots.descriptor(call.number(1)).map(|fd| fs::read_link(format!("/proc/self/fd/{fd}")));
            let Some(Ok(base)) = base else { return Vec::new() };
            if path(2).is_empty() || path(2).starts_with(b"/") {
                return vec![(path(2), follow, need)];
            }
            vec![([base.as_os_str().as_bytes(), b"/", call.bytes(2)].concat(), follow, need)]
        }
        "futimens" => {
            let file = slots.descriptor(call.number(0)).map(|fd| fs::read_link(format!("/proc/self/fd/{fd}")));
            let Some(Ok(file)) = file else { return Vec::new() };
            vec![(file.into_os_string().into_vec(), true, Need::Content)]
        }
        "stat" | "attributes" | "metadata" | "list" | "read_dir" | "canonicalize" => vec![(path(0), true, Need::Look)],
        // The standard library's `read`: that of a slot has no path.
        "read" if call.name.starts_with("std.") => vec![(path(0), true, Need::Look)],
        "write" if call.name.starts_with("std.") => vec![(path(0), true, Need::Make { changes: true })],
        "lstat" | "lattributes" | "symlink_metadata" | "readlink" | "read_link" => vec![(path(0), false, Need::Look)],
        "access" if call.text(1).contains('w') => vec![(path(0), true, Need::Content)],
        "access" => vec![(path(0), true, Need::Look)],
        "symlink" => vec![(path(1), false, Need::Entry)],
        "link" | "hard_link" => vec![(path(0), false, Need::Content), (path(1), false, Need::Entry)],
        "rename" => vec![(path(0), false, Need::Entry), (path(1), false, Need::Entry)],
        // A path that ends with `.` or `..` names no entry to remove: the call empties the folder.
        "remove_dir_all" if ends_in_dots(call.bytes(0)) => vec![(path(0), true, Need::Content)],
        "unlink" | "rmdir" | "mkdir" | "remove_file" | "remove_dir_all" => vec![(path(0), false, Need::Entry)],
        "truncate" | "utimes" | "chmod" => vec![(path(0), true, Need::Content)],
        "lutimes" => vec![(path(0), false, Need::Content)],
        "copy" => vec![(path(0), true, Need::Look), (path(1), true, Need::Make { changes: true })],
        "create_dir_all" => vec![(path(0), true, Need::Folders)],
        _ => Vec::new(),
    }
}

/// Returns whether `open` follows a link at the end, and what it does there.
fn opening(flags: &str) -> (bool, Need) {
    let has = |wanted: &str| flags.split(',').any(|flag| flag == wanted);
    let changes = has("wronly") || has("rdwr") || has("trunc");
    let need = match (has("creat"), changes) {
        (true, _) => Need::Make { changes },
        (false, true) => Need::Content,
        (false, false) => Need::Look,
    };
    let stays = has("nofollow") || (has("creat") && has("excl"));
    (!stays, need)
}

impl Walk<'_> {
    fn note(&mut self, mark: &str) {
        self.traits.insert(mark.to_owned());
    }

    /// Notes what the grants and the arguments themselves tell.
    fn note_arguments(&mut self, call: &Call, slots: &Slots) {
        if self.grants.follow_links() {
            self.note("by-link");
        }
        let flags = match call.name.as_str() {
            "open" => call.text(2),
            "openat" => call.text(3),
            "close" | "read" | "write" | "pread" | "pwrite" | "lseek" | "ftruncate" | "fstat" | "futimens" => {
                slots.flags(call.number(0))
            }
            _ => "",
        };
        self.traits.extend(flags.split(',').filter(|flag| !flag.is_empty()).map(str::to_owned));
        let seconds = match call.name.as_str() {
            "utimes" | "lutimes" | "futimens" => call.number(1),
            _ => 0,
        };
        if seconds < 0 {
            self.note("before-1970");
        }
        let mode = match call.name.as_str() {
            "chmod" | "mkdir" => call.mode(1),
            _ => 0,
        };
        if mode > 0o777 {
            self.note("special-mode");
        }
        if call.name == "symlink" && call.bytes(0).starts_with(b"/") {
            let target = Path::new(OsStr::from_bytes(call.bytes(0)));
            let is_covered = matches!(self.grants.cover(target), Cover::Granted { .. });
            self.note(if is_covered { "target" } else { "target-outside" });
        }
    }

    /// Follows a path. Returns why the call may not do what it needs there, or `Err` where Linux fails on the way.
    fn judge(&mut self, path: &[u8], follow: bool, need: Need, opens: bool) -> Result<Option<&'static str>, ()> {
        if need == Need::Folders {
            return self.judge_folders(path);
        }
        let (place, kind) = match self.walk(path, follow, need != Need::Entry) {
            Reach::Failed => return Err(()),
            Reach::Outside(reason) => return Ok(Some(reason)),
            Reach::At(place, kind) => (place, kind),
        };
        self.note_place(&place, kind);
        if opens && kind.is_some_and(|kind| kind.is_fifo()) {
            return Ok(Some("fifo"));
        }
        let need = match need {
            Need::Make { .. } if kind.is_none() => Need::Entry,
            Need::Make { changes: true } => Need::Content,
            Need::Make { changes: false } => Need::Look,
            need => need,
        };
        Ok(match (need, self.grants.cover(&place)) {
            (Need::Entry, _) => self.grants.refuses_entry(&place),
            (_, Cover::Outside) => Some("not-granted"),
            (Need::Look, Cover::Above) => Some("above"),
            (Need::Look, _) | (_, Cover::Granted { writable: true }) => None,
            (_, Cover::Granted { .. } | Cover::Link) => Some("read-only"),
            (_, Cover::Above) => Some("not-granted"),
        })
    }

    /// Judges folders that are made as far as they are missing: by the first one that is.
    fn judge_folders(&mut self, path: &[u8]) -> Result<Option<&'static str>, ()> {
        for folder in Path::new(OsStr::from_bytes(path)).ancestors() {
            match self.walk(folder.as_os_str().as_bytes(), true, true) {
                Reach::Failed => {}
                Reach::Outside(reason) => return Ok(Some(reason)),
                Reach::At(place, None) => {
                    let parent = place.parent().unwrap_or(&place);
                    if parent.exists() {
                        return Ok(self.grants.refuses_entry(&place));
                    }
                }
                Reach::At(place, _) => {
                    self.note_place(&place, None);
                    return Ok((self.grants.cover(&place) == Cover::Above).then_some("above"));
                }
            }
        }
        Err(())
    }

    fn note_place(&mut self, place: &Path, kind: Option<fs::FileType>) {
        if self.grants.is_granted_itself(place) {
            self.note("top");
        }
        if self.grants.is_name(place) {
            self.note("name");
        }
        if self.grants.is_beside_name(place) && kind.is_none() {
            self.note("beside");
        }
        match kind {
            None => self.note("missing"),
            Some(kind) if kind.is_fifo() => self.note("fifo"),
            Some(kind) if kind.is_symlink() => self.note("link"),
            Some(kind) if kind.is_dir() => self.note("folder"),
            Some(_) => {}
        }
    }

    /// Follows a path as Linux does. With `slash_follows`, a link with a slash behind it is followed.
    fn walk(&mut self, path: &[u8], follow: bool, slash_follows: bool) -> Reach {
        match path {
            [] => self.note("empty"),
            [b'/', ..] => {}
            _ => self.note("relative"),
        }
        if path.first() != Some(&b'/') {
            return if path.is_empty() { Reach::Failed } else { Reach::Outside("relative") };
        }
        if path.len() >= 4096 {
            self.note("long");
            return Reach::Failed;
        }
        if names(path).any(|name| name == b"..") {
            self.note("up");
        }
        let mut wants_folder = ends_in_folder(path);
        if wants_folder {
            self.note("slash");
        }
        let (mut place, mut kind, mut links) = (PathBuf::from("/"), None, 0);
        let mut left: VecDeque<Vec<u8>> = names(path).collect();
        let mut was_inside = false;
        while let Some(name) = left.pop_front() {
            if name == b".." {
                self.note("up");
                if fs::symlink_metadata(place.join("..")).is_err() {
                    return Reach::Failed;
                }
                place.pop();
                kind = None;
                if was_inside && self.grants.cover(&place) == Cover::Above {
                    self.note("returns");
                }
                continue;
            }
            self.note_name(&name);
            if name.len() > 255 {
                return Reach::Failed;
            }
            let next = place.join(OsStr::from_bytes(&name));
            match self.grants.cover(&next) {
                Cover::Outside => return self.outside(&next),
                Cover::Granted { writable } => {
                    was_inside = true;
                    if !writable {
                        self.note("read-grant");
                    }
                }
                Cover::Link => self.note("named-link"),
                Cover::Above => {}
            }
            let found = match fs::symlink_metadata(&next) {
                Ok(found) => found.file_type(),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && left.is_empty() => {
                    if links > 0 {
                        self.note("dangling");
                    }
                    return Reach::At(next, None);
                }
                Err(_) => return Reach::Failed,
            };
            let is_last = left.is_empty();
            if found.is_symlink() && (!is_last || follow || (wants_folder && slash_follows)) {
                links += 1;
                let Ok(target) = fs::read_link(&next) else { return Reach::Failed };
                let target = target.as_os_str().as_bytes();
                self.note(if target.starts_with(b"/") { "absolute-link" } else { "relative-link" });
                if links > MOST_LINKS {
                    self.note("loop");
                    return Reach::Failed;
                }
                if target.starts_with(b"/") {
                    place = PathBuf::from("/");
                }
                wants_folder |= is_last && ends_in_folder(target);
                for name in names(target).collect::<Vec<_>>().into_iter().rev() {
                    left.push_front(name);
                }
                kind = None;
            } else if !is_last && !found.is_dir() {
                return Reach::Failed;
            } else {
                (place, kind) = (next, Some(found));
            }
        }
        let kind = kind.or_else(|| fs::symlink_metadata(&place).ok().map(|found| found.file_type()));
        Reach::At(place, kind)
    }

    fn note_name(&mut self, name: &[u8]) {
        if name.len() > 255 {
            self.note("long");
        }
        match str::from_utf8(name) {
            Ok(text) if text.chars().any(|char| (0x10_F700..=0x10_F7FF).contains(&u32::from(char))) => {
                self.note("escape")
            }
            Ok(_) => {}
            Err(_) => self.note("bytes"),
        }
    }

    fn outside(&mut self, place: &Path) -> Reach {
        if self.grants.is_beside_name(place) {
            self.note("beside");
        }
        Reach::Outside("not-granted")
    }
}

/// Returns the names of a path, without `.`.
fn names(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".").map(<[u8]>::to_vec)
}

fn ends_in_dots(path: &[u8]) -> bool {
    let last = path.split(|&byte| byte == b'/').rfind(|name| !name.is_empty());
    last.is_some_and(|name| [&b"."[..], b".."].contains(&name))
}

fn ends_in_folder(path: &[u8]) -> bool {
    path.ends_with(b"/") || path.ends_with(b"/.") || path == b"."
}
