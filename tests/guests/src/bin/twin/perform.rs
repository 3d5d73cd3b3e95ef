//! Performs one call, and keeps the descriptors that calls have opened under the numbers of their slots.

use std::collections::BTreeMap;
use std::ffi::c_int;

use crate::calls::{self, Done, Status};
use crate::words::{Call, contents, word};
use crate::{errors, library};

/// The most that one call reads.
const LONGEST: i64 = 1 << 20;

/// An open descriptor.
#[derive(Debug)]
struct Open {
    fd: c_int,
    /// The words of its flags.
    #[cfg(not(target_family = "wasm"))]
    flags: String,
}

/// Open descriptors by the numbers of their slots.
#[derive(Debug, Default)]
pub(crate) struct Slots(BTreeMap<i64, Open>);

impl Slots {
    /// Performs a call. Returns `ok` with values, or the name of the error.
    pub(crate) fn perform(&mut self, call: &Call) -> String {
        if let Some(performed) = library::perform(call) {
            return performed.unwrap_or_else(|error| errors::of(&error));
        }
        let performed = self.on_slot(call).or_else(|| on_path(call)).or_else(|| attributes(call));
        performed.unwrap_or_else(|| panic!("`{}` is not a call of this program", call.name))
    }

    pub(crate) fn descriptor(&self, slot: i64) -> Option<c_int> {
        self.0.get(&slot).map(|open| open.fd)
    }

    /// Returns the words of the flags with which a slot was opened.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn flags(&self, slot: i64) -> &str {
        self.0.get(&slot).map_or("", |open| &open.flags)
    }

    /// Closes the slot of a call that would open it.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn forget(&mut self, call: &Call) {
        if ["open", "openat"].contains(&call.name.as_str()) {
            self.close(call.number(0));
        }
    }

    fn close(&mut self, slot: i64) {
        if let Some(old) = self.0.remove(&slot) {
            let _ = calls::close(old.fd);
        }
    }

    /// Performs a call whose first argument is a slot; `None` if it is not one.
    fn on_slot(&mut self, call: &Call) -> Option<String> {
        let names =
            ["open", "openat", "close", "read", "write", "pread", "pwrite", "lseek", "ftruncate", "fstat", "futimens"];
        if !names.contains(&call.name.as_str()) {
            return None;
        }
        let slot = call.number(0);
        match call.name.as_str() {
            "open" => return Some(self.open(slot, None, call, 1)),
            "openat" => match self.descriptor(call.number(1)) {
                Some(at) => return Some(self.open(slot, Some(at), call, 2)),
                None => return Some("empty-slot".to_owned()),
            },
            _ => {}
        }
        let Some(fd) = self.descriptor(slot) else { return Some("empty-slot".to_owned()) };
        Some(match call.name.as_str() {
            "close" => {
                self.0.remove(&slot);
                shown(calls::close(fd))
            }
            "read" => read(calls::read(fd, length(call), None)),
            "pread" => read(calls::read(fd, length(call), Some(call.number(2)))),
            "write" => number(calls::write(fd, call.bytes(1), None)),
            "pwrite" => number(calls::write(fd, call.bytes(1), Some(call.number(2)))),
            "lseek" => seek(fd, call),
            "ftruncate" => shown(calls::set_length(fd, call.number(1))),
            "fstat" => status(calls::status_of(fd)),
            _ => shown(calls::set_times_of(fd, call.number(1), call.number(2))),
        })
    }

    /// Opens the path that is argument `first` into a slot, which is closed first.
    fn open(&mut self, slot: i64, at: Option<c_int>, call: &Call, first: usize) -> String {
        let mode = call.mode(first + 2);
        let opened = with_mode(mode, 0o666, || calls::open(at, call.bytes(first), flags(call.text(first + 1)), mode));
        self.close(slot);
        match opened {
            Ok(fd) => {
                let open = Open {
                    fd,
                    #[cfg(not(target_family = "wasm"))]
                    flags: call.text(first + 1).to_owned(),
                };
                self.0.insert(slot, open);
                "ok".to_owned()
            }
            Err(errno) => errors::name(errno),
        }
    }
}

/// Performs `lseek`. Positions in a folder are the file system's own, as is their end, so there the outcome is not told.
fn seek(fd: c_int, call: &Call) -> String {
    let done = calls::seek(fd, call.number(1), whence(call.text(2)));
    if calls::status_of(fd).is_ok_and(|found| found.kind == "directory") { "ok".to_owned() } else { number(done) }
}

impl Drop for Slots {
    fn drop(&mut self) {
        for open in self.0.values() {
            let _ = calls::close(open.fd);
        }
    }
}

/// Performs a call on paths; `None` if it is not one.
fn on_path(call: &Call) -> Option<String> {
    let path = call.bytes(0);
    Some(match call.name.as_str() {
        "stat" => status(calls::status_at(path, true)),
        "lstat" => status(calls::status_at(path, false)),
        "readlink" => values(calls::read_link(path), |target| format!("ok target={}", word(&target))),
        "symlink" | "link" | "rename" => shown(calls::of_two(&call.name, path, call.bytes(1))),
        "unlink" => shown(calls::unlink(path)),
        "rmdir" => shown(calls::remove_directory(path)),
        "mkdir" => {
            let made = with_mode(call.mode(1), 0o777, || calls::make_directory(path, call.mode(1)));
            #[cfg(target_family = "wasm")]
            if made.is_ok() && call.mode(1) > 0o777 {
                return Some(add_special_bits(path, call.mode(1)));
            }
            shown(made)
        }
        "truncate" => shown(calls::truncate(path, call.number(1))),
        "utimes" => shown(calls::set_times(path, true, call.number(1), call.number(2))),
        "lutimes" => shown(calls::set_times(path, false, call.number(1), call.number(2))),
        "list" => values(calls::list(path), |names| {
            let names: Vec<_> = names.iter().map(|(name, kind)| format!("{}:{kind}", word(name))).collect();
            format!("ok names={}", names.join(","))
        }),
        _ => return None,
    })
}

/// Makes a file or a directory with a mode, which the C library of WASI leaves out of its calls. `usual` is the mode that it
/// has otherwise, before the umask.
fn with_mode<T>(mode: u32, usual: u32, make: impl FnOnce() -> T) -> T {
    #[cfg(target_family = "wasm")]
    {
        let before = modbox_host::file_changes::restrict_new(usual & !mode);
        let made = make();
        modbox_host::file_changes::restrict_new(before);
        made
    }
    #[cfg(not(target_family = "wasm"))]
    {
        let _ = (mode, usual);
        make()
    }
}

/// Adds the sticky bit or set-id bits to a new directory: `modbox:host/file-changes` makes none with them, and sets them.
#[cfg(target_family = "wasm")]
fn add_special_bits(path: &[u8], mode: u32) -> String {
    let path = library::path(path);
    let found = modbox_host::files::stat(&path, false);
    let set = found.and_then(|found| modbox_host::file_changes::set_mode(&path, found.mode | (mode & 0o7000)));
    set.map_or_else(|error| errors::of(&error), |()| "ok".to_owned())
}

/// Performs a call that WASI does not have and that modbox's own interfaces have; `None` if it is not one. For `access`, the C
/// library of WASI looks at nothing but the rights of the folder that the guest was given.
#[cfg(target_family = "wasm")]
fn attributes(call: &Call) -> Option<String> {
    use modbox_host::file_changes;
    use modbox_host::files::{self, Kind};
    let path = library::path(call.bytes(0));
    let done = match call.name.as_str() {
        name @ ("attributes" | "lattributes") => files::stat(&path, name == "attributes").map(|found| {
            let kind = match found.kind {
                Kind::File => "file",
                Kind::Directory => "directory",
                Kind::Link => "link",
                Kind::Fifo => "fifo",
                _ => "other",
            };
            attributes_shown(kind, found.mode, (found.uid, found.gid), found.links)
        }),
        "chmod" => file_changes::set_mode(&path, call.mode(1)).map(|()| "ok".to_owned()),
        "access" => {
            let asks = |letter| call.text(1).contains(letter);
            file_changes::access(&path, asks('r'), asks('w'), asks('x')).map(|()| "ok".to_owned())
        }
        _ => return None,
    };
    Some(done.unwrap_or_else(|error| errors::of(&error)))
}

/// Performs a call that WASI does not have and that modbox's own interfaces have; `None` if it is not one.
#[cfg(not(target_family = "wasm"))]
fn attributes(call: &Call) -> Option<String> {
    let path = call.bytes(0);
    Some(match call.name.as_str() {
        name @ ("attributes" | "lattributes") => values(calls::status_at(path, name == "attributes"), |found| {
            attributes_shown(found.kind, found.mode, found.owner, found.links)
        }),
        "chmod" => shown(calls::set_mode(path, call.mode(1))),
        "access" => shown(calls::access(path, access(call.text(1)))),
        _ => return None,
    })
}

fn attributes_shown(kind: &str, mode: u32, (uid, gid): (u32, u32), links: u64) -> String {
    format!("ok kind={kind} mode={mode:o} owner={uid}:{gid} links={links}")
}

fn length(call: &Call) -> usize {
    usize::try_from(call.number(1).clamp(0, LONGEST)).expect("it is bounded")
}

fn flags(words: &str) -> c_int {
    words.split(',').fold(0, |flags, word| {
        flags
            | match word {
                "rdonly" => libc::O_RDONLY,
                "wronly" => libc::O_WRONLY,
                "rdwr" => libc::O_RDWR,
                "creat" => libc::O_CREAT,
                "excl" => libc::O_EXCL,
                "trunc" => libc::O_TRUNC,
                "append" => libc::O_APPEND,
                "directory" => libc::O_DIRECTORY,
                "nofollow" => libc::O_NOFOLLOW,
                other => panic!("`{other}` is not a flag of this program"),
            }
    })
}

fn whence(word: &str) -> c_int {
    match word {
        "set" => libc::SEEK_SET,
        "cur" => libc::SEEK_CUR,
        _ => libc::SEEK_END,
    }
}

#[cfg(not(target_family = "wasm"))]
fn access(letters: &str) -> c_int {
    letters.chars().fold(libc::F_OK, |mode, letter| {
        mode | match letter {
            'r' => libc::R_OK,
            'w' => libc::W_OK,
            'x' => libc::X_OK,
            _ => libc::F_OK,
        }
    })
}

fn values<T>(done: Done<T>, show: impl FnOnce(T) -> String) -> String {
    done.map_or_else(errors::name, show)
}

fn shown(done: Done) -> String {
    values(done, |()| "ok".to_owned())
}

fn number(done: Done<u64>) -> String {
    values(done, |number| format!("ok number={number}"))
}

fn read(done: Done<Vec<u8>>) -> String {
    values(done, |bytes| format!("ok {}", contents(&bytes)))
}

/// The size of a folder is the file system's own matter.
fn status(done: Done<Status>) -> String {
    values(done, |found| {
        let length = if found.kind == "directory" { String::new() } else { format!(" length={}", found.size) };
        let (seconds, nanoseconds) = found.changed;
        format!("ok kind={}{length} links={} mtime={seconds}.{nanoseconds:09}", found.kind, found.links)
    })
}
