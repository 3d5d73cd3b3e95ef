//! The members of an archive, and their places in `dest`. Pure: names are checked before any file is touched.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use modbox_sdk::Failure;

/// The most members of an archive. Each is held in memory.
const MAX_MEMBERS: usize = 200_000;

/// The longest path that the kernel accepts.
const MAX_PATH_BYTES: usize = 4095;

/// One member of an archive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    /// The name for lists. A folder's name ends with a slash.
    pub(crate) name: String,
    /// The path below `dest`; empty for `dest` itself.
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
    pub(crate) modified: Option<SystemTime>,
    pub(crate) size: u64,
    /// The checksum, if the archive has it outside the contents.
    pub(crate) crc32: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    /// A symbolic link, with its target.
    Link(String),
    /// A hard link to another member, which is below `dest` too.
    Hard(PathBuf),
}

/// Returns the path of a name below `dest`, without leading slashes, as in `tar` and `unzip`.
///
/// # Errors
///
/// The name contains `..`, is impossible for a file, or is not UTF-8.
pub(crate) fn place(name: &[u8]) -> Result<PathBuf, Failure> {
    let shown = String::from_utf8_lossy(name);
    let refused = |why: &str| Failure::new(format!("refused to unpack the member `{shown}`: {why}"));
    let Ok(text) = str::from_utf8(name) else { return Err(refused("its name is not UTF-8")) };
    if text.contains('\0') || text.len() > MAX_PATH_BYTES {
        return Err(refused("no file can have that name"));
    }
    let mut path = PathBuf::new();
    for part in Path::new(text.trim_start_matches('/')).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            _ => return Err(refused("it leads out of dest")),
        }
    }
    Ok(path)
}

/// Refuses a symbolic link that leads out of `dest`. It may contain `..` only at its start: after a name, another link
/// may change the meaning of `..`.
fn check_link(member: &Member, target: &str, dest: &Path) -> Result<(), Failure> {
    let refused = || {
        let message = format!(
            "refused to unpack the member `{}`: it is a link to `{target}`, which leads out of dest; leave it out with `exclude`",
            member.name
        );
        Err(Failure::new(message))
    };
    if target.is_empty() || target.contains('\0') || target.len() > MAX_PATH_BYTES {
        return refused();
    }
    let target = Path::new(target);
    let climbs = |path: &Path| path.components().any(|part| part == Component::ParentDir);
    if target.is_absolute() {
        return if target.starts_with(dest) && !climbs(target) { Ok(()) } else { refused() };
    }
    let up = target.components().take_while(|part| *part == Component::ParentDir).count();
    let depth = member.path.components().count().saturating_sub(1);
    let rest: PathBuf = target.components().skip(up).collect();
    if up > depth || climbs(&rest) { refused() } else { Ok(()) }
}

/// Refuses an archive with more members than fit in memory.
pub(crate) fn check_count(count: usize) -> Result<(), Failure> {
    if count <= MAX_MEMBERS {
        return Ok(());
    }
    Err(Failure::new(format!("refused to unpack an archive with more than {MAX_MEMBERS} members")))
}

/// Checks all members together, before anything is written.
///
/// # Errors
///
/// A link leads out of `dest`, a member is below a link, or there are too many members.
pub(crate) fn check(members: &[Member], dest: &Path) -> Result<(), Failure> {
    check_count(members.len())?;
    let links: HashSet<&Path> =
        members.iter().filter(|member| matches!(member.kind, Kind::Link(_))).map(|member| &*member.path).collect();
    let behind = |path: &Path| path.ancestors().skip(1).find(|folder| links.contains(folder)).map(Path::to_owned);
    for member in members {
        let refused = |why: String| Failure::new(format!("refused to unpack the member `{}`: {why}", member.name));
        if let Some(link) = behind(&member.path) {
            return Err(refused(format!("it is below `{}`, which is a link in the same archive", link.display())));
        }
        match &member.kind {
            Kind::Link(target) => check_link(member, target, dest)?,
            Kind::Hard(target) => {
                if let Some(link) = behind(target).or_else(|| links.contains(&**target).then(|| target.clone())) {
                    let link = link.display();
                    return Err(refused(format!(
                        "it is a hard link to a path below `{link}`, which is a link in the archive"
                    )));
                }
            }
            Kind::File if member.path.as_os_str().is_empty() => return Err(refused("it has no name".to_owned())),
            Kind::File | Kind::Directory => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, kind: Kind) -> Member {
        let path = place(name.as_bytes()).unwrap();
        Member { name: name.to_owned(), path, kind, mode: 0o644, modified: None, size: 0, crc32: None }
    }

    #[test]
    fn names_stay_below_dest() {
        for (name, expect) in
            [("a/b", "a/b"), ("./a//b/", "a/b"), ("/etc/passwd", "etc/passwd"), ("./", ""), ("..a/b..", "..a/b..")]
        {
            assert_eq!(place(name.as_bytes()).unwrap(), Path::new(expect), "{name}");
        }
        for name in ["../a", "a/../../b", "a/..", "/..", "a\0b"] {
            assert!(place(name.as_bytes()).is_err(), "{name}");
        }
        assert!(place(b"\xff").is_err() && place(&[b'a'; 5000]).is_err());
    }

    #[test]
    fn links_stay_below_dest() {
        let check =
            |name: &str, says: &str| check(&[member(name, Kind::Link(says.to_owned()))], Path::new("/d/e")).is_ok();
        for (name, says) in
            [("l", "a"), ("a/l", "../b"), ("a/b/l", "../../c/d"), ("l", "."), ("l", "/d/e/x"), ("l", "a/./b")]
        {
            assert!(check(name, says), "{name} -> {says}");
        }
        for (name, says) in [
            ("l", ".."),
            ("l", "../x"),
            ("a/l", "../../x"),
            ("a/b/l", "d/../x"),
            ("l", "/etc"),
            ("l", "/d"),
            ("l", "/d/eve"),
            ("l", "/d/e/../x"),
            ("l", ""),
        ] {
            assert!(!check(name, says), "{name} -> {says}");
        }
    }

    #[test]
    fn nothing_is_behind_a_link_of_the_archive() {
        let link = || member("l", Kind::Link("a".to_owned()));
        for other in [
            member("l/x", Kind::File),
            member("x", Kind::Hard("l".into())),
            member("x", Kind::Hard("l/y".into())),
            member("l/x", Kind::Directory),
        ] {
            assert!(check(&[link(), other.clone()], Path::new("/d")).is_err(), "{other:?}");
            assert!(check(&[other.clone(), link()], Path::new("/d")).is_err(), "{other:?}");
        }
        assert!(check(&[link(), member("lx", Kind::File), member("l", Kind::File)], Path::new("/d")).is_ok());
    }
}
