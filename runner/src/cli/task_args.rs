//! Reads the arguments of a module from `KEY=VALUE` words and `--args` switches.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context as _;
use clap::ArgMatches;
use modbox_contract::{Dict, Value, args};

use crate::cli::folders::bounded;

/// Maximum bytes of arguments. No real task passes more; Ansible itself holds arguments in memory several times.
pub(crate) const MAX_ARGS: u64 = 64 << 20;

/// Maximum characters of `--args` quoted in an error.
const MAX_QUOTED: usize = 80;

/// A source of arguments on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    /// The n-th `KEY=VALUE`.
    Pair(usize),
    /// The n-th `--args`.
    Args(usize),
}

/// Returns the sources of arguments in the order of the command line, so that later ones can win.
pub(crate) fn argument_order(matches: &ArgMatches) -> Vec<ArgumentSource> {
    let indices = |id| matches.indices_of(id).into_iter().flatten().enumerate();
    let pairs = indices("pairs").map(|(n, index)| (index, ArgumentSource::Pair(n)));
    let typed = indices("args").map(|(n, index)| (index, ArgumentSource::Args(n)));
    let mut order: Vec<_> = pairs.chain(typed).collect();
    order.sort_by_key(|(index, _)| *index);
    order.into_iter().map(|(_, source)| source).collect()
}

/// Reads and merges arguments in the order of the command line.
///
/// # Errors
///
/// The arguments have neither form, cannot be read, or contain a reserved key.
pub(crate) fn task_args(pairs: &[OsString], typed: &[OsString], order: &[ArgumentSource]) -> anyhow::Result<Dict> {
    let mut merged = Dict::new();
    for source in order {
        let given = match source {
            ArgumentSource::Pair(n) => Dict::from_iter([args::parse_pair(pairs[*n].as_bytes())?]),
            ArgumentSource::Args(n) => typed_args(&typed[*n])
                .with_context(|| format!("invalid arguments `--args {}`", shortened(&typed[*n])))?,
        };
        args::merge(&mut merged, given);
    }
    args::check_not_reserved(&merged)?;
    Ok(merged)
}

/// Shortens arguments for an error: a whole document would bury the message.
fn shortened(args: &OsStr) -> String {
    let text = args.to_string_lossy();
    match text.char_indices().nth(MAX_QUOTED) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.into_owned(),
    }
}

/// Reads JSON, or YAML if that fails, from the switch itself, a file or standard input.
fn typed_args(source: &OsStr) -> anyhow::Result<Dict> {
    let bytes = match source.as_bytes() {
        b"-" => bounded::read_stream(io::stdin().lock(), MAX_ARGS).context("failed to read standard input")?,
        [b'@', path @ ..] => {
            let path = Path::new(OsStr::from_bytes(path));
            bounded::read_file(path, MAX_ARGS).with_context(|| format!("failed to read `{}`", path.display()))?
        }
        text => text.to_vec(),
    };
    let text = String::from_utf8(bytes).ok().context("the arguments are not UTF-8")?;
    let value = match modbox_contract::decode(&text) {
        Ok(value) => value,
        Err(json_error) => serde_saphyr::from_str::<Value>(&text).map_err(|yaml_error| {
            anyhow::anyhow!("neither JSON ({json_error}) nor YAML ({})", yaml_error.without_snippet())
        })?,
    };
    match value {
        Value::Dict(dict) => Ok(dict),
        Value::Null => anyhow::bail!("the arguments are empty; write `{{}}` for an empty dict"),
        other => anyhow::bail!("the arguments must be a dict, not `{}`", other.type_name()),
    }
}
