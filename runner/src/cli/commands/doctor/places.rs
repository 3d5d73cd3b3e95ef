//! The folders and files that runs use: temporary files, caches and policy files.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use modbox_vocabulary::quoting::quote;

use super::check::Check;
use crate::cli::args::{GrantArgs, LimitArgs};
use crate::cli::exit::error_words;
use crate::cli::process::environment::Environment;
use crate::cli::settings::{self, Settings, policy_folder};

/// Entries of a cache that are counted; beyond them the size is a least one.
const MAX_ENTRIES: usize = 100_000;

/// Folders inside a cache that are entered, one below the other.
const MAX_DEPTH: usize = 12;

/// The caches inside modbox's cache folder.
const CACHES: [(&str, &str); 3] =
    [("compiled", "cache of compiled modules"), ("python", "cache of Python modules"), ("sdk", "cache of the SDK")];

/// Returns the checks of the folders for temporary files and caches.
pub(super) fn checks(environment: &Environment) -> Vec<Check> {
    let mut checks = vec![temporary(&environment.temp_dir)];
    match &environment.cache_dir {
        Some(dir) => checks.extend(CACHES.iter().map(|(folder, name)| cache(name, &dir.join(folder)))),
        None => checks.push(Check::note(
            "caches",
            "this user has no home folder, so every run compiles",
            "set HOME or XDG_CACHE_HOME",
        )),
    }
    checks
}

fn temporary(dir: &Path) -> Check {
    let (name, shown) = ("temporary files", dir.display());
    let remedy = "set TMPDIR to a folder that you can write";
    match fs::metadata(dir) {
        Ok(metadata) if !metadata.is_dir() => Check::missing(name, format!("`{shown}` is not a folder"), remedy),
        Ok(_) if !is_writable(dir) => Check::missing(name, format!("`{shown}` is not writable"), remedy),
        Ok(_) => Check::ok(name, format!("`{shown}`")),
        Err(error) => Check::missing(name, format!("`{shown}`: {error}"), remedy),
    }
}

fn cache(name: &str, dir: &Path) -> Check {
    let shown = dir.display();
    let quoted = quote(&dir.to_string_lossy());
    let user = rustix::process::geteuid().as_raw();
    match fs::metadata(dir) {
        Ok(metadata) if !metadata.is_dir() => {
            Check::note(name, format!("`{shown}` is not a folder"), &format!("remove it: `rm {quoted}`"))
        }
        Ok(metadata) if metadata.uid() != user => {
            let found = format!("`{shown}` belongs to user {}, so it is not used", metadata.uid());
            Check::note(name, found, "remove it, or set XDG_CACHE_HOME to a folder of your own")
        }
        Ok(_) if !is_writable(dir) => {
            let remedy = format!("run `chmod u+rwx {quoted}`, or set XDG_CACHE_HOME");
            Check::note(name, format!("`{shown}` is not writable"), &remedy)
        }
        Ok(_) => Check::ok(name, format!("`{shown}`, {}", size(dir))),
        Err(_) => match dir.ancestors().find(|folder| folder.exists()) {
            Some(folder) if folder.is_dir() && is_writable(folder) => {
                Check::ok(name, format!("`{shown}` is made when it is needed"))
            }
            _ => {
                let found = format!("`{shown}` cannot be made, so nothing is kept for the next run");
                Check::note(name, found, "set XDG_CACHE_HOME to a folder that you can write")
            }
        },
    }
}

fn is_writable(dir: &Path) -> bool {
    use rustix::fs::Access;
    rustix::fs::access(dir, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// Returns the size of the files in a folder, as a text.
fn size(dir: &Path) -> String {
    let (mut left, mut bytes) = (MAX_ENTRIES, 0);
    add_size(dir, MAX_DEPTH, &mut left, &mut bytes);
    let least = if left == 0 { "more than " } else { "" };
    format!("{least}{}", bytesize::ByteSize(bytes).display().iec())
}

fn add_size(dir: &Path, depth: usize, left: &mut usize, bytes: &mut u64) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        // The metadata of the entry itself: a link is not followed.
        let metadata = entry.metadata().ok();
        if metadata.as_ref().is_some_and(Metadata::is_dir) && depth > 0 {
            add_size(&entry.path(), depth - 1, left, bytes);
        } else {
            *bytes += metadata.filter(Metadata::is_file).map_or(0, |metadata| metadata.len());
        }
    }
}

/// Returns the checks of the policy files that apply to every run, and the least level of confinement that they ask for.
pub(super) fn policy(environment: &Environment) -> (Vec<Check>, u8) {
    let mut checks = Vec::new();
    let mut is_valid = true;
    let implied = policy_folder::implied(environment).unwrap_or_else(|error| {
        is_valid = false;
        checks.push(Check::missing("policy folder", chain(&error), "no module runs until this is right"));
        environment.policy_files.clone()
    });
    for path in &implied {
        let shown = path.display();
        checks.push(match settings::check_implied(environment, path) {
            Ok(true) => Check::ok("policy file", format!("`{shown}`")),
            Ok(false) => Check::ok("policy file", format!("`{shown}` does not exist, and none is needed")),
            Err(error) => {
                is_valid = false;
                let remedy = format!(
                    "no module runs until this is right: run `modbox policy check {}`",
                    quote(&path.to_string_lossy())
                );
                Check::missing("policy file", chain(&error), &remedy)
            }
        });
    }
    let none = (GrantArgs::default(), LimitArgs::default());
    let merged = Settings::load(environment, &none.0, &none.1).and_then(|settings| settings.for_every_module());
    let least = match &merged {
        Ok(merged) => merged.policy.least_confinement().map(|least| least.level),
        Err(error) if is_valid => {
            checks.push(Check::missing("policy", chain(error), "change one of the policy files"));
            None
        }
        Err(_) => None,
    };
    (checks, least.unwrap_or(modbox_kernel::DEFAULT_LEAST))
}

fn chain(error: &anyhow::Error) -> String {
    error_words(error)
}
