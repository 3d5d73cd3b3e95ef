//! `find`: finds files, folders and links below folders.
//!
//! Parameters: `paths`, `patterns`, `excludes`, `use_regex`, `file_type`, `hidden`, `recurse`, `depth`, `follow`,
//! `limit`, `size`,
//! `age`, `age_stamp`, `contains`, `read_whole_file`, `get_checksum`, `checksum_algorithm`.
//! Returns: `files`, `matched`, `examined`, `skipped_paths`, `msg`.
//! Capabilities: read access to `paths`.
//!
//! `filter.rs` has the conditions.

#![forbid(unsafe_code)]

mod args;
mod filter;

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use modbox_sdk::{Dict, Exit, Failure, Module, Value};

use crate::args::FindArgs;
use crate::filter::{Filter, seconds};

modbox_sdk::module! {
    args = FindArgs,
    run = run,
    check_mode = true,
    returns = [
        files: list = "The matches: path, isreg, isdir, islnk, size, mtime, atime, mode, owners and, with get_checksum, \
            checksum.",
        matched: int = "The number of matches.",
        examined: int = "The number of examined files.",
        skipped_paths: dict = "Paths that could not be searched, with the reason.",
        msg: str = "Whether all paths were searched.",
    ],
    examples = ["modbox run find paths=/var/log patterns='*.gz' size=1m recurse=yes"],
}

/// The most matches. Each is a dict in the result.
const MAX_FILES: usize = 100_000;

/// How deep folders are searched, with links that form a circle.
const MAX_DEPTH: usize = 256;

struct Search<'a> {
    args: &'a FindArgs,
    filter: Filter<'a>,
    files: Vec<Value>,
    examined: usize,
    limit: usize,
}

fn run(args: FindArgs, module: &mut Module) -> Result<Exit, Failure> {
    if args.limit.is_some_and(|limit| limit < 1) {
        return Err(Failure::new(format!(
            "limit cannot be {} (use None for unlimited)",
            args.limit.unwrap_or_default()
        )));
    }
    let limit = args.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(MAX_FILES);
    let filter = Filter::new(&args)?;
    let mut search = Search { args: &args, filter, files: Vec::new(), examined: 0, limit: limit.min(MAX_FILES) };
    let mut skipped = Dict::new();
    for path in &args.paths {
        let searched = if Path::new(path).is_dir() {
            search.folder(Path::new(path), 1).map_err(|error| modbox_sdk::fs::words(&error))
        } else {
            Err(format!("'{path}' is not a directory"))
        };
        if let Err(why) = searched {
            module.warn(format!("Skipped '{path}' path due to this access issue: {why}\n"));
            skipped.insert(path.clone(), Value::from(why));
        }
    }
    if args.limit.is_none() && search.files.len() >= MAX_FILES {
        return Err(Failure::new(format!("more than {MAX_FILES} files match; narrow the search, or set `limit`")));
    }
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let all = skipped.is_empty();
    let message = if all { "All paths examined" } else { "Not all paths examined, check warnings for details" };
    Ok(Exit::unchanged()
        .msg(message)
        .with("matched", number(search.files.len()))
        .with("examined", number(search.examined))
        .with("files", search.files)
        .with("skipped_paths", skipped))
}

impl Search<'_> {
    /// Searches a folder: first its entries, then the folders in it, both sorted by name.
    fn folder(&mut self, folder: &Path, depth: usize) -> io::Result<()> {
        let too_deep =
            self.args.depth.is_some_and(|most| most > 0 && i64::try_from(depth).is_ok_and(|depth| depth > most));
        let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        self.examined += paths.len();
        if too_deep || depth > MAX_DEPTH {
            return Ok(());
        }
        let mut folders = Vec::new();
        for path in paths {
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() || (self.args.follow && path.is_dir()) {
                folders.push(path.clone());
            }
            if self.filter.fits(&path, &metadata)? {
                self.files.push(self.describe(&path, &metadata)?);
            }
            if self.files.len() >= self.limit {
                return Ok(());
            }
        }
        for folder in folders.into_iter().filter(|_| self.args.recurse) {
            if self.files.len() < self.limit {
                self.folder(&folder, depth + 1)?;
            }
        }
        Ok(())
    }

    fn describe(&self, path: &Path, metadata: &Metadata) -> io::Result<Value> {
        let mut entries = Dict::from_iter([
            entry("path", Value::from_os_bytes(path.as_os_str().as_encoded_bytes())),
            entry("isdir", metadata.is_dir()),
            entry("isreg", metadata.is_file()),
            entry("islnk", metadata.is_symlink()),
            entry("size", metadata.len()),
        ]);
        // Without modes and owners where a host has none.
        if let Ok(attributes) = modbox_sdk::files::stat(path, false) {
            entries.extend(attributes.entries());
        }
        let times = [("mtime", metadata.modified()), ("atime", metadata.accessed())];
        entries.extend(times.into_iter().filter_map(|(key, time)| Some(entry(key, seconds(time.ok()?)))));
        if self.args.get_checksum && metadata.is_file() {
            entries.extend([entry("checksum", modbox_checksum::of_file(path, &self.args.checksum_algorithm)?)]);
        }
        Ok(Value::Dict(entries))
    }
}

fn entry(key: &str, value: impl Into<Value>) -> (String, Value) {
    (key.to_owned(), value.into())
}
