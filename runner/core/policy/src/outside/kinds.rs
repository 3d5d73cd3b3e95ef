//! The kinds of operands in rules for outside commands: what `<unit>`, `<pkg>` and the others stand for.
//!
//! Each kind is a closed set of words. `forms` has the functions that decide about a word, and `reserved` the names that
//! only their own spelling reaches. Nothing here asks the machine.

use std::fmt;

use crate::outside::forms;

/// A kind of operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A unit of the service manager: `nginx` or `nginx.service`.
    Unit,
    /// A package, with `:ARCHITECTURE` and `=VERSION` if need be.
    Package,
    /// The name of a local user or group.
    User,
    /// Names of local users or groups with commas between them.
    Users,
    /// The name of a kernel parameter, with dots.
    Key,
    /// A kernel parameter and its value: `NAME=VALUE`.
    Setting,
    /// A kernel module.
    Module,
    /// A chain of the firewall.
    Chain,
    /// An absolute path without `.`, `..` and empty parts. A runner refuses one that the module can change in a part.
    Path,
    /// A path for the home of a user: none below the system's own folders.
    Home,
    /// A file of the module's room. The program gets a private copy of it.
    Input,
    /// As [`Kind::Input`], and each line has to be a [`Kind::Setting`].
    Settings,
    /// The number of a user or group, but 0.
    Id,
    /// The number of a user or group from 1000 on, since lower ones belong to the system.
    HighId,
    /// A number of at most ten digits.
    Number,
    /// A date, `YYYY-MM-DD`, or a number of days.
    Date,
    /// An encrypted password, or a sign for none.
    Hash,
    /// A time zone, such as `Europe/Berlin`.
    Zone,
    /// A word of letters, digits and `_ . , : + ~ @ -`.
    Name,
    /// One line of printable text.
    Text,
    /// An address or a network, or `any`.
    Address,
    /// Ports and ranges with commas between them, and a protocol.
    Ports,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 22] = [
        Self::Unit,
        Self::Package,
        Self::User,
        Self::Users,
        Self::Key,
        Self::Setting,
        Self::Module,
        Self::Chain,
        Self::Path,
        Self::Home,
        Self::Input,
        Self::Settings,
        Self::Id,
        Self::HighId,
        Self::Number,
        Self::Date,
        Self::Hash,
        Self::Zone,
        Self::Name,
        Self::Text,
        Self::Address,
        Self::Ports,
    ];

    /// Returns the word that rules use between `<` and `>`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Package => "pkg",
            Self::User => "user",
            Self::Users => "users",
            Self::Key => "key",
            Self::Setting => "setting",
            Self::Module => "module",
            Self::Chain => "chain",
            Self::Path => "path",
            Self::Home => "home",
            Self::Input => "input",
            Self::Settings => "settings",
            Self::Id => "id",
            Self::HighId => "high-id",
            Self::Number => "n",
            Self::Date => "date",
            Self::Hash => "hash",
            Self::Zone => "zone",
            Self::Name => "name",
            Self::Text => "text",
            Self::Address => "addr",
            Self::Ports => "ports",
        }
    }

    /// Returns the words of all kinds, for messages.
    #[must_use]
    pub fn list() -> String {
        Self::ALL.map(|kind| format!("<{kind}>")).join(", ")
    }

    /// Returns whether the word has the form of the kind. Names that are reserved have it, too; see
    /// [`BoundNames`](crate::outside::BoundNames).
    #[must_use]
    pub fn has_form(self, word: &str) -> bool {
        // No kind has an option, an empty word, or characters that a terminal or a file of lines acts on.
        if word.is_empty() || word.starts_with('-') || word.len() > self.max_length() || !forms::is_printable(word) {
            return false;
        }
        match self {
            Self::Unit => forms::is_unit(word),
            Self::Package => forms::is_package(word),
            Self::User => forms::is_user(word),
            Self::Users => word.split(',').all(forms::is_user),
            Self::Key => forms::is_key(word),
            Self::Setting => forms::is_setting(word),
            Self::Module => forms::is_module(word),
            Self::Chain => forms::is_chain(word),
            Self::Path => forms::is_path(word),
            Self::Home => forms::is_home(word),
            Self::Input | Self::Settings => forms::is_input(word),
            Self::Id => forms::id(word).is_some(),
            Self::HighId => forms::id(word).is_some_and(|id| id >= 1000),
            Self::Number => word.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Date => forms::is_date(word),
            Self::Hash => forms::is_hash(word),
            Self::Zone => forms::is_zone(word),
            Self::Name => forms::is_name(word),
            Self::Text => true,
            Self::Address => forms::is_address(word),
            Self::Ports => forms::is_ports(word),
        }
    }

    /// Returns the longest word of the kind, in bytes.
    fn max_length(self) -> usize {
        match self {
            Self::Unit | Self::Package | Self::Key | Self::Name | Self::Ports => 255,
            // `useradd` takes no longer ones.
            Self::User => 32,
            // The kernel's own limit of a path, with the byte at its end.
            Self::Path | Self::Home | Self::Input | Self::Settings => 4095,
            Self::Users | Self::Setting | Self::Text => 4096,
            Self::Hash => 1024,
            Self::Module | Self::Zone | Self::Address => 64,
            // `XT_EXTENSION_MAXNAMELEN` of Linux, with the byte at its end.
            Self::Chain => 28,
            Self::Id | Self::HighId | Self::Number | Self::Date => 10,
        }
    }

    /// Returns whether the names of a profile bind the kind.
    #[must_use]
    pub fn is_bound(self) -> bool {
        matches!(
            self,
            Self::Unit
                | Self::Package
                | Self::User
                | Self::Users
                | Self::Key
                | Self::Setting
                | Self::Module
                | Self::Chain
        )
    }

    /// Returns whether the operand is a file of the module's room, which a runner has to copy.
    #[must_use]
    pub fn is_file(self) -> bool {
        matches!(self, Self::Input | Self::Settings)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Kind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}
