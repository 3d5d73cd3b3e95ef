//! Reads `tar` archives in one pass: members and their contents.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_compression::Codec;
use modbox_sdk::Failure;
use tar::{Archive, Entry, EntryType};

use crate::limits::Bounded;
use crate::member::{Kind, Member, place};
use crate::select::Selection;

/// Reads an archive from start to end, and passes each selected member with its contents to `visit`.
pub(crate) fn visit(
    file: &File,
    codec: Codec,
    selection: &Selection,
    visit: &mut dyn FnMut(Member, &mut dyn Read) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let packed = file.metadata()?.len();
    let mut reader = Bounded::new(codec.reader(io::BufReader::new(file)), packed);
    let mut archive = Archive::new(&mut reader);
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if selection.wants(name.strip_prefix('/').unwrap_or(&name))? {
            let member = member(&mut entry)?;
            visit(member, &mut entry)?;
        }
        // The rest of the contents is read too, to detect a truncated archive.
        io::copy(&mut entry, &mut io::sink()).map_err(unreadable)?;
    }
    // The checksum of compressed data is at its end.
    io::copy(&mut reader, &mut io::sink()).map_err(unreadable)?;
    Ok(())
}

fn unreadable(error: io::Error) -> Failure {
    Failure::new(format!("failed to read the archive: {error}"))
}

fn member(entry: &mut Entry<'_, impl Read>) -> Result<Member, Failure> {
    let raw = entry.path_bytes().into_owned();
    let name = String::from_utf8_lossy(&raw).into_owned();
    let refused = |why: &str| Failure::new(format!("refused to unpack the member `{name}`: {why}"));
    let path = place(&raw)?;
    let text = |link: Option<Vec<u8>>| {
        let link = link.ok_or_else(|| refused("it is a link without a target"))?;
        String::from_utf8(link).map_err(|_| refused("its target is not UTF-8"))
    };
    let says = entry.link_name_bytes().map(std::borrow::Cow::into_owned);
    let kind = match entry.header().entry_type() {
        EntryType::Directory => Kind::Directory,
        EntryType::Symlink => Kind::Link(text(says)?),
        EntryType::Link => Kind::Hard(place(text(says)?.as_bytes())?),
        // Old archives have folders of this type, and sparse files have another one.
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            if name.ends_with('/') {
                Kind::Directory
            } else {
                Kind::File
            }
        }
        EntryType::Char | EntryType::Block => return Err(refused("it is a device; leave it out with `exclude`")),
        EntryType::Fifo => return Err(refused("it is a named pipe; leave it out with `exclude`")),
        other => return Err(refused(&format!("unknown member type `{}`", char::from(other.as_byte())))),
    };
    let mode = entry.header().mode().map_err(unreadable)? & 0o7777;
    let seconds = entry.header().mtime().map_err(unreadable)?;
    let mut modified = UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    for extension in entry.pax_extensions().map_err(unreadable)?.into_iter().flatten() {
        let extension = extension.map_err(unreadable)?;
        match extension.key() {
            Ok("mtime") => modified = extension.value().ok().and_then(fraction).or(modified),
            Ok(key) if key.starts_with("GNU.sparse.") => {
                return Err(refused("it is a sparse file in an unknown format"));
            }
            _ => {}
        }
    }
    let name = if kind == Kind::Directory { format!("{}/", name.trim_end_matches('/')) } else { name };
    // The name as `tar` lists it.
    let name = name.strip_prefix('/').map_or_else(|| name.clone(), str::to_owned);
    Ok(Member { size: entry.size(), name, path, kind, mode, modified, crc32: None })
}

/// Reads seconds since 1970 with a fraction.
fn fraction(text: &str) -> Option<SystemTime> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    UNIX_EPOCH.checked_add(Duration::new(whole.parse().ok()?, digits.parse().ok()?))
}
