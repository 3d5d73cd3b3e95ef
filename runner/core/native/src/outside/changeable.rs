//! Whether the module could change what a command outside runs or works on, by a path that it is granted for writing.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use modbox_policy::run::STANDARD_DIRECTORIES;
use modbox_policy::{PathGrant, Shape};

/// Maximum number of links on the way of a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// What the kernel reads of a script to find its interpreter (`BINPRM_BUF_SIZE`).
const FIRST_LINE: u64 = 256;

/// What every program loads: libraries, and the files that say which. Programs and their interpreters are looked up in the
/// standard directories.
const LOADED: [&str; 13] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local/lib",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
];

/// Returns a path on the way of `path` that the module may change: a directory, a link, or the end.
pub(crate) fn changed_part(path: &Path, written: &[PathGrant]) -> Option<PathBuf> {
    let Some(parts) = parts(path) else { return Some(path.to_owned()) };
    parts.into_iter().find(|part| written.iter().any(|grant| covers(grant, part)))
}

/// Returns a path that the module may change and that decides what a program does: of the program itself, of the interpreter of a
/// script, of its libraries or of the directories of programs.
pub(crate) fn changed_program(program: &Path, written: &[PathGrant]) -> Option<PathBuf> {
    let own = changed_part(program, written);
    let own = own.or_else(|| changed_part(&interpreter(program)?, written));
    own.or_else(|| {
        let places = LOADED.into_iter().chain(STANDARD_DIRECTORIES).map(Path::new);
        let mut places = places.flat_map(|place| [Some(place.to_owned()), place.canonicalize().ok()]).flatten();
        places.find(|place| written.iter().any(|grant| overlaps(grant, place)))
    })
}

fn covers(grant: &PathGrant, part: &Path) -> bool {
    match grant.shape {
        Shape::Directory => part.starts_with(&grant.host),
        Shape::Name => part == grant.host,
    }
}

fn overlaps(grant: &PathGrant, place: &Path) -> bool {
    grant.host.starts_with(place) || covers(grant, place)
}

/// Returns the interpreter of a script.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    File::open(program).ok()?.take(FIRST_LINE).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let name = String::from_utf8_lossy(line).split_whitespace().next()?.to_owned();
    Some(PathBuf::from(name))
}

/// Returns each entry of a directory on the way of an absolute path, also those that links lead to. Parts that do not exist are
/// entries, too. Returns `None` for a circle of links.
fn parts(path: &Path) -> Option<Vec<PathBuf>> {
    let own = |path: &Path| -> Vec<OsString> {
        let part = |component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        };
        path.components().filter_map(part).collect()
    };
    let (mut at, mut rest) = (PathBuf::from("/"), VecDeque::from(own(path)));
    let (mut parts, mut links) = (Vec::new(), 0);
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        parts.push(next.clone());
        match std::fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                own(&target).into_iter().rev().for_each(|name| rest.push_front(name));
            }
            Err(_) => at = next,
        }
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use modbox_policy::Access;

    use super::*;

    fn grant(host: PathBuf, shape: Shape) -> PathGrant {
        PathGrant {
            guest: host.display().to_string(),
            host,
            shape,
            access: Access::Write,
            source: modbox_vocabulary::GrantSource::named("test"),
        }
    }

    #[test]
    fn each_part_of_a_way_counts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in ["real", "real/bin", "links", "apart"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("real/bin/program"), "#!/usr/bin/env python3\n").unwrap();
        symlink("../real/bin", at("links/bin")).unwrap();
        let program = at("links/bin/program");
        let changed = |host: &str, shape| changed_part(&program, &[grant(at(host), shape)]);
        for host in ["links", "links/bin", "real", "real/bin", "real/bin/program"] {
            assert!(changed(host, Shape::Directory).is_some(), "{host}");
        }
        assert!(changed("real/bin/program", Shape::Name).is_some() && changed("links/bin", Shape::Name).is_some());
        for host in ["apart", "real/bin/pro", "real/bin/program/x", "lin"] {
            assert_eq!(changed(host, Shape::Directory), None, "{host}");
        }
        // What does not exist yet could be made.
        assert!(changed_part(&at("apart/new/home"), &[grant(at("apart"), Shape::Directory)]).is_some());
        symlink("circle", at("circle")).unwrap();
        assert!(changed_part(&at("circle/x"), &[]).is_some(), "a circle leads nowhere that is known");
    }

    #[test]
    fn interpreters_libraries_and_directories_of_programs_count() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (script, interpreter) = (root.join("script"), root.join("interpreter"));
        fs::write(&script, format!("#!{} -x\n", interpreter.display())).unwrap();
        let changed = |host: &Path, shape| changed_program(&script, &[grant(host.to_owned(), shape)]);
        assert_eq!(changed(&interpreter, Shape::Name), Some(interpreter.clone()));
        for host in ["/usr", "/usr/lib", "/etc/ld.so.conf.d/x.conf", "/usr/local/bin", "/usr/local/sbin/ldconfig", "/"]
        {
            let shape =
                if host.contains("x.conf") || host.contains("ldconfig") { Shape::Name } else { Shape::Directory };
            assert!(changed(Path::new(host), shape).is_some(), "{host}");
        }
        assert_eq!(changed(&root.join("other"), Shape::Directory), None);
        assert_eq!(changed(Path::new("/etc/motd"), Shape::Name), None);
    }
}
