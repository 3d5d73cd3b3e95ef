//! The kinds of modules, and their names.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;

/// The kind of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A WASI component with the `wasi:cli/run` export.
    Component,
    /// A WASI 0.1 core module.
    Core,
    /// New-style Python.
    Python,
    /// New-style PowerShell.
    Powershell,
    /// A script whose arguments are inserted into its text.
    Jsonargs,
    /// A script that reads a JSON file.
    WantJson,
    /// An executable that reads a JSON file.
    Binary,
    /// A script that reads a `key=value` file.
    OldStyle,
}

impl Kind {
    /// Every kind, in the order of detection.
    const ALL: [Self; 8] = [
        Self::Component,
        Self::Core,
        Self::Binary,
        Self::Python,
        Self::Powershell,
        Self::Jsonargs,
        Self::WantJson,
        Self::OldStyle,
    ];

    /// Returns every kind, in the order of detection.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }

    /// Returns the name that the command line and reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Core => "core",
            Self::Binary => "binary",
            Self::Python => "python",
            Self::Powershell => "powershell",
            Self::Jsonargs => "jsonargs",
            Self::WantJson => "want_json",
            Self::OldStyle => "old_style",
        }
    }

    /// Returns whether a module of this kind runs in the engine, and not as a native process.
    #[must_use]
    pub fn is_wasm(self) -> bool {
        matches!(self, Self::Component | Self::Core)
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The name of an unknown kind.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown module kind `{0}`; expected one of {list}", list = kind_list())]
pub struct UnknownKind(String);

fn kind_list() -> String {
    Kind::all().map(Kind::as_str).collect::<Vec<_>>().join(", ")
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        Self::all().find(|kind| kind.as_str() == word).ok_or_else(|| UnknownKind(word.to_owned()))
    }
}
