//! Files that a module needs besides its grants, such as its interpreter, as mounts and links.
//!
//! Programs find their files by the links that lead to them: the interpreter of a Python environment is a link out of
//! it. So the target of each path is mounted at its own place, and the links on the way are also links in the room.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use modbox_policy::{Access, PathGrant, Shape};
use modbox_vocabulary::{GrantSource, names_from_last};

use crate::rooms::base;
use crate::rooms::covering::shows;

/// Maximum number of links, as in the kernel.
pub(crate) const MAX_LINKS: usize = 40;

/// Way of a path through symbolic links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// Path of each link on the way, and its target, in their order.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// End of the way. `None` if it does not exist, or if the links lead in a circle.
    pub real: Option<PathBuf>,
}

/// Path of a link, and its target.
pub(crate) type Link = (PathBuf, PathBuf);

/// Returns the read-only mounts for `paths`, without those that the base or other mounts contain, and the links that
/// are in none of them. Grants stay as they are; missing paths are left out.
pub(crate) fn shown(paths: &[PathBuf], granted: &[PathGrant]) -> (Vec<PathGrant>, Vec<Link>) {
    let mut links = BTreeSet::new();
    let real = paths.iter().filter_map(|path| follow(path, &mut links));
    // The room names what it shows by text.
    let real: BTreeSet<PathBuf> = real.filter(|path| path.to_str().is_some()).collect();
    links.retain(|(at, to): &Link| at.to_str().is_some() && to.to_str().is_some());
    let within = |path: &Path, others: &BTreeSet<PathBuf>| {
        path.ancestors().skip(1).any(|around| others.contains(around))
            || base::paths().any(|base| path.starts_with(base))
    };
    let is_granted = |path: &Path| granted.iter().any(|grant| Path::new(&grant.guest) == path);
    let in_granted = |path: &Path| {
        let around = |grant: &PathGrant| grant.shape == Shape::Directory && path.starts_with(&grant.guest);
        granted.iter().any(|grant| around(grant) && shows(grant, path)) || is_granted(path)
    };
    let own = |path: &PathBuf| PathGrant {
        host: path.clone(),
        shape: if path.is_dir() { Shape::Directory } else { Shape::Name },
        guest: path.display().to_string(),
        access: Access::Read,
        source: GrantSource::named(""),
    };
    links.retain(|(at, _)| !within(at, &real) && !in_granted(at));
    let mounts = real.iter().filter(|path| !within(path, &real) && !is_granted(path)).map(own).collect();
    (mounts, links.into_iter().collect())
}

/// Resolves an absolute path, and records the links on the way.
#[must_use]
pub fn trace(path: &Path) -> Trace {
    let mut trace = Trace::default();
    let mut real = PathBuf::from("/");
    let mut pending = names_from_last(path);
    while let Some(name) = pending.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(name);
        match rustix::fs::readlink(&next, Vec::new()) {
            Ok(target) => {
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                pending.extend(names_from_last(&target));
                trace.links.push((next, target));
            }
            // Not a link.
            Err(rustix::io::Errno::INVAL) => real = next,
            Err(_) => return trace,
        }
        if trace.links.len() > MAX_LINKS {
            return trace;
        }
    }
    trace.real = Some(real);
    trace
}

fn follow(path: &Path, links: &mut BTreeSet<Link>) -> Option<PathBuf> {
    let trace = trace(path);
    let real = trace.real?;
    links.extend(trace.links);
    Some(real)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_what_is_mounted_are_shown_as_links() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let at = |name: &str| dir.join(name);
        fs::create_dir_all(at("store/bin")).unwrap();
        fs::create_dir_all(at("env/bin")).unwrap();
        fs::write(at("store/bin/python3.11"), "").unwrap();
        symlink("python3.11", at("store/bin/python3")).unwrap();
        symlink(at("store/bin/python3"), at("env/bin/python")).unwrap();
        symlink("env/../env", at("link")).unwrap();
        let (mounts, links) =
            shown(&[at("link/bin/python"), at("link"), at("store"), at("missing"), "/usr".into()], &[]);
        let mounted: Vec<&Path> = mounts.iter().map(|grant| grant.host.as_path()).collect();
        assert_eq!(mounted, [at("env"), at("store")]);
        assert_eq!(links, [(at("link"), "env/../env".into())]);

        // A granted path is not mounted a second time, and contains its own links.
        let grant = PathGrant { access: Access::Write, ..mounts[0].clone() };
        let (mounts, links) = shown(&[at("env/bin/python"), at("env")], &[grant]);
        assert_eq!(mounts.iter().map(|grant| grant.host.as_path()).collect::<Vec<_>>(), [at("store/bin/python3.11")]);
        assert_eq!(links, [(at("store/bin/python3"), "python3.11".into())]);
    }

    #[test]
    fn links_in_a_circle_lead_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        symlink("b", dir.path().join("a")).unwrap();
        symlink("a", dir.path().join("b")).unwrap();
        assert_eq!(follow(&dir.path().join("a"), &mut BTreeSet::new()), None);
    }
}
