//! Compares members of an archive with `dest`. If one differs, all are unpacked.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::time::SystemTime;

use modbox_sdk::Failure;
use modbox_sdk::files::{self, Attributes};

use crate::dest::Dest;
use crate::member::{Kind, Member};

/// Returns the attributes of the file in a member's place, if that is inside `dest`.
fn found(dest: &Dest, member: &Member) -> Result<Option<Attributes>, Failure> {
    if !dest.holds(&member.path) {
        return Ok(None);
    }
    match files::stat(dest.path.join(&member.path), false) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
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

/// Returns whether a member of a `tar` archive differs from the file in its place, by kind, mode, time, length or
/// contents.
pub(crate) fn differs(dest: &Dest, member: &Member, contents: &mut dyn Read) -> Result<bool, Failure> {
    let Some(found) = found(dest, member)? else { return Ok(true) };
    let path = dest.path.join(&member.path);
    let other_mode = !dest.mode_is_given && found.mode != dest.mode(member);
    Ok(match &member.kind {
        Kind::Hard(target) => {
            let target = files::stat(dest.path.join(target), false).ok();
            target.is_none_or(|target| (target.device, target.inode) != (found.device, found.inode))
        }
        Kind::Link(_) => kind_of(&found) != member.kind,
        Kind::Directory => kind_of(&found) != Kind::Directory || other_mode,
        Kind::File => {
            kind_of(&found) != Kind::File
                || other_mode
                || found.size != member.size
                || modified(&path)? != member.modified
                || !same_contents(&path, contents)?
        }
    })
}

fn modified(path: &Path) -> Result<Option<SystemTime>, Failure> {
    Ok(fs::symlink_metadata(path)?.modified().ok())
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
    let Some(found) = found(dest, member)? else {
        return Ok((Some(format!(">{letter}++++++.?? {}", member.name)), false));
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
        let there = modified(&path)?;
        if keep_newer && there > member.modified {
            return Ok((None, true));
        }
        if there != member.modified {
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
