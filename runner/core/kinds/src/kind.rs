//! The kinds of modules, and their names.

use std::fmt;
use std::str::FromStr;

use modbox_vocabulary::WasmFormat;
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
    /// A provider of libral, which manages resources of one type.
    Provider(ProviderForm),
}

/// The form of a provider. Its name and its calling convention are the same in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderForm {
    /// A script or a program of the system.
    Native,
    /// A WASI component.
    Component,
    /// A WASI 0.1 core module.
    Core,
}

impl Kind {
    /// Every kind, in the order of detection.
    const ALL: [Self; 9] = [
        Self::Component,
        Self::Core,
        Self::Binary,
        Self::Python,
        Self::Powershell,
        Self::Jsonargs,
        Self::WantJson,
        Self::OldStyle,
        Self::Provider(ProviderForm::Native),
    ];

    /// Returns every kind, in the order of detection. A provider has one of three forms, and is listed once.
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
            Self::Provider(_) => "provider",
        }
    }

    /// Returns whether a module of this kind runs in the engine, and not as a native process.
    #[must_use]
    pub fn is_wasm(self) -> bool {
        self.format().is_some()
    }

    /// Returns the format for the engine; `None` for a native module.
    #[must_use]
    pub fn format(self) -> Option<WasmFormat> {
        match self {
            Self::Component | Self::Provider(ProviderForm::Component) => Some(WasmFormat::Component),
            Self::Core | Self::Provider(ProviderForm::Core) => Some(WasmFormat::Core),
            _ => None,
        }
    }

    /// Returns whether a module of this kind is a provider.
    #[must_use]
    pub fn is_provider(self) -> bool {
        matches!(self, Self::Provider(_))
    }

    /// Returns the kind of a provider's bytes, if the engine runs them; other kinds unchanged.
    #[must_use]
    pub fn without_convention(self) -> Self {
        match self {
            Self::Provider(ProviderForm::Component) => Self::Component,
            Self::Provider(ProviderForm::Core) => Self::Core,
            other => other,
        }
    }

    /// Returns the kind of a provider whose bytes are of this kind.
    #[must_use]
    pub fn as_provider(self) -> Self {
        Self::Provider(match self.format() {
            None => ProviderForm::Native,
            Some(WasmFormat::Component) => ProviderForm::Component,
            Some(WasmFormat::Core) => ProviderForm::Core,
        })
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
