//! Writes zip archives as Python's `zipfile` does: links are replaced by their targets, and times are UTC.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Component, Path, PathBuf};

use modbox_sdk::Failure;
use modbox_sdk::date::moment;
use modbox_sdk::files::{self, FileTime};
use modbox_sdk::fs::{OutputFile, host_bytes};
use modbox_sdk::text_file::cannot;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::item::{Item, Patterns};

/// Longer members need larger fields in the archive's index.
const LARGE: u64 = u32::MAX as u64;

/// The years that zip archives have.
const YEARS: std::ops::RangeInclusive<u16> = 1980..=2107;

/// Writes an archive, and returns the paths of the packed files.
pub(crate) fn write(items: &[Item], patterns: &Patterns, file: OutputFile) -> Result<Vec<String>, Failure> {
    let mut writer = ZipWriter::new(BufWriter::new(file));
    let mut archived = Vec::new();
    for item in items {
        if patterns.exclude(&item.path)? {
            continue;
        }
        let path = Path::new(&item.path);
        let name = place(&item.name);
        if host_bytes(&name) != name.as_bytes() {
            return Err(Failure::new(format!("{}: its name is not UTF-8, which zip archives cannot hold", item.path)));
        }
        let found = files::stat(path, true).map_err(cannot("read", path))?;
        let modified = match item.found.target {
            Some(_) => files::times(path, true).map_err(cannot("read", path))?.modification,
            None => item.modified,
        };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(found.mode)
            .last_modified_time(time(modified, &item.path)?)
            .large_file(found.size >= LARGE);
        if found.directory {
            writer.add_directory(format!("{name}/"), options)?;
            continue;
        }
        writer.start_file(name.as_str(), options)?;
        io::copy(&mut File::open(path).map_err(cannot("read", path))?, &mut writer)?;
        // The original looks for the name that it gave, and finds no other.
        archived.extend((name == item.name).then(|| item.path.clone()));
    }
    writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(archived)
}

/// Returns a name as Python's `zipfile` stores it: without `.`, `..` and slashes at its start, by the letters.
fn place(name: &str) -> String {
    let mut plain = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => plain.push(part),
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            _ => {}
        }
    }
    plain.into_os_string().into_string().unwrap_or_else(|_| name.to_owned())
}

/// Returns a time as a zip archive has it.
fn time(time: FileTime, path: &str) -> Result<DateTime, Failure> {
    let at = moment(u64::try_from(time.seconds).unwrap_or(0));
    let (hour, minute, second) = at.time().as_hms();
    let year = u16::try_from(at.year()).unwrap_or(u16::MAX);
    let made = DateTime::from_date_and_time(year, at.month().into(), at.day(), hour, minute, second);
    made.ok().filter(|_| YEARS.contains(&year)).ok_or_else(|| {
        Failure::new(format!(
            "{path}: ZIP does not support timestamps before {} and after {}",
            YEARS.start(),
            YEARS.end()
        ))
    })
}
