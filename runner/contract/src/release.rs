//! The releases of ansible-core whose contract can be kept.
//!
//! What differs between them is kept where it matters: the reserved arguments (`internal_args`), what an output
//! becomes (`older`), the line that old releases put into scripts (`kinds::shebang`), job files (`crate::jobs`).
//! What a module sees is written for the newest; the others are for modules that look at `_ansible_version`, and for
//! callers that compare with what an older Ansible gave them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A release whose contract is kept. The older one is the lesser one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Release {
    /// Ansible 2.9, the last one before collections.
    #[serde(rename = "2.9")]
    V2_9,
    /// ansible-core 2.14, the last one before results had typed objects that runs on Python 3.9.
    #[serde(rename = "2.14")]
    V2_14,
    /// ansible-core 2.19.
    #[default]
    #[serde(rename = "2.19")]
    V2_19,
}

/// A word that names none of them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is none of the contracts that are kept: 2.9, 2.14, 2.19")]
pub struct UnknownRelease(String);

impl Release {
    /// Every one, the oldest first.
    pub const ALL: [Self; 3] = [Self::V2_9, Self::V2_14, Self::V2_19];

    /// Returns the word by which it is asked for.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2_9 => "2.9",
            Self::V2_14 => "2.14",
            Self::V2_19 => "2.19",
        }
    }

    /// Returns the full version that modules are told as `_ansible_version`: the last one of the release. Modules
    /// compare it with what they need, so it names a release of Ansible and not of this program.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::V2_9 => "2.9.27",
            Self::V2_14 => "2.14.18",
            Self::V2_19 => "2.19.14",
        }
    }

    /// Returns the one whose contract a release of that version keeps: itself, or the closest older one.
    #[must_use]
    pub fn of_version(version: &str) -> Self {
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
        let version = (numbers.next().flatten(), numbers.next().flatten());
        match version {
            (Some(2), Some(..14)) | (Some(..2), _) => Self::V2_9,
            (Some(2), Some(14..19)) => Self::V2_14,
            _ => Self::V2_19,
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Release {
    type Err = UnknownRelease;

    fn from_str(word: &str) -> Result<Self, UnknownRelease> {
        Self::ALL.into_iter().find(|release| release.as_str() == word).ok_or_else(|| UnknownRelease(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_versions_lead_back() {
        for release in Release::ALL {
            assert_eq!(release.as_str().parse(), Ok(release));
            assert_eq!(Release::of_version(release.version()), release);
        }
        assert!("2.15".parse::<Release>().is_err());
        for (version, release) in
            [("2.4.0", "2.9"), ("1.9", "2.9"), ("2.18.1", "2.14"), ("2.20.0b1", "2.19"), ("3.0", "2.19"), ("?", "2.19")]
        {
            assert_eq!(Release::of_version(version).as_str(), release, "{version}");
        }
    }
}
