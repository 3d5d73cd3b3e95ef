//! `assemble`: concatenates all files in a folder.
//!
//! Parameters: `src`, `dest`, `delimiter`, `regexp`, `ignore_hidden`, `backup`, `mode`, `owner`, `group`; `remote_src`
//! is accepted and ignored.
//! Returns: `msg`, `src`, `dest`, `checksum`, `md5sum`, `backup_file` when there is one.
//! Capabilities: read access to `src`, write access to `dest`; `backup` needs its folder.

#![forbid(unsafe_code)]

mod delimiter;

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use modbox_python_re::{Flags, Pattern, Subject};
use modbox_sdk::files::Planned;
use modbox_sdk::fs::{exists, is_dir, path_value, words};
use modbox_sdk::text_file::{MAX_FILE_BYTES, cannot, content_diff, contents};
use modbox_sdk::{Args, Exit, Failure, Module};

modbox_sdk::module! {
    args = AssembleArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        msg: str = "OK",
        src: str = "The folder.",
        dest: str = "The file that was written.",
        checksum: str = "The SHA-1 of the contents.",
        md5sum: str = "The MD5 of the contents.",
        backup_file: str if "changed and backup" = "The backup of the old contents.",
    ],
    examples = ["modbox run assemble src=/etc/app.d dest=/etc/app.conf delimiter='# ---'"],
}

/// Concatenates all files in a folder, sorted by their names.
///
/// A replaced file keeps its mode and owner unless options set others. Setting an owner needs `--allow-own`.
#[derive(Args)]
struct AssembleArgs {
    /// The folder with the fragments.
    #[arg(type = "path", access = "read")]
    src: String,
    /// The file to write.
    #[arg(type = "path", access = "write")]
    dest: String,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// A text to write between two fragments, with the escapes of Python, such as \n.
    delimiter: Option<String>,
    /// Accepted and ignored: there is no controller, so the folder is on the host.
    #[arg(name = "remote_src", default = true)]
    _remote_src: bool,
    /// Use only files whose names match.
    regexp: Option<String>,
    /// Ignore files whose names start with a dot.
    #[arg(default = false)]
    ignore_hidden: bool,
}

fn run(args: AssembleArgs, module: &mut Module) -> Result<Exit, Failure> {
    let (src, dest) = (Path::new(&args.src), Path::new(&args.dest));
    if !exists(src) {
        return Err(Failure::new(format!("Source ({}) does not exist", args.src)));
    }
    if !is_dir(src) {
        return Err(Failure::new(format!("Source ({}) is not a directory", args.src)));
    }
    let assembled = assemble(&args, src)?;
    let before = if exists(dest) { Some(contents(dest)?) } else { None };
    let changed = before.as_ref() != Some(&assembled);
    if changed && !module.check_mode() {
        module.refuse_attributes(dest, Planned::File)?;
    }
    // As ansible-core's module, it names a backup also in check mode, and replaces a link instead of its target.
    let kept = if changed && args.backup { module.backup_local(dest)? } else { None };
    if changed && !module.check_mode() {
        replace(module, dest, &assembled)?;
    }
    let wanted = module.load_file_common_arguments(None)?.unwrap_or_default();
    let exit = Exit::new(module.set_fs_attributes_if_different(&wanted, changed, None)?)
        .msg("OK")
        .with("src", path_value(&args.src))
        .with("dest", path_value(&args.dest))
        .with("checksum", modbox_checksum::sha1(&assembled))
        .with("md5sum", modbox_checksum::md5(&assembled));
    let exit =
        if changed { exit.diff(content_diff(&args.dest, &before.unwrap_or_default(), &assembled)) } else { exit };
    Ok(kept.into_iter().fold(exit, |exit, kept| exit.with("backup_file", path_value(kept))))
}

fn replace(module: &Module, dest: &Path, contents: &[u8]) -> Result<(), Failure> {
    if let Some(folder) = dest.parent().filter(|folder| !is_dir(folder)) {
        return Err(Failure::new(format!("Destination directory {} does not exist", folder.display())));
    }
    let (temporary, mut file) = modbox_sdk::fs::temporary(&module.tmpdir()).map_err(cannot("write", dest))?;
    let moved = file.write_all(contents).map_err(cannot("write", dest));
    let moved = moved.and_then(|()| module.atomic_move(&temporary, dest, false, true));
    if moved.is_err() {
        // The first error is more useful than that of the clean-up.
        let _ = fs::remove_file(&temporary);
    }
    moved
}

fn assemble(args: &AssembleArgs, src: &Path) -> Result<Vec<u8>, Failure> {
    let pattern = match &args.regexp {
        Some(regexp) => Some(
            Pattern::new(regexp, Subject::Text, Flags::default())
                .map_err(|why| Failure::new(format!("Invalid Regexp ({why}) in \"{regexp}\"")))?,
        ),
        None => None,
    };
    let delimiter = args.delimiter.as_deref().filter(|text| !text.is_empty()).map(delimiter::unescape).transpose()?;
    let mut out: Vec<u8> = Vec::new();
    // Whether the previous fragment ended with a newline. `None` before the first fragment.
    let mut ended: Option<bool> = None;
    for name in names(src)? {
        let path = src.join(&name);
        let fits = match &pattern {
            Some(pattern) => pattern.search(name.as_encoded_bytes())?.is_some(),
            None => true,
        };
        let hidden = args.ignore_hidden && name.as_encoded_bytes().starts_with(b".");
        if !fits || hidden || !is_file(&path)? {
            continue;
        }
        if ended == Some(false) {
            out.push(b'\n');
        }
        if let Some(delimiter) = delimiter.as_ref().filter(|_| ended.is_some()) {
            out.extend_from_slice(delimiter);
            if !delimiter.ends_with(b"\n") {
                out.push(b'\n');
            }
        }
        let fragment = contents(&path)?;
        ended = Some(fragment.ends_with(b"\n"));
        out.extend(fragment);
        if u64::try_from(out.len()).is_ok_and(|length| length > MAX_FILE_BYTES) {
            return Err(Failure::new(format!("the fragments are longer than {MAX_FILE_BYTES} bytes together")));
        }
    }
    Ok(out)
}

/// Returns whether a path is a file; links are followed. A link to what is not granted must not be left out silently.
fn is_file(path: &Path) -> Result<bool, Failure> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_file()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let why =
                format!("{}; allow what it leads to with `--allow-read`, or leave it out with `regexp`", words(&error));
            Err(Failure::new(format!("failed to access `{}`: {why}", path.display())))
        }
        Err(_) => Ok(false),
    }
}

fn names(src: &Path) -> Result<Vec<std::ffi::OsString>, Failure> {
    let entries = fs::read_dir(src).map_err(cannot("list", src))?;
    let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>();
    if let Ok(names) = &mut names {
        names.sort();
    }
    names.map_err(cannot("list", src))
}
