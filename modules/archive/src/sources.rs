//! Finds the paths to pack: resolves patterns, applies exclusions, and finds the common folder.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_sdk::fs::{is_dir, words};
use modbox_sdk::{Failure, Value};

use crate::args::ArchiveArgs;

/// The most paths of patterns.
const MAX_PATHS: usize = 200_000;

pub(crate) struct Sources {
    /// The paths, sorted and without duplicates.
    pub(crate) paths: Vec<String>,
    pub(crate) expanded: Vec<String>,
    pub(crate) excluded: Vec<String>,
    /// The common folder of the paths, with a slash at its end.
    pub(crate) root: String,
    /// Whether the paths need an archive even without `force_archive`.
    pub(crate) are_several: bool,
}

impl Sources {
    pub(crate) fn new(args: &ArchiveArgs) -> Result<Self, Failure> {
        let (expanded, patterns) = expand(&args.path)?;
        let (excluded, _) = expand(&args.exclude_path)?;
        let paths: BTreeSet<&String> = expanded.iter().filter(|path| !excluded.contains(path)).collect();
        let paths: Vec<String> = paths.into_iter().cloned().collect();
        let Some(first) = paths.first() else {
            let text = |paths: &[String]| Value::from(paths.join(", "));
            return Err(Failure::new("Error, no source paths were found")
                .with("path", text(&args.path))
                .with("expanded_paths", text(&expanded))
                .with("expanded_exclude_paths", text(&excluded)));
        };
        let are_several = patterns || paths.len() > 1 || is_dir(first);
        Ok(Self { root: root(&paths), are_several, paths, expanded, excluded })
    }

    /// Divides the paths into those that exist and those that do not.
    ///
    /// # Errors
    ///
    /// A path may not be looked at, so that it could be there.
    pub(crate) fn targets(&self) -> Result<(Vec<String>, Vec<String>), Failure> {
        let (mut targets, mut missing) = (Vec::new(), Vec::new());
        for path in &self.paths {
            match fs::symlink_metadata(path) {
                _ if path.is_empty() => missing.push(path.clone()),
                Ok(_) => targets.push(path.clone()),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    let why = format!("{}; allow it with `--allow-read`", words(&error));
                    return Err(Failure::new(format!("failed to access `{path}`: {why}")));
                }
                Err(_) => missing.push(path.clone()),
            }
        }
        Ok((targets, missing))
    }
}

/// Returns the common folder of paths, by the letters, as community.general's `common_path` does.
fn root(paths: &[String]) -> String {
    let mut folders = paths.iter().map(|path| with_slash(folder(path.as_bytes())));
    let first = folders.next().unwrap_or_default();
    let common = folders.fold(first, |common, folder| {
        let same = common.iter().zip(&folder).take_while(|(left, right)| left == right).count();
        common[..same].to_vec()
    });
    String::from_utf8_lossy(&with_slash(folder(&common))).into_owned()
}

/// Returns what Python's `os.path.dirname` does.
fn folder(path: &[u8]) -> &[u8] {
    let head = path.iter().rposition(|byte| *byte == b'/').map_or(&path[..0], |slash| &path[..=slash]);
    let end = head.iter().rposition(|byte| *byte != b'/').map_or(head.len(), |last| last + 1);
    &head[..end]
}

fn with_slash(folder: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if folder.is_empty() || folder.ends_with(b"/") { b"" } else { b"/" };
    [folder, slash].concat()
}

/// Resolves patterns, and returns whether there were any.
fn expand(paths: &[String]) -> Result<(Vec<String>, bool), Failure> {
    let (mut out, mut any) = (Vec::new(), false);
    for path in paths {
        if path.contains(['*', '?']) {
            any = true;
            out.extend(glob(path)?);
        } else {
            out.push(path.clone());
        }
    }
    Ok((out, any))
}

/// Resolves a pattern, name by name from its start, as Python's `glob` does.
fn glob(pattern: &str) -> Result<Vec<String>, Failure> {
    let (start, rest) = if let Some(rest) = pattern.strip_prefix('/') { ("/", rest) } else { ("", pattern) };
    let mut found = vec![start.to_owned()];
    for part in rest.split('/') {
        let mut next = Vec::new();
        for folder in &found {
            if part.contains(['*', '?', '[']) {
                next.extend(names(folder, part)?.into_iter().map(|name| format!("{folder}{name}")));
            } else if part.is_empty() || fs::symlink_metadata(format!("{folder}{part}")).is_ok() {
                next.push(format!("{folder}{part}"));
            }
            if next.len() > MAX_PATHS {
                return Err(Failure::new(format!("`{pattern}` matches more than {MAX_PATHS} paths")));
            }
        }
        found = next.into_iter().map(|path| format!("{path}/")).collect();
    }
    Ok(found.into_iter().map(|path| path.strip_suffix('/').map_or_else(|| path.clone(), str::to_owned)).collect())
}

/// Lists the names in a folder that match. Hidden names match only if the pattern begins with a dot.
fn names(folder: &str, glob: &str) -> Result<Vec<String>, Failure> {
    let regex = format!(r"\A{}", glob_to_regex(glob));
    let pattern = Pattern::new(&regex, Subject::Text, Flags::default())
        .map_err(|why| Failure::new(format!("failed to read the pattern `{glob}`: {why}")))?;
    let folder = if folder.is_empty() { "." } else { folder };
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let hidden = name.starts_with('.') && !glob.starts_with('.');
        if !hidden && pattern.search(name.as_bytes())?.is_some() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_have_their_start_in_common() {
        for (paths, expect) in [
            (&["/a/b/c"][..], "/a/b/"),
            (&["/a/b/c", "/a/b/d"], "/a/b/"),
            (&["/a/b", "/a/bc"], "/a/"),
            (&["/a/bb/x", "/a/bc/x"], "/a/"),
            (&["/a/b/"], "/a/b/"),
            (&["/a/b//"], "/a/b/"),
            (&["/a/./b", "/a/c/d"], "/a/"),
            (&["/a/\u{e9}/x", "/a/\u{e8}/x"], "/a/"),
            (&["/a", "/b/c"], "/"),
            (&["a"], ""),
        ] {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(root(&paths), expect, "{paths:?}");
        }
    }
}
