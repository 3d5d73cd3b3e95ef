//! Reads zip archives: their index, and the contents.

use std::fs::File;
use std::io::{BufReader, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use modbox_sdk::date::{Date, Month};
use modbox_sdk::{Failure, files};
use zip::HasZipMetadata;
use zip::extra_fields::ExtraField;
use zip::result::ZipError;
use zip::{DateTime, System, ZipArchive};

use crate::limits::check_ratio;
use crate::member::{Kind, Member, place};
use crate::select::Selection;

/// The longest target of a link.
const MAX_LINK_BYTES: u64 = 4096;

/// An opened zip archive.
pub(crate) type Zip<'f> = ZipArchive<BufReader<&'f File>>;

/// Opens an archive.
pub(crate) fn open(file: &File) -> Result<Zip<'_>, Failure> {
    let packed = file.metadata()?.len();
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(unreadable)?;
    if archive.has_duplicate_names() {
        return Err(Failure::new("refused to unpack a zip archive with several members of one name"));
    }
    if archive.has_overlapping_files().map_err(unreadable)? {
        let why = "members overlap, so it unpacks to more than its size";
        return Err(Failure::new(format!("refused to unpack a zip archive: {why}")));
    }
    let sizes = (0..archive.len()).map(|index| archive.by_index_raw(index).map(|member| member.size()));
    let unpacked = sizes.collect::<Result<Vec<u64>, _>>().map_err(unreadable)?;
    check_ratio(unpacked.iter().fold(0, |sum, size| sum.saturating_add(*size)), packed)?;
    Ok(archive)
}

/// Lists the selected members, with their numbers.
pub(crate) fn members(archive: &mut Zip<'_>, selection: &Selection) -> Result<Vec<(usize, Member)>, Failure> {
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let name = archive.by_index_raw(index).map_err(unreadable)?.name().map_err(unreadable)?.into_owned();
        if selection.wants(&name)? {
            members.push((index, member(archive, index)?));
        }
    }
    Ok(members)
}

fn member(archive: &mut Zip<'_>, index: usize) -> Result<Member, Failure> {
    let link = {
        let entry = archive.by_index_raw(index).map_err(unreadable)?;
        if entry.encrypted() {
            let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
            return Err(Failure::new(format!(
                "failed to read the member `{name}`: it is encrypted, which is not supported"
            )));
        }
        entry.is_symlink()
    };
    let says = if link { Some(text_of_link(archive, index)?) } else { None };
    let entry = archive.by_index_raw(index).map_err(unreadable)?;
    let name = entry.name().map_err(unreadable)?.into_owned();
    let path = place(name.as_bytes())?;
    let unix = entry.get_metadata().system == System::Unix;
    let kind = match (says, unix.then(|| entry.unix_mode().unwrap_or_default() & 0o170_000)) {
        (Some(says), _) => Kind::Link(says),
        _ if entry.is_dir() => Kind::Directory,
        (None, None | Some(0 | 0o100_000)) => Kind::File,
        _ => {
            let why = "it is a device or a named pipe; leave it out with `exclude`";
            return Err(Failure::new(format!("refused to unpack the member `{name}`: {why}")));
        }
    };
    let mode = match entry.unix_mode().filter(|_| unix) {
        Some(mode) => mode & 0o777,
        // A member without a mode gets that of new files.
        None => (if kind == Kind::Directory { 0o777 } else { 0o666 }) & !files::umask(),
    };
    let modified = entry.extra_data_fields().find_map(|field| match field {
        ExtraField::ExtendedTimestamp(time) => time.mod_time(),
        _ => None,
    });
    let modified = match modified {
        Some(seconds) => UNIX_EPOCH.checked_add(Duration::from_secs(seconds.into())),
        None => entry.last_modified().map(utc),
    };
    Ok(Member { size: entry.size(), crc32: Some(entry.crc32()), name, path, kind, mode, modified })
}

fn text_of_link(archive: &mut Zip<'_>, index: usize) -> Result<String, Failure> {
    let mut says = String::new();
    let entry = archive.by_index(index).map_err(unreadable)?;
    let read = entry.take(MAX_LINK_BYTES).read_to_string(&mut says);
    read.map_err(|error| Failure::new(format!("failed to read the target of a link in the archive: {error}")))?;
    Ok(says)
}

/// Reads the contents of one member.
pub(crate) fn contents<'z>(archive: &'z mut Zip<'_>, index: usize) -> Result<impl Read + 'z, Failure> {
    let size = archive.by_index_raw(index).map_err(unreadable)?.size();
    // One more byte than in the index, to detect longer contents.
    Ok(archive.by_index(index).map_err(unreadable)?.take(size.saturating_add(1)))
}

/// Converts a time without a zone, which counts as UTC.
fn utc(time: DateTime) -> SystemTime {
    let month = Month::try_from(time.month()).unwrap_or(Month::January);
    let date = Date::from_calendar_date(time.year().into(), month, time.day());
    let midnight = date.map_or(0, |date| date.midnight().as_utc().unix_timestamp());
    let seconds = u64::from(time.hour()) * 3600 + u64::from(time.minute()) * 60 + u64::from(time.second());
    UNIX_EPOCH + Duration::from_secs(u64::try_from(midnight).unwrap_or_default() + seconds)
}

pub(crate) fn unreadable(error: ZipError) -> Failure {
    Failure::new(format!("failed to read the archive: {error}"))
}
