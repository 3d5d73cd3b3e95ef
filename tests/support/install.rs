//! Prepares folders that are slow to make and shared by tests: each is made once, and kept below the target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::FlockOperation;

use crate::command::wait_for;
use crate::temporary;

/// The path of a prepared folder, or the reason why it could not be prepared. The error is a value, so that each test
/// that needs the folder fails with the reason.
pub(crate) type Prepared = Result<PathBuf, String>;

/// Returns the folder `name`. Calls `make` to fill the folder unless an earlier call has completed. Concurrent
/// processes wait for the first one.
pub(crate) fn once(name: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Prepared {
    holding(name, "", make)
}

/// Like [`once`], but makes the folder again when `contents` differs from that of the last call.
pub(crate) fn holding(name: &str, contents: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Prepared {
    locked(name, |dir| {
        let stamp = dir.join("complete");
        if !fs::read_to_string(&stamp).is_ok_and(|made| made == contents) {
            // Remove what an interrupted or outdated attempt left.
            let _ = fs::remove_dir_all(dir);
            fs::create_dir_all(dir).map_err(|error| error.to_string())?;
            make(dir)?;
            fs::write(&stamp, contents).map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

/// Returns the folder `name` after calling `make` to bring it up to date. Holds a lock, so that only one process does
/// so at a time.
pub(crate) fn locked(name: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Prepared {
    let root = temporary();
    fs::create_dir_all(&root).unwrap();
    let lock = File::create(root.join(format!("{name}.lock"))).unwrap();
    rustix::fs::flock(&lock, FlockOperation::LockExclusive).unwrap();
    let dir = root.join(name);
    make(&dir).map_err(|message| format!("failed to prepare `{name}` for the tests: {message}"))?;
    Ok(dir)
}

/// Runs a command with a time limit. Returns its output.
pub fn tool(command: &mut Command, patience: Duration) -> Result<String, String> {
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
