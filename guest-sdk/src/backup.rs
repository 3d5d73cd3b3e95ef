//! Copies of files about to change, named as Ansible names them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Copies a file beside itself, as `NAME.NUMBER.YYYY-MM-DD@HH:MM:SS~` (UTC), and returns the copy's path.
/// The number is the process's, or 0 where processes have none.
///
/// # Errors
///
/// What the file system says.
pub fn backup(path: &Path) -> io::Result<PathBuf> {
    let copy = name(path)?;
    fs::copy(path, &copy)?;
    Ok(copy)
}

/// The name of a copy that is made now.
pub(crate) fn name(path: &Path) -> io::Result<PathBuf> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut name = OsString::from(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    name.push(format!(".{}.{}~", process_number(), timestamp(since)));
    Ok(path.with_file_name(name))
}

#[cfg(not(target_family = "wasm"))]
fn process_number() -> u32 {
    std::process::id()
}

#[cfg(target_family = "wasm")]
fn process_number() -> u32 {
    0
}

/// `YYYY-MM-DD@HH:MM:SS` of seconds since 1970.
fn timestamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}@{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The date of a day since 1970: years are counted from March, so that leap days come last.
pub(crate) fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // Since 0000-03-01.
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_timestamps() {
        assert_eq!(timestamp(0), "1970-01-01@00:00:00");
        assert_eq!(timestamp(951_782_399), "2000-02-28@23:59:59");
        assert_eq!(timestamp(951_782_400), "2000-02-29@00:00:00");
        assert_eq!(timestamp(1_795_264_511), "2026-11-21@12:35:11");
    }
}
