//! `find`: finds files, folders and links below folders.
//!
//! Parameters: `paths`, `patterns`, `excludes`, `use_regex`, `file_type`, `hidden`, `recurse`, `depth`, `follow`,
//! `limit`, `size`,
//! `age`, `age_stamp`, `contains`, `read_whole_file`, `encoding`, `get_checksum`, `checksum_algorithm`.
//! Returns: `files`, `matched`, `examined`, `skipped_paths`, `msg`.
//! Capabilities: read access to `paths`.
//!
//! `search.rs` walks the folders, `filter.rs` has the conditions, and `text.rs` tells how much of a text Python reads.

#![forbid(unsafe_code)]

mod args;
mod filter;
mod search;
mod text;

use modbox_sdk::{Exit, Failure, Module};

use crate::args::FindArgs;
use crate::search::Search;

modbox_sdk::module! {
    args = FindArgs,
    run = run,
    check_mode = true,
    returns = [
        files: list = "The matches: path, isreg, isdir, islnk, size, times, mode, owners; with get_checksum, checksum; under ansible-core 2.21, blocks and disk_usage_bytes.",
        matched: int = "The number of matches.",
        examined: int = "The number of examined files.",
        skipped_paths: dict = "Paths that could not be searched, with the reason.",
        msg: str = "Whether all paths were searched, or `limit` ended the search.",
    ],
    examples = ["modbox run find paths=/var/log patterns='*.gz' size=1m recurse=yes"],
}

fn run(args: FindArgs, module: &mut Module) -> Result<Exit, Failure> {
    if let Some(limit) = args.limit.filter(|limit| *limit < 1) {
        return Err(Failure::new(format!("limit cannot be {limit} (use None for unlimited)")));
    }
    let mut search = Search::new(&args, module)?;
    for path in &args.paths {
        search.path(path, module)?;
    }
    let message = if search.has_warned { "Not all paths examined, check warnings for details" } else { search.message };
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    Ok(Exit::unchanged()
        .msg(message)
        .with("matched", number(search.files.len()))
        .with("examined", number(search.examined))
        .with("files", search.files)
        .with("skipped_paths", search.skipped))
}
