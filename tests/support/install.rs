//! Things that take long to make and serve every test: made once, kept under the target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::command::wait_for;
use crate::temporary;

/// What many tests wait for: where it is, or why it could not be made. Kept as a value, so that each test that needs
/// it fails with the reason.
pub(crate) type Prepared = Result<PathBuf, String>;

/// Returns the folder `name`, which `make` has filled completely, now or at some earlier time. Processes
/// that come at once wait for the first.
pub(crate) fn once(name: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Prepared {
    holding(name, "", make)
}

/// Like [`once`], for a folder that is made again when what it is to hold is something else than before.
pub(crate) fn holding(name: &str, contents: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Prepared {
    locked(name, |dir| {
        let stamp = dir.join("complete");
        if !fs::read_to_string(&stamp).is_ok_and(|made| made == contents) {
            // What an interrupted attempt left is of no use.
            let _ = fs::remove_dir_all(dir);
            fs::create_dir_all(dir).map_err(|error| error.to_string())?;
            make(dir)?;
            fs::write(&stamp, contents).map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

/// Returns the folder `name` after `make` has brought it up to date, while nobody else does.
pub(crate) fn locked(name: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Prepared {
    let root = temporary();
    fs::create_dir_all(&root).unwrap();
    let lock = File::create(root.join(format!("{name}.lock"))).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
    let dir = root.join(name);
    make(&dir).map_err(|message| format!("failed to prepare `{name}` for the tests: {message}"))?;
    Ok(dir)
}

/// Runs a command to its end, for a bounded time, and returns what it printed.
pub(crate) fn tool(command: &mut Command, patience: Duration) -> Result<String, String> {
    let shown = format!("{command:?}");
    let mut output = tempfile::tempfile().map_err(|error| error.to_string())?;
    let streams = [output.try_clone(), output.try_clone()].map(|file| file.map(Stdio::from));
    let [stdout, stderr] = streams;
    let started = command.stdin(Stdio::null()).stdout(stdout.unwrap()).stderr(stderr.unwrap()).spawn();
    let mut child = started.map_err(|error| format!("failed to start {shown}: {error}"))?;
    let mut status = None;
    wait_for(patience, || {
        status = child.try_wait().ok().flatten();
        status.is_some()
    });
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let text = {
        use std::io::{Read, Seek};
        let mut bytes = Vec::new();
        output.rewind().and_then(|()| output.read_to_end(&mut bytes)).map_err(|error| error.to_string())?;
        String::from_utf8_lossy(&bytes).into_owned()
    };
    match status {
        Some(status) if status.success() => Ok(text),
        Some(status) => Err(format!("{shown}: {status}\n{text}")),
        None => Err(format!("{shown} did not end within {patience:?}\n{text}")),
    }
}
