//! Unpacks the carried sources into a private folder, and checks a folder that exists.
//!
//! A folder appears completely or not at all. It is used only if no other user can change it and each file has the
//! carried contents; a damaged one is unpacked anew.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use modbox_files::LastLink;

use super::carried::{DIGEST, FILES, VERSION};
use super::error::SdkError;
use crate::context::AuthoringContext;
use crate::temporary_folder::TemporaryFolder;

/// The file among the carried ones that cargo changes.
const LOCK_FILE: &str = "Cargo.lock";

/// Returns the folder with the sources. Unpacks them if they are missing or damaged.
pub(crate) fn ensure(cx: &mut AuthoringContext<'_>) -> Result<PathBuf, SdkError> {
    let root = cx.cache_dir.as_ref().ok_or(SdkError::NoFolder)?.join("sdk");
    DirBuilder::new().recursive(true).mode(0o700).create(&root).map_err(SdkError::file("make", &root))?;
    check_private(&root)?;
    let lock = root.join(".lock");
    let locked = File::create(&lock).map_err(SdkError::file("write", &lock))?;
    // Some file systems do not support locks. Two processes then both unpack, and one of the two folders stays.
    let _ = locked.lock();
    let place = path_in(&root);
    let present = fs::symlink_metadata(&place);
    if present.as_ref().is_ok_and(|metadata| metadata.is_dir()) {
        check_private(&place)?;
        if is_intact(&place) {
            return Ok(place);
        }
    }
    let damaged = present.is_ok();
    if damaged {
        cx.say(&format!("unpacking the SDK anew: `{}` is damaged", place.display()));
    }
    unpack(cx, &root, &place, damaged)?;
    Ok(place)
}

/// Returns the folder with the sources if it exists and no other user can change it. Does not compare the files.
pub(crate) fn find(cx: &AuthoringContext<'_>) -> Option<PathBuf> {
    let root = cx.cache_dir.as_ref()?.join("sdk");
    let place = path_in(&root);
    (check_private(&root).is_ok() && check_private(&place).is_ok()).then_some(place)
}

/// Returns whether a folder, without links in its path, lies in that of the sources.
pub(crate) fn contains(cx: &AuthoringContext<'_>, dir: &Path) -> bool {
    find(cx).and_then(|place| place.canonicalize().ok()).is_some_and(|place| dir.starts_with(place))
}

fn path_in(root: &Path) -> PathBuf {
    root.join(format!("{VERSION}-{DIGEST}"))
}

/// Returns whether a folder belongs to this user and no other user can change it.
pub(crate) fn is_own_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| is_private(&metadata))
}

fn check_private(path: &Path) -> Result<(), SdkError> {
    let metadata = fs::symlink_metadata(path).map_err(SdkError::file("look at", path))?;
    if is_private(&metadata) { Ok(()) } else { Err(SdkError::NotPrivate { path: path.to_owned() }) }
}

fn is_private(metadata: &Metadata) -> bool {
    metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Returns whether each file has the carried contents.
fn is_intact(place: &Path) -> bool {
    FILES.iter().all(|(name, carried)| {
        let found = contents(&place.join(name), carried.len());
        found.is_some_and(|found| found == *carried || (*name == LOCK_FILE && is_trimmed(&found, carried)))
    })
}

/// Returns the contents of a file that has at most `most` bytes.
fn contents(path: &Path, most: usize) -> Option<Vec<u8>> {
    let (file, metadata) = modbox_files::open(path, LastLink::Refused).ok()?;
    if !metadata.is_file() || metadata.len() > most as u64 {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).ok().map(|_| bytes)
}

/// Returns whether a lock file is the carried one as cargo leaves it behind: cargo removes the packages that this
/// workspace does not need, and adds none.
fn is_trimmed(found: &[u8], carried: &[u8]) -> bool {
    let packages = |text| String::from_utf8_lossy(text).split("[[package]]").map(package).collect::<BTreeSet<_>>();
    !found.is_empty() && packages(found).is_subset(&packages(carried))
}

/// Returns what tells a package of a lock file from others: all lines but the list of what it needs.
fn package(entry: &str) -> String {
    let is_own = |line: &&str| line.contains(" = \"");
    entry.lines().filter(is_own).collect::<Vec<_>>().join("\n")
}

fn unpack(cx: &AuthoringContext<'_>, root: &Path, place: &Path, damaged: bool) -> Result<(), SdkError> {
    let draft = TemporaryFolder::create(&cx.cleanup, root, ".unpacking-", 0o700)
        .map_err(SdkError::file("make a folder in", root))?;
    let files = draft.path().join("files");
    DirBuilder::new().mode(0o700).create(&files).map_err(SdkError::file("make", &files))?;
    for (name, bytes) in FILES {
        let path = files.join(name);
        let folder = path.parent().unwrap_or(&files);
        fs::create_dir_all(folder).map_err(SdkError::file("make", folder))?;
        fs::write(&path, bytes).map_err(SdkError::file("write", &path))?;
        let mode = Permissions::from_mode(0o644);
        fs::set_permissions(&path, mode).map_err(SdkError::file("change the mode of", &path))?;
    }
    if damaged {
        // Goes away with the draft's folder.
        fs::rename(place, draft.path().join("damaged")).map_err(SdkError::file("replace", place))?;
    }
    match fs::rename(&files, place) {
        Ok(()) => {}
        // Another process was first.
        Err(error) if is_taken(&error) && is_intact(place) => {}
        Err(error) => return Err(SdkError::file("make", place)(error)),
    }
    Ok(())
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;
    use std::thread;

    use modbox_cleanup::Cleanup;

    use super::*;

    /// Unpacks below a cache folder. Returns the outcome and the messages.
    fn ensure_in(cache: &Path) -> (Result<PathBuf, SdkError>, Vec<String>) {
        let mut said = Vec::new();
        let mut cx = AuthoringContext {
            cwd: cache.to_owned(),
            env: BTreeMap::new(),
            cache_dir: Some(cache.to_owned()),
            cleanup: Cleanup::default(),
            progress: &mut |message| said.push(message.to_owned()),
        };
        let place = ensure(&mut cx);
        (place, said)
    }

    fn entries(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn sources_are_unpacked_once_and_make_a_workspace() {
        let cache = tempfile::tempdir().unwrap();
        let (place, said) = ensure_in(cache.path());
        let place = place.unwrap();
        for name in ["Cargo.toml", "Cargo.lock", "guest-sdk/src/lib.rs", "modules/ping/src/main.rs"] {
            assert!(place.join(name).is_file(), "{name}");
        }
        assert!(!place.join("guest-sdk/tests").exists() && !place.join("guest-sdk/examples").exists());
        let before = fs::metadata(&place).unwrap().ino();
        assert_eq!(ensure_in(cache.path()).0.unwrap(), place);
        assert_eq!(fs::metadata(&place).unwrap().ino(), before);
        assert!(said.is_empty(), "{said:?}");
        // The folder and the lock.
        assert_eq!(entries(&cache.path().join("sdk")), 2);
    }

    #[test]
    fn a_damaged_copy_is_unpacked_anew() {
        let cache = tempfile::tempdir().unwrap();
        let place = ensure_in(cache.path()).0.unwrap();
        let file = place.join("guest-sdk/src/lib.rs");
        let whole = fs::metadata(&file).unwrap().len();
        let changes: [&dyn Fn(); 4] = [
            &|| fs::remove_file(&file).unwrap(),
            &|| fs::write(&file, vec![b' '; usize::try_from(whole).unwrap()]).unwrap(),
            &|| {
                fs::remove_file(&file).unwrap();
                symlink("/dev/zero", &file).unwrap();
            },
            &|| {
                fs::remove_dir_all(&place).unwrap();
                fs::write(&place, "").unwrap();
            },
        ];
        for (number, change) in changes.iter().enumerate() {
            change();
            let (again, said) = ensure_in(cache.path());
            assert_eq!(again.unwrap(), place, "{number}");
            assert!(said[0].contains("is damaged"), "{number}: {said:?}");
            assert!(is_intact(&place), "{number}");
            assert_eq!(entries(&cache.path().join("sdk")), 2, "{number}");
        }
    }

    #[test]
    fn a_lock_file_that_cargo_has_trimmed_is_intact() {
        let cache = tempfile::tempdir().unwrap();
        let place = ensure_in(cache.path()).0.unwrap();
        let lock = place.join(LOCK_FILE);
        let carried = String::from_utf8(contents(&lock, 1 << 20).unwrap()).unwrap();
        let (rest, _) = carried.rsplit_once("[[package]]").unwrap();
        fs::write(&lock, rest).unwrap();
        assert_eq!(ensure_in(cache.path()).1, [""; 0]);
        assert_eq!(contents(&lock, 1 << 20).unwrap(), rest.as_bytes());
        for changed in [rest.replacen("checksum = \"", "checksum = \"0", 1), String::new()] {
            fs::write(&lock, changed).unwrap();
            assert!(ensure_in(cache.path()).1[0].contains("is damaged"));
            assert_eq!(contents(&lock, 1 << 20).unwrap(), carried.as_bytes());
        }
    }

    #[test]
    fn a_folder_that_others_can_change_is_refused() {
        let cache = tempfile::tempdir().unwrap();
        let place = ensure_in(cache.path()).0.unwrap();
        for folder in [place, cache.path().join("sdk")] {
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
            let (refused, _) = ensure_in(cache.path());
            assert!(matches!(refused, Err(SdkError::NotPrivate { path }) if path == folder));
        }
    }

    #[test]
    fn processes_that_unpack_at_the_same_time_agree() {
        let cache = tempfile::tempdir().unwrap();
        let places: Vec<PathBuf> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| ensure_in(cache.path()).0.unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(places.iter().all(|place| *place == places[0] && is_intact(place)), "{places:?}");
        assert_eq!(entries(&cache.path().join("sdk")), 2);
    }
}
