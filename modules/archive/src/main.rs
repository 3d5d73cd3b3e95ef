//! `archive`: makes an archive of files and folders, or compresses one file.
//!
//! Parameters: `path`, `dest`, `format`, `exclude_path`, `exclusion_patterns`, `force_archive`, `remove`, `mode`,
//! `owner`, `group`.
//! Returns: `dest`, `dest_state`, `archived`, `missing`, `arcroot`, `expanded_paths`, `expanded_exclude_paths`; owner,
//! group and mode of `dest`.
//! Capabilities: read access to `path`, write access to `dest`; `remove` needs write access to `path`, and patterns
//! need their folder.
//!
//! The archive is written next to `dest` and then renamed, so an incomplete one is never visible.

#![forbid(unsafe_code)]

mod args;
mod checksums;
mod sources;
mod walk;
mod write_tar;
mod write_zip;

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use modbox_compression::Codec;
use modbox_sdk::fs::{OutputFile, words};
use modbox_sdk::text_file::cannot;
use modbox_sdk::{Exit, Failure, Module, Value};

use crate::args::{ArchiveArgs, Format};
use crate::checksums::Checksums;
use crate::sources::Sources;
use crate::walk::{Item, Patterns};

modbox_sdk::module! {
    args = ArchiveArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        dest: str = "The archive.",
        dest_state: str = "absent, archive, compress, or incomplete if paths are missing.",
        archived: list = "The files that were packed.",
        missing: list = "The paths that do not exist.",
        arcroot: str = "The common folder of the paths. Names in the archive are relative to it.",
        expanded_paths: list = "The paths, with patterns resolved.",
        expanded_exclude_paths: list = "The excluded paths, with patterns resolved.",
    ],
    examples = [
        "modbox run archive path=/srv/app dest=/srv/app.tar.gz",
        "modbox run --allow-read /var/log archive path='/var/log/*.log' dest=/srv/logs.zip format=zip",
    ],
}

fn run(args: ArchiveArgs, module: &mut Module) -> Result<Exit, Failure> {
    let sources = Sources::new(&args)?;
    let several = args.force_archive || sources.are_several;
    let dest = match (&args.dest, several) {
        (Some(dest), _) => PathBuf::from(dest),
        (None, false) => PathBuf::from(format!("{}.{}", sources.paths[0], args.format.name())),
        (None, true) => {
            let message = "Error, must specify \"dest\" when archiving multiple files or trees";
            return Err(Failure::new(message).with("path", args.path.join(", ")));
        }
    };
    if args.remove {
        check_removal(&sources, &dest)?;
    }
    let (targets, missing): (Vec<String>, Vec<String>) =
        sources.paths.iter().cloned().partition(|path| fs::symlink_metadata(path).is_ok());
    let before = Checksums::of(&dest, args.format);
    let (mut changed, mut archived, mut state) = (false, Vec::new(), "absent");
    if targets.is_empty() {
        if dest.exists() {
            state = if looks_like_archive(&dest) { "archive" } else { "compress" };
        }
    } else if module.check_mode() {
        changed = several || !dest.exists();
    } else {
        let patterns = Patterns::new(args.exclusion_patterns.as_deref().unwrap_or_default())?;
        state = match (several, args.format) {
            (true, _) if !missing.is_empty() => "incomplete",
            (false, Format::Gz | Format::Bz2 | Format::Xz) => "compress",
            _ => "archive",
        };
        archived = make(module, &args, &sources, &targets, &patterns, &dest, state == "compress")?;
        changed = before.as_ref().is_none_or(|before| Some(before) != Checksums::of(&dest, args.format).as_ref());
        if args.remove {
            remove(&archived, &sources, several)?;
        }
    }
    if dest.exists() {
        let wanted = module.load_file_common_arguments(Some(&dest))?.unwrap_or_default();
        changed = module.set_fs_attributes_if_different(&wanted, changed, None)?;
    }
    Ok(Exit::new(changed)
        .with("archived", list(&archived))
        .with("dest", dest.display().to_string())
        .with("dest_state", state)
        .with("arcroot", sources.root.as_str())
        .with("missing", list(&missing))
        .with("expanded_paths", list(&sources.expanded))
        .with("expanded_exclude_paths", list(&sources.excluded)))
}

fn list(texts: &[String]) -> Value {
    Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect())
}

/// Writes the archive, and returns the packed files.
fn make(
    module: &mut Module,
    args: &ArchiveArgs,
    sources: &Sources,
    targets: &[String],
    patterns: &Patterns,
    dest: &Path,
    compress: bool,
) -> Result<Vec<String>, Failure> {
    let name = dest.file_name().ok_or_else(|| Failure::new(format!("`{}` names no file", dest.display())))?;
    let name = name.to_string_lossy();
    let temporary = dest.with_file_name(format!(".modbox_tmp{:016x}{name}", RandomState::new().hash_one(dest)));
    let file = OutputFile::create_new(&temporary).map_err(cannot("write", dest))?;
    let made = if compress {
        compressed(&targets[0], file, args.format.codec()).map(|()| vec![targets[0].clone()])
    } else {
        let items = walk::items(targets, &sources.root, &[dest, &temporary])?;
        for item in items.iter().filter(|item| item.special) {
            module.warn(format!("{} is a device, a pipe or a socket, and was skipped", item.path));
        }
        let items: Vec<Item> = items.into_iter().filter(|item| !item.special).collect();
        match args.format {
            Format::Zip => write_zip::write(&items, patterns, file),
            format => write_tar::write(&items, patterns, file, format.codec()),
        }
    };
    let made = made.map_err(|why| {
        let message = format!("Errors when writing archive at {}: {}", dest.display(), why.message());
        Failure::new(message).with("dest", dest.display().to_string())
    });
    let made = made.and_then(|archived| module.atomic_move(&temporary, dest, false, true).map(|()| archived));
    if made.is_err() {
        // The first error is more useful than that of the clean-up.
        let _ = fs::remove_file(&temporary);
    }
    made
}

fn compressed(path: &str, file: OutputFile, codec: Codec) -> Result<(), Failure> {
    let real = modbox_sdk::fs::real_path(path.as_ref())?;
    let mut from = File::open(real).map_err(cannot("read", path.as_ref()))?;
    let mut writer = codec.writer(io::BufWriter::new(file))?;
    io::copy(&mut from, &mut writer)?;
    writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

/// Refuses an archive inside the files to remove, which would be removed too.
fn check_removal(sources: &Sources, dest: &Path) -> Result<(), Failure> {
    if sources.paths.iter().any(|path| Path::new(path).is_dir() && dest.starts_with(path)) {
        let message = "Error, created archive can not be contained in source paths when remove=true";
        return Err(Failure::new(message).with("path", sources.paths.join(", ")));
    }
    Ok(())
}

fn remove(archived: &[String], sources: &Sources, several: bool) -> Result<(), Failure> {
    let folders = sources.paths.iter().filter(|_| several);
    let mut failed = Vec::new();
    for (path, only_folders) in archived.iter().map(|path| (path, false)).chain(folders.map(|path| (path, true))) {
        let Ok(found) = fs::symlink_metadata(path) else { continue };
        let removed = match found.is_dir() {
            true => fs::remove_dir_all(path),
            false if only_folders => Ok(()),
            false => fs::remove_file(path),
        };
        failed.extend(removed.err().map(|error| format!("{path}: {}", words(&error))));
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new("Error deleting some source files: ").with("files", list(&failed)))
}

/// Returns whether a name has an archive's extension.
fn looks_like_archive(dest: &Path) -> bool {
    let name = dest.to_string_lossy().to_lowercase();
    [".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".zip"].iter().any(|end| name.ends_with(end))
}
