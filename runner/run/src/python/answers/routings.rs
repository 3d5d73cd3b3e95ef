//! The lists of redirects that were parsed in this process: that of ansible-core has 300 kilobytes, and each module is looked up in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use modbox_kinds::ansiballz::Routing;

use crate::python::answers::stamp::Stamp;

/// The most lists that a process keeps.
const MAX_LISTS: usize = 1024;

/// Lists of redirects by their files, each for a state of its file. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Routings(Arc<Mutex<Lists>>);

type Lists = HashMap<PathBuf, (Stamp, Arc<Routing>)>;

/// What is known changes no result.
impl PartialEq for Routings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Routings {}

impl Routings {
    /// Returns the list of a file in this state.
    pub(in crate::python) fn of(&self, path: &Path, stamp: Stamp) -> Option<Arc<Routing>> {
        let lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(path).filter(|(known, _)| *known == stamp).map(|(_, routing)| Arc::clone(routing))
    }

    /// Keeps the list of a file that was in this state before it was read. One that was changed just now may change once more without
    /// another state.
    pub(in crate::python) fn keep(&self, path: &Path, stamp: Stamp, routing: &Arc<Routing>) {
        if !stamp.is_settled(SystemTime::now()) {
            return;
        }
        let mut lists = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= MAX_LISTS && !lists.contains_key(path) {
            lists.clear();
        }
        lists.insert(path.to_owned(), (stamp, Arc::clone(routing)));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_list_is_known_as_long_as_its_file_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runtime.yml");
        fs::write(&path, "").unwrap();
        let (routings, list) = (Routings::default(), Arc::new(Routing::default()));
        let now = Stamp::of(&path);
        routings.keep(&path, now, &list);
        assert!(routings.of(&path, now).is_none(), "it was written just now");
        let (path, settled) = (Path::new("/bin/sh"), Stamp::of(Path::new("/bin/sh")));
        routings.keep(path, settled, &list);
        assert!(routings.clone().of(path, settled).is_some_and(|known| Arc::ptr_eq(&known, &list)));
        assert!(routings.of(path, now).is_none(), "the file is another one");
    }

    #[test]
    fn a_process_keeps_a_bounded_number_of_lists() {
        let (routings, list) = (Routings::default(), Arc::new(Routing::default()));
        for number in 0..=MAX_LISTS {
            routings.keep(Path::new(&number.to_string()), Stamp::Missing, &list);
        }
        assert_eq!(routings.0.lock().unwrap().len(), 1);
    }
}
