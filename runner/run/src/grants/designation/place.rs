//! Finds where a named path is on the host, and whether a grant covers it already.

use std::io;
use std::path::{Component, Path, PathBuf};

use modbox_policy::{
    Access, MissingPath, PathDecision, PathGrant, Policy, RESERVED, Shape, mapped_path_option, normalize, path_option,
};
use modbox_vocabulary::error_text;
use rustix::io::Errno;

use crate::grants::way::{End, resolve as resolve_way};

/// Returns an absolute path without `.`, `..` and doubled slashes; `None` if the result is not UTF-8. Links stay in it,
/// except where `..` follows one: then the path is resolved as the kernel does.
pub(super) fn clean(path: &Path) -> Option<String> {
    let climbs = path.components().any(|component| component == Component::ParentDir);
    let resolved = if climbs { resolve(path).ok().map(|(real, _)| real) } else { None };
    resolved.unwrap_or_else(|| normalize(path)).into_os_string().into_string().ok()
}

/// Resolves a path and returns its shape. Links are followed, except for the last one if `follow` is false. A missing
/// file is a name in its directory.
///
/// # Errors
///
/// A parent directory that is missing or cannot be searched.
pub(super) fn find(path: &Path, follow: bool) -> io::Result<(PathBuf, Shape)> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !follow && is_link(path) => Ok((parent.canonicalize()?.join(name), Shape::Name)),
        _ => resolve(path),
    }
}

/// Describes why a path was not found.
pub(super) fn why_not(errno: Errno, access: Access) -> String {
    match (errno, access) {
        (Errno::NOENT, Access::Write) => "its directory does not exist; make it first".to_owned(),
        (Errno::NOENT, Access::Read) => "its directory does not exist".to_owned(),
        _ => error_text(&io::Error::from(errno)),
    }
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_symlink())
}

fn resolve(path: &Path) -> io::Result<(PathBuf, Shape)> {
    match path.canonicalize() {
        Ok(real) if real.is_dir() => Ok((real, Shape::Directory)),
        Ok(real) => Ok((real, Shape::Name)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            Ok((parent.canonicalize()?.join(name), Shape::Name))
        }
        Err(error) => Err(error),
    }
}

/// Returns whether the operator has mapped another place of the machine to a path, with this access.
pub(super) fn is_mapped(policy: &Policy, path: &str, access: Access) -> bool {
    match policy.decides(Path::new(path)) {
        PathDecision::Grant(grant) => Path::new(&grant.guest) != grant.host && is_covered(policy, path, access, true),
        PathDecision::Own | PathDecision::Nothing => false,
    }
}

/// Returns whether a grant gives this access to a path, and no link on the path leads out of the grant.
pub(super) fn is_covered(policy: &Policy, path: &str, access: Access, follow: bool) -> bool {
    match policy.decides(Path::new(path)) {
        PathDecision::Grant(grant) => grant.access >= access && stays_inside(grant, Path::new(path), follow),
        PathDecision::Own | PathDecision::Nothing => false,
    }
}

/// Returns whether a module gets this access to what a path leads to: a grant gives it, and the module sees each link on the
/// way.
pub(super) fn is_reached(policy: &Policy, path: &str, access: Access, follow: bool) -> bool {
    if is_covered(policy, path, access, follow) {
        return true;
    }
    let way = resolve_way(path.as_ref(), follow);
    let End::At(host, _) = &way.end else { return false };
    let covers = |path: &Path, access| path.to_str().is_some_and(|path| is_covered(policy, path, access, follow));
    let shows = |link: &PathBuf| {
        let is_shown = policy.waypoints().links().iter().any(|shown| Path::new(shown) == link);
        is_shown || link.to_str().is_some_and(|link| is_covered(policy, link, Access::Read, false))
    };
    covers(host, access) && way.links.iter().all(shows)
}

fn stays_inside(grant: &PathGrant, path: &Path, follow: bool) -> bool {
    let rest = path.strip_prefix(&grant.guest).unwrap_or_else(|_| Path::new(""));
    if rest.as_os_str().is_empty() {
        return true;
    }
    // The operator mapped another place to this path, on purpose.
    let mapped = Path::new(&grant.guest).canonicalize().ok().as_ref() != Some(&grant.host);
    // A missing path contains no link that leads out.
    mapped || find(&grant.host.join(rest), follow).map_or(true, |(real, _)| real.starts_with(&grant.host))
}

/// Returns whether a directory of the guest hides the place to grant, so that the guest can see the host's only under
/// another path.
pub(super) fn is_hidden(path: &str, access: Access) -> bool {
    RESERVED.iter().any(|own| grantable(path, access) == Path::new(own))
}

/// Returns the command-line option that grants a path: the path itself if it exists, else the directory to make it in.
pub(super) fn switch(path: &str, access: Access) -> String {
    switch_for(grantable(path, access), access)
}

/// Returns the command-line option that grants an existing directory for writing.
pub(super) fn directory_switch(directory: &Path) -> String {
    switch_for(directory, Access::Write)
}

fn switch_for(path: &Path, access: Access) -> String {
    if RESERVED.iter().any(|own| path == Path::new(own)) {
        return mapped_path_option(access, path, &format!("/host{}", path.display()));
    }
    path_option(access, path)
}

/// Returns a path whose directory is missing, with the outermost part of it that does not exist.
pub(super) fn missing(path: &str) -> MissingPath {
    let absent = Path::new(path).ancestors().take_while(|part| part.symlink_metadata().is_err());
    let first = absent.last().unwrap_or_else(|| Path::new(path)).to_string_lossy().into_owned();
    MissingPath { path: path.to_owned(), first, allow: switch(path, Access::Write) }
}

/// Returns the part of a path that can be granted: the path itself, or its innermost existing ancestor. A name in an
/// existing directory can be granted for writing before it exists.
fn grantable(path: &str, access: Access) -> &Path {
    let path = Path::new(path);
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
    let is_new_name = access == Access::Write && path.parent() == Some(existing);
    if is_new_name { path } else { existing }
}
