//! Finds processes and files that a run has left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::TestDir;
use crate::command::wait_for;

/// Asserts that no process started in or for `dir`, no scratch directory and no half-written cache entry is left.
#[track_caller]
pub(crate) fn assert_none(dir: &TestDir) {
    // The kernel takes a moment to remove killed processes.
    let gone = wait_for(Duration::from_secs(20), || processes_of(dir.path()).is_empty());
    assert!(gone, "processes are left: {:#?}", processes_of(dir.path()));
    let scratch: Vec<PathBuf> = entries(&dir.scratch_root());
    assert!(scratch.is_empty(), "directories of runs are left: {scratch:#?}");
    let temporary: Vec<PathBuf> = entries(&dir.join("tmp")).into_iter().filter(|p| *p != dir.scratch_root()).collect();
    assert!(temporary.is_empty(), "temporary files are left: {temporary:#?}");
    let unfinished = unfinished_entries(&dir.join("home"));
    assert!(unfinished.is_empty(), "half-written cache entries are left: {unfinished:#?}");
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn unfinished_entries(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(dir) {
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".writing-")) {
            found.push(path);
        } else if path.is_dir() && !path.is_symlink() {
            found.extend(unfinished_entries(&path));
        }
    }
    found
}

/// Describes the processes that name the directory in their command line, environment, working directory or program
/// path, except the test process itself.
fn processes_of(dir: &Path) -> Vec<String> {
    let marker = dir.as_os_str().as_encoded_bytes();
    let mut found = Vec::new();
    for process in entries(Path::new("/proc")) {
        let pid = process.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if pid.parse::<u32>().is_err() || pid == std::process::id().to_string() {
            continue;
        }
        let holds = |bytes: &[u8]| bytes.windows(marker.len()).any(|window| window == marker);
        let texts = ["cmdline", "environ"].map(|file| fs::read(process.join(file)).unwrap_or_default());
        let links = ["cwd", "exe"].map(|link| fs::read_link(process.join(link)).unwrap_or_default());
        if texts.iter().any(|text| holds(text)) || links.iter().any(|link| link.starts_with(dir)) {
            let command = String::from_utf8_lossy(&texts[0]).replace('\0', " ");
            found.push(format!("{pid}: {command} in {}", links[0].display()));
        }
    }
    found
}
