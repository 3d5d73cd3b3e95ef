//! Checks a download and moves it to its place.

use std::path::{Path, PathBuf};

use modbox_sdk::files::Planned;
use modbox_sdk::fs::path_value;
use modbox_sdk::{Dict, Exit, Failure, Module, Value};

use crate::args::GetUrlArgs;
use crate::checksum::Checksum;
use crate::download::{self, Download};
use crate::result::{exit, failure};

/// Checks a download, and replaces the existing file with it.
pub(crate) fn put(
    args: &GetUrlArgs,
    module: &Module,
    got: &Download,
    checksum: Option<&Checksum>,
    mut result: Dict,
) -> Result<Exit, Failure> {
    if got.is_known {
        return Ok(download::known(args, got));
    }
    let source: &Path = &got.file;
    result.insert("src".to_owned(), path_value(source));
    let mut dest = PathBuf::from(&args.dest);
    if args.dest.is_empty() {
        return Err(failure("Destination  does not exist", result));
    }
    if dest.is_dir() {
        dest.push(&got.name);
        result.insert("dest".to_owned(), path_value(&dest));
    }
    let new = sum(source)?;
    result.insert("checksum_src".to_owned(), new.as_str().into());
    let mut old = None;
    if dest.exists() {
        if dest.is_dir() {
            return Err(failure(format!("Destination {} is a directory", dest.display()), result));
        }
        old = Some(sum(&dest)?);
        result.insert("checksum_dest".to_owned(), old.clone().into());
    } else if !has_folder(module, &dest) {
        return Err(failure(format!("Destination {} does not exist", parent(&dest).display()), result));
    }
    let differs = old.as_ref() != Some(&new);
    if args.backup && differs && old.is_some() {
        module.check_backup(&dest)?; // in check mode, too
    }
    if module.check_mode() {
        result.insert("changed".to_owned(), differs.into());
        return Ok(exit(result).with("msg", got.msg.clone()));
    }
    if let Some(checksum) = checksum {
        let found = checksum.compute(source)?;
        if found != checksum.digits {
            let (source, wanted) = (source.display(), &checksum.digits);
            return Err(failure(format!("The checksum for {source} did not match {wanted}; it was {found}."), result));
        }
    }
    let backup_file = if differs { replace(args, module, source, &dest, &result)? } else { None };
    let wanted = module.load_file_common_arguments(Some(&dest))?.unwrap_or_default();
    let changed = module.set_fs_attributes_if_different(&wanted, differs, None)?;
    result.insert("changed".to_owned(), changed.into());
    let md5 = modbox_checksum::of_file(&dest, "md5").map_err(|error| unreadable(&dest, &error))?;
    result.insert("md5sum".to_owned(), md5.into());
    result.extend(backup_file.map(|copy| ("backup_file".to_owned(), path_value(&copy))));
    Ok(exit(result).with("msg", got.msg.clone()).with("status_code", got.status))
}

fn replace(
    args: &GetUrlArgs,
    module: &Module,
    source: &Path,
    dest: &Path,
    result: &Dict,
) -> Result<Option<PathBuf>, Failure> {
    let failed = |why: Failure| {
        let (source, dest, why) = (source.display(), dest.display(), why.message());
        failure(format!("failed to copy {source} to {dest}: {why}"), result.clone())
    };
    module.refuse_attributes(dest, Planned::File)?;
    let backup_file = if args.backup { module.backup_local(dest).map_err(failed)? } else { None };
    let unsafe_writes = module.parameters().get("unsafe_writes") == Some(&Value::Bool(true));
    module.atomic_move(source, dest, unsafe_writes, true).map_err(failed)?;
    Ok(backup_file)
}

/// Returns whether a new file has a folder. As Ansible's module, check mode takes a file there for one.
fn has_folder(module: &Module, dest: &Path) -> bool {
    if module.check_mode() { parent(dest).exists() } else { parent(dest).is_dir() }
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn sum(path: &Path) -> Result<String, Failure> {
    modbox_checksum::of_file(path, "sha1").map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("failed to read `{}`: {}", path.display(), modbox_sdk::fs::words(error)))
}
