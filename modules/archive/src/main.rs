//! `archive`: makes an archive of files and folders, or compresses one file.
//!
//! Parameters: `path`, `dest`, `format`, `exclude_path`, `exclusion_patterns`, `force_archive`, `remove`, `mode`,
//! `owner`, `group`.
//! Returns: `dest`, `dest_state`, `archived`, `missing`, `arcroot`, `expanded_paths`, `expanded_exclude_paths`; owner,
//! group and mode of `dest`.
//! Capabilities: read access to `path`, write access to `dest`; `remove` needs write access to `path`, and patterns
//! need their folder.
//!
//! The archive is written next to `dest` and then renamed, so an incomplete one is never visible. Where the original would
//! pack the archive itself (`place.rs`), overwrite a source, or fail at removing sources (`remove.rs`), nothing is changed.

#![forbid(unsafe_code)]

mod args;
mod checksums;
mod item;
mod place;
mod remove;
mod sources;
mod walk;
mod write_tar;
mod write_zip;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use modbox_compression::Codec;
use modbox_sdk::files::{self, Planned};
use modbox_sdk::fs::{OutputFile, check_write, exists, path_value, temporary};
use modbox_sdk::text_file::cannot;
use modbox_sdk::{Exit, Failure, Module, Value};

use crate::args::{ArchiveArgs, Format};
use crate::checksums::Checksums;
use crate::item::{Item, Patterns};
use crate::place::ArchivePlace;
use crate::sources::Sources;

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
    let dest = match (args.dest.as_deref().filter(|dest| !dest.is_empty()), several) {
        (Some(dest), _) => dest.to_owned(),
        (None, false) => format!("{}.{}", sources.paths[0], args.format.name()),
        (None, true) => {
            let message = "Error, must specify \"dest\" when archiving multiple files or trees";
            return Err(Failure::new(message).with("path", args.path.join(", ")));
        }
    };
    if args.remove {
        remove::check_place(&sources.paths, &dest)?;
    }
    let dest = PathBuf::from(dest);
    let before = Checksums::of(&dest, args.format)?;
    let (targets, missing) = sources.targets()?;
    let (mut changed, mut archived, mut state) = (false, Vec::new(), "absent");
    if targets.is_empty() {
        if exists(&dest) {
            state = if looks_like_archive(&dest) { "archive" } else { "compress" };
        }
    } else if module.check_mode() {
        changed = several || !exists(&dest);
    } else {
        state = match (several, args.format) {
            (true, _) if !missing.is_empty() => "incomplete",
            (false, Format::Gz | Format::Bz2 | Format::Xz) => "compress",
            _ => "archive",
        };
        let job = Job { args: &args, sources: &sources, targets: &targets, dest: &dest, several };
        archived = job.make(module, state == "compress")?;
        changed = before.differs(&dest, args.format)?;
        match (args.remove, several) {
            (false, _) => {}
            (true, true) => remove::several(&archived, &sources.paths)?,
            (true, false) => remove::single(&targets[0])?,
        }
    }
    if exists(&dest) {
        let wanted = module.load_file_common_arguments(Some(&dest))?.unwrap_or_default();
        changed = module.set_fs_attributes_if_different(&wanted, changed, None)?;
    }
    Ok(Exit::new(changed)
        .with("archived", list(&archived))
        .with("dest", path_value(&dest))
        .with("dest_state", state)
        .with("arcroot", path_value(&sources.root))
        .with("missing", list(&missing))
        .with("expanded_paths", list(&sources.expanded))
        .with("expanded_exclude_paths", list(&sources.excluded)))
}

fn list(paths: &[String]) -> Value {
    Value::List(paths.iter().map(path_value).collect())
}

/// An archive to make.
struct Job<'j> {
    args: &'j ArchiveArgs,
    sources: &'j Sources,
    /// The sources that exist.
    targets: &'j [String],
    dest: &'j Path,
    several: bool,
}

impl Job<'_> {
    /// Writes the archive, and returns the packed files. Nothing is changed if that, or removing the sources, is not possible.
    fn make(&self, module: &mut Module, compress: bool) -> Result<Vec<String>, Failure> {
        let own = ArchivePlace::new(self.dest, self.args.format, compress)?;
        if files::stat(&own.file, false).is_ok_and(|found| found.links > 1 && !found.directory) {
            let why =
                "it is a file of several names (hard links), of which only one would be the archive; remove it first";
            return Err(Failure::new(format!("failed to write `{}`: {why}", self.dest.display())));
        }
        // The original overwrites the file, so that its permissions count.
        check_write(&own.file).map_err(cannot("write", self.dest))?;
        module.refuse_attributes(self.dest, Planned::File)?;
        if self.args.remove {
            remove::check(self.targets)?;
        }
        let patterns = Patterns::new(self.args.exclusion_patterns.as_deref().unwrap_or_default())?;
        let items = walk::items(self.targets, &self.sources.root, &own, &patterns)?;
        let folder = modbox_sdk::fs::folder_of(&own.file);
        let (temporary, file) = temporary(folder).map_err(cannot("write", self.dest))?;
        let made = self.fill(module, &items, &patterns, file, compress).map_err(|why| {
            let message = format!("Errors when writing archive at {}: {}", self.dest.display(), why.message());
            Failure::new(message).with("dest", path_value(self.dest))
        });
        let made = made.and_then(|archived| self.check_removal(&archived).map(|()| archived));
        let made = made.and_then(|archived| module.atomic_move(&temporary, &own.file, false, true).map(|()| archived));
        if made.is_err() {
            // The first error is more useful than that of the clean-up.
            let _ = fs::remove_file(&temporary);
        }
        made
    }

    fn fill(
        &self,
        module: &mut Module,
        items: &[Item],
        patterns: &Patterns,
        file: OutputFile,
        compress: bool,
    ) -> Result<Vec<String>, Failure> {
        if compress {
            return compressed(&self.targets[0], file, self.args.format.codec())
                .map(|()| vec![self.targets[0].clone()]);
        }
        for item in items.iter().filter(|item| item.found.special.is_some()) {
            module.warn(format!("{} is a device, a pipe or a socket, and was skipped", item.path));
        }
        let items: Vec<Item> = items.iter().filter(|item| item.found.special.is_none()).cloned().collect();
        match self.args.format {
            Format::Zip => write_zip::write(&items, patterns, file),
            format => write_tar::write(&items, patterns, file, format.codec()),
        }
    }

    fn check_removal(&self, archived: &[String]) -> Result<(), Failure> {
        match (self.args.remove, self.several) {
            (false, _) => Ok(()),
            (true, true) => remove::check_links(archived, &self.sources.paths),
            (true, false) if archived.is_empty() => {
                let why = "it is excluded, so that it would be removed without having been packed";
                Err(Failure::new(format!("Unable to remove source file: {}: {why}", self.targets[0])))
            }
            (true, false) => Ok(()),
        }
    }
}

fn compressed(path: &str, file: OutputFile, codec: Codec) -> Result<(), Failure> {
    let mut from = File::open(path).map_err(cannot("read", path.as_ref()))?;
    let mut writer = codec.writer(io::BufWriter::new(file))?;
    io::copy(&mut from, &mut writer)?;
    writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(())
}

/// Returns whether a name has an archive's extension.
fn looks_like_archive(dest: &Path) -> bool {
    let name = dest.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    [".tar", ".tar.gz", ".tar.bz2", ".tar.xz", ".tgz", ".tbz2", ".zip"].iter().any(|end| name.ends_with(end))
}
