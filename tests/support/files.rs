//! Lists the files of the repository.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use crate::repository;

/// Returns the files of the repository: those that git tracks or does not ignore; without git, all files.
pub fn tracked() -> &'static [String] {
    static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let mut files = match Command::new("git").args(list).current_dir(repository()).output() {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).split_terminator('\0').map(str::to_owned).collect()
            }
            _ => walk(repository()),
        };
        // git still lists a removed file until the removal is committed.
        files.retain(|path| repository().join(path).is_file());
        files
    });
    assert!(FILES.len() > 100, "only {} files were found", FILES.len());
    &FILES
}

fn walk(root: &Path) -> Vec<String> {
    let (mut files, mut pending) = (Vec::new(), vec![root.to_owned()]);
    while let Some(dir) = pending.pop() {
        for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() && name != "target" && name != ".git" {
                pending.push(path);
            } else if path.is_file() {
                files.push(path.strip_prefix(root).expect("it lies there").to_string_lossy().into_owned());
            }
        }
    }
    files
}
