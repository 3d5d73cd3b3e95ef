//! Sets modification and access times.

use std::fs::{File, FileTimes};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_sdk::files::AttributesDiff;
use modbox_sdk::{Failure, Module};

use crate::args::{FileArgs, State};
use crate::errors::python;
use crate::parse_time::{parse, seconds};
use crate::text::text;

/// A wanted time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum WantedTime {
    /// The current time of the file.
    #[default]
    Kept,
    Now,
    At(SystemTime),
}

/// Both wanted times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    modification: WantedTime,
    access: WantedTime,
}

impl Times {
    pub(crate) fn wanted(args: &FileArgs, state: State) -> Result<Self, Failure> {
        let wanted = |time: &Option<String>, format: &str| match time.as_deref() {
            None if state == State::Touch => Ok(WantedTime::Now),
            None | Some("preserve") => Ok(WantedTime::Kept),
            Some("now") => Ok(WantedTime::Now),
            Some(time) => at(time, format),
        };
        Ok(Self {
            modification: wanted(&args.modification_time, &args.modification_time_format)?,
            access: wanted(&args.access_time, &args.access_time_format)?,
        })
    }

    /// Sets the times of a path's target, except in check mode, and returns whether that changes something.
    pub(crate) fn set(&self, module: &Module, path: &Path, diff: &mut AttributesDiff) -> Result<bool, Failure> {
        self.try_set(module, path, diff).map_err(|error| {
            let message = format!("Error while updating modification or access time: {}", python(&error, path));
            Failure::new(message).with("path", text(path))
        })
    }

    fn try_set(&self, module: &Module, path: &Path, diff: &mut AttributesDiff) -> io::Result<bool> {
        if (self.modification, self.access) == (WantedTime::Kept, WantedTime::Kept) {
            return Ok(false);
        }
        let path = modbox_sdk::fs::real_path(path)?;
        let found = std::fs::symlink_metadata(&path)?;
        let (modified, accessed, now) = (found.modified()?, found.accessed()?, SystemTime::now());
        let resolve = |wanted, old| match wanted {
            WantedTime::Kept => old,
            WantedTime::Now => now,
            WantedTime::At(time) => time,
        };
        let (modification, access) = (resolve(self.modification, modified), resolve(self.access, accessed));
        if (modification, access) == (modified, accessed) {
            return Ok(false);
        }
        if !module.check_mode() {
            let times = FileTimes::new().set_modified(modification).set_accessed(access);
            open(&path)?.set_times(times)?;
        }
        for (key, old, new) in [("mtime", modified, modification), ("atime", accessed, access)] {
            if old != new {
                diff.note(key, seconds(old), seconds(new));
            }
        }
        Ok(true)
    }
}

/// Opens a file or a folder to set its times, for reading or for writing, whichever is allowed.
fn open(path: &Path) -> io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::options().write(true).open(path),
        opened => opened,
    }
}

fn at(time: &str, format: &str) -> Result<WantedTime, Failure> {
    let failed = |why: String| {
        Failure::new(format!("Error while obtaining timestamp for time {time} using format {format}: {why}"))
    };
    let since = parse(time, format).map_err(failed)?;
    let whole = Duration::from_secs(since.unsigned_abs());
    let time = if since < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    time.map(WantedTime::At).ok_or_else(|| failed("mktime argument out of range".to_owned()))
}
