//! The supported releases of Ansible's module contract.
//!
//! The differences between the releases are in the code that they affect: the reserved arguments (`internal_args`), the
//! conversion of output (`older`), the line that old releases add to scripts (`kinds::shebang`), job files
//! (`crate::jobs`). modbox presents the installed release to modules, and the newest final one where none is. The others are for
//! modules that look at `_ansible_version`, for callers that compare results with those of another Ansible, and for
//! controllers that start modules through modbox.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A release whose contract is supported. An older release compares as less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Release {
    /// Ansible 2.9, the last one before collections.
    #[serde(rename = "2.9")]
    V2_9,
    /// ansible-core 2.14: the last release without typed objects in results that runs on Python 3.9.
    #[serde(rename = "2.14")]
    V2_14,
    /// ansible-core 2.19 and 2.20.
    #[serde(rename = "2.19")]
    V2_19,
    /// ansible-core 2.21: results have one form for modules and actions, and values of reserved keys are not shown. The default.
    #[default]
    #[serde(rename = "2.21")]
    V2_21,
    /// ansible-core 2.22: modules leave their secrets in their results, and tell them.
    #[serde(rename = "2.22")]
    V2_22,
}

/// An unknown release.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown contract `{0}`; expected one of 2.9, 2.14, 2.19, 2.21, 2.22")]
pub struct UnknownRelease(String);

impl Release {
    /// All releases, the oldest first.
    pub const ALL: [Self; 5] = [Self::V2_9, Self::V2_14, Self::V2_19, Self::V2_21, Self::V2_22];

    /// Returns the word that selects the release.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2_9 => "2.9",
            Self::V2_14 => "2.14",
            Self::V2_19 => "2.19",
            Self::V2_21 => "2.21",
            Self::V2_22 => "2.22",
        }
    }

    /// Returns the value of `_ansible_version`: the full version of the release's last update. Modules compare it with
    /// the version they need, so it is a version of Ansible and not of this program.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::V2_9 => "2.9.27",
            Self::V2_14 => "2.14.18",
            Self::V2_19 => "2.19.14",
            Self::V2_21 => "2.21.5",
            Self::V2_22 => "2.22.0rc1",
        }
    }

    /// Returns the release for a full version: the same one, or the closest older one. A text that is not a version is taken for
    /// the default.
    #[must_use]
    pub fn of_version(version: &str) -> Self {
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
        let version = (numbers.next().flatten(), numbers.next().flatten());
        match version {
            (Some(2), Some(..14)) | (Some(..2), _) => Self::V2_9,
            (Some(2), Some(14..19)) => Self::V2_14,
            (Some(2), Some(19 | 20)) => Self::V2_19,
            (Some(2), Some(21)) => Self::V2_21,
            (None, _) | (Some(2), None) => Self::default(),
            _ => Self::V2_22,
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
    fn words_and_versions_parse_to_their_release() {
        for release in Release::ALL {
            assert_eq!(release.as_str().parse(), Ok(release));
            assert_eq!(Release::of_version(release.version()), release);
        }
        assert!("2.15".parse::<Release>().is_err());
        for (version, release) in [
            ("2.4.0", "2.9"),
            ("1.9", "2.9"),
            ("2.18.1", "2.14"),
            ("2.20.0b1", "2.19"),
            ("2.21.0rc2", "2.21"),
            ("2.22.0rc1", "2.22"),
            ("2.23.1", "2.22"),
            ("3.0", "2.22"),
            ("?", "2.21"),
            ("2", "2.21"),
        ] {
            assert_eq!(Release::of_version(version).as_str(), release, "{version}");
        }
    }
}
