//! The conditions that a file must meet.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use modbox_python_re::{Flags, Pattern, Subject, glob_to_regex};
use modbox_sdk::files::{FileTime, Times};
use modbox_sdk::text_encoding::{TextEncoding, with_plain_newlines};
use modbox_sdk::{Failure, Module};

use crate::args::{AgeStamp, FileType, FindArgs};
use crate::text::decoded_before_error;

/// The longest file whose text is searched.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

pub(crate) struct Filter<'a> {
    args: &'a FindArgs,
    patterns: Vec<Pattern>,
    excludes: Vec<Pattern>,
    contains: Option<Pattern>,
    encoding: TextEncoding,
    /// Whether errors have the words of ansible-core 2.21.
    is_since_2_21: bool,
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
    /// An age, a size or a pattern is invalid, or an encoding unknown.
    pub(crate) fn new(args: &'a FindArgs, module: &Module) -> Result<Self, Failure> {
        let all = |names: &[String]| -> Result<Vec<Pattern>, Failure> {
            names.iter().map(|name| name_pattern(name, args.use_regex)).collect()
        };
        let contains = args.contains.as_deref().map(|text| Pattern::new(text, Subject::Text, Flags::default()));
        let contains = contains.transpose().map_err(|why| Failure::new(format!("failed to read `contains`: {why}")))?;
        let age = args.age.as_deref().map(|age| measure("age", age, &AGES)).transpose()?;
        let size = args.size.as_deref().map(|size| measure("size", size, &SIZES)).transpose()?;
        Ok(Self {
            args,
            patterns: all(&args.patterns)?,
            excludes: all(args.excludes.as_deref().unwrap_or_default())?,
            contains,
            encoding: args.encoding.as_deref().map_or(Ok(TextEncoding::Utf8), TextEncoding::named)?,
            is_since_2_21: module.is_since(2, 21),
            age,
            size,
            now: FileTime::from(SystemTime::now()).as_seconds(),
        })
    }

    /// Returns whether a file is left out by the dot at the start of its name.
    pub(crate) fn is_hidden(&self, path: &Path) -> bool {
        !self.args.hidden && name(path).starts_with(b".")
    }

    /// Returns whether a file meets the conditions.
    pub(crate) fn fits(&self, path: &Path, metadata: &Metadata, times: &Times) -> io::Result<bool> {
        let name = name(path);
        let is_wanted = match self.args.file_type {
            FileType::Any => true,
            FileType::Directory => metadata.is_dir(),
            FileType::File => metadata.is_file(),
            FileType::Link => metadata.is_symlink(),
        };
        if !is_wanted || !self.fits_name(name)? || !self.fits_age(times) {
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
                if pattern.matches_start(name, false).map_err(io::Error::other)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        Ok((self.patterns.is_empty() || any(&self.patterns)?) && !any(&self.excludes)?)
    }

    fn fits_age(&self, times: &Times) -> bool {
        let Some(age) = self.age else { return true };
        let time = match self.args.age_stamp {
            AgeStamp::Atime => times.access,
            AgeStamp::Ctime => times.change,
            AgeStamp::Mtime => times.modification,
        };
        let passed = self.now - time.as_seconds();
        if age < 0.0 { passed <= age.abs() } else { passed >= age }
    }

    /// Returns whether the text of a file matches. As in ansible-core, a file that cannot be read does not.
    fn fits_contents(&self, path: &Path) -> io::Result<bool> {
        let Some(pattern) = &self.contains else { return Ok(true) };
        let contents = match modbox_sdk::fs::read(path, MAX_FILE_BYTES) {
            Err(error) if error.kind() != io::ErrorKind::FileTooLarge => return Ok(false),
            contents => contents?,
        };
        let wrong = decoded_before_error(&contents, self.encoding);
        let no_text = || io::Error::other(self.not_decoded(path));
        let decoded = |contents: &[u8]| with_plain_newlines(&self.encoding.decode(contents));
        if self.args.read_whole_file {
            if wrong.is_some() {
                return Err(no_text());
            }
            let found = pattern.search(&decoded(&contents)).map_err(io::Error::other)?;
            return Ok(found.is_some());
        }
        let text = decoded(&contents[..wrong.unwrap_or(contents.len())]);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = wrong.is_none() || line.ends_with(b"\n");
            if is_whole && pattern.matches_start(line, false).map_err(io::Error::other)? {
                return Ok(true);
            }
        }
        if wrong.is_some() { Err(no_text()) } else { Ok(false) }
    }

    /// Says that a file is not of the encoding, in the words of the caller's release.
    fn not_decoded(&self, path: &Path) -> String {
        let named = self.args.encoding.as_deref();
        if self.is_since_2_21 {
            let shown = modbox_sdk::json::repr(&modbox_sdk::fs::path_value(path));
            let encoding = named.unwrap_or("utf-8 (Python default)");
            return format!("Failed to decode the file {shown} with encoding: {encoding}");
        }
        let encoding = named.unwrap_or("None (default determined by the Python built-in function \"open\")");
        let path = path.display();
        format!("Failed to read the file {path} due to an encoding error. current encoding: {encoding}")
    }
}

fn name(path: &Path) -> &[u8] {
    path.file_name().unwrap_or_default().as_encoded_bytes()
}

const AGES: [(&str, f64); 5] = [("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0), ("w", 604_800.0)];
const SIZES: [(&str, f64); 5] =
    [("b", 1.0), ("k", 1024.0), ("m", 1_048_576.0), ("g", 1_073_741_824.0), ("t", 1_099_511_627_776.0)];

/// Reads a number with a unit.
fn measure(option: &str, text: &str, units: &[(&str, f64)]) -> Result<f64, Failure> {
    let lower = text.to_lowercase();
    let bad = || Failure::new(format!("failed to process {option}")).with(option, text);
    let end = lower.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(end);
    let number: i64 = digits.parse().ok().filter(|_| !digits.starts_with('+')).ok_or_else(bad)?;
    let known = units.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor);
    let factor = known.or_else(|| unit.is_empty().then_some(1.0)).ok_or_else(bad)?;
    Ok(number as f64 * factor)
}

fn name_pattern(name: &str, use_regex: bool) -> Result<Pattern, Failure> {
    let pattern = if use_regex { name.to_owned() } else { glob_to_regex(name) };
    Pattern::new(&pattern, Subject::Text, Flags::default())
        .map_err(|why| Failure::new(format!("failed to read the pattern `{name}`: {why}")))
}
