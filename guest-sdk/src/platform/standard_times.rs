//! Times of files by the standard library, for builds without `modbox:host/file-changes`. In a component, it has no times before
//! 1970, and its time of creation is that of the last change of attributes.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(not(unix))]
use crate::platform::attributes::Times;
use crate::platform::attributes::{FileTime, NewTime};

#[cfg(not(unix))]
pub(crate) fn times(path: &Path, follow: bool) -> io::Result<Times> {
    let found = if follow { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
    Ok(Times {
        access: found.accessed()?.into(),
        modification: found.modified()?.into(),
        change: found.created()?.into(),
    })
}

/// Sets times. Those of a link itself cannot be set, so that `follow` has no effect.
pub(crate) fn set_times(path: &Path, _follow: bool, access: NewTime, modification: NewTime) -> io::Result<()> {
    let mut times = fs::FileTimes::new();
    if let Some(time) = system_time(access) {
        times = times.set_accessed(time);
    }
    if let Some(time) = system_time(modification) {
        times = times.set_modified(time);
    }
    // For reading or for writing, whichever is allowed.
    let opened = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::options().write(true).open(path),
        opened => opened,
    };
    opened?.set_times(times)
}

fn system_time(time: NewTime) -> Option<SystemTime> {
    let FileTime { seconds, nanoseconds } = match time {
        NewTime::Keep => return None,
        NewTime::Now => return Some(SystemTime::now()),
        NewTime::At(time) => time,
    };
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    start.and_then(|start| start.checked_add(Duration::from_nanos(nanoseconds.into())))
}
