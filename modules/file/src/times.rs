//! Sets modification and access times.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use modbox_sdk::files::{self, AttributesDiff, FileTime, NewTime};
use modbox_sdk::{Failure, Module};

use crate::args::{FileArgs, State};
use crate::errors::python;
use crate::parse_time::parse;
use crate::text::text;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum WantedTime {
    /// The current time of the file.
    #[default]
    Kept,
    Now,
    At(FileTime),
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
            let is_refused = matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied);
            // This module alone sees a folder that exists only as the parent of a granted path.
            let remedy = match cfg!(not(unix)) && is_refused {
                true => format!("; if it is not granted, allow it with `--allow-write {}`", path.display()),
                false => String::new(),
            };
            let why = python(&error, path);
            let message = format!("Error while updating modification or access time: {why}{remedy}");
            Failure::new(message).with("path", text(path))
        })
    }

    fn try_set(&self, module: &Module, path: &Path, diff: &mut AttributesDiff) -> io::Result<bool> {
        if (self.modification, self.access) == (WantedTime::Kept, WantedTime::Kept) {
            return Ok(false);
        }
        let found = files::times(path, true)?;
        let (modified, accessed, now) = (found.modification, found.access, FileTime::from(SystemTime::now()));
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
            let [access, modification] = [access, modification].map(|time| NewTime::At(as_python_sets(time)));
            files::set_times(path, true, access, modification)?;
        }
        for (key, old, new) in [("mtime", modified, modification), ("atime", accessed, access)] {
            if old != new {
                diff.note(key, old.as_seconds(), new.as_seconds());
            }
        }
        Ok(true)
    }
}

/// Returns the time that Python's `os.utime` sets for a float: it has 53 bits, and is rounded down to nanoseconds.
fn as_python_sets(time: FileTime) -> FileTime {
    let seconds = time.as_seconds();
    let whole = seconds.floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a fraction is at least 0 and less than 1"
    )]
    let nanoseconds = (((seconds - whole) * 1e9).floor() as u32).min(999_999_999);
    FileTime { seconds: time.seconds, nanoseconds }
}

fn at(time: &str, format: &str) -> Result<WantedTime, Failure> {
    let failed = |why: String| {
        Failure::new(format!("Error while obtaining timestamp for time {time} using format {format}: {why}"))
    };
    Ok(WantedTime::At(FileTime { seconds: parse(time, format).map_err(failed)?, nanoseconds: 0 }))
}
