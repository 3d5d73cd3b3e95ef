//! Which files of a play's tree a module may have written before the play read them.
//!
//! Text of a play is its author's word. A file that a task made is not, although it lies in the play's tree: what it says
//! is what a module returned. So each place that a run could write is noted, and each file that is read there later.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use modbox_policy::{Access, Policy, Shape};

/// Record of what modules could write.
#[derive(Debug, Default)]
pub(crate) struct WrittenFiles {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    folders: HashSet<PathBuf>,
    names: HashSet<PathBuf>,
    /// Files that were read when a module may have written them, as they were named.
    files: HashSet<String>,
}

impl WrittenFiles {
    /// Notes the places that a run can write.
    pub(crate) fn add_run(&self, policy: &Policy) {
        let written = policy.paths().iter().filter(|grant| grant.access == Access::Write);
        let mut state = self.state();
        for grant in written {
            let places = if grant.shape == Shape::Directory { &mut state.folders } else { &mut state.names };
            if !places.contains(&grant.host) {
                places.insert(grant.host.clone());
            }
        }
    }

    /// Notes that a file is read. `real` returns its path without links.
    pub(crate) fn add_read(&self, path: &str, real: impl FnOnce() -> Option<PathBuf>) {
        let mut state = self.state();
        if state.folders.is_empty() && state.names.is_empty() {
            return;
        }
        if real().is_none_or(|real| state.is_writable(&real)) {
            state.files.insert(path.to_owned());
        }
    }

    /// Returns whether a module may have written the text that was read from a file.
    pub(crate) fn is_written(&self, path: &str) -> bool {
        self.state().files.contains(path)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_writable(&self, path: &Path) -> bool {
        self.names.contains(path) || path.ancestors().any(|folder| self.folders.contains(folder))
    }
}

#[cfg(test)]
mod tests {
    use modbox_policy::PathGrant;
    use modbox_vocabulary::GrantSource;

    use super::*;

    #[test]
    fn files_count_that_are_read_where_a_run_could_write() {
        let written = WrittenFiles::default();
        let read = |path: &str| written.add_read(path, || Some(PathBuf::from(path)));
        read("/play/early.yml");
        let mut policy = Policy::default();
        for (path, shape, access) in [
            ("/play/out", Shape::Directory, Access::Write),
            ("/play/vars.yml", Shape::Name, Access::Write),
            ("/play/read", Shape::Directory, Access::Read),
        ] {
            let (host, guest, source) = (path.into(), path.to_owned(), GrantSource::named("test"));
            policy.allow_path(PathGrant { host, shape, guest, access, source }).unwrap();
        }
        written.add_run(&policy);
        for (path, expect) in [
            ("/play/out/a/b.yml", true),
            ("/play/vars.yml", true),
            ("/play/vars.yml2", false),
            ("/play/read/a.yml", false),
        ] {
            read(path);
            assert_eq!(written.is_written(path), expect, "{path}");
        }
        assert!(!written.is_written("/play/early.yml"));
        written.add_read("/play/gone.yml", || None);
        assert!(written.is_written("/play/gone.yml"), "a file whose place is unknown counts");
    }
}
