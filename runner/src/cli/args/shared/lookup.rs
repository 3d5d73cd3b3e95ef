//! The switches for looking up modules, collections and interpreters, as typed.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
pub(crate) struct LookupArgs {
    /// Search modules in this folder, after ./library and before $MODBOX_LIBRARY. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) module_path: Vec<PathBuf>,
    /// Search collections first in this folder, which contains `ansible_collections`. Repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) collections_path: Vec<PathBuf>,
    /// Use this Python interpreter, with its ansible-core and collections; or this program for `#!` lines that name
    /// NAME. Repeatable.
    #[arg(long, value_name = "[NAME=]PATH", value_parser = parse_interpreter)]
    pub(crate) interpreter: Vec<(String, String)>,
    /// Look up tags of `oci://` references in this lock file [default: modbox.lock].
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,
    /// Use only modules that were pulled before.
    #[arg(long)]
    pub(crate) offline: bool,
}

/// Name of the lock file, in the working directory.
pub(crate) const LOCK_FILE: &str = "modbox.lock";

/// Parses `NAME=PATH`, or the path of a Python interpreter.
pub(crate) fn parse_interpreter(pair: &str) -> Result<(String, String), String> {
    match pair.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() && !name.contains('/') => {
            Ok((name.to_owned(), path.to_owned()))
        }
        _ if pair.contains('/') && !pair.starts_with('=') => Ok(("python".to_owned(), pair.to_owned())),
        _ => Err("expected NAME=PATH or PATH, such as `python=/usr/bin/python3`".to_owned()),
    }
}
