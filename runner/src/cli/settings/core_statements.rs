//! Statements about releases of ansible-core, in the folders of signatures that policy files name.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use jiff::Timestamp;
use modbox_policy::NamePattern;
use modbox_trust::verification::{CheckedCore, Keyring, VouchedCore};

use crate::cli::settings::signature_files::{is_meant, read_signature_file};

/// Beginning and end of the names of such files.
const NAME: [&str; 2] = ["ansible-core-", ".sig"];

/// Maximum number of files that are read of one folder, the names that are last in order first: those of the newest releases.
const MAX_FILES: usize = 64;

/// The statements of all folders, read when they are first needed.
#[derive(Debug, Default)]
pub(super) struct CoreStatements {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    checked: OnceLock<Vec<(PathBuf, Result<CheckedCore, String>)>>,
}

/// The releases whose statements count, and why the others do not.
#[derive(Debug, Default)]
pub(super) struct CountedCores {
    pub(super) counted: Vec<VouchedCore>,
    pub(super) refused: Vec<String>,
}

impl CoreStatements {
    /// Returns the statements in these files.
    pub(super) fn of_files(files: Vec<PathBuf>) -> Self {
        Self { files, ..Self::default() }
    }

    /// Adds the statements in a folder.
    pub(super) fn add_folder(&mut self, folder: PathBuf) {
        self.folders.push(folder);
    }

    /// Returns the releases with a signature that counts, of a signer that the pattern means.
    pub(super) fn that_count(&self, keyring: &Keyring, signer: &NamePattern, now: Timestamp) -> CountedCores {
        let mut cores = CountedCores::default();
        for (path, checked) in self.checked.get_or_init(|| self.read()) {
            let judged = checked.as_ref().map_err(Clone::clone).and_then(|checked| {
                let judged = keyring.judge_core(checked, |found| is_meant(signer, found), now);
                judged.map_err(|error| error.to_string())
            });
            match judged {
                Ok(core) => cores.counted.push(core),
                Err(reason) => cores.refused.push(format!("`{}` does not count: {reason}", path.display())),
            }
        }
        cores
    }

    fn read(&self) -> Vec<(PathBuf, Result<CheckedCore, String>)> {
        let listed = self.folders.iter().flat_map(|folder| {
            let is_statement = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with(NAME[0]) && name.ends_with(NAME[1])
            };
            let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut paths: Vec<PathBuf> = entries.filter(is_statement).collect();
            paths.sort_by(|one, other| other.cmp(one));
            paths.truncate(MAX_FILES);
            paths
        });
        let check = |path: PathBuf| {
            let checked =
                read_signature_file(&path).and_then(|bytes| CheckedCore::of(&bytes).map_err(|error| error.to_string()));
            (path, checked)
        };
        self.files.iter().cloned().chain(listed).map(check).collect()
    }
}
