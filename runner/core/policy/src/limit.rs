//! The limits by name: one table for policy files, options and listings, so that each of them has every limit.

use std::collections::BTreeMap;
use std::time::Duration;

use modbox_vocabulary::Limits;
use modbox_vocabulary::time::micros;

/// A limit that an operator can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitName {
    /// Wall-clock time.
    Timeout,
    /// Processor time.
    CpuTime,
    /// Bytes of memory.
    Memory,
    /// Bytes of stdout and of stderr that are kept, each.
    Output,
    /// Bytes written to files.
    Disk,
    /// Bytes written to files in `/tmp`.
    Tmp,
    /// Number of files, directories and links that the run creates.
    Files,
    /// Number of files, directories and sockets that are open at a time.
    Descriptors,
    /// Number of processes at a time.
    Processes,
    /// Size in bytes of a module to compile.
    Module,
    /// Processor time for compiling.
    CompileTime,
    /// Bytes of memory for compiling.
    CompileMemory,
    /// Wall-clock time of each command outside.
    Outside,
}

/// What the number of a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitUnit {
    /// Microseconds.
    Micros,
    /// Bytes.
    Bytes,
    /// A number of objects.
    Count,
}

impl LimitUnit {
    /// Returns the unit's name in listings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Micros => "us",
            Self::Bytes => "bytes",
            Self::Count => "count",
        }
    }
}

impl LimitName {
    /// All limits, in the order of listings.
    pub const ALL: [Self; 13] = [
        Self::Timeout,
        Self::CpuTime,
        Self::Memory,
        Self::Output,
        Self::Disk,
        Self::Tmp,
        Self::Files,
        Self::Descriptors,
        Self::Processes,
        Self::Module,
        Self::CompileTime,
        Self::CompileMemory,
        Self::Outside,
    ];

    /// Returns the limit's key in a policy file.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::CpuTime => "cpu-time",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::Disk => "disk",
            Self::Tmp => "tmp",
            Self::Files => "files",
            Self::Descriptors => "descriptors",
            Self::Processes => "processes",
            Self::Module => "module",
            Self::CompileTime => "compile-time",
            Self::CompileMemory => "compile-memory",
            Self::Outside => "outside",
        }
    }

    /// Returns the limit's option: the key, with the prefix `max-` except for times and for compilation. That of commands
    /// outside says that it is a time.
    #[must_use]
    pub fn switch(self) -> String {
        match self {
            Self::Timeout | Self::CpuTime | Self::CompileTime | Self::CompileMemory => format!("--{}", self.key()),
            Self::Outside => "--outside-time".to_owned(),
            _ => format!("--max-{}", self.key()),
        }
    }

    /// Returns the limit with this key.
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|name| name.key() == key)
    }

    /// Returns the limit's unit.
    #[must_use]
    pub fn unit(self) -> LimitUnit {
        match self {
            Self::Timeout | Self::CpuTime | Self::CompileTime | Self::Outside => LimitUnit::Micros,
            Self::Memory | Self::Output | Self::Disk | Self::Tmp | Self::Module | Self::CompileMemory => {
                LimitUnit::Bytes
            }
            Self::Files | Self::Descriptors | Self::Processes => LimitUnit::Count,
        }
    }

    /// Returns the limit's value.
    #[must_use]
    pub fn of(self, limits: &Limits) -> u64 {
        match self {
            Self::Timeout => micros(limits.timeout),
            Self::CpuTime => micros(limits.cpu_time),
            Self::Memory => limits.max_memory,
            Self::Output => limits.max_output,
            Self::Disk => limits.max_disk,
            Self::Tmp => limits.max_tmp,
            Self::Files => limits.max_files,
            Self::Descriptors => limits.max_descriptors,
            Self::Processes => limits.max_processes,
            Self::Module => limits.max_module,
            Self::CompileTime => micros(limits.compile_time),
            Self::CompileMemory => limits.compile_memory,
            Self::Outside => micros(limits.outside),
        }
    }

    /// Sets the limit's value.
    pub fn set(self, limits: &mut Limits, value: u64) {
        match self {
            Self::Timeout => limits.timeout = Duration::from_micros(value),
            Self::CpuTime => limits.cpu_time = Duration::from_micros(value),
            Self::Memory => limits.max_memory = value,
            Self::Output => limits.max_output = value,
            Self::Disk => limits.max_disk = value,
            Self::Tmp => limits.max_tmp = value,
            Self::Files => limits.max_files = value,
            Self::Descriptors => limits.max_descriptors = value,
            Self::Processes => limits.max_processes = value,
            Self::Module => limits.max_module = value,
            Self::CompileTime => limits.compile_time = Duration::from_micros(value),
            Self::CompileMemory => limits.compile_memory = value,
            Self::Outside => limits.outside = Duration::from_micros(value),
        }
    }

    /// Parses a value in the form that people write.
    ///
    /// # Errors
    ///
    /// Text that does not fit the limit's unit; the message states the expected form.
    pub fn parse(self, text: &str) -> Result<u64, String> {
        match self.unit() {
            LimitUnit::Micros => parse_duration(text).map(micros),
            LimitUnit::Bytes => parse_size(text),
            LimitUnit::Count => parse_count(text),
        }
    }

    /// Formats a value for people.
    #[must_use]
    pub fn show(self, value: u64) -> String {
        match self.unit() {
            LimitUnit::Micros => humantime::format_duration(Duration::from_micros(value)).to_string(),
            LimitUnit::Bytes => bytesize::ByteSize(value).display().iec().to_string(),
            LimitUnit::Count => value.to_string(),
        }
    }
}

/// The limits that one source sets. It leaves the others unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitOverrides(BTreeMap<LimitName, u64>);

impl LimitOverrides {
    /// Sets a limit, in its unit.
    pub fn set(&mut self, name: LimitName, value: u64) {
        self.0.insert(name, value);
    }

    /// Sets a time limit.
    pub fn set_time(&mut self, name: LimitName, value: Duration) {
        self.set(name, micros(value));
    }

    /// Returns a limit, if it is set.
    #[must_use]
    pub fn get(&self, name: LimitName) -> Option<u64> {
        self.0.get(&name).copied()
    }

    /// Returns the limits that are set.
    pub fn iter(&self) -> impl Iterator<Item = (LimitName, u64)> {
        self.0.iter().map(|(name, value)| (*name, *value))
    }
}

/// Parses a duration: `500ms`, `30s`, `1m 30s`, `2h`; a bare number is seconds. The minimum is a millisecond, because
/// zero would allow no run; the maximum is a year, because more is a mistyped unit.
///
/// # Errors
///
/// Any other text; the message states the expected form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const YEAR: Duration = Duration::from_hours(365 * 24);
    let duration = match text.parse::<u64>() {
        Ok(seconds) => Some(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text).ok(),
    };
    match duration {
        Some(duration) if (Duration::from_millis(1)..=YEAR).contains(&duration) => Ok(duration),
        _ => Err(format!("`{text}` is not a duration from 1ms to 365days, such as `500ms`, `30s` or `1m 30s`")),
    }
}

/// Parses a size in bytes: `65536`, `64KiB`, `256MiB`, `1GB`. The minimum is one byte.
///
/// # Errors
///
/// Any other text; the message states the expected form.
pub fn parse_size(text: &str) -> Result<u64, String> {
    match text.parse::<bytesize::ByteSize>() {
        Ok(size) if size.as_u64() > 0 => Ok(size.as_u64()),
        _ => Err(format!("`{text}` is not a size of at least one byte, such as `64KiB` or `256MiB`")),
    }
}

/// Parses a number of objects. The minimum is one.
///
/// # Errors
///
/// Any other text; the message states the expected form.
pub fn parse_count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`{text}` is not a whole number of at least 1")),
    }
}

/// The highest level of confinement.
pub const HIGHEST_LEVEL: u8 = 3;

/// Parses a level of confinement.
///
/// # Errors
///
/// Any other text; the message states the expected form.
pub fn parse_level(text: &str) -> Result<u8, String> {
    match text.parse() {
        Ok(level) if level <= HIGHEST_LEVEL => Ok(level),
        _ => Err(format!("`{text}` is not a level of confinement from 0 to {HIGHEST_LEVEL}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_set_and_read_as_itself() {
        for name in LimitName::ALL {
            assert_eq!(LimitName::from_key(name.key()), Some(name));
            let mut limits = Limits::default();
            name.set(&mut limits, 12_345_000);
            assert_eq!(name.of(&limits), 12_345_000, "{name:?}");
            for other in LimitName::ALL.into_iter().filter(|other| *other != name) {
                assert_eq!(other.of(&limits), other.of(&Limits::default()), "{name:?} changed {other:?}");
            }
        }
    }

    #[test]
    fn formatted_values_can_be_parsed() {
        for name in LimitName::ALL {
            let value = name.of(&Limits::default());
            assert_eq!(name.parse(&name.show(value)), Ok(value), "{name:?}");
        }
    }

    #[test]
    fn bounds_durations_and_sizes() {
        assert_eq!(parse_duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        for text in ["0", "0s", "", "-1", "10000years", "1e3"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(parse_size("64KiB"), Ok(65536));
        assert_eq!(parse_size("1048576"), Ok(1 << 20));
        for text in ["0", "", "-1", "big", "MiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
