//! The files that a play may read: its own tree, as far as the folder of a play belongs to it, and what the policy grants for
//! reading.
//!
//! Each folder is opened once, and files in it through the opened folder, so that neither `..` nor a link leads out. A
//! path in no folder is denied, with the switch that allows it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use modbox_policy::{Policy, Shape, normalize};
use modbox_run::ShownPath;
use modbox_tasks::files::FileError;

use crate::cli::play::extent::Extent;
use crate::cli::play::file_id::FileId;
use crate::cli::play::files::cover::VisibleFiles;
use crate::cli::play::files::denials::{denied, switch};
use crate::cli::play::files::file_time::file_time;
use crate::cli::play::files::linked_sources::linked_sources;
use crate::cli::play::files::named_file::NamedFile;
use crate::cli::play::files::sources::{Place, left_out, place};
use crate::cli::play::files::tree_root::Root;
use crate::cli::play::files::written::WrittenFiles;
use crate::cli::play::needs::Needs;
use crate::cli::play::vault_store::VaultStore;
use crate::cli::printing::output;

/// The folders of a play's tree and of the policy's grants.
#[derive(Debug, Default)]
pub(crate) struct PlayTree {
    roots: Vec<Root>,
    /// The folder of the play's own `ansible.cfg`, which is not open by itself.
    config: Option<Root>,
    files: Vec<NamedFile>,
    pub(super) written: WrittenFiles,
    pub(super) needs: Needs,
    /// What decrypts files; without it they are read as they are.
    pub(super) vault: Option<Arc<VaultStore>>,
    /// When the tree was opened, by the clock of the file systems: seconds and nanoseconds since the Unix epoch.
    pub(super) opened: (i64, i64),
    /// Whether files that were written since then are neither run nor rendered.
    pub(super) refuses_new_sources: bool,
    /// The whole machine, for a play that is to be learned.
    pub(super) whole: Option<Root>,
    /// What plugins are shown of the play.
    visible: VisibleFiles,
}

impl PlayTree {
    /// Opens the folders of playbooks, and those that the policy grants. Folders that do not exist are left out. `home` is the
    /// caller's home folder.
    #[must_use]
    pub(crate) fn open(folders: &[PathBuf], home: Option<&Path>, policy: &Policy) -> Self {
        let mut tree = Self { opened: file_time(), ..Self::default() };
        for grant in policy.paths() {
            match grant.shape {
                Shape::Directory => tree.add(&grant.host, Extent::Granted),
                _ => tree.add_file(&grant.host),
            }
        }
        for folder in folders {
            let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
            tree.add(folder, Extent::of_project(&real, home));
        }
        tree
    }

    /// Opens the folders in which roles, collections and plugins are searched, and roles and collections that are linked into them.
    /// Folders that do not exist are left out.
    pub(crate) fn add_sources(&mut self, folders: impl IntoIterator<Item = PathBuf>) {
        // Those of the play come last, since a link in it may lead to one of the others.
        let is_of_play = |folder: &PathBuf| self.around(&normalize(folder)).iter().any(|(root, _)| root.is_of_play());
        let (of_play, others): (Vec<_>, Vec<_>) = folders.into_iter().partition(is_of_play);
        let linked: Vec<PathBuf> = others.iter().flat_map(|folder| linked_sources(folder)).collect();
        others.iter().chain(&linked).chain(&of_play).for_each(|folder| self.add(folder, Extent::Sources));
    }

    /// Decrypts files with the passwords of a store.
    pub(crate) fn set_vault(&mut self, vault: Arc<VaultStore>) {
        self.vault = Some(vault);
    }

    /// Shows no process these files.
    pub(crate) fn withhold(&mut self, files: &[FileId]) {
        self.visible.withheld.extend_from_slice(files);
    }

    /// Refuses to run or render files that a task may have made.
    pub(crate) fn refuse_new_sources(&mut self) {
        self.refuses_new_sources = true;
    }

    /// Lets a file be read, and nothing beside it.
    pub(crate) fn add_file(&mut self, file: &Path) {
        self.files.push(NamedFile::new(normalize(file)));
    }

    /// Opens a folder. One that does not exist is left out, and so is, with a note, one of sources that a link of the play leads
    /// out of it.
    pub(crate) fn add(&mut self, folder: &Path, mut extent: Extent) {
        let path = normalize(folder);
        // What is granted does not belong to the play for that, which shows its own files to plugins.
        let is_granted = |extent: Extent| extent == Extent::Granted;
        if self.roots.iter().any(|root| root.path == path && is_granted(root.extent) == is_granted(extent)) {
            return;
        }
        let Ok(real) = path.canonicalize() else { return };
        if extent == Extent::Sources {
            match self.place_of(&path) {
                Some(Place::Outside) => return output::print_note(&left_out(&path, &real)),
                // It is open already, as far as it belongs to the play.
                Some(Place::Within(_)) => return,
                Some(Place::Named) | None => {}
            }
            // A setting that names the whole folder around it opens no dot files.
            extent = self.config.as_ref().filter(|config| config.real == real).map_or(extent, |config| config.extent);
        }
        self.roots.extend(Root::open(path, real, extent).ok());
    }

    /// Says which folder has the play's own `ansible.cfg`, by which it names folders of sources. `home` is the caller's.
    pub(crate) fn set_config_folder(&mut self, folder: &Path, home: Option<&Path>) {
        let Ok(real) = folder.canonicalize() else { return };
        let extent = Extent::of_project(&real, home);
        self.config = Root::open(normalize(folder), real, extent).ok();
    }

    /// Returns where a normalized path leads; `None` if it does not exist.
    pub(crate) fn place_of(&self, path: &Path) -> Option<Place> {
        Some(place(&self.roots, self.config.as_ref(), path, &path.canonicalize().ok()?))
    }

    /// Returns what of the play a process without grants may be shown: nothing of granted folders and of those `apart`.
    pub(crate) fn shown(&self, apart: &[PathBuf]) -> Vec<ShownPath> {
        let is_own = |root: &&Root| root.extent != Extent::Granted && !apart.contains(&root.path);
        self.roots.iter().filter(is_own).flat_map(|root| self.visible.of(root)).map(|at| at.placed(apart)).collect()
    }

    /// Opens all folders again, after something was mounted over one of them.
    pub(crate) fn reopen(&self) {
        self.roots.iter().for_each(Root::reopen);
    }

    /// Returns the opened folder that holds a path, and the rest of the path.
    pub(super) fn locate(&self, path: &str) -> Result<(&Root, PathBuf), FileError> {
        let mut reason = "it is outside of the play's folders";
        for (root, rest) in self.around(&normalize(Path::new(path))) {
            match root.left_out(&rest) {
                None => return Ok((root, rest)),
                Some(why) => reason = why,
            }
        }
        self.learned(path).ok_or_else(|| denied(path, reason))
    }

    /// Returns the opened folders around a normalized path, the innermost first, each with the rest of the path.
    fn around(&self, whole: &Path) -> Vec<(&Root, PathBuf)> {
        let rest = |root: &Root| {
            let rest = whole.strip_prefix(&root.path).ok()?;
            Some(if rest.as_os_str().is_empty() { PathBuf::from(".") } else { rest.to_owned() })
        };
        let mut around: Vec<_> = self.roots.iter().filter_map(|root| Some((root, rest(root)?))).collect();
        around.sort_by_key(|(root, _)| std::cmp::Reverse(root.path.as_os_str().len()));
        around
    }

    /// Notes a file that exists in the folder of the play, and does not belong to it: who asks whether it exists is told that it
    /// does not.
    pub(super) fn note_left_out(&self, path: &str) {
        let around = self.around(&normalize(Path::new(path)));
        let left_out = |(root, rest): &(&Root, PathBuf)| root.left_out(rest).is_some();
        let exists = |(root, rest): &(&Root, PathBuf)| root.dir().symlink_metadata(rest).is_ok();
        if !around.is_empty() && around.iter().all(left_out) && around.iter().any(exists) {
            self.needs.add(&format!("see `{path}`"), &switch(path));
        }
    }

    /// Returns the path without links of a file that is granted alone, if its name leads where it led at first.
    pub(super) fn granted_alone(&self, path: &str) -> Option<&Path> {
        let whole = normalize(Path::new(path));
        self.files.iter().find(|file| file.has_name(&whole))?.path()
    }

    /// Notes a denial.
    pub(super) fn noted<T>(&self, result: Result<T, FileError>) -> Result<T, FileError> {
        if let Err(FileError::Denied { path, .. }) = &result {
            self.needs.add(&format!("read `{path}`"), &switch(path));
        }
        result
    }

    /// Notes what a run can write, since files in such places are not the author's word.
    pub(crate) fn add_run(&self, policy: &Policy) {
        self.written.add_run(policy);
    }

    /// Returns whether a module may have written the text that was read from a file.
    pub(crate) fn is_written(&self, path: &str) -> bool {
        self.written.is_written(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use modbox_policy::{Access, PathGrant};
    use modbox_tasks::files::{FileKind, PlayFiles as _};
    use modbox_vocabulary::GrantSource;

    use super::*;

    fn shown(path: &Path) -> String {
        path.display().to_string()
    }

    #[test]
    fn reads_its_own_folders_and_nothing_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let (play, other) = (dir.path().join("play"), dir.path().join("other"));
        fs::create_dir_all(play.join("files")).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(play.join("files/a"), "a").unwrap();
        fs::write(other.join("secret"), "s").unwrap();
        symlink("../../other/secret", play.join("files/link")).unwrap();
        symlink("a", play.join("files/inner")).unwrap();
        let tree = PlayTree::open(std::slice::from_ref(&play), None, &Policy::default());
        assert_eq!(tree.bytes(&shown(&play.join("files/a"))).unwrap(), b"a");
        assert_eq!(tree.bytes(&shown(&play.join("files/../files/inner"))).unwrap(), b"a");
        assert_eq!(tree.list(&shown(&play.join("files"))).unwrap(), ["a", "inner", "link"]);
        assert_eq!(tree.kind(&shown(&play)), Ok(Some(FileKind::Folder)));
        assert_eq!(tree.kind(&shown(&play.join("none"))), Ok(None));
        for path in ["files/link", "../other/secret"] {
            let error = tree.bytes(&shown(&play.join(path))).unwrap_err();
            assert!(matches!(error, FileError::Denied { .. }), "{path}: {error}");
            assert!(error.to_string().contains("--allow-read"), "{error}");
        }
    }

    #[test]
    fn files_of_the_run_are_new() {
        use std::os::unix::fs::MetadataExt as _;

        let dir = tempfile::tempdir().unwrap();
        let (old, made) = (dir.path().join("old"), dir.path().join("made"));
        fs::write(&old, "a").unwrap();
        let tree = PlayTree::open(&[dir.path().to_owned()], None, &Policy::default());
        // The clock of file times ticks every few milliseconds.
        let changed = || fs::metadata(&made).map(|made| (made.ctime(), made.ctime_nsec())).ok();
        while changed() <= Some(tree.opened) {
            fs::write(&made, "a").unwrap();
        }
        assert_eq!((tree.is_new(&shown(&old)), tree.is_new(&shown(&made))), (Ok(false), Ok(true)));
        fs::rename(&old, dir.path().join("moved")).unwrap();
        assert_eq!(tree.is_new(&shown(&dir.path().join("moved"))), Ok(true));
        assert_eq!(tree.source_text(&shown(&made)).as_deref(), Ok("a"));
        let mut strict = tree;
        strict.refuse_new_sources();
        let refused = strict.source_text(&shown(&made)).unwrap_err().to_string();
        assert!(refused.contains("written since the run began") && refused.contains("second"), "{refused}");
        assert_eq!(strict.text(&shown(&made)).as_deref(), Ok("a"), "as data, it can be read");
    }

    #[test]
    fn reads_what_the_policy_grants() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), "a").unwrap();
        let mut policy = Policy::default();
        let grant = PathGrant {
            host: dir.path().to_owned(),
            shape: Shape::Directory,
            guest: shown(dir.path()),
            access: Access::Read,
            source: GrantSource::named("test"),
        };
        let path = shown(&dir.path().join("a"));
        assert!(PlayTree::open(&[], None, &policy).bytes(&path).is_err());
        policy.allow_path(grant).unwrap();
        assert_eq!(PlayTree::open(&[], None, &policy).bytes(&path).unwrap(), b"a");
    }

    #[test]
    fn a_granted_folder_of_a_play_stays_the_plays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for file in ["play/files/a", "play/.env"] {
            fs::create_dir_all(path.join(file).parent().unwrap()).unwrap();
            fs::write(path.join(file), "a").unwrap();
        }
        let play = path.join("play");
        for granted in [&play, &path] {
            let mut policy = Policy::default();
            let (guest, source) = (shown(granted), GrantSource::named("test"));
            let (host, shape, access) = (granted.clone(), Shape::Directory, Access::Read);
            policy.allow_path(PathGrant { host, shape, guest, access, source }).unwrap();
            let tree = PlayTree::open(std::slice::from_ref(&play), None, &policy);
            assert_eq!(tree.bytes(&shown(&play.join(".env"))).unwrap(), b"a");
            let files = play.join("files");
            assert_eq!(tree.shown(&[]), [ShownPath { path: files.clone(), real: files }]);
        }
    }

    #[test]
    fn a_link_in_the_place_of_a_granted_file_does_not_lead_out() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, secret) = (dir.path().join("folder"), dir.path().join("secret"));
        fs::create_dir(&folder).unwrap();
        fs::write(&secret, "s").unwrap();
        let file = folder.join("file");
        fs::write(&file, "a").unwrap();
        let mut policy = Policy::default();
        for (host, shape) in [(&file, Shape::Name), (&folder, Shape::Directory)] {
            let (guest, source) = (shown(host), GrantSource::named("test"));
            let grant = PathGrant { host: host.clone(), shape, guest, access: Access::Write, source };
            policy.allow_path(grant).unwrap();
        }
        let tree = PlayTree::open(&[], None, &policy);
        assert_eq!(tree.bytes(&shown(&file)).unwrap(), b"a");
        fs::remove_file(&file).unwrap();
        symlink(&secret, &file).unwrap();
        assert!(tree.bytes(&shown(&file)).is_err());
    }
}
