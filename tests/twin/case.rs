//! A case: where and by which user it runs, its tree, its grants and its calls. Paths are bytes.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::geteuid;

/// Stands for the case's folder in paths, link targets and arguments.
pub(crate) const HERE: u8 = 0;

/// An ordinary user.
pub(crate) const USER: u32 = 12_345;

/// Where and by which user cases run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Below `/tmp`, or elsewhere.
    pub(crate) below_tmp: bool,
    /// The other user as which root runs both sides; `None` for the user who runs the test.
    pub(crate) user: Option<u32>,
    /// The umask of both sides.
    pub(crate) umask: u32,
}

impl Setting {
    /// Returns all settings that the user who runs the test can have.
    pub(crate) fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for number in 0..16 {
            let setting = Self::of(number);
            if !all.contains(&setting) {
                all.push(setting);
            }
        }
        all
    }

    /// Returns the setting of a case by the case's number.
    pub(crate) fn of(number: usize) -> Self {
        Self {
            below_tmp: number.is_multiple_of(4),
            user: (number & 4 != 0 && geteuid().is_root()).then_some(USER),
            umask: if number & 8 == 0 { 0o022 } else { 0o077 },
        }
    }
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The path in the case's folder.
    pub(crate) path: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    /// Seconds and nanoseconds since 1970.
    pub(crate) time: (i64, i64),
    /// Whether it belongs to another user than the one who performs the calls.
    pub(crate) is_foreign: bool,
}

/// The kinds of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    /// A file of so many bytes.
    File(usize),
    /// A link with this target.
    Link(Vec<u8>),
    /// Another name of the file at this path.
    HardLink(Vec<u8>),
    Fifo,
}

/// A grant: a path in the case's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) path: Vec<u8>,
    pub(crate) writable: bool,
    /// Whether an argument of the guest names it, so that it may be missing; else the policy of the job.
    pub(crate) by_argument: bool,
}

/// A call of the guest `twin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) args: Vec<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) number: usize,
    pub(crate) setting: Setting,
    pub(crate) entries: Vec<Entry>,
    pub(crate) grants: Vec<Grant>,
    pub(crate) calls: Vec<Call>,
}

impl Call {
    /// Returns the line that the guest reads, for a case in this folder.
    pub(crate) fn line(&self, here: &Path) -> String {
        let args = self.args.iter().map(|arg| word(&placed(arg, here)));
        [self.name.to_owned()].into_iter().chain(args).collect::<Vec<_>>().join(" ")
    }

    /// Whether the call changes neither a file nor a slot, whatever its outcome is.
    pub(crate) fn is_look(&self) -> bool {
        let looks = [
            "stat",
            "lstat",
            "attributes",
            "lattributes",
            "access",
            "readlink",
            "list",
            "fstat",
            "pread",
            "std.read_dir",
            "std.canonicalize",
            "std.metadata",
            "std.symlink_metadata",
            "std.read",
            "std.read_link",
        ];
        looks.contains(&self.name)
    }

    /// Whether the call makes several changes one after the other, so that it can fail half-way.
    pub(crate) fn is_compound(&self) -> bool {
        ["std.remove_dir_all", "std.copy", "std.create_dir_all"].contains(&self.name)
    }
}

/// Returns bytes with the case's folder in the place of [`HERE`].
pub(crate) fn placed(bytes: &[u8], here: &Path) -> Vec<u8> {
    let parts: Vec<&[u8]> = bytes.split(|&byte| byte == HERE).collect();
    parts.join(here.as_os_str().as_bytes())
}

/// Returns bytes as a word of the guest's lines: `%XX` is a byte, and `%` alone the empty word.
pub(crate) fn word(bytes: &[u8]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-,:".contains(&byte);
    let escape = |&byte: &u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
    if bytes.is_empty() { "%".to_owned() } else { bytes.iter().map(escape).collect() }
}

/// Returns bytes as a word for people, with `D` for the case's folder.
fn shown(bytes: &[u8]) -> String {
    let shown = word(bytes).replace("%00", "{D}");
    // Repeated letters fill names up to a length.
    match shown.find(&"n".repeat(20)) {
        Some(at) => {
            let run = shown[at..].len() - shown[at..].trim_start_matches('n').len();
            format!("{}{{n*{run}}}{}", &shown[..at], &shown[at + run..])
        }
        None => shown,
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { below_tmp, user, umask } = self.setting;
        let place = if below_tmp { "below /tmp" } else { "elsewhere" };
        writeln!(f, "  case {}: {place}, user {user:?}, umask {umask:03o}; {{D}} is its folder", self.number)?;
        for entry in &self.entries {
            let kind = match &entry.kind {
                EntryKind::Folder => "folder".to_owned(),
                EntryKind::File(length) => format!("file of {length} bytes"),
                EntryKind::Link(target) => format!("-> {}", shown(target)),
                EntryKind::HardLink(to) => format!("= {}", shown(to)),
                EntryKind::Fifo => "fifo".to_owned(),
            };
            let foreign = if entry.is_foreign { ", of another user" } else { "" };
            let (seconds, rest) = entry.time;
            writeln!(f, "  {} {kind}, {:o}, {seconds}.{rest:09}{foreign}", shown(&entry.path), entry.mode)?;
        }
        for grant in &self.grants {
            let access = if grant.writable { "write" } else { "read" };
            let by = if grant.by_argument { "argument for" } else { "--allow" };
            writeln!(f, "  {by} {access}: {{D}}/{}", shown(&grant.path))?;
        }
        for call in &self.calls {
            let args: Vec<_> = call.args.iter().map(|arg| shown(arg)).collect();
            writeln!(f, "  {} {}", call.name, args.join(" "))?;
        }
        Ok(())
    }
}
