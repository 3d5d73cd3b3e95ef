//! Compares members of an archive with `dest`. If one differs, all are unpacked.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use modbox_sdk::Failure;
use modbox_sdk::files::{self, Attributes, FileTime};

use crate::dest::Dest;
use crate::member::{Kind, Member};

/// What is in a member's place.
enum Place {
    Found(Attributes),
    /// Nothing, or it is not inside `dest`.
    Missing,
    /// Something on the way is not a folder.
    NoFolder,
}

/// Looks at a member's place. With `follow`, a link to a folder is one.
fn place(dest: &Dest, member: &Member, follow: bool) -> Result<Place, Failure> {
    if !dest.holds(&member.path) {
        return Ok(if dest.is_circle(&member.path) { Place::NoFolder } else { Place::Missing });
    }
    match files::stat(dest.path.join(&member.path), follow) {
        Ok(found) => Ok(Place::Found(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Place::Missing),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Place::NoFolder),
        Err(error) => {
            Err(Failure::new(format!("failed to access `{}`: {}", member.name, modbox_sdk::fs::words(&error))))
        }
    }
}

fn kind_of(found: &Attributes) -> Kind {
    match &found.target {
        Some(target) => Kind::Link(String::from_utf8_lossy(target).into_owned()),
        None if found.directory => Kind::Directory,
        None => Kind::File,
    }
}

/// Returns whether a member of a `tar` archive differs from the file in its place, as far as ansible-core takes it from what
/// `tar --diff` says: mode, time, length, contents, the target of a link, or that there is nothing. What is of another kind,
/// a missing link and other hard links do not differ for it.
pub(crate) fn differs(dest: &Dest, member: &Member, contents: &mut dyn Read) -> Result<bool, Failure> {
    let found = match (place(dest, member, false)?, &member.kind) {
        (Place::Found(found), _) => found,
        (Place::Missing, Kind::Link(_)) => return Ok(!dest.holds(&member.path)),
        (Place::Missing, _) => return Ok(true),
        (Place::NoFolder, _) => return Ok(false),
    };
    let path = dest.path.join(&member.path);
    let other_mode = !dest.mode_is_given && found.mode != member.mode;
    Ok(match (&member.kind, kind_of(&found)) {
        (Kind::Hard(target), _) => files::stat(dest.path.join(target), false).is_err(),
        (Kind::Link(says), Kind::Link(_)) => found.target.as_deref() != Some(says.as_bytes()),
        (Kind::Directory, Kind::Directory) => other_mode,
        (Kind::File, Kind::File) => {
            other_mode
                || found.size != member.size
                || Some(modified(&path)?) != member.modified.map(FileTime::from)
                || !same_contents(&path, contents)?
        }
        _ => false,
    })
}

fn modified(path: &Path) -> Result<FileTime, Failure> {
    Ok(files::times(path, false)?.modification)
}

fn same_contents(path: &Path, contents: &mut dyn Read) -> Result<bool, Failure> {
    const CHUNK: u64 = 1 << 16;
    let mut file = BufReader::new(File::open(path)?);
    loop {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        (&mut *contents).take(CHUNK).read_to_end(&mut left)?;
        (&mut file).take(CHUNK).read_to_end(&mut right)?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}

/// Returns how a member of a zip archive differs, in ansible-core's itemized format, or `None` if it does not. The
/// second value tells whether `keep_newer` keeps the file.
pub(crate) fn itemize(dest: &Dest, member: &Member, keep_newer: bool) -> Result<(Option<String>, bool), Failure> {
    let letter = match member.kind {
        Kind::Directory => 'd',
        Kind::Link(_) => 'L',
        Kind::File | Kind::Hard(_) => 'f',
    };
    // The slash at the end of a folder's name leads through a link.
    let found = match place(dest, member, letter == 'd')? {
        Place::Found(found) if letter != 'd' || found.directory => found,
        _ => return Ok((Some(format!(">{letter}++++++.?? {}", member.name)), false)),
    };
    let same_kind = matches!(
        (kind_of(&found), &member.kind),
        (Kind::Directory, Kind::Directory) | (Kind::Link(_), Kind::Link(_)) | (Kind::File, Kind::File)
    );
    if !same_kind {
        return Ok((Some(format!("c{letter}++++++.?? {}", member.name)), false));
    }
    let mut marks = format!(".{letter}.......??").into_bytes();
    let path = dest.path.join(&member.path);
    if member.kind == Kind::File {
        let (there, packed) = (modified(&path)?, member.modified.map(FileTime::from));
        if keep_newer && packed.is_none_or(|packed| there > packed) {
            return Ok((None, true));
        }
        if Some(there) != packed {
            marks[4] = b't';
        }
        if found.size != member.size {
            marks[3] = b's';
        }
        if Some(crc32(&path)?) != member.crc32 {
            marks[2] = b'c';
        }
    }
    if !matches!(member.kind, Kind::Link(_)) && found.mode != dest.wanted_mode(member, &found)? {
        marks[5] = b'p';
    }
    if kind_of(&found) != member.kind && letter == 'L' {
        marks[2] = b'c';
    }
    let marks = String::from_utf8_lossy(&marks).into_owned();
    let changed = marks[2..].contains(|mark: char| mark.is_ascii_lowercase());
    Ok((changed.then(|| format!("{marks} {}", member.name)), false))
}

fn crc32(path: &Path) -> io::Result<u32> {
    let mut reader = flate2::CrcReader::new(BufReader::new(File::open(path)?));
    io::copy(&mut reader, &mut io::sink())?;
    Ok(reader.crc().sum())
}
