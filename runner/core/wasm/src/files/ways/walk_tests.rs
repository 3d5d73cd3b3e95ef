//! Walks of random paths over random trees, beside the kernel's resolution of the same paths.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_scratch::{DirPurpose, RunDir, ScratchRoot};
use modbox_vocabulary::{GrantSource, Limits};
use proptest::prelude::*;

use super::*;

/// Names of entries. Few, so that paths meet them.
const NAMES: [&str; 4] = ["a", "b", "l", "m"];

/// The directories of a test; the first two are granted, and the third lies in the first.
const FOLDERS: [&str; 4] = ["one", "two", "one/in", "other"];

/// What a look at a path says.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Found(u64),
    Errno(Errno),
    NotGranted,
}

fn grant(path: &Path, access: Access) -> PathGrant {
    let guest = path.to_str().unwrap().to_owned();
    PathGrant { host: path.to_owned(), shape: Shape::Directory, guest, access, source: GrantSource::named("test") }
}

fn guard(scratch: &Path, grants: impl IntoIterator<Item = PathGrant>) -> FileGuard {
    let mut policy = Policy::default();
    policy.allow_paths(grants).unwrap();
    let root = ScratchRoot::new(scratch, modbox_cleanup::Cleanup::default());
    let run_dir = RunDir::create(&root, DirPurpose::Run, None).unwrap();
    FileGuard::new(&policy, &[], &Limits::default(), run_dir.into()).unwrap()
}

fn look(guard: &FileGuard, path: &Path, follow: Follow) -> Look {
    let start = Start { path: "/".into(), dir: None };
    let stat = match walk(guard, &start, path.to_str().unwrap().trim_start_matches('/'), follow) {
        Ok(Spot::Name(name)) => match stat_name(name.folder.dir.as_fd(), &to_host(&name.name)) {
            Ok(stat) if name.slash && FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
                return Look::Errno(Errno::NOTDIR);
            }
            other => other,
        },
        Ok(Spot::Folder(folder)) => rustix::fs::fstat(&*folder.dir),
        Ok(Spot::Virtual(node)) => return Look::Found(fs::metadata(&*guard.path_of(node)).unwrap().ino()),
        Ok(Spot::Beside { .. }) | Err(Lost::NotGranted { .. }) => return Look::NotGranted,
        Ok(other) => panic!("{other:?}"),
        Err(Lost::Errno(errno) | Lost::Failing { errno, .. }) => return Look::Errno(errno),
    };
    stat.map_or_else(Look::Errno, |stat| Look::Found(stat.st_ino))
}

fn kernel(path: &Path, follow: Follow) -> Look {
    let found = if follow == Follow::Always { fs::metadata(path) } else { fs::symlink_metadata(path) };
    match found {
        Ok(found) => Look::Found(found.ino()),
        Err(error) => Look::Errno(Errno::from_io_error(&error).unwrap()),
    }
}

/// Returns whether the kernel leaves the granted directories on its way along a path.
fn leaves(base: &Path, path: &Path, follow: Follow) -> bool {
    let inside = |real: &Path| {
        let granted = ["one", "two"].map(|folder| base.join(folder));
        granted.iter().any(|folder| real.starts_with(folder)) || base.starts_with(real)
    };
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    let mut rest: Vec<String> = path.to_str().unwrap().split('/').rev().map(str::to_owned).collect();
    while let Some(name) = rest.pop() {
        match name.as_str() {
            "" | "." => continue,
            ".." => {
                real.pop();
            }
            _ => real.push(&name),
        }
        if !inside(&real) {
            return true;
        }
        let slash = path.to_str().unwrap().ends_with('/');
        if rest.is_empty() && !follow.follows(slash) {
            continue;
        }
        let Ok(target) = fs::read_link(&real) else { continue };
        links += 1;
        if links > 45 {
            return false;
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        } else {
            real.pop();
        }
        rest.extend(target.to_str().unwrap().split('/').rev().map(str::to_owned));
    }
    false
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

/// A target of a link or a path: some folder, by its absolute path or by `..`, and names below it.
fn path() -> impl Strategy<Value = String> {
    let word =
        prop_oneof![4 => name(), 2 => Just("..".to_owned()), 1 => Just(".".to_owned()), 1 => Just(String::new())];
    let start = prop_oneof![
        3 => Just(String::new()),
        2 => prop::sample::select(&FOLDERS[..]).prop_map(|folder| format!("BASE/{folder}/")),
        1 => Just("../two/".to_owned()),
        1 => Just("../../".to_owned()),
    ];
    (start, prop::collection::vec(word, 1..5)).prop_map(|(start, words)| {
        let rest = words.join("/");
        // Without a start, a word that is empty would make the path absolute.
        if start.is_empty() { rest.trim_start_matches('/').to_owned() } else { format!("{start}{rest}") }
    })
}

/// An entry: the folder, its name, and a link's target; without one, a file or a directory.
fn entry() -> impl Strategy<Value = (usize, String, Option<String>, bool)> {
    (0..FOLDERS.len(), name(), prop::option::weighted(0.7, path()), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_walk_ends_where_the_kernel_does(
        entries in prop::collection::vec(entry(), 0..14),
        paths in prop::collection::vec((0..FOLDERS.len(), path(), any::<bool>()), 1..40),
    ) {
        // Not below `/tmp`, which is the guest's own.
        let temporary = tempfile::tempdir_in("/var/tmp").unwrap();
        let base = temporary.path().canonicalize().unwrap().join("base");
        let of_base = |text: &str| text.replace("BASE", base.to_str().unwrap());
        for folder in FOLDERS {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        for (folder, name, target, is_dir) in entries {
            let place = base.join(FOLDERS[folder]).join(name);
            let _ = match target {
                Some(target) => symlink(of_base(&target), place),
                None if is_dir => fs::create_dir(place),
                None => fs::write(place, ""),
            };
        }
        let scratch = temporary.path().join("scratch");
        fs::create_dir(&scratch).unwrap();
        let grants = [("one", Access::Read), ("one/in", Access::Write), ("two", Access::Write)];
        let guard = guard(&scratch, grants.map(|(folder, access)| grant(&base.join(folder), access)));
        for (folder, path, follow) in paths {
            let follow = Follow::links(follow);
            let path = base.join(FOLDERS[folder]).join(of_base(&path));
            let (seen, expect) = (look(&guard, &path, follow), kernel(&path, follow));
            if leaves(&base, &path, follow) {
                prop_assert!(seen == Look::NotGranted || seen == expect && !matches!(seen, Look::Found(_)), "{path:?}: {seen:?}");
            } else {
                prop_assert_eq!(seen, expect, "{:?} {:?}", path, follow);
            }
        }
    }
}
