//! The shared libraries that a program needs, as the dynamic linker finds them.
//!
//! Libraries that a program loads later by itself are not in its file, so they are not found.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use modbox_native::base;

use crate::programs::elf::{self, Linkage};
use crate::programs::script::open;

/// Configuration of the dynamic linker.
const CONFIGURATION: &str = "/etc/ld.so.conf";

/// Folders that the dynamic linker searches last.
const STANDARD: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// Upper bounds of what is read and found.
const MAX_CONFIGURATION: u64 = 64 << 10;
const MAX_CONFIGURATIONS: usize = 256;
const MAX_LIBRARIES: usize = 256;

/// Libraries of a program.
#[derive(Debug, Default)]
pub(super) struct Libraries {
    /// The loader and the libraries, those of the system included.
    pub(super) found: Vec<PathBuf>,
    /// Paths at which a library would be found before one of these.
    pub(super) before: Vec<PathBuf>,
}

impl Libraries {
    /// Finds the libraries of a program. `granted` are folders that its environment names.
    pub(super) fn of(program: &Path, granted: &[PathBuf]) -> Self {
        let mut libraries = Self::default();
        let mut seen = BTreeSet::new();
        // Each with the folders that the libraries before it name for their own libraries, too.
        let mut pending: Vec<(PathBuf, Vec<PathBuf>)> = vec![(program.to_owned(), Vec::new())];
        let mut configured: Option<Vec<PathBuf>> = None;
        while let Some((path, inherited)) = pending.pop() {
            let Some(linkage) = open(&path).and_then(|file| elf::read(&file)) else { continue };
            let own = search(&linkage, &path);
            let inherited = if linkage.is_inherited { [own.clone(), inherited].concat() } else { Vec::new() };
            let folders = if linkage.is_inherited { &inherited } else { &own };
            libraries.found.extend(linkage.loader);
            for name in &linkage.needed {
                let candidates = folders.iter().chain(granted).map(|folder| folder.join(name));
                let configured = configured.get_or_insert_with(configured_folders);
                let Some(library) = libraries.look_up(name, candidates, configured) else { continue };
                let is_of_system = base::paths().any(|base| library.starts_with(base));
                if seen.insert(library.clone()) && !is_of_system && libraries.found.len() < MAX_LIBRARIES {
                    pending.push((library.clone(), inherited.clone()));
                }
                if !libraries.found.contains(&library) {
                    libraries.found.push(library);
                }
            }
        }
        libraries
    }

    fn look_up(
        &mut self,
        name: &OsStr,
        candidates: impl Iterator<Item = PathBuf>,
        configured: &[PathBuf],
    ) -> Option<PathBuf> {
        let path = Path::new(name);
        if path.is_absolute() {
            return path.is_file().then(|| path.to_owned());
        }
        for candidate in candidates {
            if candidate.is_file() {
                return Some(candidate);
            }
            self.before.push(candidate);
        }
        configured.iter().map(|folder| folder.join(name)).find(|library| library.is_file())
    }
}

/// Returns the folders that a program names, with that of the program in place of `$ORIGIN`.
fn search(linkage: &Linkage, program: &Path) -> Vec<PathBuf> {
    let origin = program.canonicalize().ok().and_then(|real| Some(real.parent()?.to_str()?.to_owned()));
    let folder = |written: &String| {
        let origin = origin.as_deref().unwrap_or_default();
        let folder = written.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
        (folder.starts_with('/') && !folder.contains('$')).then(|| PathBuf::from(folder))
    };
    linkage.search.iter().filter_map(folder).collect()
}

/// Returns the folders of the dynamic linker's configuration, then its own.
fn configured_folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut pending = vec![PathBuf::from(CONFIGURATION)];
    let mut read = 0;
    while let Some(path) = pending.pop().filter(|_| read < MAX_CONFIGURATIONS) {
        read += 1;
        let mut text = String::new();
        let Some(file) = open(&path) else { continue };
        if file.take(MAX_CONFIGURATION).read_to_string(&mut text).is_err() {
            continue;
        }
        for line in text.lines().map(|line| line.split('#').next().unwrap_or_default().trim()) {
            match line.strip_prefix("include").filter(|rest| rest.starts_with(char::is_whitespace)) {
                Some(pattern) => pending.extend(included(Path::new(pattern.trim()))),
                None if line.starts_with('/') => folders.push(PathBuf::from(line)),
                None => {}
            }
        }
    }
    folders.extend(STANDARD.map(PathBuf::from));
    folders
}

/// Returns the files of a pattern such as `/etc/ld.so.conf.d/*.conf`.
fn included(pattern: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (pattern.parent(), pattern.file_name().and_then(OsStr::to_str)) else {
        return Vec::new();
    };
    let Some((start, end)) = name.split_once('*') else { return vec![pattern.to_owned()] };
    let names =
        fs::read_dir(folder).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let names =
        names.filter(|name| name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end));
    names.map(|name| folder.join(name)).take(MAX_CONFIGURATIONS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_system_are_found() {
        let libraries = Libraries::of(Path::new("/bin/sh"), &[]);
        let names: Vec<_> = libraries.found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert!(names.iter().any(|name| name.starts_with("libc.")), "{names:?}");
        assert!(names.iter().any(|name| name.starts_with("ld-")), "{names:?}");
        assert!(libraries.before.is_empty(), "{:?}", libraries.before);
        let first = Libraries::of(Path::new("/bin/sh"), &["/nowhere".into()]);
        assert!(first.before.iter().all(|path| path.starts_with("/nowhere")) && !first.before.is_empty());
    }
}
