//! Writes zip archives as Python's `zipfile` does: links are replaced by their targets, and times are UTC.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use modbox_sdk::date::moment;
use modbox_sdk::fs::{OutputFile, real_path};
use modbox_sdk::text_file::cannot;
use modbox_sdk::{Failure, files};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::walk::{Item, Patterns};

/// Longer members need larger fields in the archive's index.
const LARGE: u64 = u32::MAX as u64;

/// Writes an archive, and returns the paths of the packed files.
pub(crate) fn write(items: &[Item], patterns: &Patterns, file: OutputFile) -> Result<Vec<String>, Failure> {
    let mut writer = ZipWriter::new(BufWriter::new(file));
    let mut archived = Vec::new();
    for item in items {
        if patterns.exclude(&item.path)? {
            continue;
        }
        let real = real_path(Path::new(&item.path))?;
        let found = files::stat(&real, false).map_err(cannot("read", item.path.as_ref()))?;
        let modified = fs::symlink_metadata(&real)?.modified()?;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .unix_permissions(found.mode)
            .last_modified_time(time(modified))
            .large_file(found.size >= LARGE);
        if found.directory {
            writer.add_directory(format!("{}/", item.name), options)?;
            continue;
        }
        writer.start_file(item.name.as_str(), options)?;
        io::copy(&mut File::open(&real).map_err(cannot("read", item.path.as_ref()))?, &mut writer)?;
        archived.push(item.path.clone());
    }
    writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(archived)
}

/// Returns a time in the range of zip archives, 1980 to 2107.
fn time(time: SystemTime) -> DateTime {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let at = moment(seconds);
    let (hour, minute, second) = at.time().as_hms();
    let year = u16::try_from(at.year()).unwrap_or(u16::MAX);
    DateTime::from_date_and_time(year, at.month().into(), at.day(), hour, minute, second).unwrap_or_default()
}
