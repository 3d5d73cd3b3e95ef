//! Decides whether a component is up to date, without starting cargo.
//!
//! Beside each component lies a stamp: the files that it was built from, each with its size and time, and the arguments
//! of the build. A component is fresh while all of that is unchanged. A test for *older than the component* would not
//! do: a file that was restored from a backup or checked out has an old time although it changed, and on a machine with
//! a wrong clock a time in the future would make everything stale for ever. The cost is one `stat` for each input.
//!
//! A file that changed while cargo ran may or may not be in the component. Then no stamp is written, and the next check
//! asks cargo, which knows better. Cargo is asked too rarely in one case: when a variable changed that the code reads
//! at build time. `modbox build` always asks.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Maximum size of a stamp: room for some ten thousand inputs.
const MAX_STAMP: u64 = 4 << 20;

/// Time in the file system, in seconds and nanoseconds.
pub(crate) type Moment = (i64, i64);

/// Size and modification time of a file, which a copy of it keeps.
///
/// This is less than a `FileFingerprint` on purpose. A folder of build outputs is kept and restored with its sources,
/// which keeps sizes and modification times and changes inodes and status changes. So does cargo, which makes hard
/// links to its outputs. A component must stay fresh through both. cargo itself judges by modification times alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileState {
    pub(crate) size: u64,
    pub(crate) modified: Moment,
}

impl FileState {
    /// Returns the current state of the file, or `None` if it does not exist.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|metadata| Self::from_metadata(&metadata))
    }

    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        Self { size: metadata.len(), modified: (metadata.mtime(), metadata.mtime_nsec()) }
    }
}

/// Inputs and arguments of one component.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stamp {
    /// Arguments for cargo: another version of modbox may use others.
    pub(crate) recipe: Vec<String>,
    pub(crate) binary: String,
    pub(crate) component: FileState,
    /// Each input. `None` is a file that did not exist and would be an input if it did.
    inputs: BTreeMap<PathBuf, Option<FileState>>,
}

/// Files that decide about a component.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// Files that are part of it.
    pub(crate) sources: Vec<PathBuf>,
    /// Files that would be part of it if they existed, such as `build.rs`.
    pub(crate) optional: Vec<PathBuf>,
    /// Files that cargo may write while it builds, such as `Cargo.lock`.
    pub(crate) written: Vec<PathBuf>,
}

impl Stamp {
    /// Returns the stamp for a component that was built between `started` and its own time, or `None` when it is
    /// unknown whether an input changed meanwhile.
    pub(crate) fn new(
        recipe: Vec<String>,
        binary: String,
        component: FileState,
        started: Moment,
        inputs: &Inputs,
    ) -> Option<Self> {
        // Times after the end come from wrong clocks and not from edits.
        let during = started..=component.modified;
        let mut states = BTreeMap::new();
        for path in &inputs.sources {
            states.insert(path.clone(), Some(FileState::of(path)?));
        }
        for path in &inputs.optional {
            states.insert(path.clone(), FileState::of(path));
        }
        if states.values().flatten().any(|state| during.contains(&state.modified)) {
            return None;
        }
        for path in &inputs.written {
            states.insert(path.clone(), FileState::of(path));
        }
        Some(Self { recipe, binary, component, inputs: states })
    }

    /// Reads a stamp. Returns `None` if it is missing, damaged or of another version.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        let (file, _) = modbox_files::open_regular(path).ok()?;
        file.take(MAX_STAMP).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Returns the serialised stamp, for [`Stamp::read`].
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Returns whether the component and each input are unchanged.
    pub(crate) fn holds(&self, component: &Path, recipe: &[String]) -> bool {
        self.recipe == recipe
            && FileState::of(component) == Some(self.component)
            && self.inputs.iter().all(|(path, state)| FileState::of(path) == *state)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::*;

    /// Directory with a component that was built ten seconds ago from a source that is a minute old.
    struct Fixture {
        dir: tempfile::TempDir,
        inputs: Inputs,
    }

    const STARTED: u64 = 11;
    const ENDED: u64 = 10;

    fn ago(seconds: u64) -> SystemTime {
        SystemTime::now() - Duration::from_secs(seconds)
    }

    impl Fixture {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let inputs = Inputs {
                sources: vec![dir.path().join("main.rs")],
                optional: vec![dir.path().join("build.rs")],
                written: vec![dir.path().join("Cargo.lock")],
            };
            let fixture = Self { dir, inputs };
            fixture.write("main.rs", "fn main() {}", ago(60));
            fixture.write("component", "c", ago(ENDED));
            fixture
        }

        fn write(&self, name: &str, text: &str, modified: SystemTime) {
            let path = self.dir.path().join(name);
            fs::write(&path, text).unwrap();
            File::open(&path).unwrap().set_modified(modified).unwrap();
        }

        fn stamp(&self) -> Option<Stamp> {
            let started = ago(STARTED).duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let started = (i64::try_from(started.as_secs()).unwrap(), 0);
            let component = FileState::of(&self.dir.path().join("component")).unwrap();
            Stamp::new(vec!["r".into()], "hello".into(), component, started, &self.inputs)
        }

        fn holds(&self, stamp: &Stamp) -> bool {
            stamp.holds(&self.dir.path().join("component"), &["r".to_owned()])
        }
    }

    #[track_caller]
    fn check_stale_after(change: impl FnOnce(&Fixture)) {
        let fixture = Fixture::new();
        let stamp = fixture.stamp().unwrap();
        assert!(fixture.holds(&stamp), "before the change");
        change(&fixture);
        assert!(!fixture.holds(&stamp), "after the change");
    }

    #[test]
    fn stale_after_a_change_of_an_input() {
        check_stale_after(|fixture| fixture.write("main.rs", "fn main() {}", ago(0)));
    }

    #[test]
    fn stale_after_a_change_to_an_older_file() {
        check_stale_after(|fixture| fixture.write("main.rs", "fn main() {}", ago(3600)));
    }

    #[test]
    fn stale_after_a_change_of_size_alone() {
        check_stale_after(|fixture| {
            let path = fixture.dir.path().join("main.rs");
            let modified = path.metadata().unwrap().modified().unwrap();
            fixture.write("main.rs", "fn main() { }", modified);
        });
    }

    #[test]
    fn stale_after_an_input_went_or_came() {
        check_stale_after(|fixture| fs::remove_file(fixture.dir.path().join("main.rs")).unwrap());
        check_stale_after(|fixture| fixture.write("build.rs", "", ago(3600)));
    }

    #[test]
    fn stale_after_the_component_changed() {
        check_stale_after(|fixture| fixture.write("component", "x", ago(1)));
    }

    #[test]
    fn stale_under_another_recipe() {
        let fixture = Fixture::new();
        assert!(!fixture.stamp().unwrap().holds(&fixture.dir.path().join("component"), &["other".to_owned()]));
    }

    #[test]
    fn a_source_that_changed_while_building_gives_no_stamp() {
        let fixture = Fixture::new();
        let ended = fixture.dir.path().join("component").metadata().unwrap().modified().unwrap();
        fixture.write("main.rs", "fn main() {}", ended);
        assert_eq!(fixture.stamp(), None);
    }

    #[test]
    fn a_missing_source_gives_no_stamp() {
        let fixture = Fixture::new();
        fs::remove_file(fixture.dir.path().join("main.rs")).unwrap();
        assert_eq!(fixture.stamp(), None);
    }

    #[test]
    fn accepts_a_source_from_the_future_and_a_new_lock_file() {
        let fixture = Fixture::new();
        let ended = fixture.dir.path().join("component").metadata().unwrap().modified().unwrap();
        fixture.write("main.rs", "fn main() {}", SystemTime::now() + Duration::from_secs(3600));
        fixture.write("Cargo.lock", "", ended);
        let stamp = fixture.stamp().unwrap();
        assert!(fixture.holds(&stamp));
    }

    #[test]
    fn survives_being_written_and_read() {
        let fixture = Fixture::new();
        let stamp = fixture.stamp().unwrap();
        let path = fixture.dir.path().join("stamp");
        fs::write(&path, stamp.to_bytes().unwrap()).unwrap();
        assert_eq!(Stamp::read(&path), Some(stamp));
        fs::write(&path, "{").unwrap();
        assert_eq!(Stamp::read(&path), None);
    }

    #[test]
    fn only_a_file_is_read_as_a_stamp() {
        let fixture = Fixture::new();
        let path = fixture.dir.path().join("stamp");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert_eq!(Stamp::read(&path), None);
    }
}
