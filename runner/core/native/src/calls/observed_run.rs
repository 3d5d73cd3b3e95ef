//! Records an observed module beside its denials: the commands that it started, the command behind each use, and the new names of files.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use modbox_vocabulary::{Capability, Denial, Observation, ObservedUse, Operation, PathState};

use crate::calls::observed_commands::{ObservedCommands, is_readable};

/// Maximum number of files whose new names are noted.
const MAX_RENAMED: usize = 1024;

/// The record of an observed module, beside its denials.
#[derive(Debug)]
pub(crate) struct ObservedRun {
    pub(crate) commands: ObservedCommands,
    uses: BTreeMap<(Capability, String, Operation), ObservedUse>,
    renamed: Vec<(String, String)>,
}

impl ObservedRun {
    /// `by_shell`: a shell starts the module. `uid` is the number of its user.
    pub(crate) fn new(by_shell: bool, uid: u32) -> Self {
        Self { commands: ObservedCommands::new(by_shell, uid), uses: BTreeMap::new(), renamed: Vec::new() }
    }

    pub(crate) fn note_use(&mut self, denial: &Denial, by: u32) {
        let Denial { capability, subject, operation, .. } = denial;
        let key = (*capability, subject.clone(), *operation);
        if let Some(known) = self.uses.get_mut(&key) {
            known.by.insert(by);
            return;
        }
        let path = Path::new(subject);
        let is_path = matches!(capability, Capability::Read | Capability::Write | Capability::Own);
        let was = is_path.then(|| state_of(path));
        let used = ObservedUse {
            capability: *capability,
            subject: subject.clone(),
            operation: *operation,
            by: [by].into(),
            was,
        };
        self.uses.insert(key, used);
    }

    /// Notes that a file gets another name.
    pub(crate) fn note_renamed(&mut self, from: &Path, to: &Path) {
        if self.renamed.len() < MAX_RENAMED {
            let shown = |path: &Path| path.to_string_lossy().into_owned();
            self.renamed.push((shown(from), shown(to)));
        }
    }

    /// Returns what is known.
    pub(crate) fn into_observation(self) -> Observation {
        let (commands, commands_omitted) = self.commands.into_commands();
        Observation { commands, commands_omitted, uses: self.uses.into_values().collect(), renamed: self.renamed }
    }
}

/// Returns what is at a path.
fn state_of(path: &Path) -> PathState {
    match path.symlink_metadata() {
        Err(_) => PathState::Missing,
        Ok(found) if found.is_dir() => PathState::Directory,
        Ok(found) if found.is_file() && is_readable(found.mode()) => PathState::File,
        Ok(found) if found.is_file() => PathState::PrivateFile,
        Ok(found) if found.file_type().is_socket() => PathState::Socket,
        Ok(_) => PathState::Other,
    }
}
