//! `modbox apply --list`: the saved previews of the plan store, or of a folder.
//!
//! Files of another form are passed over. A file is read as it is before it is applied, so that a damaged one, or one that
//! another user can change, is listed as such. This file changes nothing.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use modbox_files::LastLink;
use modbox_overlay::commit::saved::{SavedChanges, is_saved_form};
use modbox_python_json::{Value, encode};
use modbox_run::{ShownChange, in_one_line, mask_live_secrets, remember_hidden, show_saved};

use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::folders::state_folder;
use crate::cli::printing::output;
use crate::cli::saved_file;

/// Maximum number of entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// Changes of a file that are listed for people.
const MAX_CHANGES: usize = 3;

/// Bytes that tell a saved preview from another file.
const FORM: u64 = 64;

/// Lists saved previews, oldest first.
pub(crate) fn run(context: &Context, folder: Option<&Path>, is_json: bool) -> Result<ExitStatus, Failure> {
    let (folder, is_named) = match folder {
        Some(folder) => (context.environment.absolute(folder), true),
        None => (state_folder::plans(&context.environment).or_usage()?, false),
    };
    // The plan store is made by the first preview in it.
    let found = if is_named || folder.exists() { files(&folder).or_unavailable()? } else { Vec::new() };
    if found.is_empty() && !is_json {
        output::print_note(&format!("there are no saved previews in `{}`", folder.display()));
    }
    for (written, path) in found {
        let age = SystemTime::now().duration_since(written).unwrap_or_default();
        let age = Duration::from_secs(age.as_secs());
        let changes = changes(&path);
        output::print_line(&if is_json { json(&path, age, changes) } else { text(&path, age, changes) })
            .or_internal()?;
    }
    Ok(ExitStatus::Success)
}

/// Returns the files of the form in a folder, oldest first.
fn files(folder: &Path) -> anyhow::Result<Vec<(SystemTime, PathBuf)>> {
    let failed = || format!("failed to list the saved previews of `{}`", folder.display());
    let entries: Vec<_> = fs::read_dir(folder).with_context(failed)?.take(MAX_ENTRIES + 1).collect();
    anyhow::ensure!(
        entries.len() <= MAX_ENTRIES,
        "failed to list the saved previews of `{}`: it has more than {MAX_ENTRIES} entries; name a smaller folder",
        folder.display()
    );
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.with_context(failed)?.path();
        if let Some(written) = written(&path) {
            found.push((written, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns when a saved preview was written; `None` for what is none.
fn written(path: &Path) -> Option<SystemTime> {
    let (file, metadata) =
        modbox_files::open(path, LastLink::Refused).ok().filter(|(_, metadata)| metadata.is_file())?;
    let mut start = Vec::new();
    file.take(FORM).read_to_end(&mut start).ok()?;
    is_saved_form(&start).then(|| metadata.modified().ok())?
}

/// Returns the changes of a file, or why it cannot be applied at all.
fn changes(path: &Path) -> Result<Vec<ShownChange>, String> {
    let saved: SavedChanges = saved_file::read(path).map_err(|error| error_words(&error))?;
    remember_hidden(saved.hidden());
    show_saved(&saved, path, false).map(|effect| effect.changes).map_err(|error| error.to_string())
}

fn text(path: &Path, age: Duration, changes: Result<Vec<ShownChange>, String>) -> String {
    let shown = match changes {
        Ok(changes) => {
            let lines: Vec<String> = changes.iter().take(MAX_CHANGES).map(in_one_line).collect();
            let more = changes.len().saturating_sub(MAX_CHANGES);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            if changes.is_empty() { "no change".to_owned() } else { lines.join("; ") + &more }
        }
        Err(reason) => format!("not usable: {reason}"),
    };
    let path = path.display().to_string();
    output::clean_line(&mask_live_secrets(&format!("{path}  {}  {shown}", humantime::format_duration(age))))
}

fn json(path: &Path, age: Duration, changes: Result<Vec<ShownChange>, String>) -> String {
    let mut entries = vec![("file", Value::from(path.display().to_string())), ("age_s", age.as_secs().into())];
    match changes {
        Ok(changes) => {
            let change = |one: ShownChange| {
                Value::from([("kind", Value::from(one.kind.to_string())), ("path", one.path.into())])
            };
            entries.push(("changes", Value::List(changes.into_iter().map(change).collect())));
        }
        Err(reason) => entries.push(("error", mask_live_secrets(&reason).into())),
    }
    encode(&Value::Dict(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
}
