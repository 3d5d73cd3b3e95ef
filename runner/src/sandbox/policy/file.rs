//! The policy file: YAML, unknown keys refused, errors with line and column.
//!
//! ```yaml
//! allow:
//!   read: [/usr/share/zoneinfo]
//!   write: [/srv/app]
//!   env: [LANG, STAGE=test]
//!   net: ["api.example.org:443", "10.0.0.0/8:5432"]
//!   listen: ["127.0.0.1:8080"]
//! limits: {timeout: 30s, cpu-time: 10s, memory: 256MiB, output: 4MiB, processes: 64}
//! # and for compiling: module: 64MiB, compile-time: 1m, compile-memory: 2GiB
//! audit: /var/log/modbox.jsonl
//! ```
//!
//! Only what is enforced can be written: a key for something that modbox does not do yet is an unknown
//! key, so that nobody relies on a rule that is not there.

use std::time::Duration;

use serde::Deserialize;

use crate::sandbox::limits::Limits;

/// A policy file, as written: paths and names are not resolved yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyFile {
    /// The grants.
    pub allow: Allow,
    /// The limits that differ from the defaults.
    pub limits: LimitOverrides,
    /// A file that gets a line of every run; absolute.
    pub audit: Option<String>,
}

/// The grants of a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Allow {
    /// `PATH` or `PATH::GUEST`, for reading.
    pub read: Vec<String>,
    /// `PATH` or `PATH::GUEST`, for writing.
    pub write: Vec<String>,
    /// `NAME` or `NAME=VALUE`.
    pub env: Vec<String>,
    /// Network rules, see [`crate::sandbox::policy::net`].
    pub net: Vec<String>,
    /// Places to listen at.
    pub listen: Vec<String>,
}

/// Limits that someone set; the rest stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LimitOverrides {
    /// Wall-clock time, for example `30s`.
    #[serde(deserialize_with = "duration")]
    pub timeout: Option<Duration>,
    /// Processor time.
    #[serde(deserialize_with = "duration")]
    pub cpu_time: Option<Duration>,
    /// Bytes of memory, for example `256MiB`.
    #[serde(deserialize_with = "size")]
    pub memory: Option<u64>,
    /// Bytes kept of stdout and of stderr, each.
    #[serde(deserialize_with = "size")]
    pub output: Option<u64>,
    /// Processes at a time.
    #[serde(deserialize_with = "count")]
    pub processes: Option<u64>,
    /// Bytes of a module that is to be compiled.
    #[serde(deserialize_with = "size")]
    pub module: Option<u64>,
    /// Processor time for compiling.
    #[serde(deserialize_with = "duration")]
    pub compile_time: Option<Duration>,
    /// Bytes of memory for compiling.
    #[serde(deserialize_with = "size")]
    pub compile_memory: Option<u64>,
}

impl LimitOverrides {
    /// Sets what is given and leaves the rest.
    pub fn apply(&self, limits: &mut Limits) {
        limits.timeout = self.timeout.unwrap_or(limits.timeout);
        limits.cpu_time = self.cpu_time.unwrap_or(limits.cpu_time);
        limits.max_memory = self.memory.unwrap_or(limits.max_memory);
        limits.max_output = self.output.unwrap_or(limits.max_output);
        limits.max_processes = self.processes.unwrap_or(limits.max_processes);
        limits.max_module = self.module.unwrap_or(limits.max_module);
        limits.compile_time = self.compile_time.unwrap_or(limits.compile_time);
        limits.compile_memory = self.compile_memory.unwrap_or(limits.compile_memory);
    }
}

/// Why a text is no policy file: what is wrong, with line and column.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct PolicyFileError(String);

impl PolicyFile {
    /// Reads the text of a policy file. An empty one grants nothing.
    ///
    /// # Errors
    ///
    /// Text that is not YAML, unknown keys, values of another type.
    pub fn parse(text: &str) -> Result<Self, PolicyFileError> {
        if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
            return Ok(Self::default());
        }
        // On one line: `modbox FILE ARGSFILE` puts it into a result.
        serde_saphyr::from_str(text).map_err(|error| PolicyFileError(error.without_snippet().to_string()))
    }
}

fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

fn size<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_size(&text).map(Some).map_err(serde::de::Error::custom)
}

fn count<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_count(&text).map(Some).map_err(serde::de::Error::custom)
}

/// Reads a duration: `500ms`, `30s`, `1m 30s`, `2h`; a bare number is seconds. At most a year, at least a
/// millisecond: zero would be no run, and more is a mistyped unit.
///
/// # Errors
///
/// Anything else, in words that say what is expected.
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

/// Reads a size in bytes: `65536`, `64KiB`, `256MiB`, `1GB`. At least one byte.
///
/// # Errors
///
/// Anything else, in words that say what is expected.
pub fn parse_size(text: &str) -> Result<u64, String> {
    match text.parse::<bytesize::ByteSize>() {
        Ok(size) if size.as_u64() > 0 => Ok(size.as_u64()),
        _ => Err(format!("`{text}` is not a size of at least one byte, such as `64KiB` or `256MiB`")),
    }
}

/// Reads how many of something there may be. At least one.
///
/// # Errors
///
/// Anything else, in words that say what is expected.
pub fn parse_count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`{text}` is not a whole number of at least 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_documented_form() {
        let file = PolicyFile::parse(
            "allow:\n  read: [/usr/share/zoneinfo]\n  write: [/srv/app::/app]\n  \
             env: [LANG, STAGE=test]\nlimits: {timeout: 30s, cpu-time: 10s, memory: 256MiB, output: 4MiB, processes: 64}\n",
        )
        .unwrap();
        assert_eq!(file.allow.write, ["/srv/app::/app"]);
        assert_eq!(file.limits.memory, Some(256 << 20));
        assert_eq!(file.limits.timeout, Some(Duration::from_secs(30)));
    }

    #[test]
    fn an_empty_file_grants_nothing() {
        for text in ["", "\n", "# nothing\n"] {
            assert_eq!(PolicyFile::parse(text).unwrap(), PolicyFile::default());
        }
    }

    #[test]
    fn names_the_place_of_a_mistake() {
        for (text, expect) in [
            ("allow:\n  reed: [/x]\n", "reed"),
            ("allow:\n  read: /x\n", "line 2"),
            ("limits: {timeout: soon}\n", "`soon` is not a duration"),
            ("limits: {memory: lots}\n", "`lots` is not a size"),
            ("limits: {processes: 0}\n", "`0` is not a whole number of at least 1 at line 1, column 21"),
            ("designated: write\n", "designated"),
            ("allow: [\n", "line"),
        ] {
            let error = PolicyFile::parse(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text:?}: {error}");
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
