//! Copies files before they change, under Ansible's names.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::date::moment;
use crate::file_error::write_cause;
use crate::platform::{self, NewTime};

/// Copies a file to `NAME.NUMBER.YYYY-MM-DD@HH:MM:SS~` (UTC) next to it, and returns the copy's path. `NUMBER` is the
/// process id, or 0 where there are no processes. The copy has the times of the file.
///
/// # Errors
///
/// The file system refused, or nothing grants new files in the folder.
pub fn backup(path: &Path) -> io::Result<PathBuf> {
    may_back_up(path)?;
    let copy = name(path)?;
    let times = platform::times(path, true);
    fs::copy(path, &copy).map_err(|error| write_cause(&copy, error))?;
    if let Ok(times) = times {
        // As in `shutil.copystat`, a copy with other times is a copy.
        let _ = platform::set_times(&copy, true, NewTime::At(times.access), NewTime::At(times.modification));
    }
    Ok(copy)
}

/// Finds out before a change whether a backup can be left beside a file. A sandboxed module could make one in a folder that is
/// not granted, but it would not reach the machine.
///
/// # Errors
///
/// Nothing grants new files in the folder; the error names the option that would.
pub(crate) fn may_back_up(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    platform::may_change_folder(folder).map_err(|error| {
        let (folder, why) = (folder.display(), crate::file_error::words(&error));
        let remedy = format!("a backup is made beside the file; allow it with `--allow-write {folder}`");
        io::Error::new(error.kind(), format!("`{folder}` may not be written: {why}; {remedy}"))
    })
}

/// Returns the name for a copy that is made now: the path as it was written, and an end.
pub(crate) fn name(path: &Path) -> io::Result<PathBuf> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let written = path.as_os_str();
    // A slash behind the name is not a part of it.
    let is_whole = written.as_encoded_bytes().ends_with(name.as_encoded_bytes());
    let mut copy = OsString::from(if is_whole { written } else { name });
    copy.push(format!(".{}.{}~", process_number(), timestamp(since)));
    Ok(if is_whole { copy.into() } else { path.with_file_name(copy) })
}

#[cfg(not(target_family = "wasm"))]
fn process_number() -> u32 {
    std::process::id()
}

#[cfg(target_family = "wasm")]
fn process_number() -> u32 {
    0
}

/// Formats seconds since 1970 as `YYYY-MM-DD@HH:MM:SS`.
fn timestamp(seconds: u64) -> String {
    let at = moment(seconds);
    let (date, (hour, minute, second)) = (at.date(), at.time().as_hms());
    format!("{date}@{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_as_the_path_was_written() {
        for (path, start) in
            [("/t/./b", "/t/./b."), ("b", "b."), ("/t//b", "/t//b."), ("/t/b/", "/t/b."), ("/t/b/.", "/t/b.")]
        {
            let copy = name(Path::new(path)).unwrap().into_os_string().into_string().unwrap();
            assert!(copy.starts_with(start) && copy.ends_with('~'), "{path}: {copy}");
        }
        assert!(name(Path::new("/t/..")).is_err());
    }

    #[test]
    fn writes_timestamps() {
        assert_eq!(timestamp(0), "1970-01-01@00:00:00");
        assert_eq!(timestamp(951_782_399), "2000-02-28@23:59:59");
        assert_eq!(timestamp(951_782_400), "2000-02-29@00:00:00");
        assert_eq!(timestamp(1_795_264_511), "2026-11-21@12:35:11");
    }
}
