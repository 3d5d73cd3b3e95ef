//! `copy`: writes contents to a file.
//!
//! Parameters: `content` or `src`, `dest`, `force`, `backup`, `checksum`, `follow`; `mode`, `owner`, `group`.
//! Returns: `dest`, `checksum`, `md5sum`, `size`, `backup_file` when there is one; owner, group and mode of `dest`.
//! Capabilities: write access to `dest`, read access to `src`; `backup` needs the folder of `dest`.
//!
//! Ansible's `copy` transfers files from the controller; here, there is no controller, so `src` is a file of the host.

#![forbid(unsafe_code)]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use modbox_sdk::files::{self, Planned};
use modbox_sdk::fs::path_value;
use modbox_sdk::{Args, Diff, Exit, Failure, Module, Value};

modbox_sdk::module! {
    args = CopyArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        dest: str = "The file that was written.",
        checksum: str = "The SHA-1 of the contents.",
        md5sum: str = "The MD5 of the contents.",
        size: int = "The length of the contents.",
        backup_file: str if "changed and backup" = "The backup of the old contents.",
    ],
    examples = [
        "modbox run copy dest=/etc/motd content='Hello\n'",
        "modbox run --check --diff copy dest=/etc/motd src=/srv/motd",
    ],
}

/// The longest file. A file is held in memory as a whole.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// Ansible's limit for the contents in a diff.
const MAX_DIFF_BYTES: usize = 104_448;

/// Writes given contents, or the contents of another file of the host, to a file.
///
/// A replaced file keeps its mode and owner unless options set others. Setting an owner needs `--allow-own`.
#[derive(Args)]
struct CopyArgs {
    /// The contents of the file. A dict or list is written as JSON. Excludes src.
    content: Option<Value>,
    /// The file to copy.
    #[arg(type = "path", access = "read")]
    src: Option<String>,
    /// The file to write. With src, it may be a folder, and the file gets the name of src.
    #[arg(type = "path", access = "write")]
    dest: String,
    /// Replace a file that has other contents.
    #[arg(default = true)]
    force: bool,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// The required SHA-1 of the contents.
    checksum: Option<String>,
    /// Write to the target of a link at dest. Otherwise a file replaces the link, which needs write access to its folder.
    #[arg(default = false)]
    follow: bool,
    /// The name of the file inside dest if dest is a folder. Ansible's action plugins set this option.
    #[arg(name = "_original_basename")]
    original_basename: Option<String>,
}

fn run(args: CopyArgs, module: &mut Module) -> Result<Exit, Failure> {
    let contents = contents(&args)?;
    let sum = modbox_checksum::sha1(&contents);
    if args.checksum.as_ref().is_some_and(|wanted| *wanted != sum) {
        return Err(Failure::new("Copied file does not match the expected checksum. Transfer failed.")
            .with("checksum", sum)
            .with("expected_checksum", args.checksum));
    }
    let named = destination(&args)?;
    let exists = modbox_sdk::fs::exists(&named);
    // As with Ansible's module, the file behind a link is then the one that is written; a link to nothing is never followed.
    let follows = args.follow && exists && named.is_symlink();
    let dest = if follows { modbox_sdk::fs::real_path(&named).map_err(cannot_write(&named))? } else { named };
    let result = |changed: bool| {
        let result = Exit::new(changed).with("checksum", sum.as_str()).with("dest", path_value(&dest));
        let result = result.with("md5sum", modbox_checksum::md5(&contents));
        args.src.as_deref().map_or_else(|| result.clone(), |src| result.clone().with("src", path_value(src)))
    };
    if exists && !args.force {
        return Ok(result(false));
    }
    let old = match modbox_sdk::fs::read(&dest, MAX_FILE_BYTES) {
        Ok(old) => Some(old),
        // What cannot be read is replaced.
        Err(error) if !exists || error.kind() == ErrorKind::PermissionDenied => None,
        Err(error) => return Err(error.into()),
    };
    let replaces_link = dest.is_symlink();
    let folder = modbox_sdk::fs::folder_of(&dest);
    // As Ansible's module, check mode takes a file there for a folder.
    if !exists && !(if module.check_mode() { folder.exists() } else { folder.is_dir() }) {
        let message = format!("Destination directory {} does not exist", folder.display());
        return Err(Failure::new(message).with("checksum", sum));
    }
    check_place(&dest)?;
    let mut wanted = module.load_file_common_arguments(Some(&dest))?.unwrap_or_default();
    if replaces_link {
        wanted.path.clone_from(&dest);
    }
    if let (Some(src), true) = (&args.src, wanted.mode == Some("preserve".into())) {
        let found = files::stat(src, true).map_err(cannot_write(&dest))?;
        wanted.mode = Some(format!("0{:03o}", found.mode).into());
    }
    if old.as_ref() == Some(&contents) && !replaces_link {
        return Ok(result(module.set_fs_attributes_if_different(&wanted, false, None)?));
    }
    if args.backup && exists {
        module.check_backup(&dest)?; // in check mode, too
    }
    // An action plugin makes the difference itself, under the name of its own source.
    let is_of_action = args.original_basename.is_some();
    let diff = (module.diff_wanted() && !is_of_action).then(|| diff(&args, &dest, old.as_deref(), &contents));
    let mut exit = result(true);
    if !module.check_mode() {
        module.refuse_attributes(&dest, Planned::File)?;
        if args.backup
            && let Some(copy) = module.backup_local(&dest)?
        {
            exit = exit.with("backup_file", path_value(&copy));
        }
        if replaces_link {
            std::fs::remove_file(&dest).map_err(cannot_write(&dest))?;
        }
        modbox_sdk::fs::write_atomic(&dest, &contents).map_err(cannot_write(&dest))?;
    }
    module.set_fs_attributes_if_different(&wanted, true, None)?;
    Ok(diff.into_iter().fold(exit, Exit::diff))
}

/// Refuses a folder that the user may not write, in check mode and for equal contents, too, as Ansible's module does.
fn check_place(dest: &Path) -> Result<(), Failure> {
    modbox_sdk::fs::check_replacement(dest).map_err(|error| {
        let folder = dest.parent().unwrap_or(dest).display();
        Failure::new(format!("Destination {folder} not writable: {}", modbox_sdk::fs::words(&error)))
    })
}

fn contents(args: &CopyArgs) -> Result<Vec<u8>, Failure> {
    match (&args.content, &args.src) {
        (Some(_), Some(_)) => Err(Failure::new("src and content are mutually exclusive")),
        (Some(Value::Null) | None, None) => Err(Failure::new("src (or content) is required")),
        (Some(Value::Str(text)), _) => Ok(text.clone().into_bytes()),
        (Some(Value::Surrogates(text)), _) => {
            text.to_bytes().ok_or_else(|| Failure::new("content holds lone surrogates that stand for no bytes"))
        }
        (Some(data @ (Value::List(_) | Value::Dict(_))), _) => Ok(modbox_sdk::json::encode(data).into_bytes()),
        (Some(other), None) => Ok(modbox_sdk::json::str(other).into_bytes()),
        (_, Some(src)) => {
            let path = Path::new(src);
            if modbox_sdk::fs::is_dir(path) {
                return Err(Failure::new(format!("Source {src} is a directory: only files can be copied")));
            }
            modbox_sdk::fs::read(path, MAX_FILE_BYTES).map_err(Failure::from)
        }
    }
}

/// Returns the file to write: `dest`, or if that is a folder, the file of the same name in it.
fn destination(args: &CopyArgs) -> Result<PathBuf, Failure> {
    if args.dest.is_empty() {
        return Err(Failure::new("dest is empty, which names no file"));
    }
    let dest = Path::new(&args.dest);
    if !modbox_sdk::fs::is_dir(dest) && !args.dest.ends_with('/') {
        return Ok(dest.to_owned());
    }
    let name = args.src.as_deref().map(Path::new).and_then(Path::file_name).map(Path::new);
    // The original name may be that of a file in folders.
    match args.original_basename.as_deref().map(Path::new).filter(|name| name.is_relative()).or(name) {
        Some(name) => Ok(dest.join(name)),
        None => Err(Failure::new("can not use content with a dir as dest")),
    }
}

fn diff(args: &CopyArgs, dest: &Path, old: Option<&[u8]>, new: &[u8]) -> Diff {
    let header = dest.display().to_string();
    Diff {
        before: shown(old.unwrap_or_default()),
        after: shown(new),
        before_header: old.map(|_| header.clone()),
        after_header: Some(args.src.clone().unwrap_or(header)),
    }
}

/// Returns contents as text, or why they are not shown.
fn shown(contents: &[u8]) -> String {
    if contents.len() > MAX_DIFF_BYTES {
        return format!("({} bytes, too long to show)\n", contents.len());
    }
    if contents.contains(&0) {
        return "(binary contents)\n".to_owned();
    }
    String::from_utf8_lossy(contents).into_owned()
}

fn cannot_write(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let shown = path.display().to_string();
    move |error| Failure::new(format!("failed to write `{shown}`: {}", modbox_sdk::fs::words(&error)))
}
