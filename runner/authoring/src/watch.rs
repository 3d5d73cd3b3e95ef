//! Tells whether a file of a project has changed, for callers that build again when one has.

use std::path::{Path, PathBuf};

use crate::languages::sources;
use crate::stamp::FileState;

/// Files of a project at one time, with sizes and modification times. Output of tools is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceState(Option<Vec<(PathBuf, Option<FileState>)>>);

impl SourceState {
    /// Looks at the files of a project. A project with too many files has always the same state.
    #[must_use]
    pub fn of(dir: &Path) -> Self {
        let with_state = |path: PathBuf| {
            let state = FileState::of(&path);
            (path, state)
        };
        Self(sources::list(dir).map(|files| files.into_iter().map(with_state).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn changed_new_and_removed_sources_count_and_output_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("src/main.rs", "one");
        let first = SourceState::of(dir.path());
        write("target/modbox/x.wasm", "output");
        assert_eq!(SourceState::of(dir.path()), first);
        write("src/main.rs", "other");
        let second = SourceState::of(dir.path());
        assert_ne!(second, first);
        write("src/more.rs", "");
        assert_ne!(SourceState::of(dir.path()), second);
        fs::remove_file(dir.path().join("src/more.rs")).unwrap();
        assert_eq!(SourceState::of(dir.path()), second);
    }
}
