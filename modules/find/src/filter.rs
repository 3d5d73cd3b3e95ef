//! The conditions that a file must meet.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_sdk::Failure;

use crate::args::{AgeStamp, FileType, FindArgs};

/// The longest file whose text is searched.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

pub(crate) struct Filter<'a> {
    args: &'a FindArgs,
    patterns: Vec<Pattern>,
    excludes: Vec<Pattern>,
    contains: Option<Pattern>,
    /// Below zero, the highest age.
    age: Option<f64>,
    size: Option<f64>,
    now: f64,
}

impl<'a> Filter<'a> {
    /// Reads the options.
    ///
    /// # Errors
    ///
    /// An age, a size or a pattern is invalid.
    pub(crate) fn new(args: &'a FindArgs) -> Result<Self, Failure> {
        let all = |names: &[String]| -> Result<Vec<Pattern>, Failure> {
            names.iter().map(|name| name_pattern(name, args.use_regex)).collect()
        };
        let contains = args.contains.as_deref().map(|text| {
            let flags = Flags { multi_line: args.read_whole_file, ..Flags::default() };
            let start = if args.read_whole_file { text.to_owned() } else { format!(r"\A(?:{text})") };
            Pattern::new(&start, Subject::Text, flags)
        });
        let contains = contains.transpose().map_err(|why| Failure::new(format!("failed to read `contains`: {why}")))?;
        let age = args.age.as_deref().map(|age| measure("age", age, &AGES)).transpose()?;
        let size = args.size.as_deref().map(|size| measure("size", size, &SIZES)).transpose()?;
        Ok(Self {
            args,
            patterns: all(&args.patterns)?,
            excludes: all(args.excludes.as_deref().unwrap_or_default())?,
            contains,
            age,
            size,
            now: seconds(SystemTime::now()),
        })
    }

    /// Returns whether a file meets the conditions.
    pub(crate) fn fits(&self, path: &Path, metadata: &Metadata) -> io::Result<bool> {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if name.starts_with(b".") && !self.args.hidden {
            return Ok(false);
        }
        let is_wanted = match self.args.file_type {
            FileType::Any => true,
            FileType::Directory => metadata.is_dir(),
            FileType::File => metadata.is_file(),
            FileType::Link => metadata.is_symlink(),
        };
        if !is_wanted || !self.fits_name(name)? || !self.fits_age(metadata)? {
            return Ok(false);
        }
        let length = metadata.len() as f64;
        let fits_size = self.size.is_none_or(|size| if size < 0.0 { length <= size.abs() } else { length >= size });
        if metadata.is_file() && !fits_size {
            return Ok(false);
        }
        if self.args.file_type == FileType::File { self.fits_contents(path) } else { Ok(true) }
    }

    fn fits_name(&self, name: &[u8]) -> io::Result<bool> {
        let any = |patterns: &[Pattern]| -> io::Result<bool> {
            for pattern in patterns {
                let found = pattern.search(name).map_err(io::Error::other)?;
                if found.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        Ok((self.patterns.is_empty() || any(&self.patterns)?) && !any(&self.excludes)?)
    }

    fn fits_age(&self, metadata: &Metadata) -> io::Result<bool> {
        let Some(age) = self.age else { return Ok(true) };
        let time = if self.args.age_stamp == AgeStamp::Atime { metadata.accessed()? } else { metadata.modified()? };
        let passed = self.now - seconds(time);
        Ok(if age < 0.0 { passed <= age.abs() } else { passed >= age })
    }

    fn fits_contents(&self, path: &Path) -> io::Result<bool> {
        let Some(pattern) = &self.contains else { return Ok(true) };
        let contents = modbox_sdk::fs::read(path, MAX_FILE_BYTES)?;
        let fits = |text: &[u8]| Ok(pattern.search(text).map_err(io::Error::other)?.is_some());
        if self.args.read_whole_file {
            return fits(&contents);
        }
        for line in contents.split_inclusive(|byte| *byte == b'\n') {
            if fits(line)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

const AGES: [(&str, f64); 5] = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0), ("w", 604_800.0)];
const SIZES: [(&str, f64); 5] =
    [("b", 1.0), ("k", 1024.0), ("m", 1_048_576.0), ("g", 1_073_741_824.0), ("t", 1_099_511_627_776.0)];

/// Reads a number with a unit. Only the first letter of the unit counts.
fn measure(option: &str, text: &str, units: &[(&str, f64)]) -> Result<f64, Failure> {
    let lower = text.to_lowercase();
    let bad = || Failure::new(format!("failed to process {option}")).with(option, text);
    let end = lower.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(end);
    let number: i64 = digits.parse().map_err(|_| bad())?;
    let factor = match unit.get(..1) {
        None => 1.0,
        Some(first) => units.iter().find(|(known, _)| *known == first).map(|(_, factor)| *factor).ok_or_else(bad)?,
    };
    Ok(number as f64 * factor)
}

fn name_pattern(name: &str, use_regex: bool) -> Result<Pattern, Failure> {
    let pattern = if use_regex { name.to_owned() } else { glob_to_regex(name) };
    Pattern::new(&format!(r"\A(?:{pattern})"), Subject::Text, Flags::default())
        .map_err(|why| Failure::new(format!("failed to read the pattern `{name}`: {why}")))
}

/// Returns seconds since 1970, computed as in Python, so that the digits agree.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    let nanoseconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let (whole, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    whole as f64 + 1e-9 * rest as f64
}
